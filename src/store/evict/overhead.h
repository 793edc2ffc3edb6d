/*
 * What a cache takes for itself beside entries: the segment, index.db with its WAL, and the tombstones. Where there is plenty
 * of room nobody minds a few megabytes; on a small disk they would take the place of all entries, and evicting those wouldn't
 * help. So this comes before any eviction for space.
 *
 * Invariant: nothing goes that is needed to find an entry. What can be written down shorter stays; what is out of proportion to
 * the entries goes: tombstones, of which an explanation says less then, and index.db, which is made anew from the entries
 * without their times of last use and without the journal.
 */
#ifndef GCI_STORE_EVICT_OVERHEAD_H
#define GCI_STORE_EVICT_OVERHEAD_H

#include "store/state/state.h"

/* Drains the segment and empties it, and brings the WAL into the database: loses nothing. Where there is no room for that,
   or nobody to wait for, it is left. */
gcache_status gci_overhead_settle(gci_store *store);

/* The same on a full disk, where what is out of proportion goes. By the holder of the evict lock. */
void gci_overhead_shrink(gci_store *store);

#endif
