/*
 * A key's candidates in the order in which they are tried, merged from the runs in memory.
 */
#include "cache/candidates/ranking.h"

#include "cache/candidates/ranking_index.h"

#include <stdlib.h>

/* Puts more, best first, among those that are there. There is room behind them. */
static void
merge(gci_ranked const **items, size_t count, gci_ranked const *const *more, size_t more_count)
{
    size_t at = count + more_count;

    while (more_count > 0) {
        if (count > 0 && gci_ranks_before(more[more_count - 1], items[count - 1]))
            items[--at] = items[--count];
        else
            items[--at] = more[--more_count];
    }
}

/* From the last run, the smallest, on. false: out of memory. */
static bool
rank_live(gci_ranking *ranking)
{
    gci_candidates *set = ranking->set;

    for (size_t i = set->run_count; i-- > 0;) {
        gci_ready const *ready = gci_ready_of(set->runs[i]);
        if (ready == NULL)
            return false;
        merge(ranking->items, ranking->count, ready->order, ready->live);
        ranking->count += ready->live;
    }
    return true;
}

/* They are few. */
static bool
rank_evicted(gci_ranking *ranking)
{
    gci_candidates *set = ranking->set;

    for (size_t i = 0; i < set->evicted_count; i++) {
        gci_run *run = set->evicted[i]->run;
        gci_ready const *ready = gci_ready_of(run);
        if (ready == NULL)
            return false;
        gci_ranked const *ranked = &ready->items[set->evicted[i] - run->items];
        merge(ranking->evicted, ranking->evicted_count++, &ranked, 1);
    }
    return true;
}

static void
destroy(void *value)
{
    gci_ranking *ranking = value;

    gci_ranking_index_free(gci_extra_get(&ranking->index));
    free(ranking);
}

gci_ranking *
gci_ranking_of(gci_candidates *set)
{
    gci_ranking *ranking = gci_extra_get(&set->extra);
    size_t size = sizeof *ranking + (set->count + set->evicted_count) * sizeof *ranking->items;

    if (ranking != NULL)
        return ranking;
    ranking = calloc(1, size);
    if (ranking == NULL)
        return NULL;
    ranking->set = set;
    ranking->items = (gci_ranked const **)(ranking + 1);
    ranking->evicted = ranking->items + set->count;
    if (!rank_live(ranking) || !rank_evicted(ranking)) {
        destroy(ranking);
        return NULL;
    }
    return gci_extra_set(&set->extra, set->account, ranking, size, destroy);
}
