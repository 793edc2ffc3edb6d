/* Room on a disk that is full. */
#ifndef GCI_STORE_EVICT_FULL_DISK_H
#define GCI_STORE_EVICT_FULL_DISK_H

#include "store/state/state.h"

/*
 * The file system was full for `need` bytes: sweeps what dead writers left, then evicts a little at a time until a file of
 * that size can be made. ERROR_NO_SPACE: it can't, although as much was evicted as should have helped; then nothing more is
 * evicted for a minute.
 */
gcache_status gci_evict_for_space(gci_store *store, uint64_t need, gcache_error *error);

/* Whether not even a small entry could be stored now for want of room. */
bool gci_space_is_short(gci_store *store);

#endif
