/*
 * guardcache/cache.h - a cache directory: open, look up, insert, explain, iterate.
 *
 * A lookup takes a description and hints and hands out the best stored candidate whose guards hold. What it finds out
 * on the way is its result: an outcome, and for a miss a reason from a closed list. Trouble (a damaged file, a full
 * disk, a lock held too long) is a miss with its reason, never an error, unless options.strict is set; errors are
 * left for wrong arguments, for want of memory, and for a directory that can't be a cache.
 *
 * Threads: a gcache may be used by any number of threads at once; results belong to one thread at a time.
 * Processes: any number may have the same directory open. After fork a child may go on using the handle.
 * A fork waits until no other thread is in SQLite, which takes milliseconds. If that lasts for more than five seconds, the child
 * gets GCACHE_ERROR_BUSY from what needs SQLite: timings, best configurations, statistics. Lookups and inserts don't.
 * A directory that is moved or removed while a handle has it open: lookups go on with what is left, everything that stores
 * fails with GCACHE_ERROR_IO until the cache is opened anew.
 */
#ifndef GUARDCACHE_CACHE_H
#define GUARDCACHE_CACHE_H

#include <guardcache/events.h>
#include <guardcache/graph.h>
#include <guardcache/guard.h>
#include <guardcache/hints.h>
#include <guardcache/key.h>
#include <guardcache/status.h>
#include <guardcache/tier.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gcache gcache;

typedef enum gcache_durability {
    GCACHE_DURABILITY_ENTRY = 0, /* an insert survives a crash of the process; after a power cut it is whole or absent */
    GCACHE_DURABILITY_FULL,      /* an insert that returned survives a power cut */
    GCACHE_DURABILITY_NONE       /* no sync at all; a power cut may lose entries, never yields a wrong one */
} gcache_durability;

/* Whose files are handed out, since what is in a cache gets executed: identifier, name, meaning */
#define GCACHE_TRUST_MAP(X)                                                                           \
    X(OWNER, "owner", "files of this user or root that nobody else may write to")                     \
    X(GROUP, "group", "also those of the cache directory's group, which is one of this process's own") \
    X(ANY, "any", "everybody's, if signed with a key of ours: require_signature must be set")

typedef enum gcache_trust {
#define X(id, name, meaning) GCACHE_TRUST_##id,
    GCACHE_TRUST_MAP(X)
#undef X
    GCACHE_TRUST_COUNT
} gcache_trust;

/* "owner"; "?" if unknown. Static storage. */
GCACHE_API char const *gcache_trust_name(gcache_trust trust);

/* Called with a line of text for people: what was quarantined, what could not be written. May be called by any thread. */
typedef void (*gcache_log_fn)(void *state, char const *line);

/* Called now and then by what takes long: so much of so much is done, in any unit; total is 0 while nobody knows. */
typedef void (*gcache_progress_fn)(void *state, uint64_t done, uint64_t total);

/* How entries are signed, over everything in them: identifier, name, meaning */
#define GCACHE_SIGNING_ALGORITHM_MAP(X)                                                               \
    X(HMAC, "hmac", "HMAC-SHA-256 with a secret: whoever can verify entries can sign them, too")      \
    X(ED25519, "ed25519", "Ed25519: a private key signs, and whoever has only the public one verifies")

typedef enum gcache_signing_algorithm {
#define X(id, name, meaning) GCACHE_SIGNING_##id,
    GCACHE_SIGNING_ALGORITHM_MAP(X)
#undef X
    GCACHE_SIGNING_COUNT
} gcache_signing_algorithm;

/* "hmac"; "?" if unknown. Static storage. */
GCACHE_API char const *gcache_signing_algorithm_name(gcache_signing_algorithm algorithm);

/* A key that entries are signed with, or only verified. */
typedef struct gcache_signing_key {
    char const *id; /* at most 63 bytes; stored in clear in every entry, so that keys can be replaced one by one */
    void const *secret;     /* of Ed25519 the 32 bytes of the seed; NULL: the key verifies, and signs nothing */
    size_t secret_size;
    gcache_signing_algorithm algorithm;
    void const *public_key; /* of Ed25519 its 32 bytes; NULL: computed from the seed */
} gcache_signing_key;

#define GCACHE_ED25519_BYTES 32 /* a seed, or a public key */

