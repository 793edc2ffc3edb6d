/*
 * Entries on their way to tiers, and those that have come from one and are to be stored: a bounded queue, emptied by a thread
 * of its own, so that nobody who inserts waits for a network, and nobody who looks up for a disk.
 *
 * Invariants:
 *  1. What is queued is stored in the directory, or in a tier: losing the queue loses no entry, only its way.
 *  2. An entry leaves the queue when every tier that it is for has it, or won't ever take it. A tier in trouble keeps it
 *     waiting; another tier doesn't wait for that one.
 *  3. The thread holds no lock while it talks to a tier. It gets no signals.
 *
 * Fork: the child begins with an empty queue and no thread; what its parent had queued the parent takes there.
 */
#ifndef GCI_CACHE_TIERS_UPLOAD_H
#define GCI_CACHE_TIERS_UPLOAD_H

#include "cache/tiers/arrival.h"
#include "cache/tiers/fleet_lease.h"

/* Of payloads that have arrived and wait to be stored. */
#define GCI_ARRIVED_BYTES_MAX ((size_t)64 << 20)
/* An entry waits in 64 bytes; a thousand compiles a second for ten seconds. */
#define GCI_UPLOADS_MAX 16384

gci_uploads *gci_uploads_new(gcache *cache);
/* Waits until what is queued has been offered to all its tiers, `wait_ns` at most; what a tier in trouble didn't take is
   given up. NULL is accepted. */
void gci_uploads_free(gci_uploads *uploads, uint64_t wait_ns);

/* Takes over what has arrived, to store it: later, or at once if too much is waiting already. */
void gci_uploads_store(gci_uploads *uploads, gci_arrival *arrival);

/* Queues an object that is no entry's. Takes over bytes, which are its; *bytes is empty afterwards. */
void gci_uploads_publish(gci_uploads *uploads, gcache_object const *object, gci_buf *bytes, unsigned tiers);

/* Queues taking an object away. */
void gci_uploads_remove(gci_uploads *uploads, gcache_object const *object, unsigned tiers);

/* Queues an entry for the tiers whose bits are set. lease (may be NULL) is released when it is through: what was compiled
   under it is published only while nobody else leads. */
void gci_uploads_add(gci_uploads *uploads, gcache_key const *key, char const *id, unsigned tiers, gci_fleet_lease *lease);

/*
 * Waits until everything that was queued before is in all its tiers. GCACHE_OK; ERROR_BUSY: not within wait_ns, or, unless
 * patient, a tier is in trouble: *error says what the trouble was. Also, once, if there was no room for some.
 */
gcache_status gci_uploads_flush(gci_uploads *uploads, uint64_t wait_ns, bool patient, gcache_error *error);

#endif
