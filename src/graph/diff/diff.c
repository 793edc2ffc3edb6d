/*
 * Comparing two canonical forms: the walk over both trees, side by side.
 */
#include "graph/diff/diff.h"

#include "base/array.h"
#include "base/check.h"
#include "base/text/json.h"
#include "base/utf8.h"
#include "graph/cbor/cbor_read.h"
#include "graph/diff/diff_run.h"
#include "graph/sequence/lcs.h"

#include <stdlib.h>

/* The trees of two forms of the largest size. */
#define ARENA_LIMIT ((size_t)16 << 30)

/* What is shown of a value. */
#define VALUE_SHOWN 200

static void compare(gci_diff_run *run, gci_value const *stored, gci_value const *asked);

/* Both are there, and of the type. */
static bool
both_are(gci_value_type type, gci_value const *stored, gci_value const *asked)
{
    return stored != NULL && asked != NULL && stored->type == type && asked->type == type;
}

/* ---- items ---- */

typedef void (*show_fn)(gci_value const *value, gci_buf *out);

static bool
is_number(gci_value const *value)
{
    return value->type == GCI_INT || value->type == GCI_FLOAT || value->type == GCI_BIGINT || value->type == GCI_SYM;
}

/* Cut if need be, but never a number, nor within one. */
static gci_view
shown(gci_diff_run *run, gci_value const *value, show_fn show)
{
    gci_buf text;

    if (value == NULL)
        return (gci_view){ NULL, 0 };
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    show(value, &text);
    if (text.size > VALUE_SHOWN && !is_number(value)) {
        text.size = gci_utf8_cut(gci_buf_view(&text), VALUE_SHOWN).size;
        for (size_t end = text.size; end > VALUE_SHOWN / 2 && !text.failed; end--)
            if (strchr(" ,([{", text.data[end - 1]) != NULL) {
                text.size = end;
                break;
            }
        gci_buf_append_text(&text, "...");
    }
    return gci_diff_keep(run, &text);
}

/* Neither has parts. */
static bool
are_plain(gci_value const *stored, gci_value const *asked)
{
    static uint32_t const composed = 1u << GCI_LIST | 1u << GCI_TUPLE | 1u << GCI_SET | 1u << GCI_MAP | 1u << GCI_TENSOR;

    return (stored == NULL || (composed >> stored->type & 1) == 0) && (asked == NULL || (composed >> asked->type & 1) == 0);
}

static void
write_exactly(gci_value const *value, gci_buf *out)
{
    bool is_text = value != NULL && (value->type == GCI_STRING || value->type == GCI_BYTES || value->type == GCI_ENUM);

    if (is_text)
        gci_buf_append_view(out, value->text);
    else if (value != NULL)
        gci_diff_show(value, out);
    gci_buf_format(out, " %d\n", value != NULL ? (int)value->type : -1);
}

/* What two differences have in common if the one says all of the other: constants what they were and are, new nodes what they
   do, others their place in the node or input as well. false: it says something of its own. */
static bool
write_sameness(gci_diff_run const *run, gci_value const *stored, gci_value const *asked, show_fn show, gci_buf *out)
{
    gci_view path = gci_buf_view(&run->path);
    bool in_inputs = gci_view_begins(path, "inputs"), alone = run->place == path.size && (stored == NULL || asked == NULL);

    if (!in_inputs && !gci_view_begins(path, "graph"))
        return false;
    gci_buf_format(out, "%d %d\n", stored != NULL, asked != NULL);
    if (alone && show == gci_diff_show_node) {
        gci_buf_append_view(out, run->target);
        return run->target.size != 0;
    }
    if (alone && in_inputs) {
        show(stored != NULL ? stored : asked, out);
        return true;
    }
    write_exactly(stored, out);
    write_exactly(asked, out);
    if (stored != NULL && asked != NULL && is_number(stored) && is_number(asked) && gci_diff_is_size(run))
        return true;
    gci_buf_append(out, path.data + run->place, path.size - run->place);
    gci_buf_append_char(out, '\n');
    gci_buf_append_view(out, run->target);
    return run->place != 0 && are_plain(stored, asked);
}

