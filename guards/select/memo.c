/*
 * Answers for recent hints, by all values of a selector's names.
 *
 * Two places for each hash: the newer answer takes the first and pushes the other one on. An answer is valid for one
 * generation of its selector.
 */
#include "base/check.h"
#include "guards/select/selector.h"

#include <stdlib.h>

#define SETS 128
#define WAYS 2

/* Lookups with more names aren't remembered: comparing them all costs as much as the index. */
#define MAX_VALUES 24

typedef struct memory {
    uint64_t generation; /* 0: empty */
    uint64_t eligibility;
    gci_selection selection;
} memory;

/* The values of a memory stand behind it. */
struct gci_memo {
    char *memories;
    uint32_t width; /* values of each */
    size_t stride;
};

gci_memo *
gci_memo_new(void)
{
    return calloc(1, sizeof(gci_memo));
}

void
gci_memo_free(gci_memo *memo)
{
    if (memo == NULL)
        return;
    free(memo->memories);
    free(memo);
}

static size_t
set_of(int64_t const *values, uint32_t count, uint64_t eligibility)
{
    uint64_t hash = eligibility;

    for (uint32_t i = 0; i < count; i++)
        hash = (hash ^ (uint64_t)values[i]) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(hash >> 57) % SETS;
}

static inline memory *
way(gci_memo const *memo, size_t set, size_t number)
{
    return (memory *)(void *)(memo->memories + (set * WAYS + number) * memo->stride);
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
gci_memo_find(gci_memo const *memo, gci_selector const *selector, gci_selecting const *asked, gci_selection *out)
{
    int64_t const *values = asked->binding->frame + GCI_FRAME_SLOTS;
    uint32_t count = selector->tables.slot_count;

    if (memo->memories == NULL || count != memo->width)
        return false;
    size_t set = set_of(values, count, asked->eligibility);
    for (size_t i = 0; i < WAYS; i++) {
        memory const *m = way(memo, set, i);
        if (m->generation != selector->generation || m->eligibility != asked->eligibility
            || !is_same((int64_t const *)(m + 1), values, count))
            continue;
        *out = m->selection;
        return true;
    }
    return false;
}

/* false: no memory, or there are too many. */
static bool
set_width(gci_memo *memo, uint32_t width)
{
    if (memo->memories != NULL && width == memo->width)
        return true;
    free(memo->memories);
    memo->width = width;
    memo->stride = sizeof(memory) + width * sizeof(int64_t);
    memo->memories = width <= MAX_VALUES ? calloc((size_t)SETS * WAYS, memo->stride) : NULL;
    return memo->memories != NULL;
}

void
gci_memo_keep(gci_memo *memo, gci_selector const *selector, gci_selecting const *asked, gci_selection selection)
{
    int64_t const *values = asked->binding->frame + GCI_FRAME_SLOTS;
    uint32_t count = selector->tables.slot_count;

    if (!set_width(memo, count))
        return;
    size_t set = set_of(values, count, asked->eligibility);
    memory *newest = way(memo, set, 0);
    memcpy(way(memo, set, 1), newest, memo->stride);
    *newest = (memory){ .generation = selector->generation, .eligibility = asked->eligibility, .selection = selection };
    memcpy(newest + 1, values, count * sizeof *values);
}
