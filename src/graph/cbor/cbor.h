/*
 * Writing deterministic CBOR (RFC 8949 section 4.2.1): shortest heads, definite lengths, shortest exact floats, one NaN,
 * integers beyond 64 bits as bignums. Map keys are the caller's to sort: gci_cbor_key_compare is their order.
 *
 * Failures are those of gci_buf: one check at the end.
 */
#ifndef GCI_GRAPH_CBOR_H
#define GCI_GRAPH_CBOR_H

#include "base/buf.h"
#include "base/text/value.h"

#include <stdint.h>

typedef enum gci_cbor_major {
    GCI_CBOR_UINT = 0,
    GCI_CBOR_NEGATIVE = 1, /* -1 - n */
    GCI_CBOR_BYTES = 2,
    GCI_CBOR_TEXT = 3,
    GCI_CBOR_ARRAY = 4,
    GCI_CBOR_MAP = 5,
    GCI_CBOR_TAG = 6,
    GCI_CBOR_SIMPLE = 7
} gci_cbor_major;

/* Simple values and float widths, as the low five bits of a head of major type 7. */
#define GCI_CBOR_FALSE 20
#define GCI_CBOR_TRUE 21
#define GCI_CBOR_NULL 22
#define GCI_CBOR_HALF 25
#define GCI_CBOR_SINGLE 26
#define GCI_CBOR_DOUBLE 27

#define GCI_CBOR_TAG_BIGNUM 2
#define GCI_CBOR_TAG_NEGATIVE_BIGNUM 3

/*
 * The tags of a canonical form (docs/formats/canonical.md), of the range that needs no registration of meaning. Tag 258
 * (set) isn't used: readers re-sort it, and as Python sets merge 1 and true.
 */
#define GCI_CBOR_TAG_MAP(X)                                                                           \
    X(TUPLE, 35601)  /* array */                                                                      \
    X(SET, 35602)    /* array, in the order of the items' bytes, no two equal */                      \
    X(NODE, 35603)   /* [graphs up, position] or, for an input, [position] */                         \
    X(EXPR, 35604)   /* text or integer: a symbolic integer in normal form */                         \
    X(TENSOR, 35605) /* map */                                                                        \
    X(ENUM, 35606)   /* text */

enum {
#define X(name, number) GCI_TAG_##name = number,
    GCI_CBOR_TAG_MAP(X)
#undef X
};

void gci_cbor_long_head(gci_buf *out, gci_cbor_major major, uint64_t n);

/* Room that a head of up to 16 bits takes. */
#define GCI_CBOR_SHORT_HEAD 3

/*
 * What a canonical form consists of, some ten of them a node. Optimising at link time, GCC stops inlining when the library
 * as a whole has grown by so much, and would call these: a tenth of a key.
 */
#define GCI_CBOR_INLINE static inline __attribute__((always_inline))

/* Writes a head of up to 16 bits at `at`, which has room, and returns what is behind it. */
GCI_CBOR_INLINE char *
gci_cbor_short_head(char *at, gci_cbor_major major, unsigned n)
{
    unsigned type = (unsigned)major << 5;

    if (n < 24) {
        *at++ = (char)(type | n);
    } else if (n <= UINT8_MAX) {
        *at++ = (char)(type | 24);
        *at++ = (char)n;
    } else {
        *at++ = (char)(type | 25);
        *at++ = (char)(n >> 8);
        *at++ = (char)(n & 0xFF);
    }
    return at;
}

GCI_CBOR_INLINE void
gci_cbor_head(gci_buf *out, gci_cbor_major major, uint64_t n)
{
    if (n <= UINT16_MAX && out->capacity - out->size >= GCI_CBOR_SHORT_HEAD)
        out->size = (size_t)(gci_cbor_short_head(out->data + out->size, major, (unsigned)n) - out->data);
    else
        gci_cbor_long_head(out, major, n);
}

GCI_CBOR_INLINE void
gci_cbor_append(gci_buf *out, void const *data, size_t size)
{
    if (out->capacity - out->size >= size && size != 0) {
        memcpy(out->data + out->size, data, size);
        out->size += size;
    } else {
        gci_buf_append(out, data, size);
    }
}

GCI_CBOR_INLINE void
gci_cbor_text(gci_buf *out, gci_view text)
{
    gci_cbor_head(out, GCI_CBOR_TEXT, text.size);
    gci_cbor_append(out, text.data, text.size);
}

static inline void
gci_cbor_bytes(gci_buf *out, gci_view bytes)
{
    gci_cbor_head(out, GCI_CBOR_BYTES, bytes.size);
    gci_cbor_append(out, bytes.data, bytes.size);
}

static inline void
gci_cbor_tag(gci_buf *out, uint64_t tag)
{
    gci_cbor_head(out, GCI_CBOR_TAG, tag);
}

static inline void
gci_cbor_int(gci_buf *out, int64_t value)
{
    if (value >= 0)
        gci_cbor_head(out, GCI_CBOR_UINT, (uint64_t)value);
    else
        gci_cbor_head(out, GCI_CBOR_NEGATIVE, ~(uint64_t)value);
}

static inline void
gci_cbor_simple(gci_buf *out, unsigned value)
{
    gci_cbor_head(out, GCI_CBOR_SIMPLE, value);
}

/* decimal: an optional '-', then digits without leading zeros, of any size. */
void gci_cbor_decimal(gci_buf *out, gci_view decimal);

void gci_cbor_float(gci_buf *out, double value);

/* Null, bool, integer of any size, float or bytes. Texts and what holds others are the caller's: they depend on rules. */
void gci_cbor_scalar(gci_buf *out, gci_value const *value);

/* A reference to a node of the graph `up` levels out. */
static inline void
gci_cbor_reference(gci_buf *out, uint32_t up, uint32_t position)
{
    static uint8_t const start[] = { GCI_CBOR_TAG << 5 | 25, GCI_TAG_NODE >> 8, GCI_TAG_NODE & 0xFF,
                                     GCI_CBOR_ARRAY << 5 | 2 };

    gci_cbor_append(out, start, sizeof start);
    gci_cbor_head(out, GCI_CBOR_UINT, up);
    gci_cbor_head(out, GCI_CBOR_UINT, position);
}

/* The order of text keys in a map: that of their encodings, which is the shorter first, then bytewise. */
static inline int
gci_cbor_key_compare(gci_view a, gci_view b)
{
    if (a.size != b.size)
        return a.size < b.size ? -1 : 1;
    return a.size != 0 ? memcmp(a.data, b.data, a.size) : 0;
}

#endif