/* The number of what it has in common with others; GCI_DIFF_ALONE: nothing. */
static uint32_t
sameness_of(gci_diff_run *run, gci_value const *stored, gci_value const *asked, show_fn show, bool *out_new)
{
    gci_buf text;
    uint32_t number = GCI_DIFF_ALONE;

    *out_new = true;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (write_sameness(run, stored, asked, show, &text)) {
        number = gci_diff_sameness(run, gci_buf_view(&text), out_new);
        run->failed = run->failed || text.failed || number == GCI_DIFF_ALONE ||
                      !gci_array_has_room(&run->dropped, number, &run->dropped_room, sizeof *run->dropped);
        if (*out_new && !run->failed) {
            run->dropped[number][0] = run->dropped[number][1] = 0;
            run->dropped_count = (size_t)number + 1;
        }
    }
    gci_buf_clear(&text);
    return number;
}

/* A difference at the present path; a value that is NULL isn't there on that side. NULL: it was only counted. */
static gci_diff_item *
add_item(gci_diff_run *run, gci_value const *stored, gci_value const *asked, show_fn show, gci_diff_follows follows)
{
    gci_diff *diff = run->diff;
    bool full, is_new = false;
    uint32_t same = follows == GCI_DIFF_NOTHING ? sameness_of(run, stored, asked, show, &is_new) : GCI_DIFF_ALONE;

    if (run->failed)
        return NULL;
    gci_diff_item *item = gci_diff_add(diff, gci_buf_view(&run->path), follows, is_new, &full);
    run->failed = item == NULL && !full;
    if (item == NULL && same != GCI_DIFF_ALONE && !is_new && full) {
        run->dropped[same][gci_view_begins(gci_buf_view(&run->path), "graph")]++;
        diff->followed[GCI_DIFF_AGAIN]++;
    }
    if (item == NULL)
        return NULL;
    item->same = same;
    item->place = run->place;
    if (run->target.size != 0)
        item->target = gci_arena_copy(&diff->arena, run->target);
    item->is_size = stored != NULL && asked != NULL && is_number(stored) && is_number(asked) && gci_diff_is_size(run);
    item->stored = shown(run, stored, show);
    item->asked = shown(run, asked, show);
    if (show == gci_diff_show && !run->in_tensor) {
        item->typed_stored = shown(run, stored, gci_diff_show_typed);
        item->typed_asked = shown(run, asked, gci_diff_show_typed);
    }
    gci_diff_note_place(run, item);
    gci_diff_note_alike(run, item, stored, asked);
    return item;
}

static void
add_value(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    add_item(run, stored, asked, gci_diff_show, GCI_DIFF_NOTHING);
}

/* ---- paths ---- */

/* The order of members in canonical forms. */
static int
compare_names(gci_view a, gci_view b)
{
    return a.size != b.size ? (a.size < b.size ? -1 : 1) : gci_view_compare(a, b);
}

static bool
has_member(gci_value const *map, gci_view name)
{
    uint32_t from = 0, to = map->count;

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int order = compare_names(map->members[middle].name, name);
        if (order == 0)
            return true;
        from = order < 0 ? middle + 1 : from;
        to = order < 0 ? to : middle;
    }
    return false;
}

/* Of a character that isn't seen at the end of a name. */
static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A name that a path would be read otherwise with: of brackets, of blanks at its ends, or a.b beside a. cpp.threads is what
   people call it. */
static bool
needs_quotes(gci_view name, gci_value const *stored, gci_value const *asked)
{
    for (size_t i = 0; i < name.size; i++) {
        gci_view before = gci_view_of(name.data, i);
        if (name.data[i] == '\0' || name.data[i] == '[' || name.data[i] == ']')
            return true;
        if (name.data[i] == '.' && (i == 0 || i + 1 == name.size || has_member(stored, before) || has_member(asked, before)))
            return true;
    }
    return name.size == 0 || is_blank(name.data[0]) || is_blank(name.data[name.size - 1]);
}

/* A path can't be read otherwise than it is meant: .name, but ["a.b"] beside a member a. */
static size_t
push_name(gci_diff_run *run, gci_view name, bool quoted)
{
    size_t mark = run->path.size;

    if (quoted) {
        gci_buf_append_char(&run->path, '[');
        gci_json_write_text(&run->path, name);
        gci_buf_append_char(&run->path, ']');
    } else {
        gci_buf_append_text(&run->path, mark != 0 ? "." : "");
        gci_buf_append_view(&run->path, name);
    }
    return mark;
}

