/*
 * Walking over the journal: entries read back, filtered, and each miss with what its process compiled because of it.
 */
#ifndef GCI_CACHE_HISTORY_H
#define GCI_CACHE_HISTORY_H

#include "cache/past.h"

#include <guardcache/observe.h>

/* Anything but 0 ends the walk. *past may be opened by the callee; it is cleared afterwards. */
typedef int (*gci_history_fn)(void *state, gci_past *past);

/* Calls fn for the entries that query means, newest first. Entries of other versions and damaged ones are passed over. */
gcache_status gci_history_each(gcache *cache, gcache_past_query const *query, gci_history_fn fn, void *state,
                               gcache_error *error);

/* Writes the explanation of a past miss that has been opened; as JSON, with a line end. */
void gci_explain_past(gci_past *past, gcache_explain_form form, gci_buf *out);

#endif
