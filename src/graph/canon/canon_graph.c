/*
 * Graphs and inputs in canonical form: a node is its position, a placeholder's target and every name of a node or an
 * input is left out.
 */
#include "graph/canon/canon_graph.h"

#include "graph/canon/canon_value.h"
#include "graph/describe/encoded.h"

#include <stdlib.h>

/* ---- nodes ---- */

static bool
has_target(gci_node const *node)
{
    return node->target.data != NULL && !gci_view_is(node->op, "placeholder");
}

static void
put_plain_member(gci_canon_run *run, gci_view name, gci_value const *value)
{
    gci_canon_step step = { .outer = run->step, .name = name };

    run->step = &step;
    gci_cbor_text(&run->out, name);
    gci_canon_value(run, value, GCI_RULES_INERT);
    run->step = step.outer;
}

/* A node without surprises, as almost all are: no rule applies to it, and no member is unknown. */
static void
put_plain_node(gci_canon_run *run, gci_node const *node)
{
    gci_cbor_head(&run->out, GCI_CBOR_MAP, 3u + has_target(node));
    gci_cbor_text(&run->out, (gci_view)GCI_VIEW("op"));
    gci_cbor_text(&run->out, node->op);
    put_plain_member(run, (gci_view)GCI_VIEW("args"), &node->args);
    put_plain_member(run, (gci_view)GCI_VIEW("kwargs"), &node->kwargs);
    if (has_target(node)) {
        gci_cbor_text(&run->out, (gci_view)GCI_VIEW("target"));
        gci_cbor_text(&run->out, node->target);
    }
}

static void
put_any_node(gci_canon_run *run, gci_node const *node, gci_rules_state place)
{
    size_t mark = run->members.size;
    uint32_t count = 0;
    gci_value name = { .type = GCI_STRING, .text = node->name }, op = { .type = GCI_STRING, .text = node->op };
    gci_value target = { .type = GCI_STRING, .text = node->target };

    if (node->name.data != NULL)
        gci_canon_left_out(run, (gci_view)GCI_VIEW("name"), &name);
    if (node->meta != NULL)
        gci_canon_left_out(run, (gci_view)GCI_VIEW("meta"), node->meta);
    if (node->target.data != NULL && !has_target(node))
        gci_canon_left_out(run, (gci_view)GCI_VIEW("target"), &target);
    gci_canon_push_member(run, (gci_view)GCI_VIEW("op"), &op, place, &count);
    gci_canon_push_member(run, (gci_view)GCI_VIEW("args"), &node->args, place, &count);
    gci_canon_push_member(run, (gci_view)GCI_VIEW("kwargs"), &node->kwargs, place, &count);
    if (has_target(node))
        gci_canon_push_member(run, (gci_view)GCI_VIEW("target"), &target, place, &count);
    gci_canon_push_members(run, &node->others, place, &count);
    gci_canon_put_members(run, mark, count, gci_canon_put_member);
}

static void
put_node(gci_canon_run *run, gci_node const *node, uint32_t index, gci_rules_state place)
{
    gci_canon_step step = { .outer = run->step, .index = index };

    run->step = &step;
    if (place == GCI_RULES_INERT && node->others.count == 0 && run->trace == NULL)
        put_plain_node(run, node);
    else
        put_any_node(run, node, place);
    run->step = step.outer;
    gci_canon_flush(run);
}

static void
put_nodes(gci_canon_run *run, gci_subgraph const *graph, gci_rules_state place)
{
    gci_cbor_head(&run->out, GCI_CBOR_ARRAY, graph->node_count);
    if (graph->packed && place == GCI_RULES_INERT && run->trace == NULL) {
        gci_canon_append(run, gci_buf_view(&graph->packed_nodes));
        return;
    }
    gci_arena arena; /* of a packed graph's trees */
    gci_arena_init(&arena, GCI_GRAPH_MAX_BYTES);
    gci_node const *nodes = gci_unpack_nodes(graph, &arena);
    if (nodes == NULL)
        gci_canon_fail_memory(run);
    for (uint32_t i = 0; i < graph->node_count && run->status == GCACHE_OK; i++)
        put_node(run, &nodes[i], i, place == GCI_RULES_INERT ? place : gci_rules_item(run->rules, place, i));
    gci_arena_clear(&arena);
}

/* ---- graphs ---- */

static int
compare_links(void const *a, void const *b)
{
    gci_subgraph_link const *const *x = a, *const *y = b;

    return gci_cbor_key_compare((*x)->name, (*y)->name);
}

static void
put_subgraphs(gci_canon_run *run, gci_subgraph const *graph, gci_rules_state place)
{
    gci_subgraph_link const **links = malloc(graph->sub_count * sizeof *links);

    if (links == NULL) {
        gci_canon_fail_memory(run);
        return;
    }
    for (uint32_t i = 0; i < graph->sub_count; i++)
        links[i] = &graph->subs[i];
    qsort(links, graph->sub_count, sizeof *links, compare_links);
    gci_cbor_head(&run->out, GCI_CBOR_MAP, graph->sub_count);
    for (uint32_t i = 0; i < graph->sub_count && run->status == GCACHE_OK; i++) {
        gci_canon_step step = { .outer = run->step, .name = links[i]->name };
        run->step = &step;
        gci_cbor_text(&run->out, links[i]->name);
        gci_canon_graph(run, links[i]->graph,
                        place == GCI_RULES_INERT ? place : gci_rules_member(run->rules, place, links[i]->name));
        run->step = step.outer;
    }
    free(links);
}

