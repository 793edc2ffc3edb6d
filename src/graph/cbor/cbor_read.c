/*
 * Reading deterministic CBOR (RFC 8949) into a tree, strictly: what is read writes back to the same bytes.
 */
#include "graph/cbor/cbor_read.h"

#include "base/check.h"
#include "base/utf8.h"
#include "graph/cbor/cbor.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

typedef struct reader {
    uint8_t const *start, *next, *end;
    gci_arena *arena;
    int depth;
    gcache_status status;
    gcache_error *error;
} reader;

static bool
fail(reader *r, char const *what)
{
    if (r->status == GCACHE_OK)
        r->status = gci_fail(r->error, GCACHE_ERROR_CORRUPT, "not a canonical form: %s at byte %zu", what,
                             (size_t)(r->next - r->start));
    return false;
}

static bool
fail_memory(reader *r)
{
    if (r->status == GCACHE_OK)
        r->status = gci_fail_memory(r->error);
    return false;
}

static bool
read_head(reader *r, gci_cbor_start *out)
{
    out->low = 0;
    if (!gci_cbor_read_start(&r->next, r->end, out))
        return fail(r, out->low > 27 ? "an indefinite length" : "it ends too early");
    if (out->low < 24)
        return true;
    uint64_t smallest = out->low == 24 ? 24 : UINT64_C(1) << (((unsigned)1 << (out->low - 24)) * 4);
    if (out->major != GCI_CBOR_SIMPLE && out->n < smallest)
        return fail(r, "a number isn't in its shortest form");
    return true;
}

static bool
take(reader *r, uint64_t size, gci_view *out_bytes)
{
    if (size > (uint64_t)(r->end - r->next))
        return fail(r, "it ends too early");
    *out_bytes = gci_view_of(r->next, (size_t)size);
    r->next += size;
    return true;
}

static bool
read_text(reader *r, uint64_t size, gci_view *out_text)
{
    if (!take(r, size, out_text))
        return false;
    return gci_utf8_valid(*out_text) || fail(r, "a text isn't UTF-8");
}

/* ---- numbers ---- */

static double
half_value(uint16_t half)
{
    unsigned exponent = half >> 10 & 31, fraction = half & 1023;
    double value = exponent == 31 ? (fraction != 0 ? NAN : INFINITY)
                   : exponent == 0 ? ldexp(fraction, -24)
                                   : ldexp(fraction + 1024, (int)exponent - 25);
    return (half & 0x8000) != 0 ? -value : value;
}

static bool
read_float(reader *r, gci_cbor_start const *h, gci_value *value)
{
    uint32_t single_bits = (uint32_t)h->n;
    float single;
    gci_buf again;
    uint8_t const *start = r->next - (1 << (h->low - 24)) - 1;

    value->type = GCI_FLOAT;
    if (h->low == GCI_CBOR_HALF) {
        value->real = half_value((uint16_t)h->n);
    } else if (h->low == GCI_CBOR_SINGLE) {
        memcpy(&single, &single_bits, sizeof single);
        value->real = (double)single;
    } else {
        memcpy(&value->real, &h->n, sizeof value->real);
    }
    gci_buf_init(&again, GCI_BUF_NO_LIMIT);
    gci_cbor_float(&again, value->real);
    bool same = gci_view_equal(gci_buf_view(&again), gci_view_of(start, (size_t)(r->next - start)));
    bool failed = again.failed;
    gci_buf_clear(&again);
    return failed ? fail_memory(r) : same || fail(r, "a float isn't in its shortest form");
}

static bool
read_simple(reader *r, gci_cbor_start const *h, gci_value *value)
{
    switch (h->low) {
    case GCI_CBOR_FALSE:
    case GCI_CBOR_TRUE:
        value->type = GCI_BOOL;
        value->boolean = h->low == GCI_CBOR_TRUE;
        return true;
    case GCI_CBOR_NULL:
        value->type = GCI_NULL;
        return true;
    case GCI_CBOR_HALF:
    case GCI_CBOR_SINGLE:
    case GCI_CBOR_DOUBLE:
        return read_float(r, h, value);
    default:
        return fail(r, "an unknown simple value");
    }
}

/* Nine decimal digits, the most whose product with a chunk of four bytes fits in 64 bits. */
#define CHUNK_DIGITS 9
#define CHUNK_BASE 1000000000u

/* Least significant chunk first, room for one more: chunks = chunks * 2**bits + addend, bits <= 32. */
static void
shift_add(uint32_t *chunks, size_t *count, unsigned bits, uint64_t addend)
{
    uint64_t carry = addend;

    for (size_t k = 0; k < *count || carry != 0; k++) {
        carry += k < *count ? (uint64_t)chunks[k] << bits : 0;
        chunks[k] = (uint32_t)(carry % CHUNK_BASE);
        carry /= CHUNK_BASE;
        *count += k == *count;
    }
}

