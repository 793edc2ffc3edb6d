/*
 * guardcache/compile.h - look up or compile, in one call, once among all threads and processes.
 *
 * The call looks the graph up; on a miss it takes a lease, so that others who want the same wait for it, looks again,
 * compiles through the caller's callback, times it, stores the result if nothing speaks against it, and hands it out.
 * Whatever the cache can't do (a full disk, a lease nobody gives back) costs the caching, never the compile.
 *
 * Threads: as in cache.h. The callback runs in the calling thread, while the lease is held but no lock of the library.
 * A callback that asks for the very same graph and hints again gets GCACHE_ERROR_ARGUMENT instead of a deadlock.
 */
#ifndef GUARDCACHE_COMPILE_H
#define GUARDCACHE_COMPILE_H

#include <guardcache/cache.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a compile produced. A callback gets one with an entry to fill in. */
typedef struct gcache_compiled {
    size_t size;                 /* set by GCACHE_COMPILED_INIT */
    gcache_entry *entry;         /* compile_ns 0: the time the callback took */
    char const *do_not_store;    /* why the result must not be kept ("it calls back into this process"); NULL: keep it */
    /* Frees what entry points to: called once, when the result is cleared or the call fails. NULL: nothing to free. */
    void (*release)(void *state, struct gcache_compiled *compiled);
    gcache_pair const *options;  /* in: those of the variant to compile */
    size_t option_count;
} gcache_compiled;

#define GCACHE_COMPILED_INIT { .size = sizeof(gcache_compiled) }

/*
 * What a miss is compiled as. Variants of a graph lie side by side under its key; which one a lookup gets is said by
 * gcache_request (variant: that one or none; expect_variant: that one rather than another; neither: by priority, so that a
 * plain one never hides a better one that was given a higher priority).
 */
typedef struct gcache_variant {
    size_t size;                /* set by GCACHE_VARIANT_INIT */
    char const *label;          /* NULL: the plain one */
    int64_t priority;
    gcache_pair const *options; /* what this variant is compiled with besides; for the callback, no part of the key */
    size_t option_count;
} gcache_variant;

#define GCACHE_VARIANT_INIT { .size = sizeof(gcache_variant) }

/*
 * Compiles. *out_compiled and its entry are initialised before; entry->variant and entry->priority are those of
 * options.variant, and so are its options. Returns GCACHE_OK, or a negative status with *error set: nothing is stored then,
 * waiters are released and find out for themselves, and gcache_get_or_compile returns that very status and error.
 */
typedef gcache_status (*gcache_compile_fn)(void *state, gcache_graph *graph, gcache_hints const *hints,
                                           gcache_compiled *out_compiled, gcache_error *error);

/* Called with a hit before it is handed out; false turns it into a miss (the artifact it refers to has vanished). */
typedef bool (*gcache_post_load_fn)(void *state, gcache_result const *hit);

/*
 * Processes that decide alike: all that give the same group get the same outcome for the same question (graph, hints, variant),
 * on one host or, through the first tier that can share values, on many. One of them looks up or compiles, the others take its
 * answer, whoever dies meanwhile; a lookup by each of them could hit here and miss there, and ranks that then run different code
 * wait for each other for good.
 *
 * The answer is the entry itself, with its payload, so that it doesn't matter what becomes of it in caches. What isn't stored
 * (do_not_store, min_compile_ns), or takes more than GCACHE_SHARE_BYTES_MAX (share.h), each of them compiles himself, alike
 * too. A member that has waited for lease_timeout_ns compiles, and takes the others' answer all the same if there is one by
 * then. While the tier is in trouble, members of one host decide alike, and hosts by themselves (gcache_tiers_each says
 * whether it was).
 *
 * Names are for one run of a job: what a group has decided stays decided, for a week.
 */
typedef struct gcache_group {
    size_t size;      /* set by GCACHE_GROUP_INIT */
    char const *name; /* the same in all members, and of no other run: "train-20260501-1402" */
    size_t members;   /* how many there are; 1: nobody is waited for */
} gcache_group;

#define GCACHE_GROUP_INIT { .size = sizeof(gcache_group) }

