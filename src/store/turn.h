/*
 * Whose turn it is to compile, among all who miss a key. What one compiles may serve others too; nobody knows before. See turn.c.
 */
#ifndef GCI_STORE_TURN_H
#define GCI_STORE_TURN_H

#include "store/lease.h"

typedef struct gci_turn {
    gcache_key const *key;
    gci_view name;               /* of the lease that the compile needs; it begins with the key */
    bool at_once;                /* nobody is waited for but who has this very lease */
    gci_patience patience;
    bool (*is_served)(void *state); /* somebody has ended: whether the lease isn't needed any more */
    void *state;
} gci_turn;

/*
 * Takes the lease when nobody else has it and it is the caller's turn. GCACHE_OK: *out_lease is taken; whoever gets it must look
 * again, as in gci_lease_take. GCACHE_HIT: it isn't needed any more. GCACHE_MISS: others' compiles don't serve, go on
 * without it. Else as gci_lease_take. *out_waited: somebody was waited for.
 */
gcache_status gci_turn_take(gci_store *store, gci_turn const *turn, gci_lease **out_lease, bool *out_waited, gcache_error *error);

#endif
