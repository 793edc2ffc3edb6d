/*
 * Answers for recent hints, by all values of a selector's names.
 *
 * Two places for each hash: the newer answer takes the first and pushes the other one on. An answer is valid for one
 * generation of its selector.
 */
#include "base/check.h"
#include "guards/selector.h"

#include <stdlib.h>

#define SETS 256
#define WAYS 2

/* Lookups with more names aren't remembered: comparing them all costs as much as the index. */
#define MAX_VALUES 24

typedef struct memory {
    uint64_t generation; /* 0: empty */
    uint64_t eligibility;
    gci_selection selection;
    int64_t values[MAX_VALUES];
} memory;

struct gci_memo {
    memory sets[SETS][WAYS];
};

gci_memo *
gci_memo_new(void)
{
    return calloc(1, sizeof(gci_memo));
}

void
gci_memo_free(gci_memo *memo)
{
    free(memo);
}

static size_t
set_of(int64_t const *values, uint32_t count, uint64_t eligibility)
{
    uint64_t hash = eligibility;

    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ (uint64_t)values[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 56) % SETS;
}

static bool
is_same(memory const *m, int64_t const *values, uint32_t count)
{
    uint64_t difference = 0;

    for (uint32_t i = 0; i < count; i++)
        difference |= (uint64_t)(m->values[i] ^ values[i]);
    return difference == 0;
}

bool
gci_memo_find(gci_memo const *memo, gci_selector const *selector, gci_selecting const *asked, gci_selection *out)
{
    int64_t const *values = asked->binding->frame + GCI_FRAME_SLOTS;
    uint32_t count = selector->tables.slot_count;

    if (count > MAX_VALUES)
        return false;
    memory const *ways = memo->sets[set_of(values, count, asked->eligibility)];
    for (int i = 0; i < WAYS; i++) {
        if (ways[i].generation != selector->generation || ways[i].eligibility != asked->eligibility
            || !is_same(&ways[i], values, count))
            continue;
        *out = ways[i].selection;
        return true;
    }
    return false;
}

void
gci_memo_keep(gci_memo *memo, gci_selector const *selector, gci_selecting const *asked, gci_selection selection)
{
    int64_t const *values = asked->binding->frame + GCI_FRAME_SLOTS;
    uint32_t count = selector->tables.slot_count;

    if (count > MAX_VALUES)
        return;
    memory *ways = memo->sets[set_of(values, count, asked->eligibility)];
    ways[1] = ways[0];
    ways[0] = (memory){ .generation = selector->generation, .eligibility = asked->eligibility, .selection = selection };
    memcpy(ways[0].values, values, count * sizeof *values);
}
