/*
 * What a cache takes for itself beside entries: the segment, index.db with its WAL, the journal, and the tombstones. Where there
 * is plenty of room nobody minds a few megabytes; on a small disk they would take the place of all entries, and evicting those
 * wouldn't help. So this comes before any eviction for space.
 *
 * Invariant: nothing goes that is needed to find an entry. What can be written down shorter stays; what is out of proportion to
 * the entries goes: tombstones, of which an explanation says less then, the journal, its older part first, and index.db, which is
 * made anew from the entries without their times of last use.
 */
#ifndef GCI_STORE_EVICT_OVERHEAD_H
#define GCI_STORE_EVICT_OVERHEAD_H

#include "store/state/state.h"

/* On a full disk: what waits to be written into index.db goes there, and what is out of proportion goes. By the holder of the
   evict lock. */
void gci_overhead_shrink(gci_store *store);

#endif
