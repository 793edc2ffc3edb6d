/* The JSON reader and writer: fixtures/json/cases.txt, limits, and messages. */
#include "base/system/file.h"
#include "base/text/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct fixture {
    gci_arena arena;
    gci_buf text;
    gci_value value;
    gcache_error error;
} fixture;

static int
setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    gci_arena_init(&f->arena, (size_t)1 << 32);
    gci_buf_init(&f->text, GCI_BUF_NO_LIMIT);
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    fixture *f = *state;
    gci_arena_clear(&f->arena);
    gci_buf_clear(&f->text);
    free(f);
    return 0;
}

static gcache_status
read_text(fixture *f, gci_view text)
{
    /* A copy of exactly the text's size, so that a sanitizer sees every byte read behind it. */
    char *copy = malloc(text.size != 0 ? text.size : 1);
    assert_non_null(copy);
    memcpy(copy, text.data, text.size);
    gci_arena_clear(&f->arena);
    gcache_status status = gci_json_read(gci_view_of(copy, text.size), "case", &f->arena, &f->value, &f->error);
    f->text.size = 0;
    if (status == GCACHE_OK)
        gci_json_write(&f->text, &f->value);
    free(copy);
    return status;
}

static gcache_status
read_cstring(fixture *f, char const *text)
{
    return read_text(f, gci_view_text(text));
}

/* ---- the cases ---- */

static gci_view
decode_percent(char *text)
{
    char *out = text;
    unsigned byte;

    for (char const *p = text; *p != '\0'; p++) {
        if (*p == '%') {
            assert_int_equal(sscanf(p + 1, "%2X", &byte), 1);
            *out++ = (char)byte;
            p += 2;
        } else {
            *out++ = *p;
        }
    }
    return gci_view_of(text, (size_t)(out - text));
}

static void
check_case(fixture *f, char class, char const *name, char *expected, char *text)
{
    gcache_status status = read_text(f, decode_percent(text));

    if (class == 'y') {
        gci_view want = decode_percent(expected);
        if (status != GCACHE_OK)
            fail_msg("%s: %s", name, f->error.message);
        if (!gci_view_equal(want, gci_buf_view(&f->text)))
            fail_msg("%s: %.*s", name, (int)f->text.size, f->text.data);
    } else {
        if (status != GCACHE_ERROR_SYNTAX && status != GCACHE_ERROR_LIMIT)
            fail_msg("%s was read", name);
        if (expected[0] != '-' && f->error.column != (int)strtol(expected, NULL, 10))
            fail_msg("%s: %s", name, f->error.message);
    }
}

