/*
 * guardcache/maintenance.h - verification, repair, garbage collection, and the facts a doctor asks for.
 *
 * Lookups and inserts need none of this: the cache keeps itself below its cap, puts damage aside when it meets it, and
 * forgets what is old. These functions do the same for everything at once, when the caller wants it, and report it.
 *
 * Threads: as in cache.h. Callbacks of one call never overlap.
 */
#ifndef GUARDCACHE_MAINTENANCE_H
#define GUARDCACHE_MAINTENANCE_H

#include <guardcache/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- verification and repair ---- */

/* One finding of gcache_verify: a path inside the cache directory and what is wrong with it. */
typedef void (*gcache_problem_fn)(void *state, char const *path, char const *problem);

typedef struct gcache_maintenance_options {
    size_t size;                  /* set by GCACHE_MAINTENANCE_OPTIONS_INIT */
    gcache_problem_fn problem;    /* one call a finding; NULL: only count them */
    gcache_progress_fn progress;  /* NULL: nobody watches */
    void *state;                  /* for both */
    int threads;                  /* gcache_verify: at most so many, 0 is one. They end with the call. */
} gcache_maintenance_options;

#define GCACHE_MAINTENANCE_OPTIONS_INIT { .size = sizeof(gcache_maintenance_options) }

typedef struct gcache_verified {
    size_t size; /* set by GCACHE_VERIFIED_INIT */
    uint64_t keys, entries, bytes, problems;
} gcache_verified;

#define GCACHE_VERIFIED_INIT { .size = sizeof(gcache_verified) }

/*
 * Reads every file and checks it against its checksums and the indexes, and the indexes against the files: an entry that
 * index.db knows and no file holds is a problem too. Changes nothing; others may use the cache meanwhile. GCACHE_OK also if
 * there are problems; ERROR_IO. options and out_verified may be NULL.
 * GCACHE_REFUSED: the cache is switched off (options.disabled), so nothing was looked at. The same holds for repair and gc.
 */
GCACHE_API gcache_status gcache_verify(gcache *cache, gcache_maintenance_options const *options,
                                       gcache_verified *out_verified, gcache_error *error);

typedef struct gcache_repaired {
    size_t size;            /* set by GCACHE_REPAIRED_INIT */
    uint64_t keys, entries; /* that are there now */
    uint64_t quarantined;   /* files and records that were no good and lie in quarantine/ now */
    uint64_t recovered;     /* entries that no index knew of */
    uint64_t lost;          /* entries that an index knew of and no file holds any more */
} gcache_repaired;

#define GCACHE_REPAIRED_INIT { .size = sizeof(gcache_repaired) }

/*
 * Rebuilds every candidate index and index.db from the entries alone. What is damaged is moved to quarantine/, and so is what
 * stands in the place of something else; nothing is deleted. Afterwards gcache_verify finds nothing, and what was lost can be
 * stored again. What isn't trusted for its owner or mode stays as it is, and so do its findings: doctor says what to do; so does
 * what a newer version of guardcache wrote. Others may go on using the cache meanwhile. options and out_repaired may be NULL.
 * GCACHE_OK, GCACHE_REFUSED, ERROR_ARGUMENT, ERROR_READ_ONLY, ERROR_BUSY, ERROR_IO, ERROR_NO_SPACE, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_repair(gcache *cache, gcache_maintenance_options const *options,
                                       gcache_repaired *out_repaired, gcache_error *error);

/* ---- collection ---- */

typedef struct gcache_gc_options {
    size_t size;           /* set by GCACHE_GC_OPTIONS_INIT */
    bool dry_run;          /* tell what would go, change nothing */
    uint64_t target_bytes; /* evict the longest unused down to this; 0: nine tenths of the cap */
    uint64_t max_age_ns;   /* evict what has been unused for longer; 0: keep */
    char const *namespace_; /* evict this namespace whole; NULL: none */
    void (*victim)(void *state, gcache_key const *key, char const *entry, uint64_t bytes); /* each that goes; or NULL */
    void *state;                 /* of both */
    gcache_progress_fn progress; /* entries of a namespace or of an age, then bytes down to the target; NULL: nobody watches */
} gcache_gc_options;

#define GCACHE_GC_OPTIONS_INIT { .size = sizeof(gcache_gc_options) }

typedef struct gcache_collected {
    size_t size;             /* set by GCACHE_COLLECTED_INIT */
    uint64_t entries, bytes; /* evicted, or that would be */
    uint64_t attachments;    /* that no entry needs any more */
    uint64_t stray;          /* left-over temporary files */
    uint64_t left_bytes;
} gcache_collected;

#define GCACHE_COLLECTED_INIT { .size = sizeof(gcache_collected) }

/*
 * Evicts by namespace, age and size, in that order; removes attachments that no entry has named for six hours, and
 * temporary files older than one. What is evicted is remembered, so that a miss can say so. options and out_collected may be NULL.
 * GCACHE_OK, GCACHE_REFUSED, ERROR_ARGUMENT, ERROR_READ_ONLY, ERROR_BUSY (somebody else is at it), ERROR_IO, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_gc(gcache *cache, gcache_gc_options const *options, gcache_collected *out_collected,
                                   gcache_error *error);

/* ---- doctor ---- */

/* One fact: what it is about, what is the case, and what should be done about it (NULL: nothing). */
typedef void (*gcache_fact_fn)(void *state, char const *name, char const *value, char const *warning);

/* Tells versions, place, permissions, free space, sizes and limits. GCACHE_OK or ERROR_ARGUMENT. */
GCACHE_API gcache_status gcache_doctor(gcache *cache, gcache_fact_fn fn, void *state, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
