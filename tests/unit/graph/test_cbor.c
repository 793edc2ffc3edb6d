/*
 * CBOR: RFC 8949's appendix A (fixtures/canon/rfc8949.txt) and bytes that aren't canonical forms.
 */
#include "base/digest.h"
#include "graph/cbor/cbor.h"
#include "graph/cbor/cbor_read.h"
#include "graph/describe/description.h"

#include "base/text/json.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* ---- writing a tree back ---- */

static void put(gci_buf *out, gci_value const *value);

static void
put_items(gci_buf *out, gci_value const *list)
{
    gci_cbor_head(out, GCI_CBOR_ARRAY, list->count);
    for (uint32_t i = 0; i < list->count; i++)
        put(out, &list->items[i]);
}

static void
put_members(gci_buf *out, gci_value const *map)
{
    gci_cbor_head(out, GCI_CBOR_MAP, map->count);
    for (uint32_t i = 0; i < map->count; i++) {
        gci_cbor_text(out, map->members[i].name);
        put(out, &map->members[i].value);
    }
}

static void
put_node(gci_buf *out, int64_t ref)
{
    uint32_t serial = gci_node_ref_serial(ref);

    gci_cbor_tag(out, GCI_TAG_NODE);
    gci_cbor_head(out, GCI_CBOR_ARRAY, serial == GCI_NODE_INPUTS ? 1 : 2);
    if (serial != GCI_NODE_INPUTS)
        gci_cbor_int(out, serial - 1);
    gci_cbor_int(out, gci_node_ref_position(ref));
}

static void
put(gci_buf *out, gci_value const *value)
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
    case GCI_STRING:
        gci_cbor_text(out, value->text);
        break;
    case GCI_BYTES:
        gci_cbor_bytes(out, value->text);
        break;
    case GCI_LIST:
        put_items(out, value);
        break;
    case GCI_MAP:
        put_members(out, value);
        break;
    case GCI_TUPLE:
        gci_cbor_tag(out, GCI_TAG_TUPLE);
        put_items(out, value);
        break;
    case GCI_SET:
        gci_cbor_tag(out, GCI_TAG_SET);
        put_items(out, value);
        break;
    case GCI_NODE:
        put_node(out, value->integer);
        break;
    case GCI_TENSOR:
        gci_cbor_tag(out, GCI_TAG_TENSOR);
        put_members(out, value);
        break;
    case GCI_ENUM:
        gci_cbor_tag(out, GCI_TAG_ENUM);
        gci_cbor_text(out, value->text);
        break;
    case GCI_SYM:
        gci_cbor_tag(out, GCI_TAG_EXPR);
        if (value->text.data[0] == '-' || (value->text.data[0] >= '0' && value->text.data[0] <= '9' &&
                                           strspn(value->text.data, "0123456789") >= value->text.size))
            gci_cbor_decimal(out, value->text);
        else
            gci_cbor_text(out, value->text);
        break;
    }
}

