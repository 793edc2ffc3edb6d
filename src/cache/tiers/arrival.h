/*
 * An entry that has come from a tier and isn't stored here yet.
 */
#ifndef GCI_CACHE_TIERS_ARRIVAL_H
#define GCI_CACHE_TIERS_ARRIVAL_H

#include "cache/tiers/tiers.h"
#include "store/format/describe.h"
#include "store/memory/candidate_set.h"

typedef struct gci_arrival {
    gci_candidates *set;      /* a reference; NULL: there is none */
    gci_candidate *candidate; /* of it */
    gci_buf payload;          /* as stored, unless it lies with the candidate */
    gci_stored_description *description; /* of its key; NULL: it is known, or wasn't to be had */
} gci_arrival;

/* Stores it, unless that can't be done: storing is a favour to the next lookup, and what goes wrong costs the favour and a line
   in the log. */
void gci_arrival_store(gcache *cache, gci_arrival const *arrival);
/* What waits in memory until it is stored. */
size_t gci_arrival_size(gci_arrival const *arrival);
void gci_arrival_clear(gci_arrival *arrival);

#endif