static size_t
push_index(gci_diff_run *run, uint32_t index)
{
    size_t mark = run->path.size;

    gci_buf_format(&run->path, "[%u]", (unsigned)index);
    return mark;
}

/* Of an item that the stored side has at another place. */
static size_t
push_shifted(gci_diff_run *run, uint32_t stored, uint32_t asked)
{
    size_t mark = push_index(run, asked), at = mark + 1;

    if (stored == asked)
        return mark;
    if (gci_array_has_room(&run->shifts, run->shift_count, &run->shift_room, sizeof *run->shifts))
        run->shifts[run->shift_count++] = (gci_diff_shift){ .at = at, .size = run->path.size - 1 - at, .stored = stored };
    else
        run->failed = true;
    return mark;
}

static void
pop_path(gci_diff_run *run, size_t mark)
{
    run->failed = run->failed || run->path.failed;
    run->path.size = mark;
    while (run->shift_count != 0 && run->shifts[run->shift_count - 1].at >= mark)
        run->shift_count--;
}

/* ---- containers ---- */

/* What is done with an item that only one of two lists has, and with one that both have. */
typedef struct list_fns {
    void (*alone)(gci_diff_run *run, gci_value const *stored, gci_value const *asked, uint32_t position);
    void (*both)(gci_diff_run *run, gci_value const *stored, gci_value const *asked);
} list_fns;

static void
add_alone(gci_diff_run *run, gci_value const *stored, gci_value const *asked, uint32_t position, list_fns fns)
{
    size_t mark = push_index(run, position);

    fns.alone(run, stored, asked, position);
    pop_path(run, mark);
}

static void
compare_aligned(gci_diff_run *run, gci_value const *stored, gci_value const *asked, gci_alignment const *alignment,
                list_fns fns)
{
    uint32_t k = 0;

    for (uint32_t i = 0; i <= stored->count && !run->failed; i++) {
        uint32_t to = i < stored->count ? alignment->to_asked[i] : asked->count;
        if (to == GCI_LCS_NONE) {
            add_alone(run, stored, NULL, i, fns);
            continue;
        }
        for (; k < to; k++)
            add_alone(run, NULL, asked, k, fns);
        if (i < stored->count) {
            size_t mark = push_shifted(run, i, to);
            fns.both(run, &stored->items[i], &asked->items[to]);
            pop_path(run, mark);
            k = to + 1;
        }
    }
}

static bool
in_sources(gci_diff_run const *run)
{
    return run->inputs != NULL && gci_view_begins(gci_buf_view(&run->path), "aot_config.aot_autograd_arg_pos_to_source");
}

static gci_value const *
item_of(gci_value const *list, uint32_t position)
{
    return list != NULL ? &list->items[position] : NULL;
}

static void
add_list_item(gci_diff_run *run, gci_value const *stored, gci_value const *asked, uint32_t position)
{
    add_item(run, item_of(stored, position), item_of(asked, position), gci_diff_show,
             in_sources(run) ? GCI_DIFF_SOURCE : GCI_DIFF_NOTHING);
}

/* Lists that have nothing in common differ as a whole. */
static bool
has_no_pair(gci_alignment const *alignment)
{
    for (uint32_t i = 0; i < alignment->stored_count; i++)
        if (alignment->to_asked[i] != GCI_LCS_NONE)
            return false;
    return true;
}

static list_fns const values = { add_list_item, compare };

/* ---- numbers of inputs ---- */

/* Which inputs are static, and the like; none is said as a whole. */
static bool
has_input_numbers(gci_diff_run const *run, gci_value const *list)
{
    gci_view path = gci_buf_view(&run->path);
    bool named = gci_view_contains(path, "_input") || gci_view_is(path, "inputs_to_check");
    bool numbers = named && run->inputs != NULL && list->count != 0;

    for (uint32_t i = 0; i < list->count && numbers; i++)
        numbers = list->items[i].type == GCI_INT && list->items[i].integer >= 0 && list->items[i].integer < GCI_LCS_NONE;
    return numbers;
}

static bool
has_number(gci_value const *list, uint32_t number)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (list->items[i].integer == (int64_t)number)
            return true;
    return false;
}