/* Writes bytes, most significant first, as decimal; of a negative number they are what is above -1. */
static bool
set_decimal(reader *r, gci_view bytes, bool negative, gci_value *value)
{
    size_t room = bytes.size * 241 / 100 / CHUNK_DIGITS + 3, count = 0; /* log10(256) is 2.408 */
    uint32_t *chunks = gci_arena_array(r->arena, room, sizeof *chunks);
    char *text = gci_arena_alloc(r->arena, room * CHUNK_DIGITS + 2), *end = text;

    if (chunks == NULL || text == NULL)
        return fail_memory(r);
    for (size_t i = 0, take; i < bytes.size; i += take) {
        uint32_t word = 0;
        take = bytes.size - i < sizeof word ? bytes.size - i : sizeof word;
        for (size_t k = 0; k < take; k++)
            word = word << 8 | (uint8_t)bytes.data[i + k];
        bool last = i + take == bytes.size;
        shift_add(chunks, &count, (unsigned)(8 * take), (uint64_t)word + (negative && last));
    }
    GCI_ASSERT(count != 0);
    if (negative)
        *end++ = '-';
    end += snprintf(end, CHUNK_DIGITS + 2, "%" PRIu32, chunks[count - 1]);
    for (size_t k = count - 1; k-- > 0;)
        end += snprintf(end, CHUNK_DIGITS + 1, "%0*" PRIu32, CHUNK_DIGITS, chunks[k]);
    value->type = GCI_BIGINT;
    value->text = gci_view_of(text, (size_t)(end - text));
    return true;
}

static bool
set_integer(reader *r, uint64_t n, bool negative, gci_value *value)
{
    uint8_t bytes[8];

    if (n <= INT64_MAX) {
        value->type = GCI_INT;
        value->integer = negative ? -1 - (int64_t)n : (int64_t)n;
        return true;
    }
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(n >> (56 - 8 * i));
    return set_decimal(r, gci_view_of(bytes, sizeof bytes), negative, value);
}

static bool
read_bignum(reader *r, bool negative, gci_value *value)
{
    gci_cbor_start h;
    gci_view bytes;

    if (!read_head(r, &h))
        return false;
    if (h.major != GCI_CBOR_BYTES)
        return fail(r, "a bignum that isn't bytes");
    if (!take(r, h.n, &bytes))
        return false;
    if (bytes.size <= 8 || bytes.data[0] == 0 || bytes.size > 2048)
        return fail(r, "a bignum isn't in its shortest form, or too large");
    return set_decimal(r, bytes, negative, value);
}

/* ---- containers ---- */

static bool read_value(reader *r, gci_value *value);

static bool
new_list(reader *r, gci_value_type type, uint64_t count, gci_value *value)
{
    if (count > (uint64_t)(r->end - r->next))
        return fail(r, "a list longer than the bytes left");
    value->type = (uint8_t)type;
    value->count = (uint32_t)count;
    value->items = gci_arena_array(r->arena, (size_t)count, sizeof *value->items);
    return value->items != NULL || fail_memory(r);
}

static bool
read_list(reader *r, uint64_t count, gci_value *value)
{
    bool read = new_list(r, GCI_LIST, count, value);

    for (uint32_t i = 0; read && i < value->count; i++)
        read = read_value(r, &value->items[i]);
    return read;
}

static bool
read_map(reader *r, uint64_t count, gci_value *value)
{
    gci_cbor_start h;

    if (count > (uint64_t)(r->end - r->next) / 2)
        return fail(r, "a map longer than the bytes left");
    value->type = GCI_MAP;
    value->count = (uint32_t)count;
    value->members = gci_arena_array(r->arena, (size_t)count, sizeof *value->members);
    if (value->members == NULL)
        return fail_memory(r);
    for (uint32_t i = 0; i < value->count; i++) {
        gci_member *member = &value->members[i];
        if (!read_head(r, &h))
            return false;
        if (h.major != GCI_CBOR_TEXT)
            return fail(r, "a key that isn't text");
        if (!read_text(r, h.n, &member->name))
            return false;
        if (i != 0 && gci_cbor_key_compare(member[-1].name, member->name) >= 0)
            return fail(r, "keys out of order");
        if (!read_value(r, &member->value))
            return false;
    }
    return true;
}

static bool
sorted_set(reader *r, gci_value *value)
{
    gci_cbor_start h;

    if (!read_head(r, &h))
        return false;
    if (h.major != GCI_CBOR_ARRAY)
        return fail(r, "a set that isn't a list");
    if (!new_list(r, GCI_SET, h.n, value))
        return false;
    gci_view before = { NULL, 0 };
    for (uint32_t i = 0; i < value->count; i++) {
        uint8_t const *start = r->next;
        if (!read_value(r, &value->items[i]))
            return false;
        gci_view item = gci_view_of(start, (size_t)(r->next - start));
        if (i != 0 && gci_view_compare(before, item) >= 0)
            return fail(r, "a set out of order");
        before = item;
    }
    return true;
}

/* ---- tags ---- */

