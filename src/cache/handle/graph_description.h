/*
 * A graph as the store keeps it: component names and hashes, and the canonical form.
 */
#ifndef GCI_CACHE_HANDLE_GRAPH_DESCRIPTION_H
#define GCI_CACHE_HANDLE_GRAPH_DESCRIPTION_H

#include "base/arena.h"
#include "store/store.h"

#include <guardcache/graph.h>

/* Arrays go to the arena, texts and bytes stay the graph's. with_canonical: the canonical form is wanted as well. */
gcache_status gci_description_of(gcache_graph *graph, bool with_canonical, gci_arena *arena,
                                 gci_description *out_description, gcache_error *error);

#endif