/* The numbers that one side has, whatever number the same input has on the other: of an input that is new or gone it follows. */
static void
add_input_numbers(gci_diff_run *run, gci_value const *list, gci_value const *others, bool of_asked)
{
    gci_alignment const *inputs = run->inputs;
    uint32_t const *counterparts = of_asked ? inputs->to_stored : inputs->to_asked;
    uint32_t count = of_asked ? inputs->asked_count : inputs->stored_count;

    for (uint32_t i = 0; i < list->count && !run->failed; i++) {
        uint32_t number = (uint32_t)list->items[i].integer, there = number < count ? counterparts[number] : number;
        if (there != GCI_LCS_NONE && has_number(others, there))
            continue;
        size_t mark = push_index(run, i);
        add_item(run, of_asked ? NULL : &list->items[i], of_asked ? &list->items[i] : NULL, gci_diff_show,
                 there == GCI_LCS_NONE ? GCI_DIFF_INDEX : GCI_DIFF_NOTHING);
        pop_path(run, mark);
    }
}

static void
compare_lists(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    gci_alignment alignment = { .outer = NULL };

    if (run->in_tensor && stored->count != asked->count) {
        add_value(run, stored, asked); /* of another rank */
    } else if (stored->count == asked->count && stored->type != GCI_SET) {
        for (uint32_t i = 0; i < stored->count && !run->failed; i++) {
            size_t mark = push_index(run, i);
            compare(run, &stored->items[i], &asked->items[i]);
            pop_path(run, mark);
        }
    } else if (has_input_numbers(run, stored) && has_input_numbers(run, asked)) {
        add_input_numbers(run, stored, asked, false);
        add_input_numbers(run, asked, stored, true);
    } else if (gci_diff_align_lists(run, stored, asked, &alignment)) {
        if (has_no_pair(&alignment) && !in_sources(run))
            add_value(run, stored, asked);
        else
            compare_aligned(run, stored, asked, &alignment, values);
    } else {
        run->failed = true;
    }
}

/* Members of two maps in canonical order, merged. */
typedef void (*member_fn)(gci_diff_run *run, gci_view name, gci_value const *stored, gci_value const *asked);

static void
merge_members(gci_diff_run *run, gci_value const *stored, gci_value const *asked, member_fn fn)
{
    uint32_t i = 0, k = 0;

    while ((i < stored->count || k < asked->count) && !run->failed) {
        gci_member const *a = i < stored->count ? &stored->members[i] : NULL;
        gci_member const *b = k < asked->count ? &asked->members[k] : NULL;
        int order = a == NULL ? 1 : b == NULL ? -1 : compare_names(a->name, b->name);
        gci_view name = order <= 0 ? a->name : b->name;
        size_t mark = push_name(run, name, needs_quotes(name, stored, asked));
        fn(run, name, order <= 0 ? &a->value : NULL, order >= 0 ? &b->value : NULL);
        pop_path(run, mark);
        i += order <= 0;
        k += order >= 0;
    }
}

static void
compare_member(gci_diff_run *run, gci_view name, gci_value const *stored, gci_value const *asked)
{
    (void)name;
    if (stored == NULL || asked == NULL)
        add_value(run, stored, asked);
    else
        compare(run, stored, asked);
}

/* ---- graphs ---- */

static void compare_graphs(gci_diff_run *run, gci_value const *stored, gci_value const *asked);

static gci_view
target_of(gci_value const *node)
{
    gci_value const *target = node->type == GCI_MAP ? gci_map_find(node, "target") : NULL;

    return target != NULL && target->type == GCI_STRING ? target->text : (gci_view){ NULL, 0 };
}

/* "nodes[57] aten.relu.default": the node before, on its own side. */
static void
note_neighbour(gci_diff_run *run, gci_diff_item *item, gci_value const *nodes, uint32_t position)
{
    gci_buf text;

    item->is_node = true;
    item->position = position;
    if (position == 0)
        return;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_view target = target_of(&nodes->items[position - 1]);
    gci_buf_format(&text, "nodes[%u]%s", (unsigned)(position - 1), target.size != 0 ? " " : "");
    gci_buf_append_view(&text, target);
    item->after = gci_diff_keep(run, &text);
}

/* Of the placeholders of a graph that has its inputs described, the inputs say it. */
static bool
follows_inputs(gci_diff_run const *run, gci_value const *node)
{
    return run->inputs != NULL && run->open != NULL && run->open->outer == NULL && gci_diff_is_placeholder(node);
}

