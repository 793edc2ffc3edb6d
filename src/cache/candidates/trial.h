/*
 * One candidate tried, by a lookup or afterwards for what the journal keeps.
 */
#ifndef GCI_CACHE_CANDIDATES_TRIAL_H
#define GCI_CACHE_CANDIDATES_TRIAL_H

#include "cache/candidates/trace.h"

/*
 * Why a candidate can't be the answer whatever its guards say: VARIANT, NAMES, REQUIREMENT or NONE. *out_requirement is the
 * first one that the caller's `provides` doesn't meet, or NULL; *out_provided is what it has instead, data NULL: nothing.
 */
gcache_reason gci_context_refusal(gci_context const *context, gci_ranked const *ranked,
                                   gci_pair const **out_requirement, gci_view *out_provided);

/* As gci_names_same; remembered for the next lookup of the same description. */
bool gci_has_names_of(gci_ranked const *ranked, gci_context const *context);

/* Only its guards: REASON_NONE if they hold, else GUARD_FALSE or GUARD_ERROR. */
gcache_reason gci_try_guards(gci_guards const *guards, gci_hints const *hints, gcache_verdict *out_verdict);

/* Tries one candidate: variant, names, requirements, guards, in this order. */
void gci_try(gci_context const *context, gci_ranked const *ranked, gci_trial *out_trial);

#endif
