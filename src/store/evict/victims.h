/*
 * Choosing what is to be evicted: queries on index.db.
 */
#ifndef GCI_STORE_EVICT_VICTIMS_H
#define GCI_STORE_EVICT_VICTIMS_H

#include "store/evict/evict.h"

typedef struct gci_victims {
    gci_victim *items; /* those of a key together, the keys by what was unused for longest */
    size_t count, capacity;
} gci_victims;

void gci_victims_clear(gci_victims *victims);

/* Which entries may go. */
typedef struct gci_choice {
    enum { GCI_OF_ALL, GCI_OF_KEY, GCI_OF_NAMESPACE, GCI_UNUSED_SINCE } of;
    gcache_key const *key; /* for GCI_OF_KEY */
    char const *namespace_; /* for GCI_OF_NAMESPACE */
    uint64_t since_ns;     /* for GCI_UNUSED_SINCE */
    size_t limit;          /* at most so many */
    size_t skip;           /* of all: so many of the longest unused are left out */
    uint64_t want;         /* no more than it takes to free so many bytes */
} gci_choice;

/* The longest unused of them; of a namespace, in no order. */
gcache_status gci_victims_choose(gci_store *store, gci_choice const *choice, gci_victims *out_victims,
                                 gcache_error *error);
/* Of all, without index.db, which a full disk may not let us open: whole keys, by the age of their candidate indexes. */
gcache_status gci_victims_by_files(gci_store *store, uint64_t want, gci_victims *out_victims, gcache_error *error);

/* Those of a key that were stored first, without index.db. */
gcache_status gci_victims_of_key(gci_store *store, gcache_key const *key, size_t limit, gci_victims *out_victims,
                                 gcache_error *error);

#endif