static void
add_node(gci_diff_run *run, gci_value const *stored, gci_value const *asked, uint32_t position)
{
    gci_value const *nodes = stored != NULL ? stored : asked, *node = &nodes->items[position];
    size_t place = run->place;

    run->place = run->path.size;
    run->target = target_of(node);
    gci_diff_item *item = add_item(run, item_of(stored, position), item_of(asked, position), gci_diff_show_node,
                                   follows_inputs(run, node) ? GCI_DIFF_PLACEHOLDER : GCI_DIFF_NOTHING);
    if (item != NULL)
        note_neighbour(run, item, nodes, position);
    run->target = (gci_view){ NULL, 0 };
    run->place = place;
}

static void
compare_nodes(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    size_t place = run->place;

    run->place = run->path.size;
    run->target = target_of(asked);
    compare(run, stored, asked);
    run->target = (gci_view){ NULL, 0 };
    run->place = place;
}

static list_fns const nodes_of_graphs = { add_node, compare_nodes };

static void
compare_subgraph(gci_diff_run *run, gci_view name, gci_value const *stored, gci_value const *asked)
{
    (void)name;
    if (both_are(GCI_MAP, stored, asked))
        compare_graphs(run, stored, asked);
    else
        compare_member(run, name, stored, asked);
}

static void
compare_graph_member(gci_diff_run *run, gci_view name, gci_value const *stored, gci_value const *asked)
{
    bool lists = both_are(GCI_LIST, stored, asked);

    if (lists && gci_view_is(name, "nodes"))
        compare_aligned(run, stored, asked, run->open, nodes_of_graphs);
    else if (gci_view_is(name, "subgraphs") && both_are(GCI_MAP, stored, asked))
        merge_members(run, stored, asked, compare_subgraph);
    else
        compare_member(run, name, stored, asked);
}

static void
compare_graphs(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    gci_alignment alignment = { .outer = run->open };
    gci_alignment const *outer = run->open;

    if (!gci_diff_align_nodes(run, gci_diff_nodes(stored), gci_diff_nodes(asked), &alignment)) {
        run->failed = true;
        return;
    }
    run->open = &alignment;
    merge_members(run, stored, asked, compare_graph_member);
    run->open = outer;
}

/* ---- values ---- */

static void
compare_references(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    uint32_t counterpart = gci_diff_counterpart(run, stored->integer);
    bool same_graph = gci_node_ref_serial(stored->integer) == gci_node_ref_serial(asked->integer);

    if (same_graph && counterpart == gci_node_ref_position(asked->integer))
        return;
    bool follows = gci_diff_reference_follows(run, stored->integer, asked->integer);
    add_item(run, stored, asked, gci_diff_show, follows ? GCI_DIFF_REFERENCE : GCI_DIFF_NOTHING);
}

/* Numbers of inputs that are static, and the like: the same input may have another one. */
static bool
is_same_input(gci_diff_run const *run, gci_value const *stored, gci_value const *asked)
{
    gci_view path = gci_buf_view(&run->path);

    return run->inputs != NULL && stored->type == GCI_INT && asked->type == GCI_INT && gci_view_contains(path, "_input") &&
           stored->integer >= 0 && stored->integer < (int64_t)run->inputs->stored_count && asked->integer >= 0 &&
           run->inputs->to_asked[stored->integer] == (uint64_t)asked->integer;
}

/* Of texts that are cut, what is around their first difference. */
static void
show_where(gci_diff_run *run, gci_diff_item *item, gci_view stored, gci_view asked)
{
    gci_buf text;

    if (!gci_diff_is_cut(stored) && !gci_diff_is_cut(asked))
        return;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_diff_show_around(stored, asked, &text);
    item->stored = item->typed_stored = gci_diff_keep(run, &text);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_diff_show_around(asked, stored, &text);
    item->asked = item->typed_asked = gci_diff_keep(run, &text);
}

static gci_view
distinct(gci_diff_run *run, gci_view shown_text)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_diff_show_distinct(shown_text, &text);
    return gci_diff_keep(run, &text);
}

