/*
 * Uses the guards' selector for a lookup.
 *
 * Candidates of one variant, with the same names and requirements, are a class. A lookup admits a class as a whole or not
 * at all. The admitted classes are a word of bits; the memo keeps results of equal hints apart by it.
 *
 * Invariants:
 *  1. A candidate's place in the selector is its place in the ranking.
 *  2. The index doesn't change once it hangs on its ranking, but for the spare bindings.
 *  3. A binding is used by one thread at a time: the thread that took it out of `spare`.
 */
#include "cache/candidates/ranking_index.h"

#include "base/check.h"
#include "cache/candidates/trial.h"
#include "guards/guards.h"

#include <stdlib.h>

/* A bit each. A key with more classes is tried one by one. */
#define MAX_CLASSES 64

/* Threads beyond so many at once in one key make a binding for the one lookup. */
#define SPARE_BINDINGS 8

typedef struct ranking_index {
    gci_ranked const *const *items; /* the ranking's */
    gci_selector *selector;
    uint8_t *class_of;                      /* by place */
    gci_ranked const *leaders[MAX_CLASSES]; /* a candidate of each class */
    uint32_t class_count;
    _Atomic(gci_binding *) spare[SPARE_BINDINGS];
} ranking_index;

/* ---- classes ---- */

static bool
same_pairs(gci_pair const *a, size_t a_count, gci_pair const *b, size_t b_count)
{
    if (a_count != b_count)
        return false;
    for (size_t i = 0; i < a_count; i++)
        if (!gci_view_equal(a[i].name, b[i].name) || !gci_view_equal(a[i].value, b[i].value))
            return false;
    return true;
}

static bool
same_class(gci_record const *a, gci_record const *b)
{
    return gci_view_equal(a->variant, b->variant) && same_pairs(a->names, a->name_count, b->names, b->name_count)
           && same_pairs(a->requirements, a->requirement_count, b->requirements, b->requirement_count);
}

/* false: there are too many. */
static bool
classify(ranking_index *index, size_t place)
{
    gci_ranked const *ranked = index->items[place];
    uint32_t class = 0;

    while (class < index->class_count
           && !same_class(&index->leaders[class]->candidate->record, &ranked->candidate->record))
        class++;
    if (class == MAX_CLASSES)
        return false;
    if (class == index->class_count)
        index->leaders[index->class_count++] = ranked;
    index->class_of[place] = (uint8_t)class;
    return true;
}

/* The classes that the lookup admits, whatever the guards say. */
static uint64_t
admitted_classes(ranking_index const *index, gci_context const *context)
{
    uint64_t classes = 0;
    gci_pair const *requirement;
    gci_view provided;

    for (uint32_t i = 0; i < index->class_count; i++) {
        if (gci_context_refusal(context, index->leaders[i], &requirement, &provided) == GCACHE_REASON_NONE)
            classes |= (uint64_t)1 << i;
    }
    return classes;
}

static uint64_t
expected_classes(ranking_index const *index, char const *variant)
{
    uint64_t classes = 0;

    for (uint32_t i = 0; i < index->class_count; i++)
        if (strcmp(index->leaders[i]->answer.variant, variant) == 0)
            classes |= (uint64_t)1 << i;
    return classes;
}

/* ---- bindings ---- */

static gci_binding *
take_binding(ranking_index *index)
{
    for (size_t i = 0; i < SPARE_BINDINGS; i++) {
        if (atomic_load_explicit(&index->spare[i], memory_order_relaxed) == NULL)
            continue;
        gci_binding *binding = atomic_exchange_explicit(&index->spare[i], NULL, memory_order_acquire);
        if (binding != NULL)
            return binding;
    }
    return gci_binding_new(index->selector);
}

