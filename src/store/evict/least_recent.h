/* Evicting the longest unused. */
#ifndef GCI_STORE_EVICT_LEAST_RECENT_H
#define GCI_STORE_EVICT_LEAST_RECENT_H

#include "store/evict/evict.h"

/*
 * Evicts the longest unused until `want` bytes are free or nothing is left that can go. Attachments that nobody refers to go
 * first, others with the last entry that refers to them. One key that is busy or can't be rewritten is passed over. By the
 * holder of the evict lock. OK if anything went.
 */
gcache_status gci_evict_least_recent(gci_store *store, uint64_t want, int cause, gci_eviction_watch watch,
                                     gci_evicted *out_evicted, gcache_error *error);

#endif
