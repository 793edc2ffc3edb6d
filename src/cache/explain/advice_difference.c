/*
 * What a difference between the nearest key and the one asked for is, in the terms that advice is written in: an element
 * type, an order in memory, a size that became symbolic. Inputs are told apart in two forms, as a path into `inputs`
 * (inputs[2].value.shape[0]) and as a line of PyTorch's key (example_inputs[2]: f32[4, 16][16, 1]cpu requires_grad=True).
 */
#include "base/text/json.h"
#include "cache/candidates/sources.h"
#include "cache/explain/advice.h"

#include <ctype.h>
#include <stdlib.h>

/* ---- texts ---- */

static bool
is_number(gci_view text)
{
    for (size_t i = 0; i < text.size; i++)
        if (!isdigit((unsigned char)text.data[i]))
            return false;
    return text.size != 0;
}

/* s0, s77, u3 */
static bool
is_symbol(gci_view text)
{
    return text.size >= 2 && (text.data[0] == 's' || text.data[0] == 'u') && is_number(gci_view_of(text.data + 1, text.size - 1));
}

/* ---- a size ---- */

static bool
is_small(gci_view number)
{
    return number.size == 1 && (number.data[0] == '0' || number.data[0] == '1');
}

/* The facts of one size that differs. */
static uint64_t
size_facts(gci_view stored, gci_view asked)
{
    if (is_number(stored) && is_number(asked))
        return GCI_FACT_BIT(SIZES) | (is_small(asked) ? GCI_FACT_BIT(ZERO_ONE) : 0);
    if (is_number(stored) && asked.size != 0)
        return GCI_FACT_BIT(TO_SYMBOL);
    if (is_number(asked) && stored.size != 0)
        return GCI_FACT_BIT(FROM_SYMBOL) | (is_small(asked) ? GCI_FACT_BIT(ZERO_ONE) : 0);
    return 0;
}

/* ---- PyTorch's line of a tensor ---- */

typedef struct tensor_line {
    gci_view dtype, sizes, strides, device, more;
} tensor_line;

/* Up to a character of `ends`, or all. */
static gci_view
take(gci_view *rest, char const *ends)
{
    size_t size = 0;

    while (size < rest->size && strchr(ends, rest->data[size]) == NULL)
        size++;
    gci_view taken = gci_view_of(rest->data, size);
    *rest = gci_view_of(rest->data + size, rest->size - size);
    return taken;
}

static bool
take_brackets(gci_view *rest, gci_view *out)
{
    if (rest->size == 0 || rest->data[0] != '[')
        return false;
    *rest = gci_view_of(rest->data + 1, rest->size - 1);
    *out = take(rest, "]");
    if (rest->size == 0)
        return false;
    *rest = gci_view_of(rest->data + 1, rest->size - 1);
    return true;
}

/* line := dtype "[" sizes "]" "[" strides "]" device [" " more] */
static bool
read_tensor(gci_view text, tensor_line *out)
{
    out->dtype = take(&text, "[ ");
    if (out->dtype.size == 0 || !take_brackets(&text, &out->sizes) || !take_brackets(&text, &out->strides))
        return false;
    out->device = take(&text, " ");
    out->more = text;
    return true;
}

/* The next of what stands between commas. */
static bool
next_size(gci_view *rest, gci_view *out)
{
    if (rest->size == 0)
        return false;
    *out = take(rest, ",");
    while (rest->size != 0 && (rest->data[0] == ',' || rest->data[0] == ' '))
        *rest = gci_view_of(rest->data + 1, rest->size - 1);
    return true;
}

/* Of all sizes that differ; {dim}, {stored} and {asked} are those of the first. 0: as many dimensions there aren't. */
static uint64_t
sizes_facts(gci_view stored, gci_view asked)
{
    uint64_t facts = 0;
    gci_view a, b;

    while (next_size(&stored, &a)) {
        if (!next_size(&asked, &b))
            return 0;
        if (!gci_view_equal(a, b))
            facts |= size_facts(a, b);
    }
    return asked.size == 0 ? facts : 0;
}

/* Strides of a contiguous tensor, as far as strides alone show it: none is smaller than one behind it, and the last is 1. */
static bool
descends(gci_view strides)
{
    long previous = 0;
    gci_view stride = { 0 };

    for (size_t i = 0; next_size(&strides, &stride); i++) {
        long now = is_number(stride) ? strtol(stride.data, NULL, 10) : 0;
        if (now <= 0 || (i != 0 && now > previous))
            return false;
        previous = now;
    }
    return previous == 1;
}

