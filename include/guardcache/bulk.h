/*
 * guardcache/bulk.h - many modules at once: look each up, compile the misses in parallel.
 *
 * For compilers that hand over a program in pieces (a module a function, a kernel a file): a pool of threads takes the
 * modules from a queue, and each goes through gcache_get_or_compile. Modules that are equal are compiled once.
 *
 * Threads: the calling thread works too and the others end before the call returns. The compile callback runs on all of them
 * at once. What was compiled is stored in batches by one more thread, so that the modules share the wait for the disk; it
 * and the workers call progress, the listener and the log, but no two of them progress at once.
 */
#ifndef GUARDCACHE_BULK_H
#define GUARDCACHE_BULK_H

#include <guardcache/compile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of many. The caller initialises it and sets the first group, the call sets the second. */
typedef struct gcache_module {
    size_t size;                /* set by GCACHE_MODULE_INIT */
    gcache_graph *graph;
    gcache_hints const *hints;  /* may be NULL */
    char const *bypass;         /* why this one can't be cached (another kind of output); NULL: it can */
    void *state;                /* for the compile callback */

    bool done;                  /* false: cancelled before its turn came; then there is nothing to clear */
    gcache_status status;       /* as gcache_get_or_compile returns it */
    gcache_result result;       /* payload, renames for the link step, note; clear it with gcache_result_clear */
    gcache_error error;         /* if status is negative */
} gcache_module;

#define GCACHE_MODULE_INIT { .size = sizeof(gcache_module) }

typedef struct gcache_many_summary {
    size_t size;                /* set by GCACHE_MANY_SUMMARY_INIT */
    size_t modules, hits, compiled, failed;
    size_t stored;              /* of those compiled */
    size_t cancelled;           /* modules that weren't begun */
    uint64_t compile_ns;        /* spent on compiling, summed over the modules */
    uint64_t saved_ns;          /* what compiling the hits had taken */
    uint64_t elapsed_ns;        /* from the call to its end */
} gcache_many_summary;

#define GCACHE_MANY_SUMMARY_INIT { .size = sizeof(gcache_many_summary) }

/* After each module, with the sums so far; calls don't overlap. false: begin no more modules. */
typedef bool (*gcache_many_progress_fn)(void *state, gcache_many_summary const *so_far);

typedef struct gcache_many_options {
    size_t size;                             /* set by GCACHE_MANY_OPTIONS_INIT */
    gcache_compile_options const *each;      /* for every module; NULL: defaults */
    unsigned workers;                        /* threads, the caller's included; 0: one a processor */
    gcache_many_progress_fn progress;        /* NULL: none */
    void *progress_state;
    /* Asked by the calling thread while it waits for the other threads, some twenty times a second, with progress_state; false:
       begin no more modules. What waits for others' compiles asks each->keep_waiting. NULL: nobody is asked */
    bool (*keep_waiting)(void *state);
} gcache_many_options;

#define GCACHE_MANY_OPTIONS_INIT { .size = sizeof(gcache_many_options) }

/* More threads than this wait for each other and not for the compiler. */
#define GCACHE_MANY_WORKERS_MAX 1024

/*
 * Results stand in the modules, in the order they came in. options and out_summary may be NULL. GCACHE_OK: every module that
 * was begun has its code; otherwise the status and error of the first one, by order, that failed: the others are done all
 * the same. ERROR_ARGUMENT, ERROR_MEMORY: nothing was begun.
 */
GCACHE_API gcache_status gcache_compile_many(gcache *cache, gcache_module *modules, size_t count,
                                             gcache_many_options const *options, gcache_compile_fn compile,
                                             gcache_many_summary *out_summary, gcache_error *error);

#define GCACHE_MANY_LINE_SIZE 160

/* Writes "2,000 modules, 1,990 hits (99.5 %), compiled in 1.2 s, saved 41.0 s", zero-terminated, cut to size bytes. */
GCACHE_API void gcache_many_line(gcache_many_summary const *summary, char *out_line, size_t size);

#ifdef __cplusplus
}
#endif
#endif
