/*
 * What is built call by call, in a form that is near to the canonical one: no tree in between.
 *
 * Nodes are canonical bytes from the start, so that a key is one hash over what lies there already; tensors are numbers of
 * texts, since what their symbols are called depends on all inputs.
 *
 * A (sub)graph is packed as long as every node's arguments mean the same whatever else the description holds: constants and
 * references, but no expressions and sets. The first node that isn't so, a keyword argument that is added to an earlier
 * node, or a rule that looks into nodes, has the packed ones turned into trees.
 *
 * Invariants of a packed subgraph:
 *  1. packed holds the canonical bytes of its packed_count nodes, one behind the other, and nodes is empty.
 *  2. kwargs_at is where the last node's kwargs map begins, kwargs_end where its target's key begins.
 */
#ifndef GCI_GRAPH_PACK_H
#define GCI_GRAPH_PACK_H

#include "graph/describe/description.h"

/* What a new node is given, in either form. */
typedef struct gci_new_node {
    gci_view op, target; /* target.data NULL: it doesn't count */
    gcache_node const *nodes; /* arguments that are nodes, or */
    gcache_value *const *values;
    size_t count;
} gci_new_node;

/* Where a node that was handed out is; graph is NULL if the handle isn't one of this graph's. */
gci_node_place gci_find_node(gcache_graph const *graph, gcache_node node);

/* Adds a node to a packed subgraph. false: it can't be packed (or the graph has failed). */
bool gci_pack_node(gcache_graph *graph, gci_subgraph *sub, gci_new_node const *node);

/* Adds a keyword argument to the last node. false: it can't be packed (or the graph has failed). */
bool gci_pack_kwarg(gcache_graph *graph, gci_subgraph *sub, gci_view name, gci_value const *value);

/* A tensor as the builder is given it; NULL if the graph has failed. */
gci_plain_tensor const *gci_pack_tensor(gcache_graph *graph, gcache_tensor const *tensor);

/* The value of an input as a tree; a plain tensor's is made in the arena. false without memory. */
bool gci_unpack_input(gcache_graph const *graph, gci_input const *input, gci_arena *arena, gci_value *out_value);

/* The nodes of a subgraph as trees; those of a packed one are made in the arena. NULL without memory. */
gci_node *gci_unpack_nodes(gci_subgraph const *sub, gci_arena *arena);

#endif
