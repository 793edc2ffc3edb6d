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
        return GCI_FACT_BIT(SIZES) | (is_small(asked) || is_small(stored) ? GCI_FACT_BIT(ZERO_ONE) : 0);
    if (is_number(stored) && asked.size != 0)
        return GCI_FACT_BIT(TO_SYMBOL) | (is_small(stored) ? GCI_FACT_BIT(ZERO_ONE) : 0);
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

/* Dimensions that are looked at. */
#define RANK_MOST 16

static size_t
split_sizes(gci_view sizes, gci_view out[RANK_MOST])
{
    size_t count = 0;

    while (count < RANK_MOST && next_size(&sizes, &out[count]))
        count++;
    return sizes.size == 0 ? count : 0;
}

/* Each stride is the product of the sizes behind it, but for those of one element, which are never used. What is behind a
   symbol isn't known, and counts as not. */
static bool
is_contiguous(gci_view sizes, gci_view strides)
{
    gci_view size[RANK_MOST], stride[RANK_MOST];
    size_t rank = split_sizes(sizes, size);
    unsigned long long product = 1;

    if (rank == 0 || split_sizes(strides, stride) != rank)
        return false;
    for (size_t i = rank; i-- > 0;) {
        if (gci_view_is(size[i], "1"))
            continue;
        if (product == 0 || !is_number(stride[i]) || strtoull(stride[i].data, NULL, 10) != product)
            return false;
        product = is_number(size[i]) ? product * strtoull(size[i].data, NULL, 10) : 0;
    }
    return true;
}

static size_t
rank_of(gci_view sizes)
{
    gci_view size;
    size_t rank = 0;

    while (next_size(&sizes, &size))
        rank++;
    return rank;
}