/* A member of the open graph by its name; values of nodes and subgraphs stand for what is in the struct. */
static void
put_graph_member(gci_canon_run *run, gci_canon_member const *member)
{
    if (gci_view_is(member->name, "nodes"))
        put_nodes(run, run->open, member->place);
    else if (gci_view_is(member->name, "subgraphs"))
        put_subgraphs(run, run->open, member->place);
    else
        gci_canon_put_member(run, member);
}

void
gci_canon_graph(gci_canon_run *run, gci_subgraph const *graph, gci_rules_state place)
{
    static gci_value const null = { .type = GCI_NULL };
    gci_subgraph const *outer = run->open;
    size_t mark = run->members.size;
    uint32_t count = 0;

    run->open = graph;
    gci_canon_push_member(run, (gci_view)GCI_VIEW("nodes"), &null, place, &count);
    if (graph->sub_count != 0)
        gci_canon_push_member(run, (gci_view)GCI_VIEW("subgraphs"), &null, place, &count);
    if (graph->constants.count != 0)
        gci_canon_push_member(run, (gci_view)GCI_VIEW("constants"), &graph->constants, place, &count);
    gci_canon_push_members(run, &graph->others, place, &count);
    gci_canon_put_members(run, mark, count, put_graph_member);
    run->open = outer;
}

/* ---- inputs ---- */

/* A built tensor that no rule looks into: its members in canonical order. */
static void
put_plain_tensor(gci_canon_run *run, gci_plain_tensor const *tensor)
{
    gci_view const *texts = run->graph->texts.texts;
    gci_buf *out = &run->out;
    bool device = tensor->device != GCI_INTERN_NONE, layout = tensor->layout != GCI_INTERN_NONE;

    gci_cbor_tag(out, GCI_TAG_TENSOR);
    gci_cbor_head(out, GCI_CBOR_MAP, 3u + device + layout + tensor->has_stride);
    gci_cbor_text(out, (gci_view)GCI_VIEW("dtype"));
    gci_cbor_text(out, texts[tensor->dtype]);
    gci_cbor_text(out, (gci_view)GCI_VIEW("shape"));
    gci_canon_sizes(run, tensor->sizes, tensor->rank);
    if (device) {
        gci_cbor_text(out, (gci_view)GCI_VIEW("device"));
        gci_cbor_text(out, texts[tensor->device]);
    }
    if (layout) {
        gci_cbor_text(out, (gci_view)GCI_VIEW("layout"));
        gci_cbor_text(out, texts[tensor->layout]);
    }
    if (tensor->has_stride) {
        gci_cbor_text(out, (gci_view)GCI_VIEW("stride"));
        gci_canon_sizes(run, tensor->sizes + tensor->rank, tensor->rank);
    }
    gci_cbor_text(out, (gci_view)GCI_VIEW("requires_grad"));
    gci_cbor_simple(out, tensor->requires_grad ? GCI_CBOR_TRUE : GCI_CBOR_FALSE);
}

static void
put_plain_input(gci_canon_run *run, gci_plain_tensor const *tensor)
{
    gci_cbor_head(&run->out, GCI_CBOR_MAP, 1);
    gci_cbor_text(&run->out, (gci_view)GCI_VIEW("value"));
    put_plain_tensor(run, tensor);
}

static void
put_any_input(gci_canon_run *run, gci_input const *input, gci_rules_state place)
{
    size_t mark = run->members.size;
    uint32_t count = 0;
    gci_value name = { .type = GCI_STRING, .text = input->name }, value;
    gci_arena arena; /* of a plain tensor's tree */

    gci_arena_init(&arena, GCI_GRAPH_MAX_BYTES);
    if (!gci_unpack_input(run->graph, input, &arena, &value))
        gci_canon_fail_memory(run);
    gci_canon_left_out(run, (gci_view)GCI_VIEW("name"), &name);
    gci_canon_push_member(run, (gci_view)GCI_VIEW("value"), &value, place, &count);
    gci_canon_push_members(run, &input->others, place, &count);
    gci_canon_put_members(run, mark, count, gci_canon_put_member);
    gci_arena_clear(&arena);
}

static void
put_input(gci_canon_run *run, gci_input const *input, gci_rules_state place)
{
    if (input->tensor != NULL && place == GCI_RULES_INERT && run->trace == NULL)
        put_plain_input(run, input->tensor);
    else
        put_any_input(run, input, place);
}

void
gci_canon_inputs(gci_canon_run *run, gci_rules_state place)
{
    gcache_graph const *graph = run->graph;

    gci_cbor_head(&run->out, GCI_CBOR_ARRAY, graph->input_count);
    for (uint32_t i = 0; i < graph->input_count && run->status == GCACHE_OK; i++) {
        gci_canon_step step = { .outer = run->step, .index = i };
        run->step = &step;
        put_input(run, &graph->inputs[i], place == GCI_RULES_INERT ? place : gci_rules_item(run->rules, place, i));
        run->step = step.outer;
        gci_canon_flush(run);
    }
}
