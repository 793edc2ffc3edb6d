/*
 * What a description says of the program it was made from: what hints are in it, and whose graph it is.
 */
#ifndef GCI_GRAPH_USER_NAMES_H
#define GCI_GRAPH_USER_NAMES_H

#include "base/buf.h"

#include <guardcache/graph.h>

/*
 * Writes what a hint is in the user's program, as far as the description says: "x.size(0)", from the sources that PyTorch's AOT
 * writes down, or from the input that has the symbol as a size. hint_count: of the lookup, to know what t<i> numbers. false:
 * it doesn't say.
 */
bool gci_graph_write_source(gcache_graph const *graph, gci_view hint, size_t hint_count, gci_buf *out);

/* Whether the hint is a size of an input by itself, whatever that is called. */
bool gci_graph_is_size(gcache_graph const *graph, gci_view hint, size_t hint_count);

/* Writes what an input is in the user's program: "x", "batch['ids']". i < the count. false: the description doesn't say. */
size_t gci_graph_input_count(gcache_graph const *graph);
bool gci_graph_write_input(gcache_graph const *graph, size_t i, gci_buf *out);

/*
 * Writes whose graph it is: "train.py:88 forward" from the nodes' stack traces, "jit(f)" from a StableHLO module, "f" or "f.c f"
 * from an LLVM module. false: the description doesn't say.
 */
bool gci_graph_write_place(gcache_graph const *graph, gci_buf *out);

#endif