static void
compare_texts(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    if (gci_view_equal(stored->text, asked->text))
        return;
    gci_diff_item *item = add_item(run, stored, asked, gci_diff_show, GCI_DIFF_NOTHING);
    if (item != NULL)
        show_where(run, item, stored->text, asked->text);
    if (item != NULL && gci_diff_look_alike(stored->text, asked->text)) {
        item->stored = item->typed_stored = distinct(run, item->stored);
        item->asked = item->typed_asked = distinct(run, item->asked);
    }
    if (item != NULL && !gci_diff_add_hunks(run->diff, item, stored->text, asked->text))
        run->failed = true;
}

static bool
same_scalar(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    switch ((gci_value_type)stored->type) {
    case GCI_NULL:
        return true;
    case GCI_BOOL:
        return stored->boolean == asked->boolean;
    case GCI_INT:
        return stored->integer == asked->integer;
    case GCI_FLOAT:
        return memcmp(&stored->real, &asked->real, sizeof stored->real) == 0;
    case GCI_SYM:
        return gci_diff_same_expression(run, stored->text, asked->text);
    default:
        return gci_view_equal(stored->text, asked->text);
    }
}

static void
compare(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    if (stored->type != asked->type) {
        add_value(run, stored, asked);
        return;
    }
    size_t first = run->diff->count;
    switch ((gci_value_type)stored->type) {
    case GCI_LIST:
    case GCI_TUPLE:
    case GCI_SET:
        compare_lists(run, stored, asked);
        break;
    case GCI_MAP:
        merge_members(run, stored, asked, compare_member);
        break;
    case GCI_TENSOR:
        run->in_tensor = true;
        merge_members(run, stored, asked, compare_member);
        run->in_tensor = false;
        gci_diff_fold_sizes(run, first, stored, asked);
        break;
    case GCI_NODE:
        compare_references(run, stored, asked);
        break;
    case GCI_STRING:
    case GCI_ENUM:
        compare_texts(run, stored, asked);
        break;
    default:
        if (!same_scalar(run, stored, asked))
            add_item(run, stored, asked, gci_diff_show, is_same_input(run, stored, asked) ? GCI_DIFF_INDEX : GCI_DIFF_NOTHING);
    }
}

/* ---- forms ---- */

/* A graph that is the same is no difference, though its placeholders may stand for other inputs now: those are told of. */
static void
compare_component(gci_diff_run *run, gci_view name, gci_value const *stored, gci_value const *asked)
{
    bool graphs = gci_view_is(name, "graph") && both_are(GCI_MAP, stored, asked);

    if (gci_view_is(name, "inputs") || (graphs && gci_value_equal(stored, asked)))
        return; /* inputs are compared first */
    if (graphs)
        merge_members(run, stored, asked, compare_graph_member); /* its nodes are aligned already */
    else
        compare_member(run, name, stored, asked);
}

static void
add_input(gci_diff_run *run, gci_value const *stored, gci_value const *asked, uint32_t position)
{
    run->place = run->path.size;
    add_list_item(run, stored, asked, position);
    run->place = 0;
}

static void
compare_input(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    run->place = run->path.size;
    compare(run, stored, asked);
    run->place = 0;
}

static list_fns const inputs = { add_input, compare_input };

static void
compare_inputs(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    size_t mark = push_name(run, (gci_view)GCI_VIEW("inputs"), false);
    bool lists = both_are(GCI_LIST, stored, asked);

    if (lists)
        compare_aligned(run, stored, asked, run->inputs, inputs);
    else if (stored != NULL || asked != NULL)
        compare_member(run, (gci_view)GCI_VIEW("inputs"), stored, asked);
    pop_path(run, mark);
}

/* Inputs come first, as their symbols tell which stand for which; then the other components, which may name nodes. */
static void
compare_components(gci_diff_run *run, gci_value const *stored, gci_value const *asked)
{
    gci_alignment aligned = { .outer = NULL }, nodes = { .outer = NULL };
    gci_value const *a = gci_map_find(stored, "inputs"), *b = gci_map_find(asked, "inputs");
    bool lists = both_are(GCI_LIST, a, b);

    if (lists && !gci_diff_align_inputs(run, stored, asked, &aligned)) {
        run->failed = true;
        return;
    }
    run->inputs = lists ? &aligned : NULL;
    if (!gci_diff_align_nodes(run, gci_diff_nodes(gci_map_find(stored, "graph")),
                              gci_diff_nodes(gci_map_find(asked, "graph")), &nodes)) {
        run->failed = true;
        return;
    }
    compare_inputs(run, a, b);
    run->open = &nodes;
    merge_members(run, stored, asked, compare_component);
    run->open = run->inputs = NULL;
}

