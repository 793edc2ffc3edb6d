/*
 * One candidate tried: variant, names, requirements, guards, in this order.
 */
#include "cache/candidates/trial.h"

#include "cache/candidates/names.h"

static gci_pair const *
unmet(gci_context const *context, gci_record const *record, gci_view *out_provided)
{
    for (size_t i = 0; i < record->requirement_count; i++) {
        gci_pair const *requirement = &record->requirements[i];
        char const *value = gci_pairs_value(context->request.provides, context->request.provides_count, requirement->name);
        if (value == NULL || !gci_view_is(requirement->value, value)) {
            *out_provided = gci_view_text(value);
            return requirement;
        }
    }
    return NULL;
}

bool
gci_has_names_of(gci_ranked const *ranked, gci_context const *context)
{
    _Atomic uint64_t *same_names_as = &((gci_ranked *)ranked)->same_names_as;

    if (context->names.id != 0 && atomic_load_explicit(same_names_as, memory_order_relaxed) == context->names.id)
        return true;
    bool same = gci_names_same(context, &ranked->candidate->record);
    if (same)
        atomic_store_explicit(same_names_as, context->names.id, memory_order_relaxed);
    return same;
}

gcache_reason
gci_context_refusal(gci_context const *context, gci_ranked const *ranked, gci_pair const **out_requirement,
                     gci_view *out_provided)
{
    gcache_request const *request = &context->request;
    gci_record const *record = &ranked->candidate->record;

    *out_requirement = NULL;
    *out_provided = (gci_view){ NULL, 0 };
    if (request->variant != NULL && !gci_view_is(record->variant, request->variant))
        return GCACHE_REASON_VARIANT;
    if (!request->accept_renames && !gci_has_names_of(ranked, context))
        return GCACHE_REASON_NAMES;
    *out_requirement = unmet(context, record, out_provided);
    return *out_requirement != NULL ? GCACHE_REASON_REQUIREMENT : GCACHE_REASON_NONE;
}

gcache_reason
gci_try_guards(gci_guards const *guards, gci_hints const *hints, gcache_verdict *out_verdict)
{
    switch (gci_guards_eval(guards, hints, out_verdict)) {
    case GCACHE_TRUE:
        return GCACHE_REASON_NONE;
    case GCACHE_FALSE:
        return GCACHE_REASON_GUARD_FALSE;
    default:
        return GCACHE_REASON_GUARD_ERROR;
    }
}

/* The caller's own test has a yes or no, but no failing guard: the verdict names none. */
static gcache_reason
ask_guard_test(gcache_request const *request, gci_ranked const *ranked, gci_trial *trial)
{
    size_t count = ranked->candidate->record.guard_count;
    bool welcome = request->guard_test(request->guard_test_state, ranked->answer.guards, count);

    trial->verdict.truth = welcome ? GCACHE_TRUE : GCACHE_FALSE;
    trial->verdict.guard = count;
    return welcome ? GCACHE_REASON_NONE : GCACHE_REASON_GUARD_FALSE;
}

static gcache_reason
judge(gci_context const *context, gci_ranked const *ranked, gci_trial *trial)
{
    gcache_request const *request = &context->request;
    gcache_reason refusal =
        gci_context_refusal(context, ranked, &trial->requirement, &trial->provided);

    if (refusal != GCACHE_REASON_NONE)
        return refusal;
    if (request->guard_test != NULL)
        return ask_guard_test(request, ranked, trial);
    if (ranked->guards == NULL)
        return GCACHE_REASON_UNREADABLE;
    if (context->cache->unsafe_skip_guards)
        return GCACHE_REASON_NONE;
    return gci_try_guards(ranked->guards, &context->hints, &trial->verdict);
}

void
gci_try(gci_context const *context, gci_ranked const *ranked, gci_trial *out_trial)
{
    out_trial->ranked = ranked;
    out_trial->cut = GCI_CUT_NOTHING;
    out_trial->verdict.exception[0] = '\0';
    out_trial->verdict.guard = ranked->candidate->record.guard_count;
    out_trial->reason = judge(context, ranked, out_trial);
}