static void
compare_tensors(tensor_line const *stored, tensor_line const *asked, gci_advice_case *out)
{
    bool gradient = gci_view_contains(stored->more, "requires_grad=True");

    if (!gci_view_equal(stored->sizes, asked->sizes)) {
        out->facts |= sizes_facts(stored->sizes, asked->sizes);
        return;
    }
    if (!gci_view_equal(stored->dtype, asked->dtype)) {
        out->facts |= GCI_FACT_BIT(DTYPE);
        out->values[GCI_VALUE_STORED] = stored->dtype;
        out->values[GCI_VALUE_ASKED] = asked->dtype;
    } else if (!gci_view_equal(stored->device, asked->device)) {
        out->facts |= GCI_FACT_BIT(DEVICE);
        out->values[GCI_VALUE_STORED] = stored->device;
        out->values[GCI_VALUE_ASKED] = asked->device;
    } else if (!gci_view_equal(stored->strides, asked->strides)) {
        out->facts |= GCI_FACT_BIT(STRIDES) | (descends(stored->strides) ? GCI_FACT_BIT(CONTIGUOUS) : 0);
    } else if (gradient != gci_view_contains(asked->more, "requires_grad=True")) {
        out->facts |= GCI_FACT_BIT(REQUIRES_GRAD);
    }
}

/* ---- a path into inputs ---- */

/* torch.float32 of "torch.float32" */
static gci_view
unquoted(gci_view text)
{
    bool quoted = text.size >= 2 && text.data[0] == '"' && text.data[text.size - 1] == '"';

    return quoted ? gci_view_of(text.data + 1, text.size - 2) : text;
}

/* Where the last of the differences in the same tensor's strides ends in 1 and the first is the largest, it was contiguous. */
static bool
was_contiguous(gci_near_key const *near, gci_view tensor)
{
    gci_buf strides;

    gci_buf_init(&strides, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < near->count; i++) {
        gci_diff_item const *item = &near->items[i];
        if (gci_view_begins(item->path, tensor.data) && strstr(item->path.data + tensor.size, "stride[") != NULL) {
            gci_buf_append_view(&strides, item->stored);
            gci_buf_append_text(&strides, ", ");
        }
    }
    bool contiguous = descends(gci_buf_view(&strides));
    gci_buf_clear(&strides);
    return contiguous;
}

static bool
has_other_sizes(gci_near_key const *near, char const *tensor)
{
    for (size_t i = 0; i < near->count; i++)
        if (gci_view_begins(near->items[i].path, tensor) &&
            gci_view_begins(gci_view_text(near->items[i].path.data + strlen(tensor)), "shape"))
            return true;
    return false;
}

/* path = "inputs[" number "].value." member */
static void
note_input_path(gci_near_key const *near, gci_diff_item const *item, gci_advice_case *out)
{
    static char const value[] = "].value.";
    char const *member = strstr(item->path.data, value);

    if (member == NULL)
        return;
    member += sizeof value - 1;
    gci_view tensor = gci_arena_copy(out->arena, gci_view_of(item->path.data, (size_t)(member - item->path.data)));
    gci_view name = gci_view_text(member);
    if (tensor.data == NULL)
        return;
    bool resized = has_other_sizes(near, tensor.data);
    if (gci_view_begins(name, "shape["))
        out->facts |= size_facts(item->stored, item->asked);
    else if (resized)
        return; /* what else differs may follow from the sizes */
    else if (gci_view_begins(name, "stride["))
        out->facts |= GCI_FACT_BIT(STRIDES) | (was_contiguous(near, tensor) ? GCI_FACT_BIT(CONTIGUOUS) : 0);
    else if (gci_view_is(name, "dtype"))
        out->facts |= GCI_FACT_BIT(DTYPE);
    else if (gci_view_is(name, "device"))
        out->facts |= GCI_FACT_BIT(DEVICE);
    else if (gci_view_is(name, "requires_grad"))
        out->facts |= GCI_FACT_BIT(REQUIRES_GRAD);
    out->values[GCI_VALUE_STORED] = unquoted(item->stored);
    out->values[GCI_VALUE_ASKED] = unquoted(item->asked);
}

/* ---- symbols of the whole ---- */

