/*
 * A description as JSON text, as gcache_graph_read reads it: for recording what a compiler described call by call.
 *
 * Nodes and inputs get names of their own, n<graph>_<position> and in<position>, which are unique over all subgraphs, so
 * that every reference is found in whatever scope it stands; names don't count. Volatile parts are left out.
 */
#include "base/check.h"
#include "base/text/json.h"
#include "graph/describe/description.h"
#include "graph/describe/encoded.h"

/* A text, and the tree of it while it is named. */
#define WRITE_BYTES_MAX GCI_JSON_MAX_BYTES

static void
write_others(gci_buf *out, gci_value const *others)
{
    for (uint32_t i = 0; i < others->count; i++) {
        gci_buf_append_text(out, ", ");
        gci_json_write_text(out, others->members[i].name);
        gci_buf_append_text(out, ": ");
        gci_json_write(out, &others->members[i].value);
    }
}

/* ---- graphs ---- */

static void
write_node(gci_buf *out, gci_subgraph const *sub, gci_node const *node, uint32_t position)
{
    gci_buf_format(out, "{\"name\": \"n%u_%u\", \"op\": ", sub->serial, position);
    gci_json_write_text(out, node->op);
    if (node->target.data != NULL) {
        gci_buf_append_text(out, ", \"target\": ");
        gci_json_write_text(out, node->target);
    }
    gci_buf_append_text(out, ", \"args\": ");
    gci_json_write(out, &node->args);
    gci_buf_append_text(out, ", \"kwargs\": ");
    gci_json_write(out, &node->kwargs);
    write_others(out, &node->others);
    gci_buf_append_char(out, '}');
}

static void
write_graph(gci_buf *out, gci_subgraph const *sub)
{
    gci_arena arena; /* of a packed graph's trees */
    gci_arena_init(&arena, GCI_GRAPH_MAX_BYTES);
    gci_node const *nodes = gci_unpack_nodes(sub, &arena);
    out->failed = out->failed || nodes == NULL;
    gci_buf_append_text(out, "{\"nodes\": [");
    for (uint32_t i = 0; nodes != NULL && i < sub->node_count; i++) {
        gci_buf_append_text(out, i > 0 ? ", " : "");
        write_node(out, sub, &nodes[i], i);
    }
    gci_arena_clear(&arena);
    gci_buf_append_char(out, ']');
    for (uint32_t i = 0; i < sub->sub_count; i++) {
        gci_buf_append_text(out, i > 0 ? ", " : ", \"subgraphs\": {");
        gci_json_write_text(out, sub->subs[i].name);
        gci_buf_append_text(out, ": ");
        write_graph(out, sub->subs[i].graph);
    }
    gci_buf_append_text(out, sub->sub_count > 0 ? "}" : "");
    if (sub->constants.count != 0) {
        gci_buf_append_text(out, ", \"constants\": ");
        gci_json_write(out, &sub->constants);
    }
    write_others(out, &sub->others);
    gci_buf_append_char(out, '}');
}

static void
write_inputs(gci_buf *out, gcache_graph const *graph)
{
    gci_arena arena; /* of plain tensors' trees */

    gci_arena_init(&arena, GCI_GRAPH_MAX_BYTES);
    gci_buf_append_char(out, '[');
    for (uint32_t i = 0; i < graph->input_count; i++) {
        gci_buf_format(out, "%s{\"name\": \"in%u\", \"value\": ", i > 0 ? ", " : "", i);
        gci_value value;
        out->failed = !gci_unpack_input(graph, &graph->inputs[i], &arena, &value) || out->failed;
        gci_json_write(out, &value);
        write_others(out, &graph->inputs[i].others);
        gci_buf_append_char(out, '}');
    }
    gci_buf_append_char(out, ']');
    gci_arena_clear(&arena);
}

/* ---- the whole ---- */

/* A key that somebody else computed stands for what it was computed from. */
static void
write_keyed(gci_buf *out, gcache_graph const *graph)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&graph->key, hex);
    gci_buf_format(out, ", \"foreign_key\": \"%s\"", hex);
}

static void
write_component(gci_buf *out, gcache_graph const *graph, gci_graph_component const *component)
{
    gci_buf_append_text(out, ", ");
    gci_json_write_text(out, component->name);
    gci_buf_append_text(out, ": ");
    if (component->type == GCI_COMPONENT_GRAPH)
        write_graph(out, graph->root);
    else if (component->type == GCI_COMPONENT_INPUTS)
        write_inputs(out, graph);
    else
        gci_json_write(out, &component->value);
}

gcache_status
gcache_graph_write(gcache_graph const *graph, char **out_text, size_t *out_size, gcache_error *error)
{
    gci_buf out;

    GCI_REQUIRE(out_text != NULL, error, "gcache_graph_write needs a result");
    *out_text = NULL;
    gcache_status status = gci_graph_check(graph, error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&out, WRITE_BYTES_MAX);
    gci_buf_append_text(&out, "{\"format\": \"" GCI_GRAPH_FORMAT "\", \"kind\": ");
    gci_json_write_text(&out, graph->kind);
    if (graph->keyed)
        write_keyed(&out, graph);
    for (size_t i = 0; i < graph->component_count; i++)
        if (graph->components[i].counts)
            write_component(&out, graph, &graph->components[i]);
    gci_buf_append_text(&out, "}\n");
    size_t size = out.size;
    *out_text = gci_buf_take_text(&out);
    if (out_size != NULL)
        *out_size = size;
    return *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
}
