/*
 * One candidate tried for a question, by a lookup or afterwards for what the journal keeps.
 */
#ifndef GCI_CACHE_TRIAL_H
#define GCI_CACHE_TRIAL_H

#include "cache/trace.h"

/* Only its guards: REASON_NONE if they hold, else GUARD_FALSE or GUARD_ERROR. */
gcache_reason gci_try_guards(gci_guards const *guards, gci_hints const *hints, gcache_verdict *out_verdict);

/* Tries one candidate: variant, names, requirements, guards, in this order. */
void gci_try(gci_question const *question, gci_ranked const *ranked, gci_trial *out_trial);

#endif
