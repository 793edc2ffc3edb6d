/*
 * Leases: one compiles, the others wait.
 *
 * A lease is a file in locks/leases, named by hashes of how the lease's name begins, which for a compile is its key, and of the
 * whole; and locked by flock: the kernel releases it when its holder dies. The file holds who that is: whoever finds one when he
 * gets the lock has taken the lease over.
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

#include "base/error.h"
#include "base/system/clock.h"
#include "base/view.h"
#include "store/directory/paths.h"
#include "store/state/options.h"

typedef struct gci_lease gci_lease;

/* Who has seen so many holders of a lease end without storing what serves him doesn't wait for a third: what is compiled isn't
   stored then, or not for him, and all who want it would compile one after the other. */
#define GCI_HOLDERS_AWAITED 2

/*
 * Takes the lease called name (any bytes) or waits for it. Who gets it must look again before compiling: the holder it
 * waited for may have stored what is wanted. ERROR_BUSY: not within timeout_ns; ERROR_ARGUMENT: this thread holds it
 * already; ERROR_READ_ONLY; ERROR_IO. *out_waited: somebody else held it.
 */
gcache_status gci_lease_take(gci_store *store, gci_view name, uint64_t timeout_ns, gci_lease **out_lease, bool *out_waited,
                             gcache_error *error);
/* The same with a caller whose patience may be over sooner. GCACHE_MISS: GCI_HOLDERS_AWAITED others have had it and stored nothing;
   he goes on without. */
gcache_status gci_lease_await(gci_store *store, gci_view name, gci_patience const *patience, gci_lease **out_lease,
                              bool *out_waited, gcache_error *error);
/* The process that held it before and died with it; 0: it was free, or given back. */
uint64_t gci_lease_former_holder(gci_lease const *lease);
/* Its holder has stored what it is for, which those who wait for it learn. NULL is accepted. */
void gci_lease_note_stored(gci_lease *lease);
/* Somebody who was waited for did. NULL is accepted. */
bool gci_lease_others_stored(gci_lease const *lease);
/* The same for all leases that this thread holds on a key: those whose names begin with it. */
void gci_leases_note_stored(gci_store *store, gcache_key const *key);
bool gci_leases_others_stored(gci_store *store, gcache_key const *key);
/* NULL is accepted. By the thread that took it, or by whomever it was handed over to. */
void gci_lease_release(gci_lease *lease);
/* The thread that took it leaves it to another: from here on it may wait for it itself. NULL is accepted. */
void gci_lease_hand_over(gci_lease *lease);

/* How the files of all leases on a key begin: those whose names begin with it. */
gci_path gci_lease_stem(gcache_key const *key);
/* What the files of leases of that name end in, as a number. */
uint64_t gci_lease_number(gci_view name);
/* Whether the holder of that file has stored what it is for. */
bool gci_lease_has_stored(gci_store *store, gci_path const *path);
/* Removes the file if its holder is dead. */
void gci_lease_bury(gci_store *store, gci_path const *path);

extern struct gci_fields const gci_lease_fields;

#endif
