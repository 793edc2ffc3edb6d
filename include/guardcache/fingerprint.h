/*
 * guardcache/fingerprint.h - hashes of what a compiler is made of: source trees, files, shared objects, facts.
 *
 * A fingerprint is a list of named parts. Each part has a hash; together they make a component (`environment`) of a
 * description, so that entries of another compiler version, library or machine are not found. Reading a large tree takes
 * a while: it can be done by several threads, remembered in an index file (by size, times and inode, as git does), or
 * replaced by a hash that is known already.
 *
 * Threads: one at a time; the threads it starts on request have ended when the call returns.
 */
#ifndef GUARDCACHE_FINGERPRINT_H
#define GUARDCACHE_FINGERPRINT_H

#include <guardcache/graph.h>
#include <guardcache/key.h>
#include <guardcache/status.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcache_fingerprint gcache_fingerprint;

/* An empty fingerprint; NULL without memory. Free with gcache_fingerprint_free (NULL is accepted). */
GCACHE_API gcache_fingerprint *gcache_fingerprint_new(void);
GCACHE_API void gcache_fingerprint_free(gcache_fingerprint *fingerprint);

/* Forgets all parts; what the index remembers stays. */
GCACHE_API void gcache_fingerprint_clear(gcache_fingerprint *fingerprint);

typedef struct gcache_tree_options {
    size_t size;                 /* set by GCACHE_TREE_OPTIONS_INIT */
    unsigned threads;            /* that read files beside the caller's; 0: none are started */
    char const *const *suffixes; /* only files that end so (".py", ".so"); none: all */
    size_t suffix_count;
    char const *const *skip;     /* names of directories and files that are passed over at any depth */
    size_t skip_count;
} gcache_tree_options;

#define GCACHE_TREE_OPTIONS_INIT { .size = sizeof(gcache_tree_options) }

/*
 * Adds a part. A name may be used once (ERROR_ARGUMENT).
 *   fact    a name and a value: a version, a device, a flag
 *   file    a file's content; where it lies and what it is called don't count
 *   tree    all files below a directory, by relative path and content; `.git` and `__pycache__` are passed over. Links to
 *           files are followed; a link to a directory counts by where it points. Times, owners and modes don't count.
 *   preset  a hash that is known already, as 64 hex digits
 * GCACHE_OK; ERROR_ARGUMENT, ERROR_SYNTAX (preset: not a hash), ERROR_NOT_FOUND, ERROR_IO, ERROR_LIMIT (deeper than 128
 * directories), ERROR_MEMORY. After an error the part isn't there. options may be NULL.
 */
GCACHE_API gcache_status gcache_fingerprint_fact(gcache_fingerprint *fingerprint, char const *name, char const *value,
                                                 gcache_error *error);
GCACHE_API gcache_status gcache_fingerprint_file(gcache_fingerprint *fingerprint, char const *name, char const *path,
                                                 gcache_error *error);
GCACHE_API gcache_status gcache_fingerprint_tree(gcache_fingerprint *fingerprint, char const *name, char const *path,
                                                 gcache_tree_options const *options, gcache_error *error);
GCACHE_API gcache_status gcache_fingerprint_preset(gcache_fingerprint *fingerprint, char const *name, char const *hash,
                                                   gcache_error *error);

/*
 * Remembers files' hashes in a file of the caller's: open reads it (one that isn't there, or is damaged, is empty), save
 * writes it. A file whose size, times, device and inode are as remembered isn't read again; one that was changed shortly
 * before the index was saved is, since its time may not tell. GCACHE_OK, ERROR_FORMAT (open: the file is something else),
 * ERROR_LIMIT (open: larger than any index), ERROR_IO, ERROR_NO_SPACE (save), ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_fingerprint_index_open(gcache_fingerprint *fingerprint, char const *path,
                                                       gcache_error *error);
GCACHE_API gcache_status gcache_fingerprint_index_save(gcache_fingerprint *fingerprint, char const *path,
                                                       gcache_error *error);

/* The hash over all parts, whatever order they were added in. GCACHE_OK or ERROR_MEMORY. */
GCACHE_API gcache_status gcache_fingerprint_hash(gcache_fingerprint const *fingerprint, gcache_key *out_hash,
                                                 gcache_error *error);

/* A map from part to fact or hash, for gcache_graph_component(graph, "environment", ..). NULL after an error of graph's. */
GCACHE_API gcache_value *gcache_fingerprint_value(gcache_fingerprint const *fingerprint, gcache_graph *graph);

/* What a fingerprint consists of: a part, and for each of its files a line. */
typedef struct gcache_fingerprint_line {
    char const *part;
    char const *path;  /* relative to the part's; "" for the part itself */
    char const *value; /* a hash in hex, or a fact's value */
    bool read;         /* a file whose content was read, not remembered */
} gcache_fingerprint_line;

typedef void (*gcache_fingerprint_fn)(void *state, gcache_fingerprint_line const *line);

/* Calls fn for every line, parts in order of name. The texts are valid during the call. */
GCACHE_API void gcache_fingerprint_each(gcache_fingerprint const *fingerprint, gcache_fingerprint_fn fn, void *state);

/* The lines as text, a JSON object a line, to compare a later fingerprint with. Freed with gcache_free. GCACHE_OK or
   ERROR_MEMORY. */
GCACHE_API gcache_status gcache_fingerprint_write(gcache_fingerprint const *fingerprint, char **out_text,
                                                  gcache_error *error);

/* A part or file that isn't as it was. */
typedef struct gcache_fingerprint_change {
    char const *part;
    char const *path;
    char const *before; /* NULL: it is new */
    char const *after;  /* NULL: it is gone */
} gcache_fingerprint_change;

typedef void (*gcache_fingerprint_change_fn)(void *state, gcache_fingerprint_change const *change);

/* Tells of every file, and every part without files, that differs from what gcache_fingerprint_write wrote before. GCACHE_OK;
   ERROR_SYNTAX: written is no such text; ERROR_MEMORY. */
GCACHE_API gcache_status gcache_fingerprint_compare(gcache_fingerprint const *fingerprint, char const *written, size_t size,
                                                    gcache_fingerprint_change_fn fn, void *state, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
