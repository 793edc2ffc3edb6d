/*
 * What the cache layer and the rest of the library need of a description beyond include/guardcache/graph.h.
 */
#ifndef GCI_GRAPH_GRAPH_H
#define GCI_GRAPH_GRAPH_H

#include "base/arena.h"
#include "base/error.h"
#include "base/view.h"
#include "graph/describe/keyed.h"
#include "graph/describe/user_names.h"
#include "kinds/kinds.h"

#include <guardcache/graph.h>

/*
 * The key under a salt (a namespace); gcache_graph_key is this with the empty one. The description is canonicalised on
 * first use; every further salt costs one short SHA-256. The key of a keyed description ignores nothing: with a salt it
 * is hashed with it, without one it is the caller's own.
 */
gcache_status gci_graph_key(gcache_graph *graph, gci_view salt, gcache_key *out_key, gcache_error *error);

/*
 * What a name in a guard or a hint is called inside: "$s0" for a symbol of the description whose canonical name is s0
 * (no identifier begins with '$', so other names can't collide with it), the name itself for any other. The graph must
 * have its key already. The view lives as long as the graph, or as name.
 */
gci_view gci_graph_canonical_symbol(gcache_graph const *graph, gci_view name);

/* What a description calls its symbols, in canonical order, and what its rules left out of its texts. */
typedef struct gci_graph_names {
    gcache_symbol const *symbols;
    size_t symbol_count;
    gcache_text_name const *texts;
    size_t text_count;
    uint64_t id; /* descriptions with the same one have the same names; 0: not known */
} gci_graph_names;

/* They live as long as the graph, which must have its key already; none of a keyed one. */
gci_graph_names gci_graph_names_of(gcache_graph const *graph);

/*
 * A block that whoever asks about the graph again and again keeps with it, while its rules stay the same: set once, by any
 * thread, freed with free(). NULL: there is none; a keyed graph keeps none. gci_graph_remember takes over the block.
 */
void const *gci_graph_remembered(gcache_graph const *graph);
void gci_graph_remember(gcache_graph *graph, void *block);

/* The advice that the graph's own rules brought along, or its kind if that was loaded (kinds/kinds.h); it lives as long as they. */
gci_advice const *gci_graph_advice(gcache_graph const *graph, size_t *out_count);

#endif
