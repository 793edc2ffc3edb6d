/*
 * What gcache_lookup, get-or-compile and explanations share.
 */
#ifndef GCI_CACHE_LOOKUP_CACHE_LOOKUP_H
#define GCI_CACHE_LOOKUP_CACHE_LOOKUP_H

#include "cache/candidates/trace.h"

/*
 * Asks what a lookup would answer, for an explanation: every candidate is tried and recorded, and no payload is read.
 * *out_result is set in any case. GCACHE_HIT, GCACHE_MISS or an error (strict mode, no memory).
 */
gcache_status gci_lookup_traced(gci_context *context, gci_trace *trace, gcache_result *out_result,
                                gcache_error *error);

/*
 * As gcache_lookup_with, without a report to listener and journal. missed: NULL, or set on a miss, and with may_refuse on a
 * hit, of a graph that has a key. With refresh it is a miss, unless this thread waited for another's lease on the key, and
 * that one stored something.
 */
gcache_status gci_answer(gcache *cache, gcache_graph *graph, gcache_hints const *hints, gci_call const *call,
                         gci_missed *missed, gcache_result *out_result, gcache_error *error);

/*
 * Records what decided the miss: the first candidates that got as far as the reason says. The lookup itself only notes the
 * reason, since most misses of a large key are decided by the index.
 */
void gci_missed_decide(gci_missed *missed, gcache_reason reason);

/* Makes it a miss that says why the graph can't be cached. GCACHE_MISS or ERROR_MEMORY. */
gcache_status gci_bypass(gcache_result *result, char const *why, gcache_error *error);

#endif
