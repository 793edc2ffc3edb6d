/*
 * What explain says of a guard: the part that decides, and that part with values in place of names.
 */
#include "given.h"
#include "guards/guards.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

typedef struct explained {
    char const *guard, *hints, *part, *values;
} explained;

static explained const cases[] = {
    { "a == b", "{\"a\": 3, \"b\": 4}", "a == b", "3 == 4" },
    { "a == (b)", "{\"a\": 3, \"b\": 4}", "a == (b)", "3 == 4" },
    { "((a)) == ( b )", "{\"a\": 3, \"b\": -4}", "((a)) == ( b )", "3 == (-4)" },
    { "(a) and b > 2", "{\"a\": 0, \"b\": 4}", "(a)", "(a) = 0" },
    { "(L['t0'])", "{\"t0\": 0}", "(L['t0'])", "(L['t0']) = 0" },
    { "a * (b) <= 10", "{\"a\": 3, \"b\": 4}", "a * (b) <= 10", "3 * 4 = 12" },
    { "a > 1 and (b % 8 == 0)", "{\"a\": 3, \"b\": 4}", "b % 8 == 0", "4 % 8 = 4" },
    { "not (a)", "{\"a\": 3}", "not (a)", "not 3" },
    { "(a if (b) else 3) == 4", "{\"a\": 3, \"b\": 4}", "(a if (b) else 3) == 4", "3 if 4 else 3 = 3" },
    { "max((a), (b)) == 5", "{\"a\": 3, \"b\": 4}", "max((a), (b)) == 5", "max(3, 4) = 4" },
    { "a / 831 <= 0.1", "{\"a\": 100}", "a / 831 <= 0.1", "100 / 831 = 0.1203 <= 0.1" },
    { "0.1 >= a / 831", "{\"a\": 100}", "0.1 >= a / 831", "0.1 >= 100 / 831 = 0.1203" },
    { "a / 3 <= b / 7", "{\"a\": 5, \"b\": 9}", "a / 3 <= b / 7", "5 / 3 = 1.667, 9 / 7 = 1.286: 1.667 <= 1.286" },
    { "a + 0.1 == 0.3", "{\"a\": 0.2}", "a + 0.1 == 0.3", "0.2 + 0.1 = 0.30000000000000004, not 0.3" },
    { "a % 8 == 0", "{\"a\": 12.0}", "a % 8 == 0", "12.0 % 8 = 4.0, not 0" },
    { "a * 10000 < 1", "{\"a\": 1.23456789}", "a * 10000 < 1", "1.23456789 * 10000 = 12345.68 < 1" },
    { "a / 7 == 3", "{\"a\": 30000}", "a / 7 == 3", "30000 / 7 = 4285.71, not 3" },
    { "a * 0.1 > 5e6", "{\"a\": 12345678}", "a * 0.1 > 5e6", "12345678 * 0.1 = 1234567.8 > 5e6" },
    { "a % -8 == 0", "{\"a\": 12.5}", "a % -8 == 0", "12.5 % -8 = -3.5, not 0" },
    { "0 == a % 8", "{\"a\": 12.5}", "0 == a % 8", "12.5 % 8 = 4.5, not 0" },
    { "a * 4 != 1", "{\"a\": 0.25}", "a * 4 != 1", "0.25 * 4 = 1.0" },
    { "a % 8 == b", "{\"a\": 12.5, \"b\": 3}", "a % 8 == b", "12.5 % 8 = 4.5, b = 3" },
    { "a == 3", "{\"a\": 3.5}", "a == 3", "3.5 == 3" },
    { "a <= 0.1", "{\"a\": 0.10000001}", "a <= 0.1", "0.10000001 <= 0.1" },
    { "c == (a)", "{\"a\": 3}", "c == (a)", "c == 3" },
};

static void
parts_and_values_are_told(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        explained const *c = &cases[i];
        gci_view text = gci_view_text(c->guard);
        gci_guards *guards;
        gci_hints hints;
        gci_arena arena;
        gci_buf part, values;

        gci_arena_init(&arena, SIZE_MAX);
        gci_buf_init(&part, GCI_BUF_NO_LIMIT);
        gci_buf_init(&values, GCI_BUF_NO_LIMIT);
        gcache_hints given = given_hints_text(c->hints, &arena);
        assert_int_equal(gci_guards_compile(&text, 1, (gci_naming){ NULL, NULL }, &guards, NULL), GCACHE_OK);
        gci_hints_init(&hints);
        assert_int_equal(gci_hints_read(&hints, &given, (gci_naming){ NULL, NULL }, NULL), GCACHE_OK);
        gci_guards_explain(guards, 0, &hints, &part, &values);
        gci_buf_append_char(&part, '\0');
        gci_buf_append_char(&values, '\0');
        assert_string_equal(part.data, c->part);
        assert_string_equal(values.data, c->values);
        gci_hints_clear(&hints);
        gci_guards_free(guards);
        gci_buf_clear(&part);
        gci_buf_clear(&values);
        gci_arena_clear(&arena);
    }
}

int
main(void)
{
    struct CMUnitTest const tests[] = { cmocka_unit_test(parts_and_values_are_told) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