/* How many of a line's sizes are numbers. */
static size_t
count_numbers(gci_view sizes)
{
    size_t numbers = 0;
    gci_view size;

    while (next_size(&sizes, &size))
        numbers += is_number(size);
    return numbers;
}

/* text = a size by itself, or a tensor: f32[4, s0][s0, 1]cpu, float32[4, s0] on cpu */
static size_t
numbers_of_input(gci_diff_item const *item, gci_view text)
{
    if (gci_view_contains(item->path, ".shape["))
        return count_numbers(text);
    take(&text, "[");
    if (text.size == 0)
        return 0;
    gci_view rest = gci_view_of(text.data + 1, text.size - 1);
    return count_numbers(take(&rest, "]"));
}

/* An input that is a symbol came or went with a symbol in other inputs' sizes, and no size there was a number. */
static void
note_symbols(gci_near_key const *near, gci_diff_item const *item, gci_advice_case *out)
{
    size_t stored = 0, asked = 0;

    if (item->follows != GCI_DIFF_SYMBOL || (item->stored.data != NULL && item->asked.data != NULL))
        return;
    for (size_t i = 0; i < near->count; i++) {
        gci_diff_item const *other = &near->items[i];
        if (!gci_diff_is_input(other->path))
            continue;
        stored += numbers_of_input(other, other->stored);
        asked += numbers_of_input(other, other->asked);
    }
    if (asked == stored)
        out->facts |= GCI_FACT_BIT(MERGED);
}

/* The only size among the names of hints. */
static void
note_only_size(gcache_request const *request, gci_advice_case *out)
{
    char const *only = NULL;

    for (size_t i = 0; i < request->sources_count; i++) {
        gcache_pair const *source = &request->sources[i];
        if (source->value == NULL || strstr(source->value, ".size(") == NULL || gci_diff_is_input(gci_view_text(source->name)))
            continue;
        if (only != NULL)
            return;
        only = source->value;
    }
    gci_advice_name(out, only);
}

/* The only dimension in which two lines of a tensor differ. false: there are several, or none. */
static bool
only_dimension(gci_view stored, gci_view asked, size_t *out_dimension)
{
    size_t differing = 0;
    gci_view a, b;

    for (size_t i = 0; next_size(&stored, &a) && next_size(&asked, &b); i++) {
        if (gci_view_equal(a, b))
            continue;
        differing++;
        *out_dimension = i;
    }
    return differing == 1;
}

#define SHAPE "].value.shape["

static bool
resizes(gci_diff_item const *item)
{
    tensor_line stored, asked;

    if (!gci_diff_is_input(item->path))
        return false;
    return gci_view_contains(item->path, SHAPE) || (read_tensor(item->stored, &stored) && read_tensor(item->asked, &asked) &&
                                                    !gci_view_equal(stored.sizes, asked.sizes));
}

/*
 * path = input ".value.shape[" dimension "]", or an input of two lines. false: it isn't the only size that differs. To make
 * one of several dynamic wouldn't help.
 */
static bool
find_dimension(gci_near_key const *near, gci_diff_item const *item, size_t *out_dimension)
{
    char const *member = strstr(item->path.data, SHAPE);
    tensor_line stored, asked;
    size_t resized = 0;

    for (size_t i = 0; i < near->count; i++)
        resized += resizes(&near->items[i]);
    if (resized != 1)
        return false;
    if (member != NULL) {
        *out_dimension = strtoul(member + strlen(SHAPE), NULL, 10);
        return true;
    }
    return read_tensor(item->stored, &stored) && read_tensor(item->asked, &asked) &&
           only_dimension(stored.sizes, asked.sizes, out_dimension);
}

/* The input by name, and of its size the dimension: "x.size(0)". */
static void
note_source(gci_journal_entry const *entry, gci_near_key const *near, gci_diff_item const *item, gci_advice_case *out)
{
    gcache_request const *request = &entry->context.request;
    char const *source = item->asked.data != NULL ? gci_input_source(request, item->path) : NULL;
    size_t dimension;
    gci_buf text;

    /* A size that became symbolic is the one that has a hint; any other may be of another dimension. */
    if (source == NULL && (out->facts & GCI_FACT_BIT(TO_SYMBOL)) != 0)
        note_only_size(request, out);
    if (source == NULL)
        return;
    if (strstr(source, ".size(") != NULL || !find_dimension(near, item, &dimension)) {
        gci_advice_name(out, source);
        return;
    }
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "%s.size(%zu)", source, dimension);
    gci_advice_name(out, gci_arena_copy(out->arena, gci_buf_view(&text)).data);
    gci_buf_clear(&text);
}

