/*
 * What a difference in an input is, in the terms that advice is written in: an element type, an order in memory, a size that
 * became symbolic.
 */
#include "cache/advice/advice.h"
#include "cache/advice/input_text.h"
#include "cache/candidates/sources.h"

#include <stdlib.h>

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
    if (gci_text_is_number(stored) && gci_text_is_number(asked))
        return GCI_FACT_BIT(SIZES) | (is_small(asked) || is_small(stored) ? GCI_FACT_BIT(ZERO_ONE) : 0);
    if (gci_text_is_number(stored) && asked.size != 0)
        return GCI_FACT_BIT(TO_SYMBOL) | (is_small(stored) ? GCI_FACT_BIT(ZERO_ONE) : 0);
    if (gci_text_is_number(asked) && stored.size != 0)
        return GCI_FACT_BIT(FROM_SYMBOL) | (is_small(asked) ? GCI_FACT_BIT(ZERO_ONE) : 0);
    return 0;
}

/* Of all sizes that differ; {dim}, {stored} and {asked} are those of the first. 0: as many dimensions there aren't. */
static uint64_t
sizes_facts(gci_view stored, gci_view asked)
{
    uint64_t facts = 0;
    gci_view a, b;

    while (gci_next_size(&stored, &a)) {
        if (!gci_next_size(&asked, &b))
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

    while (count < RANK_MOST && gci_next_size(&sizes, &out[count]))
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
        if (product == 0 || !gci_text_is_number(stride[i]) || strtoull(stride[i].data, NULL, 10) != product)
            return false;
        product = gci_text_is_number(size[i]) ? product * strtoull(size[i].data, NULL, 10) : 0;
    }
    return true;
}

static size_t
rank_of(gci_view sizes)
{
    gci_view size;
    size_t rank = 0;

    while (gci_next_size(&sizes, &size))
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
compare_tensors(gci_tensor_line const *stored, gci_tensor_line const *asked, gci_advice_case *out)
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
    bool resized = gci_has_other_sizes(near, tensor);
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
    out->values[GCI_VALUE_STORED] = gci_without_quotes(item->stored);
    out->values[GCI_VALUE_ASKED] = gci_without_quotes(item->asked);
}

/* ---- symbols of the whole ---- */

/* How many of an input's sizes are numbers. */
static size_t
numbers_of_input(gci_diff_item const *item, gci_view text)
{
    gci_view sizes = gci_input_sizes(item, text), size;
    size_t numbers = 0;

    while (gci_next_size(&sizes, &size))
        numbers += gci_text_is_number(size);
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

    for (size_t i = 0; gci_next_size(&stored, &a) && gci_next_size(&asked, &b); i++) {
        if (gci_view_equal(a, b))
            continue;
        differing++;
        *out_dimension = i;
    }
    return differing == 1;
}

/*
 * path = input ".value.shape[" dimension "]", or an input of two lines. false: it isn't the only size that differs. To make
 * one of several dynamic wouldn't help.
 */
static bool
find_dimension(gci_near_key const *near, gci_diff_item const *item, size_t *out_dimension)
{
    char const *member = strstr(item->path.data, GCI_SHAPE_MEMBER);
    gci_tensor_line stored, asked;
    size_t resized = 0;

    for (size_t i = 0; i < near->count; i++)
        resized += gci_input_resizes(&near->items[i]);
    if (resized != 1)
        return false;
    if (member != NULL) {
        *out_dimension = strtoul(member + strlen(GCI_SHAPE_MEMBER), NULL, 10);
        return true;
    }
    return gci_read_tensors(item, &stored, &asked) &&
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

void
gci_advice_on_input(gci_journal_entry const *entry, gci_near_key const *near, gci_diff_item const *item, gci_advice_case *out)
{
    gci_tensor_line stored, asked;

    note_symbols(near, item, out);
    note_input_path(near, item, out);
    if (gci_read_tensors(item, &stored, &asked))
        compare_tensors(&stored, &asked, out);
    note_source(entry, near, item, out);
}
