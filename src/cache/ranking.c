#include "cache/ranking.h"

#include "cache/ranking_index.h"

#include <stdlib.h>

static int
compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Best first. */
static int
compare_rank(void const *left, void const *right)
{
    gci_record const *a = &(*(gci_ranked const *const *)left)->candidate->record;
    gci_record const *b = &(*(gci_ranked const *const *)right)->candidate->record;

    if (a->priority != b->priority)
        return a->priority > b->priority ? -1 : 1;
    if (a->equalities != b->equalities)
        return a->equalities > b->equalities ? -1 : 1;
    if (a->conjuncts != b->conjuncts)
        return a->conjuncts > b->conjuncts ? -1 : 1;
    return -compare_numbers(a->sequence, b->sequence);
}

/* false: out of memory. */
static bool
rank(gci_candidate *const *candidates, size_t count, gci_ranked const **items)
{
    for (size_t i = 0; i < count; i++) {
        items[i] = gci_ready_of(candidates[i]);
        if (items[i] == NULL)
            return false;
    }
    if (count > 1)
        qsort(items, count, sizeof *items, compare_rank);
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
    ranking->count = set->count;
    ranking->items = (gci_ranked const **)(ranking + 1);
    ranking->evicted_count = set->evicted_count;
    ranking->evicted = ranking->items + set->count;
    if (!rank(set->items, set->count, ranking->items) || !rank(set->evicted, set->evicted_count, ranking->evicted)) {
        destroy(ranking);
        return NULL;
    }
    return gci_extra_set(&set->extra, set->account, ranking, size, destroy);
}