typedef struct gcache_options {
    size_t size;                   /* set by GCACHE_OPTIONS_INIT */
    bool read_only;                /* never write into the directory: no entry, no lease, no journal */
    bool strict;                   /* trouble with the store is an error, not a miss: what can't be written too, but for the
                                      journal, counters and recency */
    bool disabled;                 /* every lookup misses with reason disabled, nothing is stored or noted in the journal */
    bool unsafe_skip_guards;       /* for debugging: every candidate's guards pass */
    bool refresh;                  /* every lookup misses with reason refresh, but for what somebody stored while the caller
                                      waited for his lease; what is stored then is preferred, being newer: an entry that
                                      equals it is renewed */
    char const *bypass;            /* why nothing can be cached: every lookup misses with this reason, nothing is stored, and
                                      nobody waits for a lease; NULL: it can */
    gcache_durability durability;
    char const *namespace_;        /* part of every key; NULL is the empty one */
    size_t max_candidates;         /* a key, beyond which its longest unused go; 0: GCACHE_MAX_CANDIDATES_DEFAULT */
    uint64_t max_size;             /* size cap of the entries and their files, in bytes on disk; databases, blobs and
                                      tables come on top. 0: GCACHE_MAX_SIZE_DEFAULT; UINT64_MAX: none. The longest
                                      unused entries go for a new one; but a cache that is larger by more than a tenth lives
                                      under another cap: inserts fail with ERROR_NO_SPACE and nothing goes, unless max-size
                                      in its config.json is no larger than this */
    size_t memory_bytes;           /* decoded candidates kept in memory; 0: GCACHE_MEMORY_BYTES_DEFAULT */
    int compression_level;         /* zstd level for payloads, -1 stores them raw; 0: GCACHE_COMPRESSION_DEFAULT */
    gcache_signing_key const *signing; /* inserts are signed with the first that can sign, entries accepted with any;
                                      borrowed during open. If none can sign, inserts aren't signed */
    size_t signing_count;
    bool require_signature;        /* an entry that no key verifies is a miss: unreadable; and if none of the keys can sign,
                                      inserts fail with ERROR_READ_ONLY */
    gcache_trust trust;            /* whose files are handed out; others' are a miss: unreadable */
    uint64_t max_age_ns;           /* gcache_gc evicts what was unused for longer; 0: never for its age */
    bool no_journal;               /* lookups leave nothing behind to be explained or counted by afterwards */
    gcache_log_fn log;             /* NULL: silence */
    void *log_state;
    gcache_event_fn event;         /* NULL: nobody listens */
    void *event_state;
    char const *record;            /* a folder to record every lookup and insert into, as a trace that guardcache test
                                      plays (docs/regression-tests.md), made with those above it; NULL: nothing is recorded */
    size_t columns;                /* explanations in words are broken into lines of so many columns, 40 at least; 0: 110 */
    bool color;                    /* and coloured by the escapes of a terminal (ECMA-48) */
    char const *tiers;             /* URLs separated by spaces (docs/fleet.md): where else to look, in this order, after the
                                      directory; what is stored goes to them, too. NULL: nowhere */
    gcache_tier_user const *user_tiers; /* tiers of the program's own, asked after those; borrowed during open */
    size_t user_tier_count;
    uint64_t flush_ns;             /* how long gcache_close waits for what is still on its way to tiers; 0:
                                      GCACHE_FLUSH_DEFAULT_NS */
} gcache_options;

#define GCACHE_OPTIONS_INIT { .size = sizeof(gcache_options) }

/* Ten seconds: a process that ends has rarely more than a few entries on their way; what is left stays in the directory, and
   `guardcache tier sync` takes it there. */
#define GCACHE_FLUSH_DEFAULT_NS (UINT64_C(10) * 1000000000)
/* A thousand variants of one graph come from guards that pin every size: what is asked for again stays, the rest goes. */
#define GCACHE_MAX_CANDIDATES_DEFAULT 1000
/* A working set of a few thousand compiled graphs. */
#define GCACHE_MAX_SIZE_DEFAULT (UINT64_C(5) << 30)
#define GCACHE_MEMORY_BYTES_DEFAULT ((size_t)64 << 20)
/* An insert waits for it: 100 kB of machine code take 0.15 ms, at level 3 three times as long for a twentieth fewer bytes.
   Decompression speed hardly depends on it. */
