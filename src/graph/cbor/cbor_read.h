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
#include "graph/cbor/cbor.h"

/* Canonical forms nest as deep as descriptions do, and every tensor or tuple adds a tag. */
#define GCI_CBOR_DEPTH_MOST 1300

/* What an item begins with. */
typedef struct gci_cbor_start {
    gci_cbor_major major;
    unsigned low; /* the low five bits of the first byte */
    uint64_t n;
} gci_cbor_start;

/* Reads what is at *next and moves it behind that. false: it isn't all there, or, where low > 27, it has no definite length. */
static inline bool
gci_cbor_read_start(uint8_t const **next, uint8_t const *end, gci_cbor_start *out)
{
    if (*next == end)
        return false;
    uint8_t first = *(*next)++;
    *out = (gci_cbor_start){ .major = (gci_cbor_major)(first >> 5), .low = first & 31, .n = first & 31 };
    if (out->low < 24)
        return true;
    size_t size = (size_t)1 << (out->low <= 27 ? out->low - 24 : 0);
    if (out->low > 27 || (size_t)(end - *next) < size)
        return false;
    out->n = 0;
    for (size_t i = 0; i < size; i++)
        out->n = out->n << 8 | *(*next)++;
    return true;
}

/* Texts of the tree point into bytes. */
gcache_status gci_cbor_read(gci_view bytes, gci_arena *arena, gci_value *out_value, gcache_error *error);

/* The size of the item that well-formed bytes begin with; 0 if they end before it does. */
size_t gci_cbor_item_size(gci_view bytes);

#endif
