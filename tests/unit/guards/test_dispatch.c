/*
 * The fast path without computed goto does what it does with it.
 */
#define GCI_PORTABLE_DISPATCH
#define gci_fast_run run_portably
#include "guards/program/fast.c"
#undef gci_fast_run

gci_fast_truth gci_fast_run(gci_instruction const *code, int64_t *registers, uint32_t *out_at);

#include "guards/value/limits.h"
#include "guards/program/program.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

/* Between them, every instruction. */
static char const *const guards[] = {
    "a % 8 == 0 and 2 <= b and b <= 40 and a != b and a - 3*b < 7",
    "a % 3 != 1 and a == 2*b or b % 4 == 1 or a % 5 != 2",
    "-a + abs(b) - ~c <= max(a, b, c) * min(a, b)",
    "(a // b if b else a) == c or a % b == c",
    "a ** 2 + b ** c >= 0 and (a << 3) >> 2 == 2*a and a << b == c",
    "((a & b) | c) ^ 5 != 6 and not (a and b) == 0",
    "(a < b) + (a <= b) + (a == b) + (a != b) + (a > b) + (a >= b) == c",
    "a // 7 + b // 8 + c % 16 + a*b*c + (a + b)*(a - c) >= 5*a - 11",
    "not (a < b or a <= c and b >= c or a > 5 or b >= 9 or c == 4 or a != b)",
    "+a == b if a > b else a / 2 == 1.5",
    "a < b < c or a >= b > c or a != b == c",
    "(a or b) == (c and a)",
    "a - 9223372036854775807 < 3 or 4611686018427387904*b > 1",
    "not a % 6 == 0 and not b % 6 != 0 and not a == c",
    "foo(a) if a == 1 else True",
    "(not a) + b == c",
    "a % 7 + b == c or a <= b or a <= 5 or b != 5 or c <= 9",
    "a <= 5",
};

static int64_t const values[] = { 0, 1, -1, 2, 3, 7, 8, 40, -5, 64, 1000, 4294967296, INT64_MAX, INT64_MIN, INT64_MAX - 1 };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void
compare(gci_guards const *list, int64_t a, int64_t b, int64_t c)
{
    int64_t one[GCI_GUARD_MAX_REGISTERS] = { 0 }, other[GCI_GUARD_MAX_REGISTERS] = { 0 };
    uint32_t at_one = 0, at_other = 0;

    for (uint32_t i = 0; i < list->program.name_count; i++)
        one[i] = other[i] = list->program.names[i].name.data[0] == 'a' ? a : list->program.names[i].name.data[0] == 'b' ? b : c;
    gci_fast_truth truth = gci_fast_run(list->program.code, one, &at_one);
    assert_int_equal(run_portably(list->program.code, other, &at_other), truth);
    assert_int_equal(at_one, at_other);
    assert_memory_equal(one, other, sizeof one);
}

static void
dispatch_is_portable(void **state)
{
    bool seen[GCI_OPCODE_COUNT] = { false };

    (void)state;
    for (size_t g = 0; g < COUNT(guards); g++) {
        gci_view text = gci_view_text(guards[g]);
        gci_guards *list = NULL;
        assert_int_equal(gci_guards_compile(&text, 1, (gci_naming){ NULL, NULL }, &list, NULL), GCACHE_OK);
        for (uint32_t i = 0; i < list->program.code_count; i++)
            seen[list->program.code[i].op] = true;
        for (size_t i = 0; i < COUNT(values) * COUNT(values) * COUNT(values); i++)
            compare(list, values[i % COUNT(values)], values[i / COUNT(values) % COUNT(values)],
                    values[i / COUNT(values) / COUNT(values)]);
        gci_guards_free(list);
    }
    for (unsigned op = 0; op < GCI_OPCODE_COUNT; op++)
        if (!seen[op] && op != GCI_OP_CALL && op != GCI_OP_NEED)
            fail_msg("no guard here has %s", gci_opcode_at(op)->name);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(dispatch_is_portable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
