/*
 * What an open cache is, for the files of this folder.
 *
 * Locking: after gcache_open everything here but told_in_use, the counters, the values and the bundle is read-only; they
 * and the store do their own locking.
 */
#ifndef GCI_CACHE_CACHE_H
#define GCI_CACHE_CACHE_H

#include "cache/bundle.h"
#include "cache/counters.h"
#include "cache/gate.h"
#include "cache/recorder.h"
#include "cache/values.h"
#include "store/store.h"

#include <guardcache/cache.h>

struct gcache {
    gci_store *store;
    gci_view salt;
    gci_gate gate;
    bool strict, unsafe_skip_guards;
    bool journal; /* lookups are written down: what the gate says of it */
    gcache_event_fn event;
    void *event_state;
    atomic_bool told_in_use;
    gci_counters counters;
    struct gci_tape *tape; /* NULL: nothing is recorded */
    gci_shared_values values;
    gci_bundle bundle;
    gci_recorder recorder;
    gcache_options options; /* as they were given; its texts are not to be followed */
};

/* What trouble with the store is to the caller: a miss, or with strict an error. */
static inline gcache_status
gci_trouble(gcache const *cache, gcache_error const *trouble, gcache_error *error)
{
    if (!cache->strict)
        return GCACHE_MISS;
    if (error != NULL)
        *error = *trouble;
    return trouble->status;
}

#endif