/* ---- the graph ---- */

/* What an argument may be that follows from sizes and from the places of nodes. */
static bool
is_plain(gci_view argument)
{
    return is_number(argument) || is_symbol(argument) || gci_view_begins(argument, "nodes[");
}

/* A node, or an argument, that is on one side only. */
static gci_advice_graph
one_sided(gci_view text)
{
    if (gci_view_begins(text, "placeholder") || is_plain(text))
        return GCI_GRAPH_OPERATIONS;
    return gci_view_begins(text, "prims.convert_element_t") ? GCI_GRAPH_CASTS : GCI_GRAPH_ANY;
}

/* How far a difference within the graph goes. */
static gci_advice_graph
graph_of(gci_diff_item const *item)
{
    bool argument = gci_view_contains(item->path, ".args[") || gci_view_contains(item->path, ".kwargs.");

    if (item->hunks.data != NULL)
        return gci_advice_graph_of_hunks(item->hunks);
    if (item->stored.data == NULL || item->asked.data == NULL)
        return one_sided(item->stored.data == NULL ? item->asked : item->stored);
    return argument && is_plain(item->stored) && is_plain(item->asked) ? GCI_GRAPH_OPERATIONS : GCI_GRAPH_ANY;
}

static bool
is_in_graph(gci_view path)
{
    return gci_view_begins(path, "graph") || gci_view_is(path, "gm");
}

gci_advice_graph
gci_advice_graph_of(gci_near_key const *near)
{
    gci_advice_graph found = GCI_GRAPH_SAME;

    for (size_t i = 0; i < near->count; i++) {
        gci_advice_graph here = is_in_graph(near->items[i].path) ? graph_of(&near->items[i]) : GCI_GRAPH_SAME;
        found = here > found ? here : found;
    }
    return found;
}

/* ---- all of it ---- */

/* The path behind its first part: max_autotune of options.max_autotune, is_inference of fx_kwargs[is_inference]. */
static gci_view
name_of(gci_view path)
{
    char const *dot = memchr(path.data, '.', path.size), *open = memchr(path.data, '[', path.size);

    if (dot != NULL)
        return gci_view_of(dot + 1, path.size - (size_t)(dot + 1 - path.data));
    if (open != NULL && path.data[path.size - 1] == ']')
        return gci_view_of(open + 1, path.size - (size_t)(open + 1 - path.data) - 1);
    return path;
}

/* Another difference in the same component: config.max_autotune beside config.epilogue_fusion. */
static bool
has_sibling(gci_near_key const *near, size_t index)
{
    gci_view rest = near->items[index].path, part = take(&rest, ".[");

    for (size_t i = 0; i < near->count; i++) {
        gci_view other = near->items[i].path;
        if (i != index && gci_view_equal(take(&other, ".["), part))
            return true;
    }
    return false;
}

void
gci_advice_on_difference(gci_journal_entry const *entry, gci_near_key const *near, size_t index, gci_advice_case *out)
{
    gci_diff_item const *item = &near->items[index];
    tensor_line stored, asked;

    out->path = item->path;
    out->values[GCI_VALUE_NAME] = name_of(item->path);
    out->values[GCI_VALUE_STORED] = item->stored;
    out->values[GCI_VALUE_ASKED] = item->asked;
    if (has_sibling(near, index))
        out->facts |= GCI_FACT_BIT(SEVERAL);
    if (is_in_graph(item->path) && graph_of(item) == GCI_GRAPH_CASTS)
        out->facts |= GCI_FACT_BIT(CASTS);
    if (item->hunks.data != NULL) {
        gci_advice_on_hunks(item->hunks, out);
        return;
    }
    gci_advice_on_line(item->stored, item->asked, out);
    if (!gci_diff_is_input(item->path) && is_number(item->stored) && is_number(item->asked))
        out->facts |= GCI_FACT_BIT(SIZES);
    if (gci_view_contains(item->stored, "0x") && gci_view_contains(item->asked, "0x"))
        out->facts |= GCI_FACT_BIT(ADDRESSES);
    if (!gci_diff_is_input(item->path))
        return;
    note_symbols(near, item, out);
    note_input_path(near, item, out);
    if (read_tensor(item->stored, &stored) && read_tensor(item->asked, &asked))
        compare_tensors(&stored, &asked, out);
    note_source(entry, near, item, out);
}
