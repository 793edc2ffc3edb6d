/*
 * Texts from elsewhere on a terminal's line.
 */
#include "base/decimal.h"
#include "base/visible.h"

#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static struct {
    char const *text, *line;
} const cases[] = {
    { "", "" },
    { "plain \"text\" \\n", "plain \"text\" \\n" },
    { "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80" },
    { "a\nb\r\tc", "a\\nb\\r\\tc" },
    { "\x1b[31mred\x07", "\\x1b[31mred\\x07" },
    { "\x7f", "\\x7f" },
    { "\xc2\x9b" "2J \xc2\x85", "\\u009b2J \\u0085" },
    { "\xe2\x80\xae" "abc\xe2\x80\xac\xe2\x81\xa6x\xe2\x81\xa9", "\\u202eabc\\u202c\\u2066x\\u2069" },
    { "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\x8f\xd8\x9c", "\\u2028\\u2029\\u200f\\u061c" },
    { "\xff\xc3(\xe2\x80", "\\xff\\xc3(\\xe2\\x80" },
    { "\xed\xa0\x80\xc0\xaf", "\\xed\\xa0\\x80\\xc0\\xaf" },
};

static void
assert_text(gci_buf *buf, char const *expected)
{
    char *text = gci_buf_take_text(buf);

    assert_string_equal(text, expected);
    free(text);
}

static void
what_a_terminal_would_act_on_is_escaped(void **state)
{
    gci_buf out;

    (void)state;
    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gci_visible_append(&out, gci_view_text(cases[i].text));
        assert_text(&out, cases[i].line);
        /* Writing it twice changes nothing. */
        gci_visible_append(&out, gci_view_text(cases[i].line));
        assert_text(&out, cases[i].line);
    }
    gci_visible_append(&out, gci_view_of("a\0b", 3));
    assert_text(&out, "a\\x00b");
    gci_visible_append_lines(&out, gci_view_text("one\n\ttwo\r\n\x1b"));
    assert_text(&out, "one\n\ttwo\\r\n\\x1b");
}

static void
made_in_place_it_stays_in_its_room(void **state)
{
    char text[8] = "ab\x1b" "c", wide[16] = "ab\x1b" "c";

    (void)state;
    gci_visible_make(wide, sizeof wide);
    assert_string_equal(wide, "ab\\x1bc");
    gci_visible_make(text, sizeof text);
    assert_string_equal(text, "ab\\x1bc");
    strcpy(text, "abcd\n\n");
    gci_visible_make(text, sizeof text);
    assert_string_equal(text, "abcd\\n\\");
}

/* Everything but texts is as printf writes it. */
static void
formats_are_as_printf_writes_them(void **state)
{
    gci_buf out;
    char expected[600];

    (void)state;
    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
#define SAME(...)                                                                                     \
    do {                                                                                              \
        snprintf(expected, sizeof expected, __VA_ARGS__);                                             \
        gci_visible_format(&out, __VA_ARGS__);                                                        \
        assert_text(&out, expected);                                                                  \
    } while (0)
    SAME("%d %5d|%-5d|%05d %u %x %02x %08x", -3, 42, 42, 42, 7u, 255u, 10u, 0xabcu);
    SAME("%ld %lu %lld %llu %zu %6zu %8llu", -1L, 2UL, -3LL, 4ULL, (size_t)5, (size_t)6, 7ULL);
    SAME("%.1f %6.1f %f %g %.3g %.15g %5.1f %%", 1.25, 2.5, 3.0, 0.1, 12345.678, 1e100, 99.95);
    SAME("%s|%10s|%-10s|%.3s|%.*s|%*s|%-*s|%c", "abc", "abc", "abc", "abcdef", 2, "xyz", 5, "r", 4, "l", 'q');
    SAME("%*.*s|%14.*s", 6, 2, "abcd", 3, "abcdef");
#undef SAME
    gci_visible_format(&out, "%s|%-6s|%.2s\n", "a\nb", "\x1b", "\x1bxyz");
    assert_text(&out, "a\\nb|\\x1b  |\\x1bx\n");
    gci_visible_format(&out, "%-4s|", "\xc3\xbc");
    assert_text(&out, "\xc3\xbc   |");
}

/* What snprintf writes in other locales than a test can count on. */
static void
a_point_is_a_point_in_every_locale(void **state)
{
    static struct {
        char const *local, *text;
    } const points[] = {
        { "1,5", "1.5" },
        { "-0,25", "-0.25" },
        { "1\xd9\xab" "5e-07", "1.5e-07" },
        { "12", "12" },
        { "1e+100", "1e+100" },
    };
    char text[40];

    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        snprintf(text, sizeof text, "%s", points[i].local);
        gci_restore_point(text);
        assert_string_equal(text, points[i].text);
    }
    gci_write_decimal(text, sizeof text, 'g', 6, (double)INFINITY);
    assert_string_equal(text, "inf");
}

/* Skipped where no such locale is installed. */
static void
a_host_with_commas_gets_points(void **state)
{
    gci_buf out;

    (void)state;
    if (setlocale(LC_NUMERIC, "de_DE.UTF-8") == NULL)
        skip();
    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    gci_buf_format(&out, "%.1f %g ", 1.5, 0.25);
    gci_visible_format(&out, "%.2f", 2.75);
    setlocale(LC_NUMERIC, "C");
    assert_text(&out, "1.5 0.25 2.75");
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(what_a_terminal_would_act_on_is_escaped),
        cmocka_unit_test(made_in_place_it_stays_in_its_room),
        cmocka_unit_test(formats_are_as_printf_writes_them),
        cmocka_unit_test(a_point_is_a_point_in_every_locale),
        cmocka_unit_test(a_host_with_commas_gets_points),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
