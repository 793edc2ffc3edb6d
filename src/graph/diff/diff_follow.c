/*
 * What follows from what: references that go past a node that is gone, or through one that is new, and numbers that are sizes.
 * A difference counts as following only where nothing else can be meant.
 */
#include "base/text/value.h"
#include "graph/diff/diff_run.h"
#include "graph/sequence/lcs.h"

/* ---- references ---- */

/* Nodes that only one side has, one behind another: from more than so many nothing is said to follow. */
#define PASSED_MOST 32
/* Kept nodes that they take. */
#define REACHED_MOST 32

/* Which kept nodes a reference comes to, through nodes that only its side has. Positions are those of what was asked. */
typedef struct reach {
    gci_value const *nodes;
    uint32_t const *to_other;
    bool of_asked;
    uint32_t passed[PASSED_MOST], reached[REACHED_MOST];
    size_t passed_count, reached_count;
    bool full;
} reach;

static void
note(uint32_t position, uint32_t *list, size_t *count, size_t most, bool *full)
{
    for (size_t i = 0; i < *count; i++)
        if (list[i] == position)
            return;
    if (*count == most)
        *full = true;
    else
        list[(*count)++] = position;
}

static void
note_node(reach *r, uint32_t position)
{
    uint32_t other = position < r->nodes->count ? r->to_other[position] : GCI_LCS_NONE;

    if (position >= r->nodes->count)
        r->full = true;
    else if (other == GCI_LCS_NONE)
        note(position, r->passed, &r->passed_count, PASSED_MOST, &r->full);
    else
        note(r->of_asked ? position : other, r->reached, &r->reached_count, REACHED_MOST, &r->full);
}

/* Nodes among the arguments of a node. */
static void
note_arguments(reach *r, gci_value const *value)
{
    bool list = value->type == GCI_LIST || value->type == GCI_TUPLE;

    if (value->type == GCI_NODE && gci_node_ref_serial(value->integer) == 1)
        note_node(r, gci_node_ref_position(value->integer));
    for (uint32_t i = 0; list && i < value->count; i++)
        note_arguments(r, &value->items[i]);
    for (uint32_t i = 0; value->type == GCI_MAP && i < value->count; i++)
        note_arguments(r, &value->members[i].value);
}

static reach
reach_from(gci_value const *nodes, uint32_t const *to_other, bool of_asked, uint32_t position)
{
    reach r = { .nodes = nodes, .to_other = to_other, .of_asked = of_asked };

    note_node(&r, position);
    for (size_t i = 0; i < r.passed_count; i++)
        note_arguments(&r, &nodes->items[r.passed[i]]);
    return r;
}

static bool
have_common(reach const *a, reach const *b)
{
    for (size_t i = 0; i < a->reached_count; i++)
        for (size_t k = 0; k < b->reached_count; k++)
            if (a->reached[i] == b->reached[k])
                return true;
    return false;
}

bool
gci_diff_reference_follows(gci_diff_run const *run, int64_t stored, int64_t asked)
{
    gci_alignment const *at = run->open;
    uint32_t serial = gci_node_ref_serial(stored);

    if (serial != gci_node_ref_serial(asked) || serial == GCI_NODE_INPUTS)
        return false;
    for (uint32_t up = serial; up > 1 && at != NULL; up--)
        at = at->outer;
    if (at == NULL || at->stored == NULL)
        return false;
    reach before = reach_from(at->stored, at->to_asked, false, gci_node_ref_position(stored));
    reach now = reach_from(at->asked, at->to_stored, true, gci_node_ref_position(asked));
    bool kept = before.passed_count == 0 && now.passed_count == 0; /* both nodes are still there, and not each other */
    bool made_anew = before.passed_count != 0 && now.passed_count != 0 && before.reached_count + now.reached_count == 0;
    return !kept && !before.full && !now.full && (made_anew || have_common(&before, &now));
}

/* ---- sizes ---- */

/*
 * Operations that take sizes, by the name between "aten." and the overload, and where: a bit an argument. In `lists` the
 * numbers of a list count, in `numbers` the argument itself.
 */
