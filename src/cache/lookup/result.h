/*
 * The result of a lookup: what the caller sees, and what keeps it alive.
 */
#ifndef GCI_CACHE_LOOKUP_RESULT_H
#define GCI_CACHE_LOOKUP_RESULT_H

#include "cache/candidates/context.h"
#include "cache/candidates/ranking.h"

/* A miss without a reason yet. key may be NULL. */
void gci_result_init(gcache_result *result, gcache_key const *key);

/*
 * Makes it a hit on `winner`. Takes over payload (released on failure too; empty for a probe). GCACHE_HIT, which is to keep the
 * winner's candidates (a reference, as result->candidates), or ERROR_MEMORY.
 */
gcache_status gci_result_fill(gcache_result *result, gci_context const *context, gci_ranked const *winner,
                              gci_payload *payload, gcache_error *error);

/* The reason of a miss, as if no tier were in trouble. */
static inline gcache_reason
gci_result_local_reason(gcache_result const *result)
{
    return result->local_reason != GCACHE_REASON_NONE ? result->local_reason : result->reason;
}

/* Hangs something else on the result, freed with it. false without memory: value stays the caller's. */
bool gci_result_own(gcache_result *result, void *value, void (*destroy)(void *value));

#endif
