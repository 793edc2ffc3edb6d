/*
 * Telling the caller's listener what happens.
 */
#ifndef GCI_CACHE_EVENTS_H
#define GCI_CACHE_EVENTS_H

#include "cache/cache.h"

/* One call of the listener, if there is one. Texts that are NULL become "". */
void gci_tell(gcache *cache, gcache_event const *event);

/* A graph is about to be looked up: REQUEST, and IN_USE before the first one. graph and request may be NULL. */
void gci_tell_request(gcache *cache, gcache_graph *graph, gcache_request const *request);

/* How a lookup that took elapsed_ns ended: HIT, with VARIANT_MISSING before it if so, or MISS. */
void gci_tell_outcome(gcache *cache, gcache_graph *graph, gcache_request const *request, gcache_result const *result,
                      uint64_t elapsed_ns);

#endif
