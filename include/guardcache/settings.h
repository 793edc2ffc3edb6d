/*
 * guardcache/settings.h - switches and limits of a cache, where each value comes from, and how they are combined.
 *
 * A setting has one value, from the first of these places that has one:
 *
 *   option        the program said so (gcache_settings_set)
 *   environment   GUARDCACHE_READ_ONLY__TEAM_A for the namespace "team a" alone, then GUARDCACHE_READ_ONLY
 *   file          config.json in the cache directory: the namespace's section, then the general one
 *   default
 *
 * config.json may be damaged, or name settings that this version doesn't know: what can be read of it counts, for the rest
 * there are defaults and a warning (gcache_settings_warning).
 *
 * config.json counts if it, and the directory, are such that the setting `trust` of the stronger places (owner, where they say
 * nothing) trusts them; under `any`, since nothing in it is signed, as under `owner`. So no file can extend the trust by which
 * it is read itself. Nor can it name the keys that others' entries are verified with: under `any` its signing-keys don't count.
 * Otherwise they do if their paths are absolute, since it isn't known where a program that reads the file was started.
 *
 * The library reads no environment by itself: the caller passes a function that does, or NULL. gcache_open takes what it is
 * given, so programs that want settings to count load them first; the command and the adapters do.
 *
 * Threads: one thread at a time.
 */
#ifndef GUARDCACHE_SETTINGS_H
#define GUARDCACHE_SETTINGS_H

#include <guardcache/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/* identifier, name, what a value may be, meaning */
#define GCACHE_SETTING_MAP(X)                                                                         \
    X(DISABLED, "disabled", flag, "every lookup misses, nothing is stored")                         \
    X(BYPASS, "bypass", text, "why nothing can be cached for now: every lookup misses with this reason") \
    X(READ_ONLY, "read-only", flag, "nothing is written")                                           \
    X(STRICT, "strict", flag, "trouble with the store is an error, not a miss")                     \
    X(UNSAFE_SKIP_GUARDS, "unsafe-skip-guards", flag, "for debugging: every candidate's guards pass") \
    X(REFRESH, "refresh", flag, "what is stored is ignored; what is compiled is stored and preferred") \
    X(MAX_SIZE, "max-size", size, "size cap of the entries and their files; none for no cap")         \
    X(MEMORY, "memory", size, "decoded candidates kept in memory")                                  \
    X(MAX_CANDIDATES, "max-candidates", count, "variants under one key; beyond it the longest unused go") \
    X(COMPRESSION_LEVEL, "compression-level", level, "of zstd, 1 to 22; -1 stores payloads as they are") \
    X(DURABILITY, "durability", durability, "entry, full or none")                                  \
    X(TRUST, "trust", trust, "whose files are handed out: owner, group, or any with signatures")     \
    X(TIERS, "tiers", text, "URLs of where else to look, in this order, and to store; separated by spaces") \
    X(SIGNING_KEYS, "signing-keys", text, "key files, spaces between; the first with a secret signs") \
    X(REQUIRE_SIGNATURE, "require-signature", flag, "only entries that one of the keys verifies are handed out")

typedef enum gcache_setting_id {
#define X(id, name, type, meaning) GCACHE_SETTING_##id,
    GCACHE_SETTING_MAP(X)
#undef X
    GCACHE_SETTING_COUNT
} gcache_setting_id;

/* Where a value comes from, weakest first: identifier, word */
#define GCACHE_ORIGIN_MAP(X)                                                                          \
    X(DEFAULT, "default")                                                                             \
    X(FILE, "file")                                                                                   \
    X(FILE_NAMESPACE, "file, this namespace")                                                         \
    X(ENVIRONMENT, "environment")                                                                     \
    X(ENVIRONMENT_NAMESPACE, "environment, this namespace")                                           \
    X(OPTION, "option")

typedef enum gcache_origin {
#define X(id, word) GCACHE_ORIGIN_##id,
    GCACHE_ORIGIN_MAP(X)
#undef X
    GCACHE_ORIGIN_COUNT
} gcache_origin;

/* The words for an origin ("environment, this namespace"), "?" if unknown. Static storage. */
GCACHE_API char const *gcache_origin_name(gcache_origin origin);

/* A setting as it stands. Valid as long as the settings are, and until one is set. */
typedef struct gcache_setting {
    char const *name;
    char const *value;    /* as text: "1", "5 GiB" is written 5368709120; URLs without their credentials */
    char const *meaning;
    char const *variable; /* the environment variable's name, without a namespace */
    gcache_origin origin;
} gcache_setting;

typedef struct gcache_settings gcache_settings;

/* Returns a variable's value or NULL, as getenv does. */
typedef char const *(*gcache_variable_fn)(void *state, char const *name);

/*
 * Collects the settings for a cache directory and a namespace (NULL: the empty one). A directory or file that isn't there
 * has nothing to say; what is wrong with the file is a warning. Free with gcache_settings_free (NULL is accepted).
 * GCACHE_OK; ERROR_ARGUMENT: a variable's value makes no sense, the message names it; ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_settings_load(char const *directory, char const *namespace_, gcache_variable_fn variable,
                                              void *state, gcache_settings **out_settings, gcache_error *error);
GCACHE_API void gcache_settings_free(gcache_settings *settings);

/* What is wrong with config.json, a line each, without a line end; NULL: there is no warning of that index (0, 1, ..). Valid
   as long as the settings are. */
GCACHE_API char const *gcache_settings_warning(gcache_settings const *settings, size_t index);

/* Overrules all other places. GCACHE_OK; ERROR_NOT_FOUND: there is no such setting; ERROR_ARGUMENT: the value makes no sense. */
GCACHE_API gcache_status gcache_settings_set(gcache_settings *settings, char const *name, char const *value,
                                             gcache_error *error);

/* How one setting stands; NULL for an unknown id. */
GCACHE_API gcache_setting const *gcache_settings_get(gcache_settings *settings, gcache_setting_id id);

/*
 * Fills in what settings are about; the namespace too, and the keys in the files that signing-keys names, which are read now.
 * Texts and keys stay the settings': keep them until gcache_open has returned. Without signing-keys the keys in options stay.
 * GCACHE_OK; else the program mustn't go on without the keys: ERROR_NOT_FOUND, ERROR_UNTRUSTED, ERROR_SYNTAX, ERROR_FORMAT,
 * ERROR_IO: of a key file, as gcache_signing_key_read says; ERROR_ARGUMENT: too many of them, or config.json has a relative path;
 * ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_settings_apply(gcache_settings *settings, gcache_options *options, gcache_error *error);

/*
 * Writes one setting into the config.json of a cache directory, for a namespace or (NULL) in general; value NULL takes it
 * out. Any number of threads and processes may do so at once: none loses another's change, and readers see whole files. What
 * has been written survives a power cut. A file that can't be read is put into quarantine/ first, with all its settings, and
 * log (may be NULL) hears of it.
 * trust says whose file is taken over, as above.
 * GCACHE_OK; ERROR_NOT_FOUND: no such setting, or no such directory; ERROR_ARGUMENT: the value makes no sense; ERROR_FORMAT:
 * the file is of a newer version; ERROR_UNTRUSTED: by trust; ERROR_BUSY, ERROR_READ_ONLY, ERROR_NO_SPACE, ERROR_IO,
 * ERROR_LIMIT, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_settings_write(char const *directory, gcache_trust trust, char const *namespace_,
                                               char const *name, char const *value, gcache_log_fn log,
                                               void *log_state, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
