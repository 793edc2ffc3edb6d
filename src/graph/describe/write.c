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

typedef struct writer {
    gci_buf out;
    bool failed; /* no memory */
} writer;

static void
write_others(writer *w, gci_value const *others)
{
    for (uint32_t i = 0; i < others->count; i++) {
        gci_buf_append_text(&w->out, ", ");
        gci_json_write_text(&w->out, others->members[i].name);
        gci_buf_append_text(&w->out, ": ");
        gci_json_write(&w->out, &others->members[i].value);
    }
}

/* ---- graphs ---- */

static void
write_node(writer *w, gci_subgraph const *sub, gci_node const *node, uint32_t position)
{
    gci_buf_format(&w->out, "{\"name\": \"n%u_%u\", \"op\": ", sub->serial, position);
    gci_json_write_text(&w->out, node->op);
    if (node->target.data != NULL) {
        gci_buf_append_text(&w->out, ", \"target\": ");
        gci_json_write_text(&w->out, node->target);
    }
    gci_buf_append_text(&w->out, ", \"args\": ");
    gci_json_write(&w->out, &node->args);
    gci_buf_append_text(&w->out, ", \"kwargs\": ");
    gci_json_write(&w->out, &node->kwargs);
    write_others(w, &node->others);
    gci_buf_append_char(&w->out, '}');
}

static void
write_graph(writer *w, gci_subgraph const *sub)
{
    gci_arena arena; /* of a packed graph's trees */
    gci_arena_init(&arena, GCI_GRAPH_MAX_BYTES);
    gci_node const *nodes = gci_unpack_nodes(sub, &arena);
    w->failed = w->failed || nodes == NULL;
    gci_buf_append_text(&w->out, "{\"nodes\": [");
    for (uint32_t i = 0; nodes != NULL && i < sub->node_count; i++) {
        gci_buf_append_text(&w->out, i > 0 ? ", " : "");
        write_node(w, sub, &nodes[i], i);
    }
    gci_arena_clear(&arena);
    gci_buf_append_char(&w->out, ']');
    for (uint32_t i = 0; i < sub->sub_count; i++) {
        gci_buf_append_text(&w->out, i > 0 ? ", " : ", \"subgraphs\": {");
        gci_json_write_text(&w->out, sub->subs[i].name);
        gci_buf_append_text(&w->out, ": ");
        write_graph(w, sub->subs[i].graph);
    }
    gci_buf_append_text(&w->out, sub->sub_count > 0 ? "}" : "");
    if (sub->constants.count != 0) {
        gci_buf_append_text(&w->out, ", \"constants\": ");
        gci_json_write(&w->out, &sub->constants);
    }
    write_others(w, &sub->others);
    gci_buf_append_char(&w->out, '}');
}

static void
write_inputs(writer *w, gcache_graph const *graph)
{
    gci_arena arena; /* of plain tensors' trees */

    gci_arena_init(&arena, GCI_GRAPH_MAX_BYTES);
    gci_buf_append_char(&w->out, '[');
    for (uint32_t i = 0; i < graph->input_count; i++) {
        gci_buf_format(&w->out, "%s{\"name\": \"in%u\", \"value\": ", i > 0 ? ", " : "", i);
        gci_value value;
        w->failed = !gci_unpack_input(graph, &graph->inputs[i], &arena, &value) || w->failed;
        gci_json_write(&w->out, &value);
        write_others(w, &graph->inputs[i].others);
        gci_buf_append_char(&w->out, '}');
    }
    gci_buf_append_char(&w->out, ']');
    gci_arena_clear(&arena);
}

/* ---- the whole ---- */

/* A key that somebody else computed stands for what it was computed from. */
static void
write_keyed(writer *w, gcache_graph const *graph)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&graph->key, hex);
    gci_buf_format(&w->out, ", \"foreign_key\": \"%s\"", hex);
}

static void
write_component(writer *w, gcache_graph const *graph, gci_graph_component const *component)
{
    gci_buf_append_text(&w->out, ", ");
    gci_json_write_text(&w->out, component->name);
    gci_buf_append_text(&w->out, ": ");
    if (component->type == GCI_COMPONENT_GRAPH)
        write_graph(w, graph->root);
    else if (component->type == GCI_COMPONENT_INPUTS)
        write_inputs(w, graph);
    else
        gci_json_write(&w->out, &component->value);
}

gcache_status
gcache_graph_write(gcache_graph const *graph, char **out_text, size_t *out_size, gcache_error *error)
{
    writer w = { .failed = false };

    GCI_REQUIRE(out_text != NULL, error, "gcache_graph_write needs a result");
    *out_text = NULL;
    gcache_status status = gci_graph_check(graph, error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&w.out, WRITE_BYTES_MAX);
    gci_buf_append_text(&w.out, "{\"format\": \"" GCI_GRAPH_FORMAT "\", \"kind\": ");
    gci_json_write_text(&w.out, graph->kind);
    if (graph->keyed)
        write_keyed(&w, graph);
    for (size_t i = 0; i < graph->component_count; i++)
        if (graph->components[i].counts)
            write_component(&w, graph, &graph->components[i]);
    gci_buf_append_text(&w.out, "}\n");
    size_t size = w.out.size;
    *out_text = !w.failed ? gci_buf_take_text(&w.out) : NULL;
    gci_buf_clear(&w.out);
    if (out_size != NULL)
        *out_size = size;
    return *out_text != NULL ? GCACHE_OK : gci_fail_memory(error);
}
