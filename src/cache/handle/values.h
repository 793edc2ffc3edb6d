/*
 * Values this process has shared or learnt (gcache_share_value).
 *
 * Invariants: a node never changes once it is in the list, and leaves it only when the handle is closed; so a walk needs no
 * lock, nor does a fork disturb anything. At most one node has a given name.
 */
#ifndef GCI_CACHE_HANDLE_VALUES_H
#define GCI_CACHE_HANDLE_VALUES_H

#include "base/digest.h"

#include <stdatomic.h>

typedef struct gci_shared_value {
    struct gci_shared_value *next;
    uint8_t name[GCI_SHA256_BYTES];
    size_t size;
    char bytes[];
} gci_shared_value;

typedef struct gci_shared_values {
    _Atomic(gci_shared_value *) first;
} gci_shared_values;

gci_shared_value const *gci_shared_values_find(gci_shared_values *values, uint8_t const name[GCI_SHA256_BYTES]);

/* Remembers bytes unless there is something under that name; what is there then. NULL: no memory. */
gci_shared_value const *gci_shared_values_add(gci_shared_values *values, uint8_t const name[GCI_SHA256_BYTES],
                                              gci_view bytes);

void gci_shared_values_clear(gci_shared_values *values);

#endif
