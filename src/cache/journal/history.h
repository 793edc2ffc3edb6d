/*
 * Walking over the journal: entries read back, filtered, and each miss with what its process compiled because of it.
 */
#ifndef GCI_CACHE_JOURNAL_HISTORY_H
#define GCI_CACHE_JOURNAL_HISTORY_H

#include "cache/journal/journal_entry.h"

#include <guardcache/observe.h>

/* Anything but 0 ends the walk. *entry may be opened by the callee; it is cleared afterwards. */
typedef int (*gci_history_fn)(void *state, gci_journal_entry *entry);

/* Calls fn for the entries that query means, newest first. It skips entries of other versions and damaged ones. */
gcache_status gci_history_each(gcache *cache, gcache_journal_query const *query, gci_history_fn fn, void *state,
                               gcache_error *error);

/*
 * Looks in the newest part of the journal for what became of a key under which nothing is stored, before a moment, and notes
 * it in the trace: it was stored once, or compiled and not kept; with a moment also a miss of another process, after which
 * nothing was stored.
 */
void gci_history_find_fate(gcache *cache, gcache_key const *key, uint64_t before_ns, uint32_t process, gci_trace *trace);

/* Writes the explanation of a miss whose entry has been opened; as JSON, with a line end. */
void gci_explain_entry(gci_journal_entry *entry, gcache_explain_form form, gci_buf *out);

#endif
