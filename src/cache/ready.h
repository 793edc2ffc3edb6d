/*
 * Candidates made ready to be tried: their guards loaded, and what a hit on them looks like. Made for a run of candidates
 * at once and hung on it, so that all threads share it, and the set that a key has after an insert with the one before.
 */
#ifndef GCI_CACHE_READY_H
#define GCI_CACHE_READY_H

#include "guards/guards.h"
#include "store/store.h"

#include <guardcache/cache.h>

typedef struct gci_ranked {
    gci_candidate *candidate;
    gci_guards *guards;   /* NULL: they can't be read by this version */
    gcache_result answer; /* what a hit on it looks like to a caller with its producer's names; no payload, no owner */
} gci_ranked;

/* Lives as long as the candidate. NULL: out of memory. */
gci_ranked const *gci_ready_of(gci_candidate *candidate);

#endif
