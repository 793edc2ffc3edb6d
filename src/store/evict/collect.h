/*
 * The face of this room: taking entries out.
 */
#ifndef GCI_STORE_EVICT_COLLECT_H
#define GCI_STORE_EVICT_COLLECT_H

#include "base/error.h"
#include "store/state/options.h"

/* Takes an entry out, as eviction does: its record stays remembered. ERROR_NOT_FOUND, ERROR_READ_ONLY, ERROR_FORMAT (beside
   it lie entries of a newer version: all stay), ... */
gcache_status gci_store_evict(gci_store *store, gcache_key const *key, char const *id, gcache_error *error);

/* When the entry that was unused for longest was last used, or stored; 0: there is none, or index.db isn't there. settle:
   what is still on its way to index.db counts too. */
uint64_t gci_store_least_recent_ns(gci_store *store, bool settle);

/* max_age_ns of 0: as the store was opened. */
gcache_status gci_store_gc(gci_store *store, gcache_gc_options const *options, gcache_collected *out_collected,
                           gcache_error *error);

#endif
