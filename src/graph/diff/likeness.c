/* An open hash table of features with how often each occurs on the one side, and so far on the other. */
#include "graph/diff/likeness.h"

#include "base/digest.h"

#include <stdlib.h>

/* Of a graph in which no more nodes changed their context than this, one change may have done it. */
#define FEW_NODES 8

typedef struct slot {
    uint64_t hash;
    uint32_t count; /* 0: an empty slot */
    uint32_t met, round; /* met counts in this round */
} slot;

struct gci_feature_set {
    slot *slots;
    size_t capacity, used;
    uint32_t round;
    bool failed;
    gci_likeness likeness;
};

gci_feature_set *
gci_feature_set_new(void)
{
    return calloc(1, sizeof(gci_feature_set));
}

void
gci_feature_set_free(gci_feature_set *set)
{
    if (set == NULL)
        return;
    free(set->slots);
    free(set);
}

/* The slot of a hash, or the empty one where it belongs. There is one. */
static slot *
slot_of(slot *slots, size_t capacity, uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);

    while (slots[at].count != 0 && slots[at].hash != hash)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool
grow(gci_feature_set *set)
{
    size_t capacity = set->capacity == 0 ? 1024 : set->capacity * 2;
    slot *slots = calloc(capacity, sizeof *slots);

    if (slots == NULL)
        return false;
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i].count != 0)
            *slot_of(slots, capacity, set->slots[i].hash) = set->slots[i];
    }
    free(set->slots);
    set->slots = slots;
    set->capacity = capacity;
    return true;
}

static uint64_t
hash_at(gci_feature const *feature, unsigned level)
{
    uint64_t const hashes[] = { feature->exact, feature->place, feature->rough, feature->context, feature->name };

    return gci_mix(hashes[level], level * GCI_FEATURE_SORTS + feature->sort);
}

void
gci_feature_set_add(void *state, gci_feature const *feature)
{
    gci_feature_set *set = state;

    set->likeness.asked[feature->sort]++;
    for (unsigned level = 0; level < GCI_FEATURE_LEVELS; level++) {
        uint64_t hash = hash_at(feature, level);
        if (set->used * 2 >= set->capacity && !grow(set)) {
            set->failed = true;
            return;
        }
        slot *s = slot_of(set->slots, set->capacity, hash);
        set->used += s->count == 0;
        s->hash = hash;
        s->count++;
    }
}

void
gci_feature_set_begin(gci_feature_set *set)
{
    set->round++;
    memset(set->likeness.stored, 0, sizeof set->likeness.stored);
    memset(set->likeness.common, 0, sizeof set->likeness.common);
}

void
gci_feature_set_meet(void *state, gci_feature const *feature)
{
    gci_feature_set *set = state;

    set->likeness.stored[feature->sort]++;
    for (unsigned level = 0; set->capacity != 0 && level < GCI_FEATURE_LEVELS; level++) {
        slot *s = slot_of(set->slots, set->capacity, hash_at(feature, level));
        if (s->round != set->round) {
            s->round = set->round;
            s->met = 0;
        }
        if (s->met < s->count) {
            s->met++;
            set->likeness.common[level][feature->sort]++;
        }
    }
}

bool
gci_feature_set_end(gci_feature_set const *set, gci_likeness *out_likeness)
{
    *out_likeness = set->likeness;
    return !set->failed;
}

static size_t
of_sort(gci_likeness const *l, gci_feature_sort sort)
{
    return l->stored[sort] > l->asked[sort] ? l->stored[sort] : l->asked[sort];
}

static size_t
differing(gci_likeness const *l, gci_feature_level level, gci_feature_sort sort)
{
    return of_sort(l, sort) - l->common[level][sort];
}

size_t
gci_likeness_differing(gci_likeness const *likeness, gci_feature_level level)
{
    size_t count = 0;

    for (gci_feature_sort sort = 0; sort < GCI_FEATURE_SORTS; sort++)
        count += sort != GCI_FEATURE_PORT || level != GCI_EXACT ? differing(likeness, level, sort) : 0;
    return count;
}

gci_feature_sort
gci_likeness_unit(gci_likeness const *likeness)
{
    return of_sort(likeness, GCI_FEATURE_NODE) != 0 ? GCI_FEATURE_NODE
           : of_sort(likeness, GCI_FEATURE_LINE) != 0 ? GCI_FEATURE_LINE
                                                      : GCI_FEATURE_LEAF;
}

size_t
gci_likeness_units(gci_likeness const *likeness, size_t *out_of)
{
    gci_feature_sort unit = gci_likeness_unit(likeness);

    size_t exact = differing(likeness, GCI_EXACT, unit), context = differing(likeness, GCI_CONTEXT, unit);

    *out_of = of_sort(likeness, unit);
    return context > exact && !gci_likeness_is_kin(likeness) ? context : exact;
}

/* Most units have a counterpart among the same neighbours, numbers aside; of nodes, where few operations look alike without their
   numbers, one in ten with them. */
static bool
is_alike_in_context(size_t all, size_t context, size_t exact, bool nodes)
{
    return 2 * context <= all && (!nodes || all <= FEW_NODES || 10 * exact <= 9 * all);
}

/* One change moves the neighbours of what changed too: all of them in a small graph, in a large one those of many small changes. */
static bool
is_alike_by_units(size_t all, size_t context, size_t exact, size_t name)
{
    return 3 * exact <= all || (exact <= FEW_NODES && 2 * exact <= all) ||
           (all <= 2 * FEW_NODES && context <= FEW_NODES && 2 * name <= all);
}

bool
gci_likeness_is_kin(gci_likeness const *likeness)
{
    gci_feature_sort unit = gci_likeness_unit(likeness);
    bool nodes = unit == GCI_FEATURE_NODE;
    size_t all = of_sort(likeness, unit), exact = differing(likeness, GCI_EXACT, unit),
           context = differing(likeness, GCI_CONTEXT, unit), name = differing(likeness, GCI_NAME, unit);

    /* Neither a graph nor a text: options of the same names. */
    if (unit == GCI_FEATURE_LEAF)
        return 2 * name <= all;
    return is_alike_in_context(all, context, exact, nodes) || (nodes && is_alike_by_units(all, context, exact, name));
}
