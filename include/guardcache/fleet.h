/*
 * guardcache/fleet.h - what a fleet's cache needs besides lookups and inserts: tiers looked at, waited for, filled and emptied.
 *
 * Tiers are opened with the cache (gcache_options.tiers, user_tiers), which asks them after its own directory has missed, and
 * writes to them in the background what it stores. docs/fleet.md says how to plan one.
 *
 * Threads: as in cache.h. These functions wait for networks, lookups and inserts go on meanwhile.
 */
#ifndef GUARDCACHE_FLEET_H
#define GUARDCACHE_FLEET_H

#include <guardcache/cache.h>
#include <guardcache/tier.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a handle's tier has been doing since gcache_open: identifier, word, meaning */
#define GCACHE_TIER_COUNT_MAP(X)                                                                      \
    X(ASKED, "asked", "lookups that asked it")                                                        \
    X(HITS, "hits", "of those it served")                                                             \
    X(MISSES, "misses", "it answered, and had nothing that serves")                                   \
    X(TIMEOUTS, "timeouts", "it didn't answer in time")                                               \
    X(UNAVAILABLE, "unavailable", "it couldn't be reached, or refused")                               \
    X(LEFT_ALONE, "left_alone", "calls that weren't made because it was in trouble a moment before")   \
    X(REFUSED, "refused", "objects that were damaged, or that no key of ours signed")                 \
    X(PUBLISHED, "published", "entries it took")                                                      \
    X(NOT_PUBLISHED, "not_published", "entries it didn't take, given up")                             \
    X(CALLS, "calls", "all calls")                                                                    \
    X(ROUND_TRIPS, "round_trips", "how often it was waited for")                                      \
    X(BYTES_SENT, "bytes_sent", "to it")                                                              \
    X(BYTES_RECEIVED, "bytes_received", "from it")                                                    \
    X(ASKING_NS, "asking_ns", "time that lookups waited for it")

typedef enum gcache_tier_count {
#define X(id, word, meaning) GCACHE_TIER_COUNT_##id,
    GCACHE_TIER_COUNT_MAP(X)
#undef X
    GCACHE_TIER_COUNT_COUNT
} gcache_tier_count;

/* "round_trips"; "?" if unknown. Static storage. */
GCACHE_API char const *gcache_tier_count_name(gcache_tier_count count);

/* A tier as it stands. Valid during the callback. */
typedef struct gcache_tier_state {
    char const *name;     /* its URL without credentials */
    bool read_only;
    bool left_alone;      /* it was in trouble a moment ago: lookups don't ask it for now */
    uint64_t const *counts; /* GCACHE_TIER_COUNT_COUNT of them */
    gcache_tier_answer answer; /* of a ping: HIT; TROUBLE, and */
    gcache_reason reason;      /* why */
    char const *message;       /* in words; "" */
    uint64_t elapsed_ns;       /* of a ping */
} gcache_tier_state;

/* Returning anything but 0 ends the walk. */
typedef int (*gcache_tier_state_fn)(void *state, gcache_tier_state const *tier);

/* Calls fn for each tier in the order they are asked; nobody is asked now. GCACHE_OK, ERROR_ARGUMENT. */
GCACHE_API gcache_status gcache_tiers_each(gcache *cache, gcache_tier_state_fn fn, void *state, gcache_error *error);

/* The same after asking each tier whether it is there, whatever its breaker says; number (NULL: not wanted) hears what it says of
   itself before fn is called. GCACHE_OK, whatever the tiers answer; ERROR_ARGUMENT. */
GCACHE_API gcache_status gcache_tiers_ping(gcache *cache, gcache_tier_number_fn number, gcache_tier_state_fn fn, void *state,
                                           gcache_error *error);

/*
 * Waits until everything this handle has stored so far is in every tier that is written to, asking those in trouble again and
 * again. timeout_ns 0: until everything has been offered once, however long that takes; what a tier in trouble didn't take stays
 * on its way. GCACHE_OK; ERROR_BUSY: not within timeout_ns (the message says how many are on their way, and what the latest
 * trouble was), or, told once, so many were waiting that further ones were given up; ERROR_ARGUMENT. What a tier refuses for good
 * (too large, or a newer leader's is there) isn't waited for: gcache_tiers_each counts it as not_published.
 */
GCACHE_API gcache_status gcache_tiers_flush(gcache *cache, uint64_t timeout_ns, gcache_error *error);

typedef struct gcache_sync_options {
    size_t size;                 /* set by GCACHE_SYNC_OPTIONS_INIT */
    char const *tier;            /* a URL, of one that need not be among the cache's own; NULL: all of those */
    bool push;                   /* take there what isn't there */
    bool pull;                   /* fetch what isn't here */
    bool again;                  /* take there also what is there already: heals what was damaged or evicted in part */
    gcache_progress_fn progress; /* keys; total is 0 while pulling, since nobody knows it; NULL: nobody watches */
    void *state;
} gcache_sync_options;

#define GCACHE_SYNC_OPTIONS_INIT { .size = sizeof(gcache_sync_options) }

typedef struct gcache_synced {
    size_t size;     /* set by GCACHE_SYNCED_INIT */
    uint64_t keys;   /* that were compared */
    uint64_t pushed, pulled, present; /* entries: taken there, fetched, on both sides already */
    uint64_t left_out;                /* damaged, unsigned, too large, or gone meanwhile */
} gcache_synced;

#define GCACHE_SYNCED_INIT { .size = sizeof(gcache_synced) }

/*
 * Makes the directory and tiers equal, entry by entry, as far as it is asked to; what is left of an earlier call isn't done
 * again. Entries are compared by their heads: a tier that has lost a payload is healed by `again`. A tier in trouble doesn't
 * keep the others from it; one that is only read isn't written to. GCACHE_OK; ERROR_ARGUMENT (also a URL that makes no sense,
 * or there are no tiers); ERROR_BUSY, ERROR_IO: a tier is in trouble, *out_synced says how far it got; ERROR_READ_ONLY:
 * nothing can be stored here, or a tier isn't to be written; GCACHE_REFUSED: the cache is switched off; ERROR_MEMORY.
 * options->push and pull false: both. out_synced may be NULL.
 */
GCACHE_API gcache_status gcache_tiers_sync(gcache *cache, gcache_sync_options const *options, gcache_synced *out_synced,
                                           gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
