/*
 * What an open cache is, for the rooms of src/cache.
 *
 * Locking: after gcache_open everything here but reported_in_use, the counters, the values and the bundle is read-only; they
 * and the store do their own locking.
 */
#ifndef GCI_CACHE_HANDLE_CACHE_H
#define GCI_CACHE_HANDLE_CACHE_H

#include "cache/handle/counters.h"
#include "cache/handle/gate.h"
#include "cache/handle/recorder.h"
#include "cache/handle/values.h"
#include "store/store.h"

#include <guardcache/cache.h>

struct gcache {
    gci_store *store;      /* NULL: the cache is switched off */
    char *directory;       /* where it would be, if that is known; else NULL */
    gci_view namespace_; /* salts the keys */
    gci_gate gate;
    bool strict, unsafe_skip_guards;
    bool journal; /* lookups are written down: what the gate says of it */
    gcache_event_fn event;
    void *event_state;
    atomic_bool reported_in_use;
    gci_counters counters;
    struct gci_trace_writer *trace_writer; /* NULL: nothing is recorded */
    struct gci_tiers *tiers; /* NULL: there are none */
    gci_shared_values values;
    struct gci_bundle *bundle;
    gci_recorder recorder;
    gcache_options options; /* as they were given; its texts are not to be followed */
};

/*
 * The store for those who only look, also at a cache that is switched off: there one that is opened to be read, and closed
 * again. *out_store is NULL if nothing is there. OK, and what gci_store_open returns.
 */
gcache_status gci_look_begin(gcache const *cache, gci_store **out_store, gcache_error *error);
void gci_look_end(gcache const *cache, gci_store *store);

/* The value of a name; NULL: there is none. */
char const *gci_pairs_value(gcache_pair const *pairs, size_t count, gci_view name);

/* What trouble with the store is to the caller: a miss, or with strict an error. */
gcache_status gci_trouble(gcache const *cache, gcache_error const *trouble, gcache_error *error);

#endif
