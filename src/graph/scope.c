#include "graph/typed.h"

bool
gci_scope_init(gci_scope *scope, gci_typing const *typing, gci_value const *list, gci_subgraph const *sub)
{
    gcache_graph *graph = typing->graph;
    uint32_t count = sub != NULL ? sub->node_count : graph->input_count;
    bool is_new;

    *scope = (gci_scope){ .outer = typing->scope, .serial = sub != NULL ? sub->serial : GCI_NODE_INPUTS };
    for (uint32_t i = 0; i < count; i++) {
        gci_view name = sub != NULL ? sub->nodes[i].name : graph->inputs[i].name;
        if (gci_intern_add(&scope->names, name, &is_new) == GCI_INTERN_NONE) {
            gci_graph_fail_memory(graph);
            return false;
        }
        if (!is_new)
            return gci_typed_fail(typing, list != NULL ? &list->items[i] : NULL, "a second %s \"%.*s\"",
                                  sub != NULL ? "node" : "input", (int)name.size, name.data);
    }
    return true;
}

void
gci_scope_clear(gci_scope *scope)
{
    gci_intern_clear(&scope->names);
}

bool
gci_scope_find(gci_scope const *scope, gci_view name, int64_t *out_ref)
{
    for (; scope != NULL; scope = scope->outer) {
        uint32_t position = gci_intern_find(&scope->names, name);
        if (position != GCI_INTERN_NONE) {
            *out_ref = gci_node_ref(scope->serial, position);
            return true;
        }
    }
    return false;
}