#define GCACHE_COMPRESSION_DEFAULT 1

/*
 * Opens a cache directory and makes it if it isn't there (mode 0700). options may be NULL.
 * GCACHE_OK; ERROR_ARGUMENT: also an existing directory that is neither empty nor a cache; ERROR_NOT_FOUND: read_only, and it
 * isn't there; ERROR_FORMAT: of a newer version; ERROR_UNTRUSTED: options.trust forbids it, the message says why, or it is any
 * without require_signature; ERROR_READ_ONLY, ERROR_NO_SPACE, ERROR_IO: it can't be made; ERROR_MEMORY. Close with gcache_close
 * (NULL is accepted), after all results.
 */
GCACHE_API gcache_status gcache_open(char const *directory, gcache_options const *options, gcache **out_cache,
                                     gcache_error *error);
GCACHE_API void gcache_close(gcache *cache);

/* ---- lookup ---- */

typedef struct gcache_pair {
    char const *name;
    char const *value;
} gcache_pair;

/*
 * A caller's own test in place of guard evaluation: says whether a candidate with these guards (as they were stored) is
 * welcome. For a cache behind another cache, which knows the very entry it wants. Called in rank order, by the thread
 * of the lookup, while no lock is held; a candidate that isn't welcome counts as guard_false.
 */
typedef bool (*gcache_guard_test_fn)(void *state, char const *const *guards, size_t count);

/* What a lookup asks for besides graph and hints. Borrowed during the call. */
typedef struct gcache_request {
    size_t size;                 /* set by GCACHE_REQUEST_INIT */
    char const *variant;         /* only candidates of this variant; NULL: any */
    char const *expect_variant;  /* prefer this variant; a hit on another one says so in note */
    gcache_pair const *provides; /* what candidates' requirements are compared with */
    size_t provides_count;
    bool accept_renames;         /* candidates whose producer used other names are welcome: the caller renames by
                                    result.renames what it loads. false: those that differ in the name of a symbol, or of
                                    what a rule left out of a text (gcache_graph_text_names), are skipped: reason names */
    char const *label;           /* whose lookup it is, for explain: "train.py:88 forward" */
    gcache_pair const *sources;  /* hints in the words of the user's program, for explain: "t0", "x.size(0)"; what isn't here
                                    is taken from the description as far as it says. Inputs too: "inputs[2]", "x" */
    size_t sources_count;
    gcache_guard_test_fn guard_test; /* NULL: guards are evaluated */
    void *guard_test_state;
    char const *bypass;              /* why this can't be cached: a miss with reason bypass, and no lease; NULL: it can */
    bool probe;                      /* only whether something holds: the payload is neither read nor handed out */
    char const *place;               /* put the winner's attachments in place below this directory, as gcache_place does; a
                                        candidate that has a damaged one is passed over. NULL: leave them */
    char const *why_asked;           /* why the caller's compiler compiles at all, as it says, a reason a line; for explain,
                                        which puts it above its own: "x.size(0) was 8, then 9: became dynamic". NULL: unsaid */
} gcache_request;

#define GCACHE_REQUEST_INIT { .size = sizeof(gcache_request) }

/*
 * A named file that belongs to an entry: what running the payload needs (a shared object, a kernel). Kept once by
 * content, verified when it is put in place.
 */
typedef struct gcache_attachment {
    char const *name;  /* a relative path without "..": its place below the directory given to gcache_place */
    void const *bytes; /* at insert; NULL in a result */
    uint64_t size;
    bool executable;
} gcache_attachment;

/* The longest part of such a name between slashes: Linux's file systems take no longer one (NAME_MAX). */
#define GCACHE_ATTACHMENT_PART_MAX 255
/* A whole name with its zero: three quarters of a path (PATH_MAX) are left to the directory it is put below. */
#define GCACHE_ATTACHMENT_NAME_SIZE 1024

/* How far compiling moved one of the caller's counters: recorded with an entry, handed back on a hit to be applied again. */
typedef struct gcache_delta {
    char const *name;
    int64_t value;
} gcache_delta;

#define GCACHE_ENTRY_ID_SIZE 33 /* 32 hex digits and the terminating zero */

