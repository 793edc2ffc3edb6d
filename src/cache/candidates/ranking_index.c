/*
 * Asks the guards' selector on behalf of a lookup.
 *
 * Candidates of one variant, with the same names and requirements, are a class: a question admits all of it or none, so
 * that it is decided once a lookup. The admitted classes are a word of bits, which is also what the memo tells questions
 * of equal hints apart by.
 *
 * Invariants:
 *  1. A candidate's number in the selector is its place in the ranking, and so is its rank.
 *  2. The index doesn't change once it hangs on its ranking, but for the seats.
 *  3. A seat is used by one thread at a time: who has taken it out of `seats` has it alone.
 */
#include "cache/candidates/ranking_index.h"

#include "base/check.h"
#include "cache/candidates/trial.h"
#include "guards/guards.h"

#include <stdlib.h>

/* A bit each. A key with more classes is tried one by one. */
#define MAX_CLASSES 64

/* Threads beyond so many at once in one key make a seat for the one lookup. */
#define SEATS 8

typedef struct seat {
    gci_binding binding;
    gci_memo *memo;
} seat;

typedef struct ranking_index {
    gci_ranked const *const *items; /* the ranking's */
    gci_selector *selector;
    uint8_t *class_of;                      /* by place */
    gci_ranked const *leaders[MAX_CLASSES]; /* a candidate of each class */
    uint32_t class_count;
    _Atomic(seat *) seats[SEATS];
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

/* The classes of which every candidate may be chosen, its guards aside. */
static uint64_t
admitted_classes(ranking_index const *index, gci_question const *question)
{
    uint64_t classes = 0;
    gci_pair const *requirement;
    gci_view provided;

    for (uint32_t i = 0; i < index->class_count; i++) {
        gci_record const *record = &index->leaders[i]->candidate->record;
        if (gci_question_refusal(question, record, &requirement, &provided) == GCACHE_REASON_NONE)
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

/* ---- seats ---- */

static void
free_seat(seat *s)
{
    if (s == NULL)
        return;
    gci_binding_clear(&s->binding);
    gci_memo_free(s->memo);
    free(s);
}

static seat *
take_seat(ranking_index *index)
{
    for (size_t i = 0; i < SEATS; i++) {
        if (atomic_load_explicit(&index->seats[i], memory_order_relaxed) == NULL)
            continue;
        seat *s = atomic_exchange_explicit(&index->seats[i], NULL, memory_order_acquire);
        if (s != NULL)
            return s;
    }
    seat *s = calloc(1, sizeof *s);
    if (s != NULL)
        s->memo = gci_memo_new();
    return s;
}

static void
give_back(ranking_index *index, seat *s)
{
    for (size_t i = 0; i < SEATS; i++) {
        seat *expected = NULL;
        if (atomic_compare_exchange_strong_explicit(&index->seats[i], &expected, s, memory_order_release,
                                                    memory_order_relaxed))
            return;
    }
    free_seat(s);
}

/* ---- making ---- */

void
gci_ranking_index_free(void *value)
{
    ranking_index *index = value;

    if (index == NULL)
        return;
    for (size_t i = 0; i < SEATS; i++)
        free_seat(atomic_load(&index->seats[i]));
    gci_selector_free(index->selector);
    free(index->class_of);
    free(index);
}

static bool
fill(ranking_index *index, gci_ranking const *ranking)
{
    for (size_t i = 0; i < ranking->count; i++) {
        gci_rank rank = { .sequence = ranking->count - i };
        if (ranking->items[i]->guards == NULL || !classify(index, i))
            return false;
        if (gci_selector_insert(index->selector, (uint32_t)i, ranking->items[i]->guards, rank, NULL) != GCACHE_OK)
            return false;
    }
    return gci_selector_compact(index->selector, NULL) == GCACHE_OK;
}

/* NULL: no memory, or the candidates are not for an index. */
static ranking_index *
make(gci_ranking const *ranking)
{
    ranking_index *index = calloc(1, sizeof *index);

    if (index == NULL)
        return NULL;
    index->items = ranking->items;
    index->selector = gci_selector_new();
    index->class_of = malloc(ranking->count);
    if (index->selector != NULL && index->class_of != NULL && fill(index, ranking))
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

/* ---- asking ---- */

typedef struct asking {
    ranking_index const *index;
    uint64_t classes;
    bool const *failed;
} asking;

static bool
is_eligible(void *state, uint32_t place)
{
    asking const *a = state;

    return (a->classes >> a->index->class_of[place] & 1) != 0 && (a->failed == NULL || !a->failed[place]);
}

static gci_selection
select_from(seat *s, ranking_index const *index, uint64_t classes, bool const *failed)
{
    asking a = { .index = index, .classes = classes, .failed = failed };
    gci_selecting asked = { .binding = &s->binding, .state = &a, .eligibility = classes };

    if (failed != NULL || classes != (UINT64_MAX >> (MAX_CLASSES - index->class_count)))
        asked.eligible = is_eligible;
    if (failed == NULL)
        asked.memo = s->memo;
    return gci_select(index->selector, &asked);
}

static gci_selection
choose(seat *s, ranking_index const *index, gci_question const *question, uint64_t admitted, bool const *failed)
{
    char const *variant = question->request.expect_variant;
    uint64_t expected = variant != NULL ? admitted & expected_classes(index, variant) : 0;

    if (expected != 0 && expected != admitted) {
        gci_selection selection = select_from(s, index, expected, failed);
        if (selection.id != GCI_NO_CANDIDATE)
            return selection;
    }
    return select_from(s, index, admitted, failed);
}

bool
gci_ranking_index_ask(gci_ranking *ranking, gci_question const *question, bool const *failed, gci_indexed *out)
{
    bool answered = false;

    if (question->request.guard_test != NULL || question->cache->unsafe_skip_guards)
        return false;
    ranking_index *index = index_of(ranking);
    uint64_t admitted = index != NULL ? admitted_classes(index, question) : 0;
    seat *s = admitted != 0 ? take_seat(index) : NULL;
    if (s == NULL)
        return false;
    if (gci_binding_set(&s->binding, index->selector, question->hints)) {
        gci_selection found = choose(s, index, question, admitted, failed);
        out->best = found.id != GCI_NO_CANDIDATE ? found.id : GCI_NOBODY;
        out->reason = found.some_false ? GCACHE_REASON_GUARD_FALSE : GCACHE_REASON_GUARD_ERROR;
        answered = out->best != GCI_NOBODY || found.some_false || found.some_raise;
    }
    give_back(index, s);
    return answered;
}
