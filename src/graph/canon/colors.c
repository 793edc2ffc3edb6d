/*
 * Color refinement: symbols that stand in different places get different colors.
 *
 * A round gives each symbol a new color from its old one and, for every occurrence of an expression that has it, the
 * place and the way the expression depends on it under the old colors. The contributions are added, so their order
 * doesn't matter. It ends when a round tells no more symbols apart. Symbols that still share a color are, but for rare
 * constructed cases, interchangeable; in those cases two isomorphic descriptions may get two keys, never two different
 * ones one key, since the canonical form is written with whatever order results. It also ends when it has cost what the
 * description's size allows; the steps are counted, so that it ends at the same place everywhere.
 */
#include "graph/canon/exprs.h"

#include <stdlib.h>

/* What refinement may cost, in steps of some ten nanoseconds: so many for each step of a walk over all expressions. Real
   descriptions take two to four for each. */
#define WORK_FLOOR ((uint64_t)1 << 20)
#define WORK_PER_STEP 8

/* What sorting the colors costs for each symbol, in such steps. */
#define SORT_STEPS 16

static int
compare_colors(void const *a, void const *b)
{
    uint64_t x = *(uint64_t const *)a, y = *(uint64_t const *)b;

    return (x > y) - (x < y);
}

static uint32_t
count_distinct(gci_exprs const *x, uint64_t *scratch, uint32_t count)
{
    uint32_t distinct = count != 0;

    for (uint32_t i = 0; i < count; i++)
        scratch[i] = x->by_symbol[i].color;
    qsort(scratch, count, sizeof *scratch, compare_colors);
    for (uint32_t i = 1; i < count; i++)
        distinct += scratch[i] != scratch[i - 1];
    return distinct;
}

/* How the forms depend on their symbols: hashes[starts[form] + k] is of its k-th symbol. */
typedef struct dependence {
    size_t *starts;
    uint64_t *hashes;
    uint64_t work; /* of one round */
} dependence;

static bool
dependence_init(dependence *d, gci_exprs const *x)
{
    size_t room = 0;

    *d = (dependence){ .starts = malloc(((size_t)x->texts.count + 1) * sizeof *d->starts) };
    if (d->starts == NULL)
        return false;
    for (uint32_t i = 0; i < x->texts.count; i++) {
        d->starts[i] = room;
        room += x->forms[i].symbol_count;
        d->work += gci_exprs_symbol_work(&x->forms[i]);
    }
    d->hashes = malloc((room + 1) * sizeof *d->hashes);
    return d->hashes != NULL;
}

static void
dependence_clear(dependence *d)
{
    free(d->starts);
    free(d->hashes);
}

/* sums[symbol] += what the occurrences tell about it. */
static void
add_occurrences(gci_exprs *x, dependence *d, gci_occurrence const *items, size_t count, uint64_t *sums)
{
    for (uint32_t i = 0; i < x->texts.count; i++)
        gci_exprs_symbol_hashes(x, &x->forms[i], &d->hashes[d->starts[i]]);
    for (size_t i = 0; i < count; i++) {
        gci_form const *form = &x->forms[items[i].form];
        for (uint32_t k = 0; k < form->symbol_count; k++)
            sums[form->symbols[k]] += gci_mix(items[i].place, d->hashes[d->starts[items[i].form] + k]);
    }
}

/* Sets what all rounds may cost, and counts what each costs besides the forms: occurrences, and sorting the colors. */
static void
count_work(gci_exprs *x, dependence *d, gci_occurrence const *items, size_t count)
{
    uint64_t weight = 0;

    for (size_t i = 0; i < count; i++) {
        weight += x->forms[items[i].form].weight;
        d->work += x->forms[items[i].form].symbol_count;
    }
    d->work += (uint64_t)x->symbols.count * SORT_STEPS;
    if (!x->working)
        x->work_left = WORK_FLOOR + WORK_PER_STEP * weight;
    x->working = true;
}

static bool
take_round(gci_exprs *x, dependence const *d)
{
    if (x->rounds_left == 0 || d->work > x->work_left) {
        x->rounds_left = 0;
        return false;
    }
    x->rounds_left--;
    x->work_left -= d->work;
    return true;
}

static void
refine(gci_exprs *x, dependence *d, gci_occurrence const *items, size_t item_count, uint64_t *sums)
{
    uint32_t count = x->symbols.count, distinct = 0, before;

    for (uint32_t i = 0; i < count; i++)
        x->by_symbol[i].color = gci_exprs_first_color(x, i);
    do {
        if (!take_round(x, d))
            break;
        before = distinct;
        memset(sums, 0, count * sizeof *sums);
        add_occurrences(x, d, items, item_count, sums);
        for (uint32_t i = 0; i < count; i++)
            x->by_symbol[i].color = gci_mix(x->by_symbol[i].color, sums[i]);
        distinct = count_distinct(x, sums, count);
    } while (distinct > before && distinct < count);
}

void
gci_colors_refine(gci_exprs *x)
{
    dependence d = { .starts = NULL };
    gci_occurrence const *items;
    size_t item_count;
    bool listed = x->occurrences(x->state, &items, &item_count); /* which may meet new symbols */
    uint64_t *sums = calloc((size_t)x->symbols.count + 1, sizeof *sums);

    if (listed && !x->failed && sums != NULL && dependence_init(&d, x)) {
        count_work(x, &d, items, item_count);
        refine(x, &d, items, item_count, sums);
    } else {
        x->failed = true;
    }
    dependence_clear(&d);
    free(sums);
}