/* A symbol, or something that a text names, as the winner's producer called it and as the caller calls it. */
typedef struct gcache_rename {
    char const *stored;
    char const *current;
} gcache_rename;

typedef struct gcache_result {
    size_t size;                  /* set by GCACHE_RESULT_INIT */
    gcache_status outcome;        /* GCACHE_HIT or GCACHE_MISS */
    gcache_reason reason;         /* of a miss */
    gcache_key key;
    char entry[GCACHE_ENTRY_ID_SIZE]; /* of a hit */
    void const *payload;          /* verified bytes, valid until gcache_result_clear, after eviction too */
    size_t payload_size;
    void const *metadata;
    size_t metadata_size;
    char const *const *guards;    /* the winner's guards in the caller's names, to be added to the caller's context */
    size_t guard_count;
    gcache_rename const *renames; /* stored -> current for every symbol of the description, then for every name in its texts */
    size_t rename_count;
    bool renamed;                 /* at least one name differs */
    char const *variant;          /* "" if none */
    int64_t priority;
    uint64_t compile_ns;          /* what the hit saved */
    char const *note;             /* "" or a remark: the expected variant is missing, why a compile isn't stored */
    gcache_status stored;         /* of a compile: what storing it returned; OK too where that wasn't tried */
    gcache_attachment const *attachments; /* what gcache_place would put in place */
    size_t attachment_count;
    gcache_delta const *deltas;   /* of the compile that the hit stands for */
    size_t delta_count;
    void *owner, *candidates;     /* private */
    char const *tier;             /* of a hit: "memory", "local", or the URL, without credentials, of the tier that had it. Valid
                                     as long as the cache is open */
    gcache_reason local_reason;   /* of a miss for remote_timeout or remote_unavailable: what the reason would be if that tier
                                     had nothing; else NONE */
} gcache_result;

#define GCACHE_RESULT_INIT { .size = sizeof(gcache_result) }

/*
 * Looks a graph up: in memory, in the directory, then in each tier (gcache_options.tiers), until something holds. A tier that
 * is in trouble delays it by its time-out at most. *out_result begins as GCACHE_RESULT_INIT, or as gcache_result_clear left it;
 * clear it
 * whatever the outcome. hints may be NULL (no hints), request may be NULL.
 * GCACHE_HIT or GCACHE_MISS; ERROR_ARGUMENT, ERROR_MEMORY; ERROR_NO_SPACE, ERROR_READ_ONLY, ERROR_IO: request->place can't be
 * written to (the message says what is in the way); other errors only if options.strict.
 */
GCACHE_API gcache_status gcache_lookup_with(gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                                            gcache_request const *request, gcache_result *out_result, gcache_error *error);
GCACHE_API gcache_status gcache_lookup(gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                                       gcache_result *out_result, gcache_error *error);
GCACHE_API void gcache_result_clear(gcache_result *result);

/*
 * Puts the attachments of a hit in place below directory (made if need be), each atomically; an equal file is left alone.
 * GCACHE_OK; ERROR_NOT_FOUND, ERROR_CORRUPT: one is gone or damaged, so the hit is worth no more than its payload, and the
 * entry was put aside: the next lookup finds another candidate, or misses; ERROR_ARGUMENT, ERROR_LIMIT: a stored name leads
 * out of the directory, or no file system takes it; ERROR_NO_SPACE, ERROR_READ_ONLY, ERROR_IO: the directory can't be written
 * to (the message says what is in the way); ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_place(gcache *cache, gcache_result const *result, char const *directory,
                                      gcache_error *error);

/*
 * As gcache_place, of one attachment alone.
 * GCACHE_OK; ERROR_NOT_FOUND, ERROR_CORRUPT, ERROR_LIMIT, ERROR_NO_SPACE, ERROR_READ_ONLY, ERROR_IO, ERROR_MEMORY: as there;
 * ERROR_ARGUMENT also for a name that the hit hasn't.
 */
GCACHE_API gcache_status gcache_place_one(gcache *cache, gcache_result const *result, char const *name, char const *directory,
                                          gcache_error *error);

