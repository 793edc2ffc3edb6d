/*
 * Whether what is stored would serve the hints that missed, if a reader does as the advice says: asked of the cache as it is.
 */
#include "cache/advice/advice.h"
#include "cache/lookup/cache_lookup.h"

static gci_served
answer_of(bool serves, gcache_reason reason)
{
    if (serves)
        return GCI_SERVED;
    return reason == GCACHE_REASON_GUARD_FALSE ? GCI_SERVED_NOT : GCI_SERVED_PERHAPS;
}

/* Of a cut entry not all hints are known; a caller's own test may count its calls. */
static bool
can_ask(gci_journal_entry const *entry)
{
    return !entry->cut && entry->context.request.guard_test == NULL;
}

gci_served
gci_advice_served_by(gci_journal_entry const *entry, gcache_key const *key)
{
    gcache_result result = GCACHE_RESULT_INIT;
    gci_context context = entry->context;
    gci_trace trace;

    if (!can_ask(entry))
        return GCI_SERVED_PERHAPS;
    context.key = *key;
    gci_trace_init(&trace);
    bool hit = gci_lookup_traced(&context, &trace, &result, NULL) == GCACHE_HIT;
    gci_served served = answer_of(hit, result.reason);
    gcache_result_clear(&result);
    gci_trace_clear(&trace);
    return served;
}
