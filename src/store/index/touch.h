/*
 * Who was used, and how often: noted in the sets in memory, gathered here, written to the segment in batches.
 */
#ifndef GCI_STORE_INDEX_TOUCH_H
#define GCI_STORE_INDEX_TOUCH_H

#include "store/memory/candidate_set.h"
#include "store/state/options.h"

/* Notes that a candidate was handed out to a user: recency and hit counts, written in batches. */
void gci_store_touch(gci_store *store, gci_candidate *candidate);

/* Hits that are written out at least this often while a process lives, so that others don't evict what it uses. */
#define GCI_TOUCH_EVERY_NS UINT64_C(60000000000)

/* An insert has returned, so its entry was whole: written out with the hits, none of its own. */
void gci_note_stored(gci_store *store, gci_record const *record);

/* Gathers the hits of a run that leaves the memory tier; state is the store. */
void gci_save_touches(void *state, gci_run *run);

/* Gathers the hits of all sets in memory and writes them out. */
void gci_flush_touches(gci_store *store);

#endif