/*
 * The verified bytes of one of a hit's attachments, for callers that need no file: what several entries share and would
 * otherwise have in each payload. *out_bytes is freed with gcache_free; NULL unless GCACHE_OK.
 * GCACHE_OK; ERROR_NOT_FOUND, ERROR_CORRUPT: it is gone or damaged, and the entry was put aside as by gcache_place;
 * ERROR_ARGUMENT (also a name that the hit hasn't), ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_attachment_get(gcache *cache, gcache_result const *result, char const *name, void **out_bytes,
                                               size_t *out_size, gcache_error *error);

/* ---- insert ---- */

/* One compiled variant. Borrowed during the call. */
typedef struct gcache_entry {
    size_t size;               /* set by GCACHE_ENTRY_INIT */
    char const *const *guards; /* all must hold; none: unconditional */
    size_t guard_count;
    void const *payload;
    size_t payload_size;
    void const *metadata;      /* opaque, small; handed back with a hit */
    size_t metadata_size;
    char const *variant;       /* NULL: none */
    int64_t priority;          /* higher is preferred */
    gcache_pair const *requires_; /* must equal the caller's `provides` at lookup */
    size_t requires_count;
    uint64_t compile_ns;       /* what compiling took */
    char const *label;         /* whose compile it was; NULL: none */
    void const *identity;      /* entries are equal if guards, requirements, variant and this are; NULL: the payload. */
    size_t identity_size;      /* For payloads with volatile parts: timings, addresses */
    gcache_attachment const *attachments;
    size_t attachment_count;
    gcache_delta const *deltas;
    size_t delta_count;
} gcache_entry;

#define GCACHE_ENTRY_INIT { .size = sizeof(gcache_entry) }

typedef struct gcache_inserted {
    size_t size;           /* set by GCACHE_INSERTED_INIT */
    gcache_status outcome; /* GCACHE_OK or GCACHE_REFUSED */
    gcache_reason reason;  /* of a refusal */
    gcache_key key;
    char entry[GCACHE_ENTRY_ID_SIZE];
    bool existed;          /* an equal entry was there already, and stays as it was */
    gcache_verdict verdict; /* of the guards for hints, where hints were given */
    char shadows[GCACHE_ENTRY_ID_SIZE]; /* an older entry that differs in its payload alone, so that no lookup will choose
                                           it any more; "" if there is none */
} gcache_inserted;

#define GCACHE_INSERTED_INIT { .size = sizeof(gcache_inserted) }

/*
 * Stores a variant. With hints, the guards must hold for them, else it is refused (guard_false, guard_error); hints
 * NULL stores unevaluated. An equal entry is stored once (with refresh anew, as the newest). out_inserted may be NULL.
 * GCACHE_OK; GCACHE_REFUSED: by a guard, or because nothing is cached (disabled, bypass);
 * ERROR_ARGUMENT (also attachments that can't be put in place: a name that leads out of a directory, or is another's too, or
 * that of the folder of another), ERROR_SYNTAX (a guard), ERROR_DESCRIPTION (what only shows when a description is normalised),
 * ERROR_LIMIT (also an attachment's name that is too long), ERROR_READ_ONLY (also a handle that requires signatures and has no
 * key that signs), ERROR_FORMAT (a newer version of guardcache has stored under the key too), ERROR_UNTRUSTED (what is stored
 * under the key belongs to somebody else), ERROR_BUSY (the key's lock is held for too long), ERROR_NO_SPACE, ERROR_IO,
 * ERROR_MEMORY.
 * Nothing is left half written.
 */
GCACHE_API gcache_status gcache_insert(gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                                       gcache_entry const *entry, gcache_inserted *out_inserted, gcache_error *error);

/* ---- explain ---- */

typedef enum gcache_explain_form {
    GCACHE_EXPLAIN_TEXT, /* for people, at most 25 lines */
    GCACHE_EXPLAIN_ALL,  /* for people, everything */
    GCACHE_EXPLAIN_JSON, /* one object on one line */
    GCACHE_EXPLAIN_HTML  /* a page of HTML that stands alone: no scripts, no network */
} gcache_explain_form;

/*
 * Does a lookup with every step recorded and says why it hits or misses: the same code as gcache_lookup, run to the end.
 * *out_text is zero-terminated UTF-8, freed with gcache_free. GCACHE_HIT or GCACHE_MISS;
 * ERROR_ARGUMENT, ERROR_MEMORY, the description's own error; trouble with the store is part of the text.
 */
