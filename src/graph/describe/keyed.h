/*
 * Keyed descriptions: what gcache_graph_new_keyed makes.
 */
#ifndef GCI_GRAPH_KEYED_H
#define GCI_GRAPH_KEYED_H

#include "base/view.h"

#include <guardcache/graph.h>

bool gci_graph_is_keyed(gcache_graph const *graph);

/* A component line. */
typedef struct gci_graph_line {
    gci_view name, hash, text;
} gci_graph_line;

size_t gci_graph_line_count(gcache_graph const *graph);
gci_graph_line gci_graph_line_at(gcache_graph const *graph, size_t index);

#endif
