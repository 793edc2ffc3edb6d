/*
 * The journal of an open store.
 */
#ifndef GCI_STORE_INDEX_JOURNAL_H
#define GCI_STORE_INDEX_JOURNAL_H

#include "store/database/journal_file.h"
#include "store/state/options.h"

/* Appends an entry, as the cache layer wrote it. Trouble is logged, never reported: a journal must not make a lookup fail. */
bool gci_store_journal_append(gci_store *store, gci_view entry);

/* The same for a hit, which may be all that a handle does: what processes share isn't mapped. After gci_store_process. */
bool gci_store_journal_hit(gci_store *store, gci_view entry);

/* Calls fn for past entries, newest first; anything but 0 ends it. */
gcache_status gci_store_journal_each(gci_store *store, gci_journal_fn fn, void *state, gcache_error *error);

#endif
