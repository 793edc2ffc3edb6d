/*
 * Choosing what is to be evicted: queries on index.db.
 */
#ifndef GCI_STORE_VICTIMS_H
#define GCI_STORE_VICTIMS_H

#include "store/evict.h"

typedef struct gci_victims {
    gci_victim *items; /* by key */
    size_t count, capacity;
} gci_victims;

void gci_victims_clear(gci_victims *victims);

/* The longest unused, at most `limit`, no more than it takes to free `want` bytes. */
gcache_status gci_victims_oldest(gci_store *store, size_t limit, uint64_t want, gci_victims *out_victims,
                                 gcache_error *error);
/* The same without index.db, which a full disk may not let us open: whole keys, by the age of their candidate indexes. */
gcache_status gci_victims_by_files(gci_store *store, uint64_t want, gci_victims *out_victims, gcache_error *error);
/* The longest unused of a key, `limit` of them. */
gcache_status gci_victims_of_key(gci_store *store, size_t limit, gcache_key const *key, gci_victims *out_victims,
                                 gcache_error *error);
/* Those unused since before_ns, at most `limit`. */
gcache_status gci_victims_unused(gci_store *store, size_t limit, uint64_t before_ns, gci_victims *out_victims,
                                 gcache_error *error);
/* Those of a namespace, at most `limit`. */
gcache_status gci_victims_of_space(gci_store *store, size_t limit, char const *space, gci_victims *out_victims,
                                   gcache_error *error);

typedef struct gci_totals {
    uint64_t bytes, entries, keys;
} gci_totals;

gcache_status gci_victims_totals(gci_store *store, gci_totals *out_totals, gcache_error *error);

#endif
