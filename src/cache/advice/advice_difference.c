/*
 * What a difference between the nearest key and the one asked for is, in the terms that advice is written in.
 */
#include "cache/advice/advice.h"
#include "cache/advice/input_text.h"

#include <ctype.h>

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
    return gci_text_is_number(argument) || is_float(argument) || gci_text_is_symbol(argument) ||
           gci_view_begins(argument, "nodes[");
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

gci_advice_graph
gci_advice_graph_of_item(gci_diff_item const *item)
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
        bool in_graph = gci_path_is_in_graph(near->items[i].path);
        gci_advice_graph here = in_graph ? gci_advice_graph_of_item(&near->items[i]) : GCI_GRAPH_SAME;
        found = here > found ? here : found;
    }
    return found;
}

/* An input of another element type: conversions in the graph follow from it. */
static bool
has_other_dtype(gci_near_key const *near)
{
    gci_tensor_line stored, asked;

    for (size_t i = 0; i < near->count; i++) {
        gci_diff_item const *item = &near->items[i];
        if (!gci_diff_is_input(item->path))
            continue;
        if (gci_view_contains(item->path, ".dtype") ||
            (gci_read_tensors(item, &stored, &asked) && !gci_view_equal(stored.dtype, asked.dtype)))
            return true;
    }
    return false;
}

/* What torch.autocast adds are conversions to a type of 16 bits. */
static bool
is_autocast(gci_near_key const *near, gci_diff_item const *item)
{
    static char const low[] = "float16";

    return gci_advice_graph_of_item(item) == GCI_GRAPH_CASTS && !has_other_dtype(near) &&
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
    gci_view rest = near->items[index].path, part = gci_take_up_to(&rest, ".[");

    for (size_t i = 0; i < near->count; i++) {
        gci_view other = near->items[i].path;
        if (i != index && gci_view_equal(gci_take_up_to(&other, ".["), part))
            return true;
    }
    return false;
}

void
gci_advice_on_difference(gci_journal_entry const *entry, gci_near_key const *near, size_t index, gci_advice_case *out)
{
    gci_diff_item const *item = &near->items[index];

    out->path = item->path;
    out->values[GCI_VALUE_NAME] = name_of(item->path);
    out->values[GCI_VALUE_STORED] = item->stored;
    out->values[GCI_VALUE_ASKED] = item->asked;
    if (has_sibling(near, index))
        out->facts |= GCI_FACT_BIT(SEVERAL);
    if (near->count == 1 && near->left_out == 0)
        out->facts |= GCI_FACT_BIT(ALONE);
    if (item->stored.data == NULL)
        out->facts |= GCI_FACT_BIT(NOT_STORED);
    if (gci_path_is_in_graph(item->path) && is_autocast(near, item))
        out->facts |= GCI_FACT_BIT(CASTS);
    if (near->is_same && gci_path_is_in_graph(item->path) && gci_advice_is_training(item))
        out->facts |= GCI_FACT_BIT(TRAINING);
    if (item->hunks.data != NULL) {
        gci_advice_on_hunks(item->hunks, out);
        return;
    }
    gci_advice_on_line(item->stored, item->asked, out);
    if (!gci_diff_is_input(item->path) && gci_text_is_number(item->stored) && gci_text_is_number(item->asked))
        out->facts |= GCI_FACT_BIT(SIZES);
    if (gci_view_contains(item->stored, "0x") && gci_view_contains(item->asked, "0x"))
        out->facts |= GCI_FACT_BIT(ADDRESSES);
    if (!gci_diff_is_input(item->path))
        return;
    gci_advice_on_input(entry, near, item, out);
    gci_advice_list_inputs(entry, near, out);
    gci_advice_on_sizes(entry, near, out);
}
