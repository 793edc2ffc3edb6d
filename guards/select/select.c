/*
 * Asking a selector: what waits is tried one by one, segments through their indexes, and the best of all is the answer.
 */
#include "base/check.h"
#include "guards/text/hint.h"
#include "guards/select/selector.h"

#include <stdlib.h>

typedef struct asking {
    gci_selector const *selector;
    gci_selecting const *asked;
    gci_chosen const *best;
    bool some_false, some_raise;
} asking;

/* ---- one candidate ---- */

static gcache_truth
eval_exactly(gci_chosen const *c, gci_binding const *binding)
{
    gci_program const *program = &c->guards->program;
    gci_number const *values[GCI_GUARD_MAX_NAMES];
    gci_calc calc;
    uint32_t at;

    for (uint32_t i = 0; i < program->name_count; i++)
        values[i] = binding->numbers[c->slots[i]];
    gci_calc_init(&calc);
    gcache_truth truth = gci_exact_run(program, values, &calc, &at);
    gci_calc_clear(&calc);
    return truth;
}

static bool
reads_odd(gci_chosen const *c, gci_binding const *binding)
{
    for (size_t i = 0; i < binding->odd_count; i++)
        for (uint32_t k = 0; k < c->guards->program.name_count; k++)
            if (c->slots[k] == binding->odd[i])
                return true;
    return false;
}

/* Where not all is plain: hints that aren't integers or shadow a function, results beyond int64. */
static __attribute__((noinline)) gcache_truth
eval_slowly(gci_chosen const *c, gci_binding const *binding)
{
    gcache_verdict verdict;
    uint32_t at;

    if (binding->is_shadowed)
        return gci_guards_eval(c->guards, binding->hints, &verdict);
    if (c->code != NULL && binding->odd_count != 0 && !reads_odd(c, binding)) {
        gci_fast_truth truth = gci_fast_run(c->code, binding->frame, &at);
        if (truth != GCI_FAST_UNKNOWN)
            return truth == GCI_FAST_TRUE ? GCACHE_TRUE : GCACHE_FALSE;
    }
    return eval_exactly(c, binding);
}

static inline gcache_truth
eval(gci_chosen const *c, gci_binding const *binding)
{
    uint32_t at;

    if (c->code != NULL && binding->is_plain) {
        gci_fast_truth truth = gci_fast_run(c->code, binding->frame, &at);
        if (truth != GCI_FAST_UNKNOWN)
            return truth == GCI_FAST_TRUE ? GCACHE_TRUE : GCACHE_FALSE;
    }
    return eval_slowly(c, binding);
}

static bool
is_eligible(gci_selecting const *asked, gci_chosen const *c)
{
    return asked->eligible == NULL || asked->eligible(asked->state, c->id);
}

/* Tries a candidate that ranks before the best so far. true: it holds. */
static inline bool
try_candidate(asking *a, gci_chosen const *c)
{
    if (!is_eligible(a->asked, c))
        return false;
    switch (eval(c, a->asked->binding)) {
    case GCACHE_TRUE: a->best = c; return true;
    case GCACHE_FALSE: a->some_false = true; return false;
    case GCACHE_RAISES: a->some_raise = true; return false;
    }
    return false;
}

static bool
ranks_behind_best(asking const *a, gci_chosen const *c)
{
    return a->best != NULL && gci_rank_compare(&a->best->rank, &c->rank) < 0;
}

/* ---- many ---- */

/*
 * The usual walk, tightly: steps over candidates whose programs are false. Returns where it stopped, and in *out_holds
 * whether that one holds; else it is for a closer look.
 */
static uint32_t
skip_false(asking *a, gci_chosen *const *candidates, uint32_t count, uint32_t first, bool *out_holds)
{
    int64_t *frame = a->asked->binding->frame;
    gci_fast_truth truth = GCI_FAST_FALSE;
    uint32_t i = first, at;

    for (; i < count && candidates[i] != NULL && candidates[i]->code != NULL; i++) {
        truth = gci_fast_run(candidates[i]->code, frame, &at);
        if (truth != GCI_FAST_FALSE)
            break;
    }
    a->some_false = a->some_false || i != first;
    *out_holds = truth == GCI_FAST_TRUE;
    return i;
}

