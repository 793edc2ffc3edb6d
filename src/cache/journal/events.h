/*
 * Telling the caller's listener what happens.
 */
#ifndef GCI_CACHE_JOURNAL_EVENTS_H
#define GCI_CACHE_JOURNAL_EVENTS_H

#include "cache/candidates/context.h"

/* One call of the listener, if there is one. Texts that are NULL become "". */
void gci_report_event(gcache *cache, gcache_event const *event);

/* A graph is about to be looked up: REQUEST, and IN_USE before the first one. graph and request may be NULL. */
void gci_report_request(gcache *cache, gcache_graph *graph, gcache_request const *request);

/* How a lookup that took elapsed_ns ended: HIT, with VARIANT_MISSING before it if so, or MISS. */
void gci_report_outcome(gcache *cache, gcache_graph *graph, gcache_request const *request, gcache_result const *result,
                      uint64_t elapsed_ns);

/* A lease was asked for: status and *lease as gci_lease_take gives them (lease NULL: not given). */
void gci_report_lease(gci_context const *context, gcache_status status, gci_lease const *lease, bool waited,
                    uint64_t elapsed_ns);

/* A gci_store_event_fn: counts what the store did by itself, and tells the listener. state is the cache. */
void gci_report_store_event(void *state, gci_store_event const *seen);

#endif
