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
    gci_stored_description *description; /* of its key, if it came along */
    gci_tier *describing;     /* that is asked for it later; NULL: it came along, or is known here */
} gci_arrival;

/* The description of a key as a tier handed it out. It explains and decides nothing: NULL if it makes no sense. */
gci_stored_description *gci_description_from(gcache_object const *object, gcache_key const *key);

/* Stores it, with the description of its key, unless that can't be done: storing is a favour to the next lookup, and what goes
   wrong costs the favour and a line in the log. GCACHE_OK: it is stored; REFUSED: there is none, or nothing is stored here; or why
   not. */
gcache_status gci_arrival_store(gcache *cache, gci_arrival const *arrival);
/* What waits in memory until it is stored. */
size_t gci_arrival_size(gci_arrival const *arrival);
void gci_arrival_clear(gci_arrival *arrival);

#endif