/* Reads bytes and, if they are read, checks that they are written back alike. */
static gcache_status
read_and_write(gci_view bytes, gci_buf *out_json)
{
    gci_arena arena;
    gci_value value;
    gci_buf again;
    gcache_error error;

    gci_arena_init(&arena, (size_t)1 << 26);
    gci_buf_init(&again, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_cbor_read(bytes, &arena, &value, &error);
    if (status == GCACHE_OK) {
        put(&again, &value);
        assert_int_equal(again.size, bytes.size);
        assert_memory_equal(again.data, bytes.data, bytes.size);
        assert_int_equal(gci_cbor_item_size(bytes), bytes.size);
        if (out_json != NULL)
            gci_json_write(out_json, &value);
    }
    gci_buf_clear(&again);
    gci_arena_clear(&arena);
    return status;
}

static size_t
from_hex(char const *hex, uint8_t *out, size_t room)
{
    size_t size = strlen(hex) / 2;

    assert_true(size <= room);
    assert_true(gci_unhex(gci_view_text(hex), out, size));
    return size;
}

/* hex, then what it is as JSON, or "-" where it is no canonical form */
static void
test_rfc8949(void **state)
{
    char path[512], line[1024];
    size_t count = 0;

    (void)state;
    snprintf(path, sizeof path, "%s/fixtures/canon/rfc8949.txt", getenv("GUARDCACHE_SOURCE"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        uint8_t bytes[256];
        gci_buf json;
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        char *expected = strchr(line, ' ');
        *expected++ = '\0';
        size_t size = from_hex(line, bytes, sizeof bytes);
        gci_buf_init(&json, GCI_BUF_NO_LIMIT);
        gcache_status status = read_and_write(gci_view_of(bytes, size), &json);
        if (strcmp(expected, "-") == 0) {
            if (status != GCACHE_ERROR_CORRUPT)
                fail_msg("%s was read", line);
        } else {
            if (status != GCACHE_OK || !gci_view_is(gci_buf_view(&json), expected))
                fail_msg("%s: %.*s, not %s", line, (int)json.size, json.data, expected);
        }
        gci_buf_clear(&json);
        count++;
    }
    assert_true(count > 80);
    fclose(file);
}

static void
check_refused(char const *hex)
{
    uint8_t bytes[64];
    size_t size = from_hex(hex, bytes, sizeof bytes);

    if (read_and_write(gci_view_of(bytes, size), NULL) != GCACHE_ERROR_CORRUPT)
        fail_msg("%s was read", hex);
}

static void
test_refused(void **state)
{
    static char const *const cases[] = {
        "",                   /* nothing */
        "0000",               /* two items */
        "1817",               /* 23 in two bytes */
        "190017",             /* ... in three */
        "fb3ff8000000000000", /* 1.5 as a double */
        "fa3fc00000",         /* ... as a single */
        "f97e01",             /* another NaN */
        "fb7ff8000000000000", /* NaN as a double */
        "a2616101616102",     /* a key twice */
        "a262616101616202",     /* keys out of order */
        "a10102",             /* a key that isn't text */
        "61ff",               /* not UTF-8 */
        "62c3",               /* cut */
        "9bffffffffffffffff", /* a list of 2^64-1 items */
        "bb0fffffffffffffff", /* a map */
        "5bffffffffffffffff", /* bytes */
        "c249000000000000000001", /* a bignum with leading zeros */
        "c24101",             /* a bignum that fits 64 bits */
        "d98b12820201",       /* a set out of order */
        "d98b12820101",       /* a set with an item twice */
        "d98b1301",           /* a reference that is an integer */
        "d98b138101ff",       /* bytes behind */
        "d98b14f5",           /* an expression that is true */
        "d98b1601",           /* an enum that is an integer */
        "d98b1181",           /* cut */
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refused(cases[i]);
}

static void
test_depth(void **state)
{
    static uint8_t bytes[100000];

    (void)state;
    memset(bytes, 0x81, sizeof bytes);
    assert_int_equal(read_and_write(gci_view_of(bytes, sizeof bytes), NULL), GCACHE_ERROR_CORRUPT);
}

static void
check_decimal(char const *decimal, char const *hex)
{
    gci_buf out;
    char text[128];

    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    gci_cbor_decimal(&out, gci_view_text(decimal));
    assert_true(out.size * 2 < sizeof text);
    gci_hex((uint8_t const *)out.data, out.size, text);
    assert_string_equal(text, hex);
    gci_buf_clear(&out);
}

static void
test_decimals(void **state)
{
    (void)state;
    check_decimal("0", "00");
    check_decimal("-1", "20");
    check_decimal("999999999999999999", "1b0de0b6b3a763ffff");
    check_decimal("1000000000000000000", "1b0de0b6b3a7640000");
    check_decimal("-1000000000000000000", "3b0de0b6b3a763ffff");
    check_decimal("18446744073709551615", "1bffffffffffffffff");
    check_decimal("18446744073709551616", "c249010000000000000000");
    check_decimal("-18446744073709551616", "3bffffffffffffffff");
    check_decimal("-18446744073709551617", "c349010000000000000000");
    check_decimal("340282366920938463463374607431768211455", "c250ffffffffffffffffffffffffffffffff");
    check_decimal("340282366920938463463374607431768211456", "c2510100000000000000000000000000000000");
    check_decimal("-340282366920938463463374607431768211457", "c3510100000000000000000000000000000000");
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_rfc8949),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_decimals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
