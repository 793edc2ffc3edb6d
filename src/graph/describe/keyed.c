/*
 * Keyed descriptions: the compiler brings its own key, and lines that say what it was computed from.
 */
#include "graph/describe/keyed.h"

#include "base/check.h"
#include "graph/describe/description.h"

gcache_graph *
gcache_graph_new_keyed(char const *kind, gcache_key const *key)
{
    gcache_graph *graph = gcache_graph_new(kind);

    if (graph == NULL)
        return NULL;
    graph->keyed = true;
    if (key != NULL)
        graph->key = *key;
    else
        gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "a keyed description needs a key");
    return graph;
}

void
gcache_graph_line(gcache_graph *graph, char const *name, char const *hash, char const *text)
{
    if (graph == NULL || graph->status != GCACHE_OK)
        return;
    if (!graph->keyed || name == NULL) {
        gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "a component line needs a keyed description and a name");
        return;
    }
    gci_graph_line *line = gci_graph_grow(graph, &graph->lines, graph->line_count, &graph->line_room, sizeof *line);
    if (line == NULL)
        return;
    if (gci_graph_copy(graph, gci_view_text(name), &line->name) && gci_graph_copy(graph, gci_view_text(hash), &line->hash) &&
        gci_graph_copy(graph, gci_view_text(text), &line->text))
        graph->line_count++;
}

bool
gci_graph_is_keyed(gcache_graph const *graph)
{
    return graph->keyed;
}

size_t
gci_graph_line_count(gcache_graph const *graph)
{
    return graph->line_count;
}

gci_graph_line
gci_graph_line_at(gcache_graph const *graph, size_t index)
{
    GCI_ASSERT(index < graph->line_count);
    return graph->lines[index];
}