static void
compare_form_member(gci_diff_run *run, gci_view name, gci_value const *stored, gci_value const *asked)
{
    bool components = gci_view_is(name, "components") && both_are(GCI_MAP, stored, asked);

    if (components) {
        run->path.size = 0; /* components are named without "components." before them */
        compare_components(run, stored, asked);
    } else {
        compare_member(run, name, stored, asked);
    }
}

static void
clear_map(gci_symbol_map *map)
{
    gci_intern_clear(&map->names);
    free(map->to);
    *map = (gci_symbol_map){ .room = 0 };
}

static gcache_status
read_forms(gci_diff_run *run, gci_view stored, gci_view asked, gci_value *out_stored, gci_value *out_asked,
           gcache_error *error)
{
    gcache_status status = gci_cbor_read(stored, &run->arena, out_stored, error);

    if (status == GCACHE_OK)
        status = gci_cbor_read(asked, &run->arena, out_asked, error);
    if (status == GCACHE_OK && (out_stored->type != GCI_MAP || out_asked->type != GCI_MAP))
        status = gci_fail(error, GCACHE_ERROR_CORRUPT, "not a canonical form: it isn't a map");
    return status;
}

gcache_status
gci_diff_make(gci_view stored, gci_view asked, size_t max_items, gci_diff **out_diff, gcache_error *error)
{
    gci_diff *diff = gci_diff_new(max_items);
    gci_diff_run run = { .diff = diff };
    gci_value a, b;

    *out_diff = NULL;
    if (diff == NULL)
        return gci_fail_memory(error);
    diff->by_parts = true;
    gci_arena_init(&run.arena, ARENA_LIMIT);
    gci_buf_init(&run.path, GCI_BUF_NO_LIMIT);
    gcache_status status = read_forms(&run, stored, asked, &a, &b, error);
    if (status == GCACHE_OK && !gci_view_equal(stored, asked)) {
        merge_members(&run, &a, &b, compare_form_member);
        if (diff->count == 0 && diff->left_out == 0 && !run.failed) {
            run.literal = true; /* the same but for which symbol is which */
            merge_members(&run, &a, &b, compare_form_member);
        }
        GCI_ASSERT(run.failed || diff->count != 0 || diff->left_out != 0);
        run.failed = run.failed || !gci_diff_fold(&run);
    }
    if (run.failed)
        status = gci_fail_memory(error);
    clear_map(&run.stored_symbols);
    clear_map(&run.asked_symbols);
    gci_intern_clear(&run.sameness);
    free(run.dropped);
    free(run.shifts);
    gci_buf_clear(&run.path);
    gci_arena_clear(&run.arena);
    if (status != GCACHE_OK) {
        gci_diff_free(diff);
        return status;
    }
    *out_diff = diff;
    return GCACHE_OK;
}

/* ---- as text ---- */

static void
write_diff(gci_diff const *diff, gcache_diff_form form, gci_buf *out)
{
    if (form == GCACHE_DIFF_TEXT) {
        gci_diff_write_text(diff, "", out);
        return;
    }
    gci_buf_format(out, "{\"equal\": %s, \"differs\": [", diff->count == 0 ? "true" : "false");
    gci_diff_write_json(diff, out);
    gci_buf_format(out, "], \"left_out\": %zu}", diff->left_out);
}

gcache_status
gcache_diff(void const *stored, size_t stored_size, void const *asked, size_t asked_size, size_t max_items,
            gcache_diff_form form, char **out_text, size_t *out_count, gcache_error *error)
{
    gci_diff *diff;
    gci_buf text;

    GCI_REQUIRE(stored != NULL && asked != NULL && out_text != NULL, error, "gcache_diff needs two forms and a result");
    *out_text = NULL;
    gcache_status status = gci_diff_make(gci_view_of(stored, stored_size), gci_view_of(asked, asked_size),
                                         max_items != 0 ? max_items : GCI_DIFF_ITEMS_DEFAULT, &diff, error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    write_diff(diff, form, &text);
    if (out_count != NULL)
        *out_count = diff->count + diff->left_out;
    *out_text = gci_buf_take_text(&text);
    gci_diff_free(diff);
    return *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
}