typedef struct sized {
    char const *name;
    uint32_t lists, numbers;
} sized;

#define ARGUMENT(n) (1u << (n))
#define FROM(n) (~0u << (n))

static sized const operations[] = {
    { "view", FROM(1), FROM(1) },
    { "reshape", FROM(1), FROM(1) },
    { "_unsafe_view", FROM(1), FROM(1) },
    { "_reshape_alias", FROM(1), 0 },
    { "expand", FROM(1), FROM(1) },
    { "broadcast_to", FROM(1), FROM(1) },
    { "broadcast_in_dim", ARGUMENT(1), 0 },
    { "unflatten", ARGUMENT(2), 0 },
    { "as_strided", ARGUMENT(1) | ARGUMENT(2), 0 },
    { "full", ARGUMENT(0), 0 },
    { "empty", ARGUMENT(0), FROM(0) },
    { "empty_strided", ARGUMENT(0) | ARGUMENT(1), 0 },
    { "zeros", ARGUMENT(0), FROM(0) },
    { "ones", ARGUMENT(0), FROM(0) },
    { "rand", ARGUMENT(0), FROM(0) },
    { "randn", ARGUMENT(0), FROM(0) },
    { "inductor_random", ARGUMENT(0), 0 },
    { "new_full", ARGUMENT(1), 0 },
    { "new_empty", ARGUMENT(1), FROM(1) },
    { "new_empty_strided", ARGUMENT(1) | ARGUMENT(2), 0 },
    { "new_zeros", ARGUMENT(1), FROM(1) },
    { "new_ones", ARGUMENT(1), FROM(1) },
    { "arange", 0, ARGUMENT(0) | ARGUMENT(1) },
    { "iota", 0, ARGUMENT(0) },
    { "narrow", 0, ARGUMENT(3) },
    { "slice", 0, ARGUMENT(3) },
    { "slice_backward", ARGUMENT(1), ARGUMENT(4) },
    { "select_backward", ARGUMENT(1), 0 },
    { "slice_scatter", 0, ARGUMENT(4) },
    { "split_with_sizes", ARGUMENT(1), 0 },
};

/* view of aten.view.default, and of the method view */
static gci_view
operation_of(gci_view target)
{
    char const *dot = target.size != 0 ? memchr(target.data, '.', target.size) : NULL;

    if (dot == NULL)
        return target;
    size_t before = (size_t)(dot + 1 - target.data);
    gci_view name = gci_view_of(target.data + before, target.size - before);
    char const *overload = name.size != 0 ? memchr(name.data, '.', name.size) : NULL;
    return overload != NULL ? gci_view_of(name.data, (size_t)(overload - name.data)) : name;
}

/* place = ".args[" number "]" item? ; item = "[" .. "]" */
static bool
takes_size_at(sized const *operation, gci_view place)
{
    static char const args[] = ".args[";
    uint32_t number = 0;
    size_t i = sizeof args - 1;

    if (!gci_view_begins(place, args))
        return false;
    for (; i < place.size && place.data[i] >= '0' && place.data[i] <= '9' && number < 32; i++)
        number = number * 10 + (uint32_t)(place.data[i] - '0');
    bool in_list = i + 1 < place.size;
    return number < 32 && ((in_list ? operation->lists : operation->numbers) >> number & 1) != 0;
}

bool
gci_diff_is_size(gci_diff_run const *run)
{
    static char const by_name[] = ".kwargs.size[";
    gci_view path = gci_buf_view(&run->path), rest = gci_view_of(path.data + run->place, path.size - run->place);
    gci_view operation = operation_of(run->target);

    if (gci_view_begins(path, "inputs"))
        return gci_view_is(rest, ".value") || gci_view_contains(rest, ".shape[") || gci_view_contains(rest, ".stride[");
    if (run->place == 0 || gci_view_begins(rest, by_name))
        return run->place != 0;
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (gci_view_is(operation, operations[i].name))
            return takes_size_at(&operations[i], rest);
    return false;
}
