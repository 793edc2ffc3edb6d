/*
 * The face of this room: taking entries out, and how full the cache is.
 */
#ifndef GCI_STORE_EVICT_COLLECT_H
#define GCI_STORE_EVICT_COLLECT_H

#include "base/error.h"
#include "store/state/options.h"

/* Takes an entry out, as eviction does: its record stays remembered. ERROR_NOT_FOUND, ERROR_READ_ONLY, ERROR_FORMAT (beside
   it lie entries of a newer version: all stay), ... */
gcache_status gci_store_evict(gci_store *store, gcache_key const *key, char const *id, gcache_error *error);

/* How full the cache is, to judge by whether a larger one would have kept an entry. */
typedef struct gci_fullness {
    uint64_t bytes, max_size;
    uint64_t evicted_bytes;   /* ever, by all processes that have reported so far */
    uint64_t least_recent_ns; /* as gci_store_least_recent_ns */
    uint64_t evictions;       /* entries, ever; and how many of them were asked for again, at least:
                                 of those that left a key together one is counted */
    uint64_t asked_again;
} gci_fullness;

/* settle: with what is still on its way to index.db, which takes longer. Never fails: what isn't known is 0. */
gci_fullness gci_store_fullness(gci_store *store, bool settle);

/* When the entry that was unused for longest was last used, or stored; 0: there is none, or index.db isn't there. settle:
   what is still on its way to index.db counts too. */
uint64_t gci_store_least_recent_ns(gci_store *store, bool settle);

/* max_age_ns of 0: as the store was opened. */
gcache_status gci_store_gc(gci_store *store, gcache_gc_options const *options, gcache_collected *out_collected,
                           gcache_error *error);

#endif
