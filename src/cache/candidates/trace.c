/*
 * A trace, and what it has besides trials: the key's last eviction. The nearest keys: nearest.c.
 */
#include "cache/candidates/trace.h"

/* Trials of a thousand candidates with their verdicts take 0.4 MB. */
#define TRACE_BYTES_MAX ((size_t)256 << 20)

void
gci_trace_init(gci_trace *trace)
{
    *trace = (gci_trace){ 0 };
    gci_arena_init(&trace->arena, TRACE_BYTES_MAX);
}

void
gci_trace_clear(gci_trace *trace)
{
    for (size_t i = 0; i < trace->nearest_count; i++)
        gci_diff_free(trace->nearest[i].diff);
    gci_candidates_release(trace->set);
    gci_arena_clear(&trace->arena);
}

void
gci_missed_clear(gci_missed *missed)
{
    if (!missed->kept)
        return;
    missed->kept = false;
    gci_trace_clear(&missed->trace);
    gci_context_clear(&missed->context);
}

gci_trial const *
gci_trace_first(gci_trace const *trace, gcache_reason reason)
{
    for (size_t i = 0; i < trace->trial_count; i++)
        if (trace->trials[i].reason == reason)
            return &trace->trials[i];
    return NULL;
}

/* ---- evictions ---- */

void
gci_trace_find_eviction(gci_trace *trace, gci_store *store, gcache_key const *key, bool settle)
{
    gci_key_eviction *found = GCI_ARENA_NEW(&trace->arena, gci_key_eviction);

    if (found == NULL || !gci_store_tombstone(store, key, &found->tombstone))
        return;
    found->fullness = gci_store_fullness(store, settle);
    trace->eviction = found;
}

gci_key_eviction const *
gci_trace_eviction(gci_trace const *trace)
{
    if (trace->eviction == NULL)
        return NULL;
    if (trace->eviction->tombstone.left == 0 && trace->live_count + trace->evicted_count == 0)
        return trace->eviction;
    for (size_t i = 0; i < trace->trial_count; i++) {
        gci_trial const *trial = &trace->trials[i];
        if (gci_trial_is_evicted(trace, trial) && trial->reason == GCACHE_REASON_EVICTED &&
            trial->ranked->candidate->evicted_ns == trace->eviction->tombstone.evicted_ns)
            return trace->eviction;
    }
    return NULL;
}
