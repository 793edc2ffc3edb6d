/*
 * Reading canonical forms back: CBOR as cbor.h writes it, into a tree of values.
 *
 * Strict: anything that isn't well-formed deterministic CBOR of the kinds a canonical form has (unsorted or repeated map
 * keys, longer heads than needed, indefinite lengths, unknown tags) is ERROR_CORRUPT. So what is read writes back to the
 * same bytes.
 *
 * A GCI_SYM's text is the expression, or the decimal of a constant one. A GCI_NODE's integer is gci_node_ref(1 + graphs
 * up, position), or gci_node_ref(GCI_NODE_INPUTS, position).
 */
#ifndef GCI_GRAPH_CBOR_READ_H
#define GCI_GRAPH_CBOR_READ_H

#include "base/arena.h"
#include "base/error.h"
#include "base/text/value.h"

/* Texts of the tree point into bytes. */
gcache_status gci_cbor_read(gci_view bytes, gci_arena *arena, gci_value *out_value, gcache_error *error);

/* The size of the item that well-formed bytes begin with; 0 if they end before it does. */
size_t gci_cbor_item_size(gci_view bytes);

#endif
