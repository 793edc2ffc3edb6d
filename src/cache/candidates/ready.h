/*
 * Candidates made ready to be tried: their guards loaded, and what a hit on them looks like. Made for a run of candidates
 * at once and hung on it, so that all threads share it, and the set that a key has after an insert with the one before.
 */
#ifndef GCI_CACHE_CANDIDATES_READY_H
#define GCI_CACHE_CANDIDATES_READY_H

#include "guards/guards.h"
#include "store/store.h"

#include <guardcache/cache.h>
#include <stdatomic.h>

typedef struct gci_ranked {
    gci_candidate *candidate;
    gci_guards *guards;   /* NULL: they can't be read by this version */
    gcache_result answer; /* what a hit on it looks like to a caller with its producer's names; no payload, no owner */
    _Atomic uint64_t same_names_as; /* a naming_id (gci_graph_naming_id) that is known to have its producer's names; 0: none yet */
} gci_ranked;

typedef struct gci_ready {
    gci_arena arena;
    size_t count;
    gci_ranked *items;        /* the run's candidates, in its order */
    size_t live;
    gci_ranked const **order; /* those that aren't evicted, best first */
} gci_ready;

/* The bound names of symbols by what the candidate's producer called them; points into the record. */
gci_naming gci_producer_naming(gci_record const *record);

/* Whether the stored program is what its guards compile to: of an entry that comes from elsewhere, since explanations and callers
   see the texts and the program decides. */
bool gci_program_is_of_guards(gci_record const *record, gcache_error *error);

/* Lives as long as the run. NULL: out of memory. */
gci_ready const *gci_ready_of(gci_run *run);

/* Whether a is tried before b: see ranking.h. */
bool gci_ranks_before(gci_ranked const *a, gci_ranked const *b);

#endif