typedef struct gcache_compile_options {
    size_t size;                 /* set by GCACHE_COMPILE_OPTIONS_INIT */
    gcache_request const *request; /* NULL: defaults */
    uint64_t lease_timeout_ns;   /* how long to wait for another's compile; 0: GCACHE_LEASE_TIMEOUT_DEFAULT_NS */
    uint64_t min_compile_ns;     /* what compiles faster isn't stored */
    bool refresh;                /* ignore what is stored, compile, and store */
    bool reader;                 /* another process is the one that writes: use, but don't store, and wait for no lease */
    bool follow;                 /* a reader that waits, up to lease_timeout_ns, for the writer to store what is wanted; where
                                    what is stored is ignored (refresh), there is nothing to wait for */
    gcache_variant const *variant; /* NULL: the callback says which variant it compiled */
    gcache_post_load_fn post_load; /* NULL: hits are handed out as they are. With a group a refused one is compiled by its
                                      member alone */
    gcache_group const *group;     /* NULL: each decides for itself */
    char const *flight;            /* the caller's name for what one compile will serve ("batch 9-16"): of all that miss a key
                                      with it one compiles, and the others wait. NULL: see below */
    /* Asked by the thread that waits for others' compiles, some twenty times a second; false: it waits no longer, as when
       lease_timeout_ns is over. NULL: nobody is asked */
    bool (*keep_waiting)(void *state);
} gcache_compile_options;

#define GCACHE_COMPILE_OPTIONS_INIT { .size = sizeof(gcache_compile_options) }

/* Twenty minutes: the slowest known compiles take several. */
#define GCACHE_LEASE_TIMEOUT_DEFAULT_NS (UINT64_C(1200) * 1000000000)

/*
 * As gcache_get_or_compile, with options (NULL: defaults). state goes to all callbacks.
 *
 * Who waits for whom, without a named flight: while nothing is stored under the key, all wait for one compile. Once something
 * is, but its guards don't hold for the hints, those with the same hints wait for one of them; and as other hints' compiles may
 * serve these too, which only their guards tell, a call waits for up to two rounds of others' compiles, and compiles if none of
 * them served it. Named or not, whoever has seen two others compile what he waits for, in vain because it failed, wasn't stored or
 * was refused by post_load, compiles at once: what is never stored isn't compiled one after the other.
 *
 * A thread that is compiling something already, or measuring (tuning.h), waits for nobody, through no cache, tier or group: it
 * takes a lease that is free, else compiles without. So threads and processes that need each other's compiles don't stand still.
 *
 * GCACHE_HIT: a stored candidate, result as from gcache_lookup. GCACHE_MISS: compiled just now; result has payload,
 * metadata, variant, priority and compile_ns of what the callback gave, reason says why it had to be compiled, and note
 * why it was not stored ("" if it was), with both sides of the comparison where there was one. A description that can't be
 * keyed is compiled without the cache, with reason bypass. Negative: the callback's own error, ERROR_ARGUMENT or ERROR_MEMORY;
 * with gcache_options.strict also the description's error and trouble with the store. If it was the storing that failed, the
 * result is what it would be for GCACHE_MISS, so that a compile isn't lost.
 */
GCACHE_API gcache_status gcache_get_or_compile_with(gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                                                    gcache_compile_options const *options, gcache_compile_fn compile,
                                                    void *state, gcache_result *out_result, gcache_error *error);
GCACHE_API gcache_status gcache_get_or_compile(gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                                               gcache_compile_fn compile, void *state, gcache_result *out_result,
                                               gcache_error *error);

/* ---- for compilers that call instead of being called ---- */

/* A compile that has begun. */
typedef struct gcache_compile gcache_compile;

/*
 * The first half of gcache_get_or_compile_with: looks up and, on a miss, takes the lease or waits for whoever holds it, and
 * looks again. graph, hints, what options point to and *out_result have to stay until the end. state goes to post_load,
 * keep_waiting and gcache_compiled.release. GCACHE_HIT: *out_result is a stored candidate. GCACHE_MISS: compile now, in this
 * thread, and end it; *out_result says why. Else as gcache_get_or_compile_with, with GCACHE_ERROR_ARGUMENT also if this thread is
 * compiling the same already. *out_compile is NULL unless it is a miss. A process that dies before the end loses the lease.
 */
GCACHE_API gcache_status gcache_compile_begin(gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                                              gcache_compile_options const *options, void *state,
                                              gcache_compile **out_compile, gcache_result *out_result,
                                              gcache_error *error);

/*
 * The second half, by the same thread: stores what was compiled, gives the lease back, and makes begin's *out_result what
 * gcache_get_or_compile_with would have made it; *compiled and its entry are copied, what they point to
 * has to stay until it is released.
 * compiled NULL: nothing is stored, because the compile failed or the caller has inserted it. GCACHE_MISS, ERROR_MEMORY, or
 * with gcache_options.strict why it couldn't be stored. A compile of NULL is accepted.
 */
GCACHE_API gcache_status gcache_compile_end(gcache_compile *compile, gcache_compiled const *compiled, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
