/*
 * Leases: one compiles, the others wait.
 *
 * A lease is a file in locks/leases, named by a hash of the lease's name, and locked by flock: the kernel releases it
 * when its holder dies. The file holds who that is: found by the next one who gets the lock, it tells a takeover.
 *
 * Invariants:
 *  1. Whoever has locked a file looks whether it still has its name, and otherwise begins anew: the holder removes the
 *     file before it unlocks it.
 *  2. flock lives on in forked children of the holder. A waiter that finds the lock taken but its holder dead (same
 *     host, same boot, same process namespace, start time and all) removes the name and begins anew. Removing is done
 *     under locks/takeover, and only if the name still leads to the file the waiter has open.
 *  3. A child that is forked while its parent holds leases closes them unseen; it never unlocks them.
 *
 * Locking: `mutex` guards the list of what this process holds, which is there to find a thread waiting for itself.
 */
#ifndef GCI_STORE_LEASE_H
#define GCI_STORE_LEASE_H

#include "store/store.h"

#include <pthread.h>

typedef struct gci_leases {
    pthread_mutex_t mutex;
    gci_lease *held;
} gci_leases;

void gci_leases_init(gci_leases *leases);
void gci_leases_close(gci_leases *leases);
void gci_leases_after_fork(gci_leases *leases);

#endif
