/*
 * Field tables: what was written is read, what is cut off or damaged is not.
 */
#include "base/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

typedef struct item {
    gci_view name;
    bool flag;
} item;

typedef struct thing {
    uint64_t large;
    int64_t negative;
    double real;
    uint16_t small;
    uint8_t hash[4];
    char id[9];
    char const *string;
    char chars[4];
    item inside, *option, *none, *items;
    size_t count;
    uint32_t const *numbers;
    uint32_t number_count;
} thing;

static gci_field const item_fields[] = {
    GCI_TEXT(item, name, "name", ""),
    GCI_FLAG(item, flag, "flag", ""),
};
static gci_fields const item_table = GCI_FIELDS("item", item, item_fields);

static gci_field const thing_fields[] = {
    GCI_CONSTANT("THING", "magic", ""),
    GCI_NUMBER(thing, large, 8, "large", ""),
    GCI_NUMBER(thing, negative, 8, "negative", ""),
    GCI_NUMBER(thing, real, 8, "real", ""),
    GCI_NUMBER_UP_TO(thing, small, 1, 9, "small", ""),
    GCI_BYTES(thing, hash, "hash", ""),
    GCI_HEX(thing, id, "id", ""),
    GCI_STRING(thing, string, "string", ""),
    GCI_CHARS(thing, chars, "chars", ""),
    GCI_STRUCT(thing, inside, &item_table, "inside", ""),
    GCI_OPTION(thing, option, &item_table, "option", ""),
    GCI_OPTION(thing, none, &item_table, "none", ""),
    GCI_LIST(thing, items, count, &item_table, "items", ""),
    GCI_LIST(thing, numbers, number_count, &gci_u32_item, "numbers", ""),
    GCI_SUM64("sum", ""),
    GCI_SUM128("sum", ""),
};
static gci_fields const thing_table = GCI_FIELDS("thing", thing, thing_fields);

static void
write_thing(gci_buf *out)
{
    static item items[2] = { { GCI_VIEW("a"), true }, { GCI_VIEW(""), false } };
    static uint32_t const numbers[] = { 7, UINT32_MAX };
    thing const value = { .large = UINT64_MAX - 1, .negative = -3, .real = 0.5, .small = 9, .hash = { 1, 2, 3, 4 },
                          .id = "00ff10ab", .string = "text", .chars = "abc", .inside = { GCI_VIEW("in"), true },
                          .option = &items[0], .items = items, .count = 2, .numbers = numbers, .number_count = 2 };

    gci_buf_init(out, 4096);
    gci_fields_write(out, &thing_table, &value);
    assert_false(out->failed);
}

static void
what_is_written_is_read(void **state)
{
    gci_arena arena;
    gci_buf bytes;
    thing read;

    (void)state;
    gci_arena_init(&arena, 1 << 20);
    write_thing(&bytes);
    assert_true(gci_fields_read_all(gci_buf_view(&bytes), &thing_table, &arena, &read));
    assert_true(read.large == UINT64_MAX - 1 && read.negative == -3 && read.real == 0.5 && read.small == 9);
    assert_memory_equal(read.hash, "\1\2\3\4", 4);
    assert_string_equal(read.id, "00ff10ab");
    assert_string_equal(read.string, "text");
    assert_string_equal(read.chars, "abc");
    assert_true(gci_view_is(read.inside.name, "in") && read.inside.flag);
    assert_true(read.option != NULL && gci_view_is(read.option->name, "a"));
    assert_null(read.none);
    assert_true(read.count == 2 && read.items[0].flag && !read.items[1].flag);
    assert_true(read.number_count == 2 && read.numbers[0] == 7 && read.numbers[1] == UINT32_MAX);
    gci_buf_clear(&bytes);
    gci_arena_clear(&arena);
}

static void
damage_is_found(void **state)
{
    gci_arena arena;
    gci_buf bytes;
    thing read;

    (void)state;
    gci_arena_init(&arena, 1 << 20);
    write_thing(&bytes);
    for (size_t size = 0; size < bytes.size; size++)
        assert_false(gci_fields_read_all(gci_view_of(bytes.data, size), &thing_table, &arena, &read));
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] ^= 0x20;
        assert_false(gci_fields_read_all(gci_buf_view(&bytes), &thing_table, &arena, &read));
        bytes.data[i] ^= 0x20;
    }
    assert_false(arena.failed);
    gci_buf_clear(&bytes);
    gci_arena_clear(&arena);
}

/* Four bytes that say there are thousands of millions of items allocate nothing. */
static void
a_count_is_bounded_by_the_input(void **state)
{
    static gci_field const fields[] = { GCI_LIST(thing, items, count, &item_table, "items", "") };
    static gci_fields const table = GCI_FIELDS("list", thing, fields);
    gci_arena arena;
    thing read;

    (void)state;
    gci_arena_init(&arena, 1 << 20);
    assert_false(gci_fields_read_all(gci_view_of("\xff\xff\xff\xff rest", 9), &table, &arena, &read));
    assert_int_equal(arena.total, 0);
    assert_int_equal(read.count, 0);
    gci_arena_clear(&arena);
}

static void
what_is_too_large_is_not_written(void **state)
{
    static gci_field const fields[] = { GCI_NUMBER(thing, large, 4, "large", "") };
    static gci_fields const table = GCI_FIELDS("number", thing, fields);
    gci_buf bytes;

    (void)state;
    gci_buf_init(&bytes, 64);
    gci_fields_write(&bytes, &table, &(thing){ .large = UINT64_C(1) << 32 });
    assert_true(bytes.failed);
    gci_buf_clear(&bytes);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(a_count_is_bounded_by_the_input),
        cmocka_unit_test(what_is_too_large_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
