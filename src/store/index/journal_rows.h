/*
 * The journal: what past lookups looked like.
 */
#ifndef GCI_STORE_INDEX_JOURNAL_ROWS_H
#define GCI_STORE_INDEX_JOURNAL_ROWS_H

#include "base/error.h"
#include "store/state/options.h"

/* What a past lookup looked like, as the cache layer wrote it. The oldest are forgotten. */
#define GCI_JOURNAL_ENTRIES 10000
/* Room for a lookup's explanation of a few candidates; an append is one write. */
#define GCI_JOURNAL_BYTES_MAX ((size_t)64 << 10)

/* One write. Trouble is logged and counted, never reported: a journal must not make a lookup fail. */
bool gci_store_journal_append(gci_store *store, gci_view entry);

/* The same for a hit. If it is the first thing that a handle does, it waits for the next, or for the handle's end. */
bool gci_store_journal_hit(gci_store *store, gci_view entry);

/* Calls fn for past entries, newest first; anything but 0 ends it. */
typedef int (*gci_journal_fn)(void *state, uint64_t at_ns, gci_view entry);
gcache_status gci_store_journal_each(gci_store *store, gci_journal_fn fn, void *state, gcache_error *error);

#endif
