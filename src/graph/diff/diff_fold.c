/*
 * Differences put in the order in which people look for causes, and those that say nothing new folded into the first of their
 * sort: the same change in further nodes, a constant that changes with a size, nodes that are new one after another.
 */
#include "base/intern.h"
#include "graph/diff/diff_run.h"

#include <stdlib.h>

/* ---- order ---- */

typedef struct slot {
    gci_diff_item item;
    size_t before; /* its place before */
} slot;

static bool
follows(gci_diff_item const *item)
{
    return item->follows > GCI_DIFF_AGAIN;
}

static int
compare_slots(void const *a, void const *b)
{
    slot const *x = a, *y = b;

    if (follows(&x->item) != follows(&y->item))
        return follows(&x->item) ? 1 : -1;
    if (x->item.part != y->item.part)
        return x->item.part < y->item.part ? -1 : 1;
    return x->before < y->before ? -1 : 1;
}

/* By parts, consequences last. `like` is the place of an item that comes before, and stays so. */
static bool
sort_items(gci_diff *diff)
{
    slot *slots = malloc((diff->count + 1) * sizeof *slots);
    size_t *places = malloc((diff->count + 1) * sizeof *places);
    bool sorted = slots != NULL && places != NULL;

    for (size_t i = 0; i < diff->count && sorted; i++)
        slots[i] = (slot){ diff->items[i], i };
    if (sorted)
        qsort(slots, diff->count, sizeof *slots, compare_slots);
    for (size_t i = 0; i < diff->count && sorted; i++)
        places[slots[i].before] = i;
    for (size_t i = 0; i < diff->count && sorted; i++) {
        diff->items[i] = slots[i].item;
        diff->items[i].like = places[slots[i].item.like];
    }
    free(slots);
    free(places);
    return sorted;
}

/* ---- the same again ---- */

static bool
stands_for_itself(gci_diff_item const *item)
{
    return item->follows == GCI_DIFF_NOTHING && item->whole_stored.data == NULL && item->hunks.data == NULL;
}

/* What two items must have in common for the one to say all: constants what they were and are, others their path, too. */
static void
write_sameness(gci_diff_item const *item, gci_buf *out)
{
    gci_view inside = gci_view_of(item->path.data + item->place, item->path.size - item->place);

    gci_buf_format(out, "%d %d %d ", item->is_number, item->stored.data == NULL, item->asked.data == NULL);
    if (item->is_node) {
        gci_buf_append_view(out, item->target);
        return;
    }
    gci_buf_append_view(out, item->stored);
    gci_buf_append_text(out, "\n");
    gci_buf_append_view(out, item->asked);
    if (item->is_number)
        return;
    gci_buf_format(out, "\n%d\n", (int)item->part);
    gci_buf_append_view(out, inside);
    gci_buf_append_text(out, "\n");
    gci_buf_append_view(out, item->target);
}

static gci_diff_again
kind_again(gci_diff_item const *item)
{
    bool in_graph = item->part == GCI_DIFF_PART_GRAPH;

    if (item->is_number)
        return in_graph ? GCI_DIFF_CONSTANTS : GCI_DIFF_SIZES;
    return in_graph ? GCI_DIFF_NODES : GCI_DIFF_INPUT_VALUES;
}

static bool
fold_again(gci_diff *diff)
{
    gci_intern seen = { 0 };
    size_t *first = malloc((diff->count + 1) * sizeof *first);
    gci_buf text;
    bool folded = first != NULL, is_new;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < diff->count && folded; i++) {
        gci_diff_item *item = &diff->items[i];
        if (!stands_for_itself(item) || item->run > 1 || (item->part != GCI_DIFF_PART_GRAPH && item->part != GCI_DIFF_PART_INPUTS))
            continue;
        text.size = 0;
        write_sameness(item, &text);
        uint32_t number = gci_intern_add(&seen, gci_buf_view(&text), &is_new);
        folded = number != GCI_INTERN_NONE && !text.failed;
        if (!folded || is_new) {
            if (folded)
                first[number] = i;
            continue;
        }
        item->follows = GCI_DIFF_AGAIN;
        item->like = first[number];
        diff->items[item->like].again[kind_again(item)]++;
    }
    gci_intern_clear(&seen);
    gci_buf_clear(&text);
    free(first);
    return folded;
}

/* ---- runs of nodes ---- */

static bool
goes_on(gci_diff_item const *before, gci_diff_item const *item)
{
    return before->is_node && item->is_node && before->place != 0 && before->follows <= GCI_DIFF_WHOLE &&
           (before->stored.data == NULL) == (item->stored.data == NULL) && item->position == before->position + 1 &&
           item->place >= before->place && item->follows == GCI_DIFF_NOTHING;
}

static void
fold_runs(gci_diff *diff)
{
    for (size_t i = 0; i < diff->count; i++) {
        gci_diff_item *item = &diff->items[i];
        if (item->is_node && item->follows == GCI_DIFF_NOTHING)
            item->run = 1;
        if (i == 0 || !goes_on(item - 1, item))
            continue;
        item->like = (item - 1)->follows == GCI_DIFF_WHOLE ? (item - 1)->like : i - 1;
        item->follows = GCI_DIFF_WHOLE;
        diff->items[item->like].run++;
    }
}

bool
gci_diff_fold(gci_diff *diff)
{
    if (!sort_items(diff))
        return false;
    if (diff->count > diff->max_items) {
        diff->left_out += diff->count - diff->max_items;
        diff->count = diff->max_items;
    }
    fold_runs(diff);
    return fold_again(diff);
}