static void
test_cases(void **state)
{
    fixture *f = *state;
    char path[1024], *line = NULL;
    size_t room = 0, count = 0;

    snprintf(path, sizeof path, "%s/fixtures/json/cases.txt", getenv("GUARDCACHE_SOURCE"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (getline(&line, &room, file) > 0) {
        char *fields[4], *rest = line;
        if (line[0] == '#')
            continue;
        line[strcspn(line, "\n")] = '\0';
        for (int i = 0; i < 4; i++)
            fields[i] = strsep(&rest, "\t");
        assert_non_null(fields[3]);
        check_case(f, fields[0][0], fields[1], fields[2], fields[3]);
        count++;
    }
    assert_true(count > 370);
    free(line);
    fclose(file);
}

/* Every beginning of a text is refused, whatever it ends in. */
static void
test_truncation(void **state)
{
    fixture *f = *state;
    char const *text = "{\"a\": [1, -2.5e3, \"x\\u00e9\\ud83d\\ude00\xc3\xa9\", true, false, null, {\"b\": {}}], \"c\": []}";

    assert_int_equal(read_cstring(f, text), GCACHE_OK);
    for (size_t size = 0; size < strlen(text); size++)
        assert_int_equal(read_text(f, gci_view_of(text, size)), GCACHE_ERROR_SYNTAX);
}

/* ---- messages ---- */

static void
check_message(fixture *f, char const *text, char const *message)
{
    assert_int_not_equal(read_cstring(f, text), GCACHE_OK);
    assert_string_equal(f->error.message, message);
}

static void
test_messages(void **state)
{
    fixture *f = *state;

    check_message(f, "{\"graph\": {\"nodes\": [1, {\"kwargs\": {\"dim\": tru}}]}}",
                  "case:1:44: graph.nodes[1].kwargs.dim: expected a value");
    check_message(f, "{\"a\":\n  {\"b\": 1,\n   \"b\": 2}}", "case:3:4: a.b: a second member of this name");
    check_message(f, "{\"a\\\"\\\\\": 1,\n \"a\\u0022\\\\\" :\n{}}",
                  "case:2:2: a\"\\: a second member of this name");
    check_message(f, "{\"\": 1, \"b\": 2, \"\": 3}", "case:1:17: a second member of this name");
    check_message(f, "[1, 2", "case:1:6: [2]: the text ends too early");
    check_message(f, "[\"\xff\"]", "case:1:3: [0]: not valid UTF-8");
    check_message(f, "{\"a\": 1} x", "case:1:10: text behind the value");
    assert_string_equal(f->error.path, "");
    read_cstring(f, "{\"options\": [{\"x\": 01}]}");
    assert_string_equal(f->error.path, "options[0].x");
    assert_int_equal(f->error.line, 1);
    assert_int_equal(f->error.column, 20);
}

/* A byte that ends plain text is found wherever in a word it stands. Those around it lie right beside one that does. */
static void
test_special_bytes(void **state)
{
    static char const before[] = "!!!!!!!!!!!!!!!!!!!!", after[] = "]]]]]]]]]]]]]]]]]]]]";
    static char const *const specials[] = { "\\n", "\\\"", "\xC3\xBC", "#" };
    fixture *f = *state;
    char text[64];

    for (size_t i = 0; i < sizeof specials / sizeof specials[0]; i++) {
        for (int at = 0; at < 20; at++) {
            int size = snprintf(text, sizeof text, "[\"%.*s%s#%.*s\", 1]", at, before, specials[i], 20 - at, after);
            assert_int_equal(read_cstring(f, text), GCACHE_OK);
            assert_int_equal(f->text.size, size);
            assert_memory_equal(f->text.data, text, (size_t)size);
        }
    }
}

/* ---- limits ---- */

static void
test_depth(void **state)
{
    fixture *f = *state;
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    for (int i = 0; i < 100000; i++)
        gci_buf_append_char(&text, '[');
    assert_int_equal(read_text(f, gci_buf_view(&text)), GCACHE_ERROR_LIMIT);
    assert_true(strstr(f->error.message, "nested deeper than 512 levels") != NULL);
    for (size_t i = 0; i < GCI_JSON_MAX_DEPTH; i++)
        text.data[GCI_JSON_MAX_DEPTH + i] = ']';
    text.size = 2 * GCI_JSON_MAX_DEPTH;
    assert_int_equal(read_text(f, gci_buf_view(&text)), GCACHE_OK);
    gci_buf_clear(&text);
}

static void
test_size(void **state)
{
    fixture *f = *state;
    static char const nothing[1];

    /* Refused by its size alone: no byte of it is looked at. */
    gcache_status status = gci_json_read(gci_view_of(nothing, (size_t)200 << 20), "big", &f->arena, &f->value, &f->error);
    assert_int_equal(status, GCACHE_ERROR_LIMIT);
    assert_string_equal(f->error.message, "big: a text of 209715200 bytes; the limit is 134217728");
}

static void
test_memory(void **state)
{
    fixture *f = *state;
    gci_arena small;

    gci_arena_init(&small, 8192);
    gci_buf text;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_char(&text, '[');
    for (int i = 0; i < 1000; i++)
        gci_buf_append_text(&text, "1,");
    gci_buf_append_text(&text, "1]");
    assert_int_equal(gci_json_read(gci_buf_view(&text), NULL, &small, &f->value, &f->error), GCACHE_ERROR_MEMORY);
    gci_arena_clear(&small);
    gci_buf_clear(&text);
}

/* ---- writing ---- */

static void
test_floats(void **state)
{
    fixture *f = *state;
    static double const values[] = { 0.1, 1.0 / 3, 1e300, 5e-324, -0.0, 123456789.125, 1e22, 1e23, 2.5, -7.0 };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        gci_buf text;
        gci_buf_init(&text, GCI_BUF_NO_LIMIT);
        gci_json_write_float(&text, values[i]);
        assert_int_equal(read_text(f, gci_buf_view(&text)), GCACHE_OK);
        assert_int_equal(f->value.type, GCI_FLOAT);
        assert_memory_equal(&f->value.real, &values[i], sizeof values[i]);
        gci_buf_clear(&text);
    }
    f->text.size = 0;
    gci_json_write_float(&f->text, -INFINITY);
    assert_memory_equal(f->text.data, "{\"$float\": \"-inf\"}", f->text.size);
}

static void
test_text(void **state)
{
    fixture *f = *state;

    gci_json_write_text(&f->text, gci_view_of("a\xff\xc3\xa9\x01\"", 6));
    gci_buf_append_char(&f->text, '\0');
    assert_string_equal(f->text.data, "\"a\xEF\xBF\xBD\xc3\xa9\\u0001\\\"\"");
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_setup_teardown(test_cases, setup, teardown),
        cmocka_unit_test_setup_teardown(test_truncation, setup, teardown),
        cmocka_unit_test_setup_teardown(test_special_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_messages, setup, teardown),
        cmocka_unit_test_setup_teardown(test_depth, setup, teardown),
        cmocka_unit_test_setup_teardown(test_size, setup, teardown),
        cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
        cmocka_unit_test_setup_teardown(test_floats, setup, teardown),
        cmocka_unit_test_setup_teardown(test_text, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