static bool
as_node(reader *r, gci_value *value)
{
    bool fits = value->type == GCI_LIST && (value->count == 1 || value->count == 2);

    for (uint32_t i = 0; fits && i < value->count; i++)
        fits = value->items[i].type == GCI_INT && value->items[i].integer >= 0 && value->items[i].integer < UINT32_MAX;
    if (!fits)
        return fail(r, "a reference that isn't one");
    int64_t ref = value->count == 1 ? gci_node_ref(GCI_NODE_INPUTS, (uint32_t)value->items[0].integer)
                                    : gci_node_ref(1 + (uint32_t)value->items[0].integer,
                                                   (uint32_t)value->items[1].integer);
    *value = (gci_value){ .type = GCI_NODE, .integer = ref };
    return true;
}

static bool
retype(reader *r, gci_value *value, gci_value_type from, gci_value_type to)
{
    if (value->type != from)
        return fail(r, "a tag on a value of another type");
    value->type = (uint8_t)to;
    return true;
}

/* A constant expression is a tagged integer; as a value its text is the decimal. */
static bool
as_expression(reader *r, gci_value *value)
{
    char decimal[24];

    if (value->type == GCI_INT) {
        int size = snprintf(decimal, sizeof decimal, "%" PRId64, value->integer);
        value->text = gci_arena_copy(r->arena, gci_view_of(decimal, (size_t)size));
        if (value->text.data == NULL)
            return fail_memory(r);
        value->type = GCI_STRING;
    }
    if (value->type == GCI_BIGINT)
        value->type = GCI_STRING;
    return retype(r, value, GCI_STRING, GCI_SYM);
}

static bool
read_tagged(reader *r, uint64_t tag, gci_value *value)
{
    if (tag == GCI_CBOR_TAG_BIGNUM || tag == GCI_CBOR_TAG_NEGATIVE_BIGNUM)
        return read_bignum(r, tag == GCI_CBOR_TAG_NEGATIVE_BIGNUM, value);
    if (tag == GCI_TAG_SET)
        return sorted_set(r, value);
    if (!read_value(r, value))
        return false;
    switch (tag) {
    case GCI_TAG_TUPLE:
        return retype(r, value, GCI_LIST, GCI_TUPLE);
    case GCI_TAG_NODE:
        return as_node(r, value);
    case GCI_TAG_EXPR:
        return as_expression(r, value);
    case GCI_TAG_TENSOR:
        return retype(r, value, GCI_MAP, GCI_TENSOR);
    case GCI_TAG_ENUM:
        return retype(r, value, GCI_STRING, GCI_ENUM);
    default:
        return fail(r, "an unknown tag");
    }
}

static bool
read_value(reader *r, gci_value *value)
{
    gci_cbor_start h;
    bool read = false;
    uint32_t at = (uint32_t)(r->next - r->start) + 1;

    if (!read_head(r, &h))
        return false;
    if (++r->depth > GCI_CBOR_DEPTH_MOST)
        return fail(r, "nested too deep");
    *value = (gci_value){ .type = GCI_NULL };
    switch (h.major) {
    case GCI_CBOR_UINT:
    case GCI_CBOR_NEGATIVE:
        read = set_integer(r, h.n, h.major == GCI_CBOR_NEGATIVE, value);
        break;
    case GCI_CBOR_BYTES:
        value->type = GCI_BYTES;
        read = take(r, h.n, &value->text);
        break;
    case GCI_CBOR_TEXT:
        value->type = GCI_STRING;
        read = read_text(r, h.n, &value->text);
        break;
    case GCI_CBOR_ARRAY:
        read = read_list(r, h.n, value);
        break;
    case GCI_CBOR_MAP:
        read = read_map(r, h.n, value);
        break;
    case GCI_CBOR_TAG:
        read = read_tagged(r, h.n, value);
        break;
    case GCI_CBOR_SIMPLE:
        read = read_simple(r, &h, value);
        break;
    }
    value->at = at;
    r->depth--;
    return read;
}

gcache_status
gci_cbor_read(gci_view bytes, gci_arena *arena, gci_value *out_value, gcache_error *error)
{
    uint8_t const *start = (uint8_t const *)bytes.data;
    reader r = { .start = start, .next = start, .end = start + bytes.size, .arena = arena, .error = error };

    if (bytes.data == NULL || !read_value(&r, out_value))
        return r.status != GCACHE_OK ? r.status : gci_fail(error, GCACHE_ERROR_CORRUPT, "not a canonical form: empty");
    if (r.next != r.end)
        fail(&r, "bytes behind it");
    return r.status;
}

size_t
gci_cbor_item_size(gci_view bytes)
{
    uint8_t const *start = (uint8_t const *)bytes.data;
    reader r = { .start = start, .next = start, .end = start + bytes.size };
    uint64_t left = 1; /* items still to be passed over */
    gci_view content;
    gci_cbor_start h;

    for (; left != 0; left--) {
        if (!read_head(&r, &h))
            return 0;
        if ((h.major == GCI_CBOR_BYTES || h.major == GCI_CBOR_TEXT) && !take(&r, h.n, &content))
            return 0;
        uint64_t inside = h.major == GCI_CBOR_ARRAY ? h.n : h.major == GCI_CBOR_MAP ? h.n * 2 : h.major == GCI_CBOR_TAG;
        if (inside > bytes.size) /* every item takes a byte */
            return 0;
        left += inside;
    }
    return (size_t)(r.next - start);
}
