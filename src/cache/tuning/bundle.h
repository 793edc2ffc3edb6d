/*
 * The bundle that is open on a handle, if one is: the records that were put or found meanwhile.
 *
 * Invariants:
 *  1. `name` is not empty exactly while a bundle is open.
 *  2. Records are kept once a kernel, the latest one.
 * Locking: `mutex` for everything; no file is touched while it is held. A forked child begins without an open bundle.
 */
#ifndef GCI_CACHE_TUNING_BUNDLE_H
#define GCI_CACHE_TUNING_BUNDLE_H

#include "base/arena.h"
#include "base/buf.h"
#include "cache/handle/fork_mutex.h"

#include <guardcache/cache.h>

typedef struct gci_bundled {
    struct gci_bundled *next;
    gci_view kernel, record; /* names and values of rows; in the arena */
    uint64_t at_ns;          /* when the record was made */
} gci_bundled;

typedef struct gci_bundle {
    gci_fork_mutex mutex;
    gci_buf name; /* of the bundle's rows */
    gci_arena arena;
    gci_bundled *first;
    size_t count;
} gci_bundle;

/* Free it whatever the outcome. */
gcache_status gci_bundle_new(gci_bundle **out_bundle, gcache_error *error);
void gci_bundle_free(gci_bundle *bundle);

/* Notes that a kernel's record, made at at_ns, was put or found. */
void gci_bundle_collect(gci_bundle *bundle, gci_view kernel, gci_view record, uint64_t at_ns);

#endif
