/*
 * guardcache/tuning.h - what tuning found out: timings of choices, best configurations of kernels, bundles of those.
 *
 * Three tables, all kept in the cache directory and safe among processes: concurrent updates are never lost. They hold facts
 * about a machine and a toolchain, which the caller names: facts of another one are another's. Where nothing is cached
 * (disabled, bypass) nothing is found and nothing stored; with refresh nothing is found.
 *
 * Strings are UTF-8, or the call fails with ERROR_ARGUMENT (only sources, and what begins their comments, may be any bytes), and
 * are compared byte by byte. Threads and processes: as in cache.h.
 */
#ifndef GUARDCACHE_TUNING_H
#define GUARDCACHE_TUNING_H

#include <guardcache/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- timings: op, inputs, precision, choice -> timing ---- */

/* What is tuned. NULL counts as "". */
typedef struct gcache_site {
    size_t size;           /* set by GCACHE_SITE_INIT */
    char const *system;    /* whose timings these are: device and versions, or a hash of them */
    char const *op;        /* "mm" */
    char const *inputs;    /* "(float32, 128x64), (float32, 64x32)" */
    char const *hint;      /* part of the inputs: a size that was assumed in place of the present one; NULL: none */
    char const *precision; /* "highest" */
} gcache_site;

#define GCACHE_SITE_INIT { .size = sizeof(gcache_site) }

/*
 * Measures all choices: out_timings[i] is for choices[i], in a unit of the caller's, smaller is better; infinity: it can't
 * run. Returns GCACHE_OK, or a negative status with *error set: nothing is stored then.
 */
typedef gcache_status (*gcache_benchmark_fn)(void *state, char const *const *choices, size_t count, double *out_timings,
                                             gcache_error *error);

typedef struct gcache_timings {
    size_t size;            /* set by GCACHE_TIMINGS_INIT */
    double *timings;        /* in: room for one a choice; NaN where there is none */
    size_t known;           /* choices for which the table had one */
    bool measured;          /* by the benchmark function, just now */
    char why[256];          /* of a miss, for people: "1 of 5 choices is unknown: triton_mm_3"; else "" */
} gcache_timings;

#define GCACHE_TIMINGS_INIT { .size = sizeof(gcache_timings) }

/*
 * The timings of all choices, or none: unless every choice is known, all are measured again, by one process for all who ask,
 * and stored. Without a benchmark function a miss stores nothing.
 * GCACHE_HIT: all known; GCACHE_MISS: timings->measured says whether they are there now; the benchmark's error;
 * ERROR_ARGUMENT, ERROR_MEMORY. Trouble with the table is a miss.
 */
GCACHE_API gcache_status gcache_timings_get(gcache *cache, gcache_site const *site, char const *const *choices, size_t count,
                                            gcache_benchmark_fn benchmark, void *state, gcache_timings *timings,
                                            gcache_error *error);

/* Adds or replaces timings. GCACHE_OK; GCACHE_REFUSED: nothing is cached (disabled, bypass); ERROR_ARGUMENT: a timing that is
   NaN; ERROR_READ_ONLY, ERROR_BUSY, ERROR_NO_SPACE, ERROR_IO, ERROR_MEMORY. */
GCACHE_API gcache_status gcache_timings_put(gcache *cache, gcache_site const *site, char const *const *choices,
                                            double const *timings, size_t count, gcache_error *error);

typedef int (*gcache_timing_fn)(void *state, gcache_site const *site, char const *choice, double timing, uint64_t at_ns);

/* Calls fn for every timing in order; anything but 0 ends it. GCACHE_OK, ERROR_BUSY, ERROR_CORRUPT, ERROR_IO, ERROR_MEMORY. */
GCACHE_API gcache_status gcache_timings_each(gcache *cache, gcache_timing_fn fn, void *state, gcache_error *error);

/* ---- best configurations ---- */

/* Named parameters, such as a block size or a number of warps; values as text. */
typedef struct gcache_config {
    gcache_pair const *parameters;
    size_t count;
} gcache_config;

/* Which kernel. NULL counts as "". */
typedef struct gcache_kernel {
    size_t size;             /* set by GCACHE_KERNEL_INIT */
    char const *source_hash; /* of the kernel's source */
    char const *tag;         /* a tag that its users set to keep caches apart */
    char const *toolchain;   /* fingerprint of what compiles it */
    char const *backend;     /* hash of the compiler's back end: records go to tiers, and come from them, only with one. No part of
                                the kernel's name here */
} gcache_kernel;

#define GCACHE_KERNEL_INIT { .size = sizeof(gcache_kernel) }

/* What tuning found. */
typedef struct gcache_best {
    size_t size;              /* set by GCACHE_BEST_INIT */
    gcache_config config;     /* every parameter, those besides the tuned ones too */
    char const *configs_hash; /* of the configurations it was chosen among */
    bool by_descent;          /* found by coordinate descent: perhaps none of those */
    uint64_t tuning_ns;       /* what finding it took */
    char const *kernel_hash;  /* of the compiled kernel; "" if unknown */
} gcache_best;

#define GCACHE_BEST_INIT { .size = sizeof(gcache_best) }

/* Keeps a kernel's record, in place of the one there is. GCACHE_OK; GCACHE_REFUSED: nothing is cached (disabled, bypass);
   ERROR_ARGUMENT, ERROR_READ_ONLY, ERROR_BUSY, ERROR_NO_SPACE, ERROR_IO, ERROR_MEMORY. */
GCACHE_API gcache_status gcache_best_put(gcache *cache, gcache_kernel const *kernel, gcache_best const *best,
                                         gcache_error *error);

