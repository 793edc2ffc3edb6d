/*
 * What the cache takes on disk by the rows of index.db.
 */
#include "store/index/sizes.h"

#define WAIT_NS UINT64_C(2000000000)

static gcache_status
sum(gci_store *store, gci_index_size *out_sizes, gcache_error *error)
{
    gcache_status status = gci_index_begin(&store->index, GCI_READ, WAIT_NS, error);

    if (status != GCACHE_OK)
        return status;
    sqlite3_stmt *row = gci_index_use(&store->index, GCI_SQL_SIZES);
    *out_sizes = (gci_index_size){ 0 };
    if (gci_index_step(&store->index, row)) {
        out_sizes->bytes = (uint64_t)gci_column_number(row, 0);
        out_sizes->entries = (uint64_t)gci_column_number(row, 1);
        out_sizes->keys = (uint64_t)gci_column_number(row, 2);
    }
    return gci_index_end(&store->index, GCI_READ, GCACHE_OK, error);
}

gcache_status
gci_index_sizes(gci_store *store, gci_index_size *out_sizes, gcache_error *error)
{
    gcache_status status = sum(store, out_sizes, error);

    return status == GCACHE_ERROR_CORRUPT ? sum(store, out_sizes, error) : status;
}