GCACHE_API gcache_status gcache_explain(gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                                        gcache_request const *request, gcache_explain_form form, char **out_text,
                                        gcache_error *error);

/* ---- look around ---- */

/* What an entry says about itself. Everything in it is valid during the callback only. */
typedef struct gcache_entry_view {
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE];
    char const *kind;
    char const *const *guards;
    size_t guard_count;
    gcache_pair const *requires_;
    size_t requires_count;
    char const *variant;
    int64_t priority;
    uint64_t sequence;      /* newer is larger, within the key */
    uint64_t compile_ns;
    uint64_t created_ns;    /* since 1970, UTC */
    uint64_t payload_size;  /* of the payload as the caller gave it */
    uint64_t stored_size;   /* in bytes on disk */
    void const *metadata;
    size_t metadata_size;
    char const *label;
    char const *shadowed_by; /* of gcache_each_shadowed: the id of the entry that is chosen instead; else NULL */
} gcache_entry_view;

/* Returning anything but 0 ends the iteration. */
typedef int (*gcache_entry_fn)(void *state, gcache_entry_view const *entry);

/*
 * Calls fn for every stored entry, keys in order, candidates in rank order. key NULL: all keys.
 * GCACHE_OK also if fn ended it; ERROR_IO. Damaged files are skipped (gcache_verify of maintenance.h reports them). With
 * options.disabled the directory is looked at all the same, if it is there; then also what gcache_open returns.
 */
GCACHE_API gcache_status gcache_each_entry(gcache *cache, gcache_key const *key, gcache_entry_fn fn, void *state,
                                           gcache_error *error);

/*
 * The same for entries that no lookup with integer hints will choose: whenever their guards hold, those of an entry that is
 * tried before them do. Reported as far as bounds, equalities and remainders in the guards decide it.
 * GCACHE_OK, ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_each_shadowed(gcache *cache, gcache_key const *key, gcache_entry_fn fn, void *state,
                                              gcache_error *error);

/*
 * Reads one entry by its id, whatever its guards: for tools that look into a cache. It isn't a lookup: nothing is counted,
 * no recency changes. *out_result begins as GCACHE_RESULT_INIT and is set as for a hit (renames are empty); clear it whatever
 * the outcome. GCACHE_HIT, ERROR_NOT_FOUND, ERROR_CORRUPT (the bytes don't verify), ERROR_BUSY (it is renewed again and again),
 * ERROR_ARGUMENT, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_read_entry(gcache *cache, gcache_key const *key, char const *entry,
                                           gcache_result *out_result, gcache_error *error);

/* One side of a comparison: a description, or, where that is NULL, a key that the cache holds. */
typedef struct gcache_subject {
    size_t size; /* set by GCACHE_SUBJECT_INIT */
    gcache_graph *graph;
    gcache_key key;
} gcache_subject;

#define GCACHE_SUBJECT_INIT { .size = sizeof(gcache_subject) }

/*
 * How two descriptions differ: which components, then the exact paths, as gcache_diff writes them; for keys that somebody
 * else computed, which component lines, and two that differ in none differ in "key". Text begins with a line that counts
 * and names the equal components, and is empty if all is equal; JSON has "components" beside gcache_diff's members: name ->
 * "equal", "differs", or the side that alone has it. At most max_items differences are written (0: 50) and all are counted.
 * cache may be NULL if both sides are descriptions. *out_text is freed with gcache_free; *out_count may be NULL.
 * GCACHE_OK, GCACHE_REFUSED (a description is a bypass), ERROR_NOT_FOUND (nothing is stored under a key), ERROR_ARGUMENT (a
 * canonical form against component lines), ERROR_CORRUPT, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_compare(gcache *cache, gcache_subject const *stored, gcache_subject const *asked,
                                        size_t max_items, gcache_diff_form form, char **out_text, size_t *out_count,
                                        gcache_error *error);

/*
 * Takes an entry out of the cache, as eviction does: that it was there stays known, for explain. It is taken out of every tier
 * that is written to, too, in the background as inserts go there; from others a lookup brings it back.
 * GCACHE_OK, ERROR_NOT_FOUND, ERROR_READ_ONLY, ERROR_FORMAT (a newer version of guardcache has stored under the key too: it
 * would lose that), ERROR_BUSY, ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_remove(gcache *cache, gcache_key const *key, char const *entry, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
