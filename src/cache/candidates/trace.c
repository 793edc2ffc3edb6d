/*
 * What a trace has besides trials: the key's last eviction, and the stored keys nearest to one that isn't stored.
 */
#include "cache/candidates/trace.h"

#include "cache/candidates/compare.h"
#include "cache/candidates/graph_description.h"

#include <stdlib.h>

/* Trials of a thousand candidates with their verdicts take 0.4 MB. */
#define TRACE_BYTES_MAX ((size_t)256 << 20)

/* Keys whose stored descriptions are compared in full: of those with as many equal components, the one whose structure
   differs least is nearest. */
#define CLOSE_LOOKS 8
/* When explaining a past miss, skip keys stored since: so many are looked through. */
#define PAST_LOOKS 256

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

/* ---- how one stored key differs ---- */

/* false where nothing can be said about it: its description is gone, or it is of another sort of key. */
static bool
look_closely(gci_near_key *near, gci_store *store, gci_description const *asked)
{
    gci_stored_description *holder = NULL;

    if (gci_store_description(store, &near->key, &holder, NULL) != GCI_FOUND)
        return false;
    gcache_status status =
        gci_compare(gci_stored_description_get(holder), asked, GCI_DIFF_ITEMS_DEFAULT, &near->diff, NULL);
    gci_stored_description_free(holder);
    if (status != GCACHE_OK)
        return false;
    near->count = near->diff->count;
    near->left_out = near->diff->left_out;
    near->items = near->diff->items;
    return true;
}

/* ---- the nearest ---- */

static int
compare_nearness(void const *left, void const *right)
{
    gci_near_key const *a = left, *b = right;
    size_t a_differs = a->count + a->left_out, b_differs = b->count + b->left_out;

    if (a->equal != b->equal)
        return a->equal > b->equal ? -1 : 1;
    return (a_differs > b_differs) - (a_differs < b_differs);
}

static void
keep_nearest(gci_trace *trace, gci_near_key *keys, size_t count)
{
    qsort(keys, count, sizeof *keys, compare_nearness);
    for (size_t i = 0; i < count; i++) {
        if (i < GCI_TRACE_NEAREST)
            trace->nearest[trace->nearest_count++] = keys[i];
        else
            gci_diff_free(keys[i].diff);
    }
}

static uint64_t
oldest_candidate_ns(gci_store *store, gcache_key const *key)
{
    gci_candidates *set = NULL;
    uint64_t oldest = 0;

    if (gci_store_candidates(store, key, &set, NULL) == GCI_FOUND)
        for (size_t i = 0; i < set->count; i++)
            if (oldest == 0 || set->items[i]->record.created_ns < oldest)
                oldest = set->items[i]->record.created_ns;
    gci_candidates_release(set);
    return oldest;
}

void
gci_trace_find_nearest_of(gci_trace *trace, gci_store *store, gci_description const *asked, uint64_t before_ns)
{
    gci_near_key keys[CLOSE_LOOKS] = { 0 };
    gci_near near[PAST_LOOKS];
    size_t found = 0, count = 0;
    gci_store_stats stats;

    trace->past = before_ns != UINT64_MAX;
    if (gci_store_nearest(store, asked->kind, asked->components, asked->component_count, near,
                          trace->past ? PAST_LOOKS : CLOSE_LOOKS, &found, NULL) != GCACHE_OK)
        return;
    if (gci_store_stats_get(store, &stats, NULL) == GCACHE_OK)
        trace->stored_keys = stats.keys;
    for (size_t i = 0; i < found && count < CLOSE_LOOKS; i++) {
        keys[count] = (gci_near_key){
            .key = near[i].key,
            .components = (uint32_t)asked->component_count,
            .equal = near[i].equal,
            .created_ns = oldest_candidate_ns(store, &near[i].key),
        };
        if (keys[count].created_ns < before_ns && look_closely(&keys[count], store, asked))
            count++;
        else
            gci_diff_free(keys[count].diff);
    }
    keep_nearest(trace, keys, count);
}

void
gci_trace_find_nearest(gci_trace *trace, gci_context const *context)
{
    gci_description asked;

    if (gci_description_of(context->graph, true, &trace->arena, &asked, NULL) == GCACHE_OK)
        gci_trace_find_nearest_of(trace, context->cache->store, &asked, UINT64_MAX);
}