static void
give_back(ranking_index *index, gci_binding *binding)
{
    for (size_t i = 0; i < SPARE_BINDINGS; i++) {
        gci_binding *expected = NULL;
        if (atomic_compare_exchange_strong_explicit(&index->spare[i], &expected, binding, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    gci_binding_free(binding);
}

/* ---- making ---- */

void
gci_ranking_index_free(void *value)
{
    ranking_index *index = value;

    if (index == NULL)
        return;
    for (size_t i = 0; i < SPARE_BINDINGS; i++)
        gci_binding_free(atomic_load(&index->spare[i]));
    gci_selector_free(index->selector);
    free(index->class_of);
    free(index);
}

/* false: no memory, or the candidates are not for an index. */
static bool
fill(ranking_index *index, gci_ranking const *ranking)
{
    gci_guards const **lists = malloc((ranking->count + 1) * sizeof(gci_guards const *));
    bool fits = lists != NULL;

    for (size_t i = 0; i < ranking->count && fits; i++) {
        lists[i] = ranking->items[i]->guards;
        fits = lists[i] != NULL && classify(index, i);
    }
    index->selector = fits ? gci_selector_new(lists, ranking->count) : NULL;
    free((void *)lists);
    return index->selector != NULL;
}

/* NULL: no memory, or the candidates are not for an index. */
static ranking_index *
make(gci_ranking const *ranking)
{
    ranking_index *index = calloc(1, sizeof *index);

    if (index == NULL)
        return NULL;
    index->items = ranking->items;
    index->class_of = malloc(ranking->count);
    if (index->class_of != NULL && fill(index, ranking))
        return index;
    gci_ranking_index_free(index);
    return NULL;
}

/* One thread makes it, once: the others go on without it meanwhile, and all do if it can't be made. */
static ranking_index *
index_of(gci_ranking *ranking)
{
    ranking_index *index = gci_extra_get(&ranking->index);

    if (index != NULL || ranking->count < GCI_RANKING_INDEX_LEAST)
        return index;
    if (atomic_load_explicit(&ranking->lookups, memory_order_relaxed) >= GCI_RANKING_INDEX_LOOKUPS
        || atomic_fetch_add(&ranking->lookups, 1) + 1 != GCI_RANKING_INDEX_LOOKUPS)
        return NULL;
    index = make(ranking);
    if (index == NULL)
        return NULL;
    size_t cost = sizeof *index + ranking->count + gci_selector_size(index->selector);
    return gci_extra_set(&ranking->index, ranking->set->account, index, cost, gci_ranking_index_free);
}

/* ---- selecting ---- */

/* Which candidates may be selected. */
typedef struct eligibility {
    ranking_index const *index;
    uint64_t classes;
    bool const *failed;
} eligibility;

static bool
is_eligible(void const *state, uint32_t place)
{
    eligibility const *e = state;

    return (e->classes >> e->index->class_of[place] & 1) != 0 && (e->failed == NULL || !e->failed[place]);
}

static gci_selection
select_from(ranking_index const *index, gci_binding *binding, uint64_t classes, bool const *failed)
{
    eligibility e = { .index = index, .classes = classes, .failed = failed };
    bool all = failed == NULL && classes == (UINT64_MAX >> (MAX_CLASSES - index->class_count));
    gci_select_request request = {
        .eligible = all ? NULL : is_eligible, .state = &e, .remember = failed == NULL, .eligibility = classes
    };

    return gci_select(binding, &request);
}

static gci_selection
choose(ranking_index const *index, gci_binding *binding, gci_context const *context, uint64_t admitted, bool const *failed)
{
    char const *variant = context->request.expect_variant;
    uint64_t expected = variant != NULL ? admitted & expected_classes(index, variant) : 0;

    if (expected != 0 && expected != admitted) {
        gci_selection selection = select_from(index, binding, expected, failed);
        if (selection.place != GCI_NO_CANDIDATE)
            return selection;
    }
    return select_from(index, binding, admitted, failed);
}

bool
gci_ranking_index_select(gci_ranking *ranking, gci_context const *context, bool const *failed, gci_indexed *out)
{
    if (context->request.guard_test != NULL || context->cache->unsafe_skip_guards)
        return false;
    ranking_index *index = index_of(ranking);
    uint64_t admitted = index != NULL ? admitted_classes(index, context) : 0;
    gci_binding *binding = admitted != 0 ? take_binding(index) : NULL;
    if (binding == NULL)
        return false;
    gci_binding_set(binding, &context->hints);
    gci_selection found = choose(index, binding, context, admitted, failed);
    give_back(index, binding);
    out->best = found.place != GCI_NO_CANDIDATE ? found.place : GCI_NOBODY;
    out->reason = found.some_false ? GCACHE_REASON_GUARD_FALSE : GCACHE_REASON_GUARD_ERROR;
    return out->best != GCI_NOBODY || found.some_false || found.some_raise;
}
