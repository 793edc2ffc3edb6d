/*
 * What the cache takes on disk by the rows of index.db.
 */
#ifndef GCI_STORE_INDEX_SIZES_H
#define GCI_STORE_INDEX_SIZES_H

#include "store/state/state.h"

typedef struct gci_index_size {
    uint64_t bytes, entries, keys;
} gci_index_size;

/* Of all rows. */
gcache_status gci_index_sizes(gci_store *store, gci_index_size *out_sizes, gcache_error *error);

#endif
