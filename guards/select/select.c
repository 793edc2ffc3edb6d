/*
 * Selecting: lists are tried in order, all of them or those that the index lets through, until one holds.
 */
#include "guards/select/selector.h"

#include "base/check.h"

/* One choice on its way. */
typedef struct choosing {
    gci_binding *binding;
    gci_select_request const *request;
    gci_selection selection;
} choosing;

/* ---- one list ---- */

static gcache_truth
eval_exactly(gci_placed_list const *list, gci_binding const *binding)
{
    gci_program const *program = &list->guards->program;
    gci_number const *values[GCI_GUARD_MAX_NAMES];
    gci_calc calc;
    uint32_t at;

    for (uint32_t i = 0; i < program->name_count; i++)
        values[i] = binding->numbers[list->slots[i]];
    gci_calc_init(&calc);
    gcache_truth truth = gci_exact_run(program, values, &calc, &at);
    gci_calc_clear(&calc);
    return truth;
}

static bool
reads_odd(gci_placed_list const *list, gci_name_frame const *frame)
{
    for (size_t i = 0; i < frame->odd_count; i++)
        for (uint32_t k = 0; k < list->guards->program.name_count; k++)
            if (list->slots[k] == frame->odd[i])
                return true;
    return false;
}

/* For hints that aren't integers or shadow a function, and results beyond int64. */
static __attribute__((noinline)) gcache_truth
eval_slowly(gci_placed_list const *list, gci_binding const *binding)
{
    gcache_verdict verdict;
    uint32_t at;

    if (binding->is_shadowed)
        return gci_guards_eval(list->guards, binding->hints, &verdict);
    if (list->code != NULL && binding->frame.odd_count != 0 && !reads_odd(list, &binding->frame)) {
        gci_fast_truth truth = gci_fast_run(list->code, binding->frame.registers, &at);
        if (truth != GCI_FAST_UNKNOWN)
            return truth == GCI_FAST_TRUE ? GCACHE_TRUE : GCACHE_FALSE;
    }
    return eval_exactly(list, binding);
}

static inline gcache_truth
eval(gci_placed_list const *list, gci_binding const *binding)
{
    uint32_t at;

    if (list->code != NULL && binding->is_plain) {
        gci_fast_truth truth = gci_fast_run(list->code, binding->frame.registers, &at);
        if (truth != GCI_FAST_UNKNOWN)
            return truth == GCI_FAST_TRUE ? GCACHE_TRUE : GCACHE_FALSE;
    }
    return eval_slowly(list, binding);
}

static bool
is_eligible(gci_select_request const *request, uint32_t place)
{
    return request->eligible == NULL || request->eligible(request->state, place);
}

/* true: it holds. */
static inline bool
try_list(choosing *c, uint32_t place)
{
    if (!is_eligible(c->request, place))
        return false;
    switch (eval(&c->binding->selector->lists[place], c->binding)) {
    case GCACHE_TRUE: c->selection.place = place; return true;
    case GCACHE_FALSE: c->selection.some_false = true; return false;
    case GCACHE_RAISES: c->selection.some_raise = true; return false;
    }
    return false;
}

/* ---- many ---- */

static void
try_all(choosing *c)
{
    for (uint32_t i = 0; i < c->binding->selector->count; i++)
        if (try_list(c, i))
            return;
}

static void
try_filtered(choosing *c)
{
    gci_cursor cursor;

    gci_cursor_init(&cursor, c->binding->selector->index, &c->binding->frame);
    for (uint32_t place; (place = gci_cursor_next(&cursor)) != UINT32_MAX;)
        if (try_list(c, place))
            return;
}

/*
 * Is any eligible list false? Needed for a miss in which none of those tried was. The lists that the index skipped are
 * false, so the first one nearly always decides.
 */
static bool
is_any_false(choosing const *c)
{
    gci_selector const *s = c->binding->selector;

    for (uint32_t i = 0; i < s->count; i++)
        if (is_eligible(c->request, i) && eval(&s->lists[i], c->binding) == GCACHE_FALSE)
            return true;
    return false;
}

static gci_selection
select_anew(gci_binding *binding, gci_select_request const *request)
{
    choosing c = { .binding = binding, .request = request, .selection = { .place = GCI_NO_CANDIDATE } };
    bool filtered = binding->selector->index != NULL && !binding->is_shadowed;

    if (filtered)
        try_filtered(&c);
    else
        try_all(&c);
    if (c.selection.place != GCI_NO_CANDIDATE)
        return (gci_selection){ .place = c.selection.place };
    if (filtered && !c.selection.some_false)
        c.selection.some_false = is_any_false(&c);
    return c.selection;
}

gci_selection
gci_select(gci_binding *binding, gci_select_request const *request)
{
    int64_t const *values = binding->frame.registers + GCI_FRAME_SLOTS;
    gci_selection selection;

    GCI_ASSERT(binding->hints != NULL);
    if (!request->remember || !binding->is_plain)
        return select_anew(binding, request);
    if (gci_memo_find(&binding->memo, values, request->eligibility, &selection))
        return selection;
    selection = select_anew(binding, request);
    gci_memo_keep(&binding->memo, values, request->eligibility, selection);
    return selection;
}
