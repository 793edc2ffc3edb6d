/*
 * What is left of the differences from a nearest key if a reader does as the advice says: whether it may promise that what is
 * stored is found then.
 */
#include "cache/advice/advice.h"
#include "cache/advice/input_text.h"

/* Rows about sizes from which more follows than can be told, and all of them. */
#define OF_SHAPES \
    (GCI_FACT_BIT(ZERO_ONE) | GCI_FACT_BIT(TO_SYMBOL) | GCI_FACT_BIT(MERGED) | GCI_FACT_BIT(SCALAR) | GCI_FACT_BIT(PARAMETER))
#define OF_SIZES (OF_SHAPES | GCI_FACT_BIT(SIZES) | GCI_FACT_BIT(FROM_SYMBOL))

typedef struct told_advice {
    gci_advised const *const *items;
    size_t count;
    uint64_t sizes;         /* what their rows say of them */
    gci_advice_graph graph; /* the furthest of their rows */
} told_advice;

/* What its row says of sizes. */
static uint64_t
sizes_of(gci_advised const *advised)
{
    return gci_diff_is_input(advised->what.path) ? advised->row->where & OF_SIZES : 0;
}

static bool
is_told(told_advice const *told, gci_view text)
{
    for (size_t i = 0; i < told->count; i++)
        if (gci_view_equal(told->items[i]->text, text))
            return true;
    return false;
}

static bool
has_gradient(gci_tensor_line const *line)
{
    return gci_view_contains(line->more, "requires_grad=True");
}

/* An input of which more differs than one thing, of which an advice is about the first. */
static bool
has_more(gci_diff_item const *item)
{
    gci_tensor_line stored, asked;

    if (!gci_diff_is_input(item->path) || !gci_read_tensors(item, &stored, &asked))
        return false;
    return !gci_view_equal(stored.dtype, asked.dtype) + !gci_view_equal(stored.device, asked.device) +
               !gci_view_equal(stored.strides, asked.strides) + (has_gradient(&stored) != has_gradient(&asked)) >
           1;
}

/* What a compiler derives nothing of from modes that it runs in, as it does settings of its own. */
static bool
is_set_by_caller(gci_diff_item const *item)
{
    return item->part == GCI_DIFF_PART_ENVIRONMENT || item->part == GCI_DIFF_PART_OPTIONS || gci_view_is(item->path, "namespace");
}

/* Of a difference that nothing is told of. */
static gci_advice_rest
rest_untold(told_advice const *told, gci_diff_item const *item, gci_advised const *advised)
{
    bool in_graph = gci_path_is_in_graph(item->path), internal = advised->row != NULL && *advised->row->text == '\0';
    bool traced = in_graph || gci_diff_is_input(item->path);

    if (told->graph == GCI_GRAPH_ANY && (traced || internal))
        return GCI_REST_NOTHING;
    if (told->graph == GCI_GRAPH_CASTS && in_graph && gci_advice_graph_of_item(item) == GCI_GRAPH_CASTS)
        return GCI_REST_NOTHING;
    if (traced && (told->sizes & OF_SHAPES) != 0)
        return GCI_REST_UNKNOWN;
    if (internal || (told->graph == GCI_GRAPH_ANY && !is_set_by_caller(item)))
        return GCI_REST_UNKNOWN;
    return GCI_REST_SOME;
}

static gci_advice_rest
rest_of(gci_near_key const *near, told_advice const *told, gci_diff_item const *item, gci_advised const *advised)
{
    bool follows = item->follows != GCI_DIFF_NOTHING && item->follows != GCI_DIFF_WHOLE && item->follows != GCI_DIFF_AGAIN;
    bool sized = told->sizes != 0 && gci_advice_follows_sizes(near, item);

    if (follows || sized)
        return GCI_REST_NOTHING;
    if (advised->text.size == 0 || !is_told(told, advised->text))
        return rest_untold(told, item, advised);
    /* A number that became an input has nothing beside it. */
    bool is_new = item->stored.data == NULL || item->asked.data == NULL;
    return (sizes_of(advised) != 0 && !is_new) || has_more(item) ? GCI_REST_SOME : GCI_REST_NOTHING;
}

/* Nothing else differs: hints that stay as they are may still not be served. */
static gci_advice_rest
rest_of_guards(gci_journal_entry const *entry, gci_near_key const *near, told_advice const *told)
{
    if (told->sizes != 0)
        return GCI_REST_NOTHING;
    gci_served served = gci_advice_served_by(entry, &near->key);
    if (served == GCI_SERVED)
        return GCI_REST_NOTHING;
    return served == GCI_SERVED_NOT && told->graph == GCI_GRAPH_SAME ? GCI_REST_GUARDS : GCI_REST_UNKNOWN;
}

gci_advice_rest
gci_advice_find_rest(gci_journal_entry const *entry, gci_near_key const *near, gci_advised const *all,
                     gci_advised const *const *items, size_t count)
{
    told_advice told = { .items = items, .count = count };
    gci_advice_rest rest = GCI_REST_NOTHING;

    for (size_t i = 0; i < count; i++) {
        told.sizes |= sizes_of(items[i]);
        told.graph = items[i]->row->graph > told.graph ? items[i]->row->graph : told.graph;
    }
    if (told.graph == GCI_GRAPH_ALL)
        return GCI_REST_NOTHING;
    if (gci_diff_unsaid(near->diff) != 0)
        rest = told.graph == GCI_GRAPH_ANY ? GCI_REST_UNKNOWN : GCI_REST_SOME;
    for (size_t i = 0; i < near->count; i++) {
        gci_advice_rest one = rest_of(near, &told, &near->items[i], &all[i]);
        rest = one > rest ? one : rest;
    }
    return rest == GCI_REST_NOTHING ? rest_of_guards(entry, near, &told) : rest;
}
