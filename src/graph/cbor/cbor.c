/*
 * Deterministic CBOR (RFC 8949 section 4.2.1): what takes more than a head.
 */
#include "graph/cbor/cbor.h"

#include "base/check.h"

#include <math.h>
#include <stdlib.h>

static void
put_big_endian(gci_buf *out, uint64_t value, size_t size)
{
    char bytes[8];

    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(uint8_t)(value >> (8 * (size - 1 - i)));
    gci_buf_append(out, bytes, size);
}

void
gci_cbor_long_head(gci_buf *out, gci_cbor_major major, uint64_t n)
{
    unsigned low = n < 24 ? (unsigned)n : n <= UINT8_MAX ? 24 : n <= UINT16_MAX ? 25 : n <= UINT32_MAX ? 26 : 27;

    gci_buf_append_char(out, (char)((unsigned)major << 5 | low));
    if (low >= 24)
        put_big_endian(out, n, (size_t)1 << (low - 24));
}

/* ---- floats ---- */

/* true and the bits of an IEEE half if value is one, exactly. value is a single and not NaN. */
static bool
half_of(float value, uint16_t *out_half)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    uint32_t exponent = bits >> 23 & 0xFF, fraction = bits & 0x7FFFFF;

    if (exponent == 0xFF || (exponent == 0 && fraction == 0)) {
        *out_half = (uint16_t)(sign | (exponent != 0 ? 0x7C00 : 0));
        return true;
    }
    if (exponent >= 113 && exponent <= 142) { /* normal: 2^-14 to 2^15 */
        *out_half = (uint16_t)(sign | (exponent - 112) << 10 | fraction >> 13);
        return (fraction & 0x1FFF) == 0;
    }
    if (exponent >= 103 && exponent <= 112) { /* subnormal: multiples of 2^-24 */
        uint32_t shift = 126 - exponent, whole = fraction | 0x800000;
        *out_half = (uint16_t)(sign | whole >> shift);
        return (whole & ((UINT32_C(1) << shift) - 1)) == 0;
    }
    return false;
}

void
gci_cbor_float(gci_buf *out, double value)
{
    float single = (float)value;
    uint16_t half = 0x7E00;
    uint32_t single_bits;
    uint64_t bits;

    if (isnan(value) || ((double)single == value && half_of(single, &half))) {
        gci_buf_append_char(out, (char)(GCI_CBOR_SIMPLE << 5 | GCI_CBOR_HALF));
        put_big_endian(out, half, 2);
    } else if ((double)single == value) {
        memcpy(&single_bits, &single, sizeof single_bits);
        gci_buf_append_char(out, (char)(GCI_CBOR_SIMPLE << 5 | GCI_CBOR_SINGLE));
        put_big_endian(out, single_bits, 4);
    } else {
        memcpy(&bits, &value, sizeof bits);
        gci_buf_append_char(out, (char)(GCI_CBOR_SIMPLE << 5 | GCI_CBOR_DOUBLE));
        put_big_endian(out, bits, 8);
    }
}

/* ---- integers of any size ---- */

/* 18 digits are the most that multiply without leaving 64 bits by more than a carry word. */
#define CHUNK_DIGITS 18

typedef struct magnitude {
    uint64_t *words; /* least significant first */
    size_t count;
} magnitude;

/* words = words * factor + addend; there is room for one more word. */
static void
multiply_add(magnitude *m, uint64_t factor, uint64_t addend)
{
    unsigned __int128 carry = addend;

    for (size_t i = 0; i < m->count; i++) {
        carry += (unsigned __int128)m->words[i] * factor;
        m->words[i] = (uint64_t)carry;
        carry >>= 64;
    }
    if (carry != 0)
        m->words[m->count++] = (uint64_t)carry;
}

static void
read_digits(magnitude *m, char const *digits, size_t size)
{
    while (size != 0) {
        size_t take = size < CHUNK_DIGITS ? size : CHUNK_DIGITS;
        uint64_t chunk = 0, factor = 1;
        for (size_t i = 0; i < take; i++, factor *= 10)
            chunk = chunk * 10 + (uint64_t)(digits[i] - '0');
        multiply_add(m, factor, chunk);
        digits += take;
        size -= take;
    }
}

static void
subtract_one(magnitude *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->words[i]-- != 0)
            break;
    while (m->count != 0 && m->words[m->count - 1] == 0)
        m->count--;
}

static void
put_bignum(gci_buf *out, magnitude const *m, bool negative)
{
    uint64_t top = m->words[m->count - 1];
    size_t top_bytes = 8 - (size_t)__builtin_clzll(top) / 8;

    gci_cbor_tag(out, negative ? GCI_CBOR_TAG_NEGATIVE_BIGNUM : GCI_CBOR_TAG_BIGNUM);
    gci_cbor_head(out, GCI_CBOR_BYTES, top_bytes + 8 * (m->count - 1));
    put_big_endian(out, top, top_bytes);
    for (size_t i = m->count - 1; i-- > 0;)
        put_big_endian(out, m->words[i], 8);
}

void
gci_cbor_decimal(gci_buf *out, gci_view decimal)
{
    bool negative = decimal.size != 0 && decimal.data[0] == '-';
    size_t digits = decimal.size - negative;
    uint64_t few[2]; /* of nearly all */
    magnitude m = { .words = digits <= CHUNK_DIGITS ? few : malloc((digits / CHUNK_DIGITS + 2) * sizeof *m.words) };

    GCI_ASSERT(digits != 0);
    if (m.words == NULL) {
        out->failed = true;
        return;
    }
    read_digits(&m, decimal.data + negative, digits);
    negative = negative && m.count != 0;
    if (negative)
        subtract_one(&m);
    if (m.count <= 1)
        gci_cbor_head(out, negative ? GCI_CBOR_NEGATIVE : GCI_CBOR_UINT, m.count == 0 ? 0 : m.words[0]);
    else
        put_bignum(out, &m, negative);
    if (m.words != few)
        free(m.words);
}

void
gci_cbor_scalar(gci_buf *out, gci_value const *value)
{
    switch ((gci_value_type)value->type) {
    case GCI_NULL:
        gci_cbor_simple(out, GCI_CBOR_NULL);
        break;
    case GCI_BOOL:
        gci_cbor_simple(out, value->boolean ? GCI_CBOR_TRUE : GCI_CBOR_FALSE);
        break;
    case GCI_INT:
        gci_cbor_int(out, value->integer);
        break;
    case GCI_BIGINT:
        gci_cbor_decimal(out, value->text);
        break;
    case GCI_FLOAT:
        gci_cbor_float(out, value->real);
        break;
    default:
        GCI_ASSERT(value->type == GCI_BYTES);
        gci_cbor_bytes(out, value->text);
    }
}