/* Strides that differ though both are contiguous are those of one element: that is no other order. */
static uint64_t
layout_facts(bool was_contiguous, bool still)
{
    if (was_contiguous && still)
        return 0;
    return GCI_FACT_BIT(STRIDES) | (was_contiguous ? GCI_FACT_BIT(CONTIGUOUS) : 0);
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
        out->facts |= layout_facts(is_contiguous(stored->sizes, stored->strides), is_contiguous(asked->sizes, asked->strides));
        out->facts |= rank_of(stored->sizes) == 4 ? GCI_FACT_BIT(IMAGES) : 0;
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

/* Among the strides that differ is the fourth, and no fifth: of a tensor of four dimensions in two layouts, the last differs. */
static bool
has_four_strides(gci_near_key const *near, char const *tensor)
{
    bool fourth = false, fifth = false;

    for (size_t i = 0; i < near->count; i++) {
        gci_view path = near->items[i].path;
        if (!gci_view_begins(path, tensor))
            continue;
        fourth |= gci_view_is(gci_view_text(path.data + strlen(tensor)), "stride[3]");
        fifth |= gci_view_is(gci_view_text(path.data + strlen(tensor)), "stride[4]");
    }
    return fourth && !fifth;
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
        out->facts |= layout_facts(item->was_contiguous, item->is_contiguous) |
                      (has_four_strides(near, tensor.data) ? GCI_FACT_BIT(IMAGES) : 0);
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

/* The sizes of an input's text: a size by itself, or of f32[4, s0][s0, 1]cpu, of float32[4, s0] on cpu. Empty: it has none. */
static gci_view
sizes_of(gci_diff_item const *item, gci_view text)
{
    if (gci_view_contains(item->path, ".shape["))
        return text;
    take(&text, "[");
    if (text.size == 0)
        return text;
    text = gci_view_of(text.data + 1, text.size - 1);
    return take(&text, "]");
}

/* How many of an input's sizes are numbers. */
static size_t
numbers_of_input(gci_diff_item const *item, gci_view text)
{
    gci_view sizes = sizes_of(item, text), size;
    size_t numbers = 0;

    while (next_size(&sizes, &size))
        numbers += is_number(size);
    return numbers;
}

/* A number by itself: {"value": s0}, or ('s77',) as PyTorch writes it; a float comes as a tensor of one. */
static bool
is_number_input(gci_view text)
{
    return gci_view_begins(text, "{\"value\": s") || gci_view_begins(text, "('s") || gci_view_begins(text, "('u") ||
           gci_view_begins(text, "f64[][]") || gci_view_contains(text, "float64[] on ");
}

/* An input that is a symbol came or went: with a symbol in other inputs' sizes, where no size was a number; or by itself. */
static void
note_symbols(gci_near_key const *near, gci_diff_item const *item, gci_advice_case *out)
{
    size_t stored = 0, asked = 0;

    if (item->follows != GCI_DIFF_SYMBOL && item->stored.data == NULL && is_number_input(item->asked))
        out->facts |= GCI_FACT_BIT(SCALAR);
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

/* ---- all sizes that vary ---- */

/* How the label of a backward graph ends. */
#define BACKWARD " (backward)"

/* Calls of mark_dynamic that are written down: more of them are no advice. */
#define MARKS_MAX 6

typedef struct mark {
    char const *tensor; /* NULL: it has no name */
    size_t dimension;
} mark;

typedef struct marks {
    mark items[MARKS_MAX];
    size_t count; /* all, written down or not */
    bool unnamed;
} marks;

static void
add_mark(marks *found, char const *tensor, size_t dimension)
{
    if (found->count < MARKS_MAX)
        found->items[found->count] = (mark){ tensor, dimension };
    found->count++;
    found->unnamed |= tensor == NULL;
}

/* The sizes of an input that are symbols now, or else other numbers than before. */
static void
add_marks(gcache_request const *request, gci_diff_item const *item, bool symbols, marks *found)
{
    char const *tensor = gci_input_source(request, item->path), *member = strstr(item->path.data, SHAPE);
    size_t first = member != NULL ? strtoul(member + strlen(SHAPE), NULL, 10) : 0;
    gci_view stored = sizes_of(item, item->stored), asked = sizes_of(item, item->asked), a, b;

    for (size_t i = first; next_size(&asked, &b); i++) {
        bool both = next_size(&stored, &a);
        if (symbols ? is_symbol(b) : both && is_number(a) && is_number(b) && !gci_view_equal(a, b))
            add_mark(found, tensor, i);
    }
}

static void
write_marks(marks const *found, gci_buf *out)
{
    for (size_t i = 0; i < found->count; i++) {
        if (i != 0)
            gci_buf_append_text(out, i + 1 == found->count ? " and " : ", ");
        gci_buf_format(out, "torch._dynamo.mark_dynamic(%s, %zu)", found->items[i].tensor, found->items[i].dimension);
    }
}

/*
 * {marks}: every size that varies. To mark one of several that are the same symbol is an error in PyTorch, so it is all or none.
 */
static void
note_marks(gci_journal_entry const *entry, gci_near_key const *near, gci_advice_case *out)
{
    bool symbols = (out->facts & GCI_FACT_BIT(TO_SYMBOL)) != 0;
    marks found = { .count = 0 };
    gci_buf text;

    for (size_t i = 0; i < near->count; i++)
        if (gci_diff_is_input(near->items[i].path))
            add_marks(&entry->context.request, &near->items[i], symbols, &found);
    if (found.count == 1 && found.unnamed && (out->facts & GCI_FACT_BIT(SIZED)) != 0) {
        found.items[0].tensor = gci_arena_copy(out->arena, out->values[GCI_VALUE_TENSOR]).data;
        found.items[0].dimension = strtoul(out->values[GCI_VALUE_DIM].data, NULL, 10);
        found.unnamed = found.items[0].tensor == NULL;
    }
    if (found.count == 0 || found.count > MARKS_MAX || found.unnamed || near->left_out != 0)
        return;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    write_marks(&found, &text);
    out->facts |= GCI_FACT_BIT(MARKS);
    out->values[GCI_VALUE_MARKS] = gci_arena_copy(out->arena, gci_buf_view(&text));
    gci_buf_clear(&text);
}

/* s.head.weight is what a module has; x and batch['x.y'] aren't. */
static bool
is_member(char const *source)
{
    int depth = 0;

    for (; *source != '\0'; source++) {
        depth += *source == '[' || *source == '(';
        depth -= *source == ']' || *source == ')';
        if (*source == '.' && depth == 0)
            return true;
    }
    return false;
}

/* Where inputs have names at all, parameters of the module itself have none. */
static bool
is_parameter(gcache_request const *request, gci_view path)
{
    char const *source = gci_input_source(request, path);
    bool named = false;

    gci_view rest = path, list = take(&rest, "[");

    for (size_t i = 0; i < request->sources_count; i++) {
        rest = gci_view_text(request->sources[i].name);
        gci_view part = take(&rest, "[");
        named |= rest.size != 0 && gci_view_equal(part, list);
    }
    return source != NULL ? is_member(source) : named;
}

/* PyTorch keeps sizes of parameters static, whatever is marked. */
static bool
has_resized_parameter(gci_journal_entry const *entry, gci_near_key const *near)
{
    for (size_t i = 0; i < near->count; i++)
        if (resizes(&near->items[i]) && is_parameter(&entry->context.request, near->items[i].path))
            return true;
    return false;
}

/* ---- whether sizes are all that differs ---- */

static bool
is_in_graph(gci_view path)
{
    return gci_view_begins(path, "graph") || gci_view_is(path, "gm");
}

/* Whether two orders of strides agree: no dimension that lay behind another lies before it now. Symbols may be anything. */
static bool
same_order(gci_view stored, gci_view asked)
{
    gci_view a, b;
    long before[2] = { 0 };

    for (size_t i = 0; next_size(&stored, &a) && next_size(&asked, &b); i++) {
        if (!is_number(a) || !is_number(b))
            continue;
        long now[2] = { strtol(a.data, NULL, 10), strtol(b.data, NULL, 10) };
        if (before[0] != 0 && before[1] != 0 && (now[0] > before[0]) != (now[1] > before[1]))
            return false;
        before[0] = now[0];
        before[1] = now[1];
    }
    return true;
}

/* An input in which only sizes differ, with the strides that follow from them. */
static bool
only_resized(gci_diff_item const *item)
{
    tensor_line stored, asked;

    if (item->follows == GCI_DIFF_SYMBOL || item->follows == GCI_DIFF_STRIDE || gci_view_contains(item->path, SHAPE))
        return true;
    return read_tensor(item->stored, &stored) && read_tensor(item->asked, &asked) && gci_view_equal(stored.dtype, asked.dtype) &&
           gci_view_equal(stored.device, asked.device) && same_order(stored.strides, asked.strides) &&
           gci_view_contains(stored.more, "requires_grad=True") == gci_view_contains(asked.more, "requires_grad=True");
}

/* The element of a pair of sizes that a constant follows: it is a multiple of the size, and of the other the same multiple. */
static bool
follows_pair(long stored, long asked, gci_view sizes, gci_view others)
{
    gci_view a, b;

    while (next_size(&sizes, &a) && next_size(&others, &b)) {
        long from = is_number(a) ? strtol(a.data, NULL, 10) : 0, to = is_number(b) ? strtol(b.data, NULL, 10) : 0;
        if (from > 1 && to > 1 && from != to && stored % from == 0 && asked % to == 0 && stored / from == asked / to)
            return true;
    }
    return false;
}

/* A number in the graph that is another one now, because a size is. */
static bool
follows_size(gci_near_key const *near, gci_view stored, gci_view asked)
{
    if (!is_number(stored) || !is_number(asked))
        return is_symbol(stored) || is_symbol(asked);
    long from = strtol(stored.data, NULL, 10), to = strtol(asked.data, NULL, 10);
    for (size_t i = 0; i < near->count; i++) {
        gci_diff_item const *item = &near->items[i];
        if (gci_diff_is_input(item->path) &&
            follows_pair(from, to, sizes_of(item, item->stored), sizes_of(item, item->asked)))
            return true;
    }
    return false;
}

/* The next number of a line that is no part of a name. */
static bool
next_number(gci_view *rest, gci_view *out)
{
    for (size_t i = 0; i < rest->size; i++) {
        if (!isdigit((unsigned char)rest->data[i]) ||
            (i != 0 && (isalnum((unsigned char)rest->data[i - 1]) || strchr("_.", rest->data[i - 1]) != NULL)))
            continue;
        size_t end = i;
        while (end < rest->size && (isalnum((unsigned char)rest->data[end]) || rest->data[end] == '.'))
            end++;
        *out = gci_view_of(rest->data + i, end - i);
        *rest = gci_view_of(rest->data + end, rest->size - end);
        return true;
    }
    return false;
}

/* The lines of a text that begin with sign, one behind the other. */
static void
append_side(gci_view hunks, char sign, gci_buf *out)
{
    gci_view line;

    while (gci_view_next_line(&hunks, &line))
        if (line.size != 0 && line.data[0] == sign) {
            gci_buf_append_view(out, gci_view_of(line.data + 1, line.size - 1));
            gci_buf_append_char(out, '\n');
        }
}

/* Numbers of a text that differ follow from sizes. Where some became symbols, those that are left are compared no further. */
static bool
numbers_follow(gci_near_key const *near, gci_view hunks)
{
    gci_view rest[2], a, b;
    gci_buf sides[2];
    bool more[2], follow = true;

    for (size_t i = 0; i < 2; i++) {
        gci_buf_init(&sides[i], GCI_BUF_NO_LIMIT);
        append_side(hunks, i == 0 ? '-' : '+', &sides[i]);
        rest[i] = gci_buf_view(&sides[i]);
    }
    do {
        more[0] = next_number(&rest[0], &a);
        more[1] = next_number(&rest[1], &b);
        follow &= !more[0] || !more[1] || gci_view_equal(a, b) || follows_size(near, a, b);
    } while (more[0] && more[1]);
    for (size_t i = 0; i < 2; i++)
        gci_buf_clear(&sides[i]);
    return follow && more[0] == more[1];
}

static bool
follows_sizes(gci_near_key const *near, gci_diff_item const *item)
{
    if (gci_diff_is_input(item->path))
        return only_resized(item);
    if (!is_in_graph(item->path))
        return gci_view_begins(item->path, "options.static_input_idxs") ||
               gci_view_begins(item->path, "fx_kwargs[static_input_idxs]");
    if (item->hunks.data != NULL)
        return numbers_follow(near, item->hunks);
    return item->follows != GCI_DIFF_NOTHING || follows_size(near, item->stored, item->asked);
}

static bool
is_only_size(gci_near_key const *near)
{
    for (size_t i = 0; i < near->count; i++)
        if (!follows_sizes(near, &near->items[i]))
            return false;
    return near->left_out == 0;
}

static void
note_sizes(gci_journal_entry const *entry, gci_near_key const *near, gci_advice_case *out)
{
    static uint64_t const varying = GCI_FACT_BIT(SIZES) | GCI_FACT_BIT(TO_SYMBOL);

    if ((out->facts & varying) == 0)
        return;
    /* What nobody passes can't be marked: the forward's miss says what to do. */
    if (entry->context.request.label != NULL && strstr(entry->context.request.label, BACKWARD) != NULL) {
        out->facts &= ~varying;
        return;
    }
    if ((out->facts & GCI_FACT_BIT(SIZES)) != 0 && has_resized_parameter(entry, near))
        out->facts |= GCI_FACT_BIT(PARAMETER);
    if (is_only_size(near))
        out->facts |= GCI_FACT_BIT(ONLY_SIZE);
    note_marks(entry, near, out);
}

/* ---- the graph ---- */

/* 0.5, 1e-05 */
static bool
is_float(gci_view text)
{
    bool digit = false;

    for (size_t i = 0; i < text.size; i++) {
        digit |= isdigit((unsigned char)text.data[i]) != 0;
        if (!isdigit((unsigned char)text.data[i]) && strchr(".e-+", text.data[i]) == NULL)
            return false;
    }
    return digit;
}

/* What an argument may be that follows from sizes and from the places of nodes, or is a number. */
static bool
is_plain(gci_view argument)
{
    return is_number(argument) || is_float(argument) || is_symbol(argument) || gci_view_begins(argument, "nodes[");
}

/* A node, or an argument, that is on one side only. */
static gci_advice_graph
one_sided(gci_view text)
{
    if (gci_view_begins(text, "placeholder") || is_plain(text))
        return GCI_GRAPH_OPERATIONS;
    return gci_view_begins(text, "prims.convert_element_t") || gci_view_begins(text, "aten.permute.") ? GCI_GRAPH_CASTS
                                                                                                      : GCI_GRAPH_ANY;
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

/* An input of another element type: conversions in the graph follow from it. */
static bool
has_other_dtype(gci_near_key const *near)
{
    tensor_line stored, asked;

    for (size_t i = 0; i < near->count; i++) {
        gci_diff_item const *item = &near->items[i];
        if (!gci_diff_is_input(item->path))
            continue;
        if (gci_view_contains(item->path, ".dtype") || (read_tensor(item->stored, &stored) && read_tensor(item->asked, &asked) &&
                                                        !gci_view_equal(stored.dtype, asked.dtype)))
            return true;
    }
    return false;
}

/* What torch.autocast adds are conversions to a type of 16 bits. */
static bool
is_autocast(gci_near_key const *near, gci_diff_item const *item)
{
    static char const low[] = "float16";

    return graph_of(item) == GCI_GRAPH_CASTS && !has_other_dtype(near) &&
           (gci_view_contains(item->hunks, low) || gci_view_contains(item->stored, low) || gci_view_contains(item->asked, low));
}

/* ---- all of it ---- */

/* The path behind its first part: max_autotune of options.max_autotune, is_inference of fx_kwargs[is_inference], triton.cudagraphs
   of options["triton.cudagraphs"]. */
static gci_view
name_of(gci_view path)
{
    char const *dot = memchr(path.data, '.', path.size), *open = memchr(path.data, '[', path.size);
    bool bracketed = open != NULL && path.data[path.size - 1] == ']' && (dot == NULL || open < dot);

    if (bracketed && open[1] == '"' && path.data[path.size - 2] == '"')
        return gci_view_of(open + 2, path.size - (size_t)(open + 2 - path.data) - 2);
    if (dot != NULL && (open == NULL || dot < open))
        return gci_view_of(dot + 1, path.size - (size_t)(dot + 1 - path.data));
    if (bracketed)
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
    if (is_in_graph(item->path) && is_autocast(near, item))
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
    note_sizes(entry, near, out);
}
