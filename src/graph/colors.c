/*
 * Color refinement: symbols that stand in different places get different colors.
 *
 * A round gives each symbol a new color from its old one and, for every occurrence of an expression that has it, the
 * place and the way the expression depends on it under the old colors. The contributions are added, so their order
 * doesn't matter. It ends when a round tells no more symbols apart. Symbols that still share a color are, but for rare
 * constructed cases, interchangeable; in those cases two isomorphic descriptions may get two keys, never two different
 * ones one key, since the canonical form is written with whatever order results.
 */
#include "graph/exprs.h"

#include <stdlib.h>

static int
compare_colors(void const *a, void const *b)
{
    uint64_t x = *(uint64_t const *)a, y = *(uint64_t const *)b;

    return (x > y) - (x < y);
}

static uint32_t
count_distinct(uint64_t const *colors, uint64_t *scratch, uint32_t count)
{
    uint32_t distinct = count != 0;

    memcpy(scratch, colors, count * sizeof *scratch);
    qsort(scratch, count, sizeof *scratch, compare_colors);
    for (uint32_t i = 1; i < count; i++)
        distinct += scratch[i] != scratch[i - 1];
    return distinct;
}

/* sums[symbol] += what the occurrences tell about it. */
static void
add_occurrences(gci_exprs *x, gci_occurrence const *items, size_t count, uint64_t *sums)
{
    for (size_t i = 0; i < count; i++) {
        gci_form const *form = &x->forms[items[i].form];
        for (uint32_t k = 0; k < form->symbol_count; k++)
            sums[form->symbols[k]] += gci_mix(items[i].place, gci_exprs_symbol_hash(x, form, form->symbols[k]));
    }
}

void
gci_colors_refine(gci_exprs *x)
{
    uint32_t distinct = 0, before;
    gci_occurrence const *items;
    size_t item_count;
    bool listed = x->occurrences(x->state, &items, &item_count); /* which may meet new symbols */
    uint32_t count = x->symbols.count;
    uint64_t *sums = calloc((size_t)count + 1, sizeof *sums);

    if (!listed || sums == NULL) {
        x->failed = true;
        free(sums);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        x->colors[i] = gci_exprs_first_color(x, i);
    do {
        if (x->rounds_left == 0)
            break;
        x->rounds_left--;
        before = distinct;
        memset(sums, 0, count * sizeof *sums);
        add_occurrences(x, items, item_count, sums);
        for (uint32_t i = 0; i < count; i++)
            x->colors[i] = gci_mix(x->colors[i], sums[i]);
        distinct = count_distinct(x->colors, sums, count);
    } while (distinct > before && distinct < count);
    free(sums);
}