static void
try_in_order(asking *a, gci_chosen *const *candidates, uint32_t count)
{
    bool tight = a->asked->binding->is_plain && a->asked->eligible == NULL && a->best == NULL, holds;

    for (uint32_t i = 0; i < count; i++) {
        if (tight) {
            i = skip_false(a, candidates, count, i, &holds);
            if (holds)
                a->best = candidates[i];
            if (holds || i == count)
                return;
        }
        gci_chosen const *c = candidates[i];
        if (c == NULL)
            continue;
        if (ranks_behind_best(a, c) || try_candidate(a, c))
            return;
    }
}

static void
try_segment(asking *a, gci_segment const *segment)
{
    gci_cursor cursor;

    if (segment->axis_count == 0 || a->asked->binding->is_shadowed) {
        try_in_order(a, segment->candidates, segment->count);
        return;
    }
    gci_cursor_init(&cursor, segment, &a->selector->tables, a->asked->binding);
    for (uint32_t place; (place = gci_cursor_next(&cursor)) != UINT32_MAX;) {
        gci_chosen const *c = segment->candidates[place];
        if (ranks_behind_best(a, c) || try_candidate(a, c))
            return;
    }
}

/*
 * Is any eligible candidate of the segments false? Asked of a miss in which none of those tried was: what the indexes
 * passed over is false, so that the first one that is looked at nearly always decides.
 */
static bool
is_any_false(asking const *a)
{
    gci_selector const *s = a->selector;

    for (uint32_t i = 0; i < s->segment_count; i++) {
        for (uint32_t k = 0; k < s->segments[i]->count; k++) {
            gci_chosen const *c = s->segments[i]->candidates[k];
            if (c != NULL && is_eligible(a->asked, c) && eval(c, a->asked->binding) == GCACHE_FALSE)
                return true;
        }
    }
    return false;
}

static gci_selection
select_anew(gci_selector const *selector, gci_selecting const *asked)
{
    asking a = { .selector = selector, .asked = asked };

    for (uint32_t i = 0; i < selector->segment_count; i++)
        try_segment(&a, selector->segments[i]);
    try_in_order(&a, selector->fresh, selector->fresh_count);
    if (a.best != NULL)
        return (gci_selection){ .id = a.best->id };
    if (!a.some_false)
        a.some_false = is_any_false(&a);
    return (gci_selection){ .id = GCI_NO_CANDIDATE, .some_false = a.some_false, .some_raise = a.some_raise };
}

gci_selection
gci_select(gci_selector const *selector, gci_selecting const *asked)
{
    gci_selection selection;

    GCI_ASSERT(asked->binding->hints != NULL && selector->tables.slot_count <= asked->binding->room);
    if (asked->memo == NULL || !asked->binding->is_plain)
        return select_anew(selector, asked);
    if (gci_memo_find(asked->memo, selector, asked, &selection))
        return selection;
    selection = select_anew(selector, asked);
    gci_memo_keep(asked->memo, selector, asked, selection);
    return selection;
}

/* ---- traced ---- */

static int
compare_rank(void const *left, void const *right)
{
    gci_chosen const *const *a = left, *const *b = right;

    return gci_rank_compare(&(*a)->rank, &(*b)->rank);
}

static void
trace_one(asking *a, gci_chosen const *c, gci_verdict_fn tell, void *state)
{
    gcache_verdict verdict;
    gcache_truth truth = gci_guards_eval(c->guards, a->asked->binding->hints, &verdict);

    tell(state, c->id, &verdict);
    if (truth == GCACHE_TRUE && a->best == NULL)
        a->best = c;
    a->some_false = a->some_false || truth == GCACHE_FALSE;
    a->some_raise = a->some_raise || truth == GCACHE_RAISES;
}

gcache_status
gci_select_traced(gci_selector const *selector, gci_selecting const *asked, gci_verdict_fn tell, void *state,
                  gci_selection *out_selection, gcache_error *error)
{
    asking a = { .selector = selector, .asked = asked };
    gci_chosen const **order = malloc((selector->count + 1) * sizeof(gci_chosen const *));
    size_t count = 0;

    if (order == NULL)
        return gci_fail_memory(error);
    for (size_t id = 0; id < selector->id_room; id++)
        if (selector->by_id[id] != NULL && is_eligible(asked, selector->by_id[id]))
            order[count++] = selector->by_id[id];
    if (count > 1)
        qsort((void *)order, count, sizeof(gci_chosen const *), compare_rank);
    for (size_t i = 0; i < count; i++)
        trace_one(&a, order[i], tell, state);
    free((void *)order);
    *out_selection = (gci_selection){ GCI_NO_CANDIDATE, a.some_false, a.some_raise };
    if (a.best != NULL)
        *out_selection = (gci_selection){ .id = a.best->id };
    return GCACHE_OK;
}
