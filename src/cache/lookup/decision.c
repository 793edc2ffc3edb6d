/*
 * What decided a miss, for the journal.
 *
 * The trials are made once more, but of the very candidates, context and hints of the lookup that missed, so nothing that
 * was stored or removed meanwhile can be among them.
 */
#include "cache/candidates/ranking.h"
#include "cache/candidates/trial.h"
#include "cache/lookup/cache_lookup.h"

/* As many candidates as a brief explanation shows; the others are only counted. */
#define DECIDING_MOST 6

/* A caller's own test of guards isn't called again: it may count its calls. */
static void
try_once_more(gci_context const *context, gci_ranked const *ranked, gcache_reason reason, bool evicted, gci_trial *trial)
{
    if (context->request.guard_test == NULL) {
        gci_try(context, ranked, trial);
    } else {
        *trial = (gci_trial){ .ranked = ranked, .reason = GCACHE_REASON_GUARD_FALSE };
        trial->verdict.guard = ranked->candidate->record.guard_count;
    }
    if (trial->reason != GCACHE_REASON_NONE)
        return;
    /* It holds and yet it is a miss: so its payload couldn't be had. Where that isn't the reason, it didn't fail. */
    bool out_of_reach = reason == GCACHE_REASON_EVICTED || reason == GCACHE_REASON_CORRUPT || reason == GCACHE_REASON_UNREADABLE;
    trial->reason = evicted ? GCACHE_REASON_EVICTED : out_of_reach ? reason : GCACHE_REASON_NONE;
    trial->verdict.guard = ranked->candidate->record.guard_count;
}

void
gci_missed_decide(gci_missed *missed, gcache_reason reason)
{
    gci_trace *trace = &missed->trace;
    gci_ranking const *ranking = trace->set != NULL ? gci_ranking_of(trace->set) : NULL;

    trace->trial_count = 0;
    if (reason == GCACHE_REASON_EVICTED)
        gci_trace_find_eviction(trace, missed->context.cache->store, &missed->context.key, false);
    if (ranking == NULL || reason == GCACHE_REASON_NO_KEY)
        return;
    trace->live_count = ranking->count;
    trace->evicted_count = ranking->evicted_count;
    trace->trials = gci_arena_array(&trace->arena, DECIDING_MOST, sizeof *trace->trials);
    if (trace->trials == NULL)
        return;
    for (size_t i = 0; i < ranking->count + ranking->evicted_count && trace->trial_count < DECIDING_MOST; i++) {
        bool evicted = i >= ranking->count;
        gci_ranked const *ranked = evicted ? ranking->evicted[i - ranking->count] : ranking->items[i];
        gci_trial *trial = &trace->trials[trace->trial_count];
        try_once_more(&missed->context, ranked, reason, evicted, trial);
        trial->rank = i;
        trace->trial_count += trial->reason == reason;
    }
}
