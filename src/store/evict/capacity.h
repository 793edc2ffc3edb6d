/*
 * Room for an insert below the cap and under its key; full_disk.h is for what the disk allows.
 *
 * Two watermarks: eviction begins when the cap itself would be exceeded, and ends at nine tenths of it, so that passes are
 * rare. Each pass begins with a count of the files (recount.h): if that finds room, nothing is evicted.
 */
#ifndef GCI_STORE_EVICT_CAPACITY_H
#define GCI_STORE_EVICT_CAPACITY_H

#include "store/evict/evict.h"

/*
 * Reserves `need` bytes below the cap, evicting if they don't fit; waits for whoever does so already. Give them back with
 * gci_unreserve when what was written is counted. ERROR_NO_SPACE: they don't fit, or the cache lives under a larger cap than
 * this handle's: then nothing is evicted. Not while holding a key's lock.
 */
gcache_status gci_reserve(gci_store *store, uint64_t need, gcache_error *error);
void gci_unreserve(gci_store *store, uint64_t need);

/* The same, but nothing is evicted and nobody waited for. */
bool gci_reserve_if_free(gci_store *store, uint64_t need);

/*
 * The cap that may be enforced on a cache of that size: this handle's; but a cache that exceeds it by more than inserts beside
 * each other explain lives under somebody else's, and is shrunk only to its own (gci_store_options.own_cap).
 */
uint64_t gci_enforced_cap(gci_store *store, uint64_t bytes);

/* Nine tenths. */
uint64_t gci_low_watermark(uint64_t cap);

/*
 * Makes room for one more candidate of a key that has `count`, which are as many as it may: the longest unused go, some at a
 * time. ERROR_LIMIT: none could. Not while holding a key's lock.
 */
gcache_status gci_make_room_under_key(gci_store *store, gcache_key const *key, size_t count, gcache_error *error);

#endif
