/*
 * A key's candidates in the order they are tried. Made once for a set of candidates and hung on it, so that it is shared
 * by all threads and freed with the set. It doesn't change but for its index, which is made when the set is asked often
 * (ranking_index.h).
 *
 * Rank: priority, then specificity (equalities, then conjuncts), then newest; larger first. The order is static,
 * so the first candidate that holds is the answer.
 */
#ifndef GCI_CACHE_CANDIDATES_RANKING_H
#define GCI_CACHE_CANDIDATES_RANKING_H

#include "cache/candidates/ready.h"

#include <stdatomic.h>

/* No place in a ranking. */
#define GCI_NOBODY SIZE_MAX

typedef struct gci_ranking {
    size_t count;
    gci_ranked const **items;   /* live candidates, best first */
    size_t evicted_count;
    gci_ranked const **evicted; /* remembered ones, best first */
    gci_candidates *set;        /* that it hangs on */
    gci_extra index;            /* a gci_ranking_index */
    _Atomic uint32_t lookups;   /* without an index */
} gci_ranking;

/* NULL: out of memory. */
gci_ranking *gci_ranking_of(gci_candidates *set);

#endif