/* Why a record is or isn't used: name, word, text. */
#define GCACHE_BEST_MAP(X)                                                                            \
    X(USED, "used", "exactly one of the offered configurations matches the record")                   \
    X(DESCENT, "descent", "found by coordinate descent: a configuration of its own")                  \
    X(NO_RECORD, "no_record", "nothing is known about this kernel")                                   \
    X(CONFIGS_HASH, "configs_hash", "the record was chosen among other configurations")               \
    X(NO_MATCH, "no_match", "none of the offered configurations matches the record")                  \
    X(SEVERAL_MATCH, "several_match", "more than one of the offered configurations match the record") \
    X(UNREADABLE, "unreadable", "the record can't be read")

typedef enum gcache_best_verdict {
#define X(name, word, text) GCACHE_BEST_##name,
    GCACHE_BEST_MAP(X)
#undef X
} gcache_best_verdict;

/* The word for a verdict ("several_match") and one sentence about it, "?" if unknown. Static storage. */
GCACHE_API char const *gcache_best_verdict_name(gcache_best_verdict verdict);
GCACHE_API char const *gcache_best_verdict_text(gcache_best_verdict verdict);

typedef struct gcache_best_found {
    size_t size;              /* set by GCACHE_BEST_FOUND_INIT */
    gcache_best_verdict verdict;
    size_t index;             /* USED: of the offered configuration */
    gcache_best record;       /* whenever there is one, also if it can't be used; DESCENT: its config is the answer */
    size_t matches;           /* how many of the offered ones match */
    char const *why;          /* one line for people, both sides of the comparison; "" if used */
    void *owner;              /* private */
} gcache_best_found;

#define GCACHE_BEST_FOUND_INIT { .size = sizeof(gcache_best_found) }

/*
 * Finds the kernel's best configuration among those offered. A record may be used only if its configs_hash is the caller's
 * and exactly one offered configuration matches it in every parameter the configuration has. allow_descent: a record that
 * coordinate descent found gives a configuration of its own, whatever is offered.
 * What the directory doesn't have, or has of other configurations, is looked for in the tiers (gcache_options.tiers), under
 * the kernel's backend and configs_hash; what is found there is kept here.
 * GCACHE_HIT, GCACHE_MISS (verdict says why), ERROR_ARGUMENT, ERROR_MEMORY. Clear *out_found whatever the outcome.
 */
GCACHE_API gcache_status gcache_best_find(gcache *cache, gcache_kernel const *kernel, gcache_config const *offered,
                                          size_t count, char const *configs_hash, bool allow_descent,
                                          gcache_best_found *out_found, gcache_error *error);
GCACHE_API void gcache_best_found_clear(gcache_best_found *found);

typedef int (*gcache_best_fn)(void *state, gcache_kernel const *kernel, gcache_best const *best, uint64_t at_ns);

/* Calls fn for every record in order; anything but 0 ends it. Unreadable ones are skipped.
   GCACHE_OK, ERROR_ARGUMENT, ERROR_BUSY, ERROR_CORRUPT, ERROR_IO, ERROR_MEMORY. */
GCACHE_API gcache_status gcache_best_each(gcache *cache, gcache_best_fn fn, void *state, gcache_error *error);

/* ---- bundles: the records of one compile ---- */

typedef struct gcache_bundle_options {
    size_t size;             /* set by GCACHE_BUNDLE_OPTIONS_INIT */
    char const *source;      /* what is compiled: its hash without comments names the bundle; or */
    char const *source_hash; /* that hash; exactly one of the two */
    char const *comment;     /* what begins a comment that ends with its line; NULL: "#". "" : there are none */
    char const *backend;     /* hash of the compiler's back end; without one bundles aren't shared through tiers */
    char const *extra;       /* mixed into the bundle's name; NULL: "" */
} gcache_bundle_options;

#define GCACHE_BUNDLE_OPTIONS_INIT { .size = sizeof(gcache_bundle_options) }

typedef struct gcache_bundle_loaded {
    size_t size;       /* set by GCACHE_BUNDLE_LOADED_INIT */
    size_t records;
    uint64_t saved_ns; /* what finding them had taken: by so much this process is ahead of those without a bundle */
} gcache_bundle_loaded;

#define GCACHE_BUNDLE_LOADED_INIT { .size = sizeof(gcache_bundle_loaded) }

/*
 * Begins a compile. GCACHE_HIT: a bundle was there, all its records can be found now, in place of older ones of their kernels,
 * and nothing is collected. GCACHE_MISS: every record put or found through this handle is collected until gcache_bundle_end.
 * out_loaded may be NULL.
 * ERROR_ARGUMENT: one is open already; both or neither of source and hash; ERROR_MEMORY; with gcache_options.strict also what
 * gcache_timings_put returns.
 */
GCACHE_API gcache_status gcache_bundle_begin(gcache *cache, gcache_bundle_options const *options,
                                             gcache_bundle_loaded *out_loaded, gcache_error *error);

/* Stores what was collected as one bundle, unless it is nothing. Without an open bundle it does nothing. GCACHE_OK, and what
   gcache_timings_put returns; the bundle is closed whatever the outcome. */
GCACHE_API gcache_status gcache_bundle_end(gcache *cache, gcache_error *error);

/* The hash of a source without comments: quoted text is kept whole. GCACHE_OK, ERROR_MEMORY. */
GCACHE_API gcache_status gcache_source_hash(char const *source, char const *comment, gcache_key *out_hash,
                                            gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
