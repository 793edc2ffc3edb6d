/*
 * Answers for recent hints, by all values of a selector's names.
 *
 * Two places for each hash: the newer answer takes the first and pushes the other one on.
 */
#include "guards/select/selector.h"

#include <stdlib.h>

#define SETS 128
#define WAYS 2

/* Lookups with more names aren't remembered: comparing them all costs as much as the index. */
#define MAX_VALUES 24

/* The values it is for stand behind it. */
typedef struct answer {
    uint64_t eligibility;
    gci_selection selection;
    bool is_kept;
} answer;

void
gci_memo_init(gci_memo *memo, uint32_t width)
{
    *memo = (gci_memo){ .width = width, .stride = sizeof(answer) + width * sizeof(int64_t) };
    if (width <= MAX_VALUES)
        memo->answers = calloc((size_t)SETS * WAYS, memo->stride);
}

void
gci_memo_clear(gci_memo *memo)
{
    free(memo->answers);
}

/* The first of the answers whose values have this hash. */
static inline answer *
set_of(gci_memo const *memo, int64_t const *values, uint64_t eligibility)
{
    uint64_t hash = eligibility;

    for (uint32_t i = 0; i < memo->width; i++)
        hash = (hash ^ (uint64_t)values[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (answer *)(void *)(memo->answers + (size_t)(hash >> 57) % SETS * WAYS * memo->stride);
}

static inline answer *
next_of(gci_memo const *memo, answer *a)
{
    return (answer *)(void *)((char *)a + memo->stride);
}

static bool
is_same(int64_t const *kept, int64_t const *values, uint32_t count)
{
    uint64_t difference = 0;

    for (uint32_t i = 0; i < count; i++)
        difference |= (uint64_t)(kept[i] ^ values[i]);
    return difference == 0;
}

bool
gci_memo_find(gci_memo const *memo, int64_t const *values, uint64_t eligibility, gci_selection *out)
{
    if (memo->answers == NULL)
        return false;
    answer *a = set_of(memo, values, eligibility);
    for (size_t i = 0; i < WAYS; i++, a = next_of(memo, a)) {
        if (!a->is_kept || a->eligibility != eligibility || !is_same((int64_t const *)(a + 1), values, memo->width))
            continue;
        *out = a->selection;
        return true;
    }
    return false;
}

void
gci_memo_keep(gci_memo *memo, int64_t const *values, uint64_t eligibility, gci_selection selection)
{
    if (memo->answers == NULL)
        return;
    answer *newest = set_of(memo, values, eligibility);
    memcpy(next_of(memo, newest), newest, memo->stride);
    *newest = (answer){ .eligibility = eligibility, .selection = selection, .is_kept = true };
    memcpy(newest + 1, values, memo->width * sizeof *values);
}
