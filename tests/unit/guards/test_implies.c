/*
 * Whether one guard list implies another: what must be decided, what must not, and that nothing is decided wrongly.
 */
#include "guards/guards.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARDS_MAX = 8 };

/* "a; b" is a list of two. */
static gci_guards *
compile(char const *list)
{
    gci_view texts[GUARDS_MAX];
    size_t count = 0;
    gci_guards *guards;
    gcache_error error;

    for (char const *at = list; *at != '\0';) {
        size_t size = strcspn(at, ";");
        texts[count++] = gci_view_of(at, size);
        at += size;
        at += strspn(at, "; ");
    }
    if (gci_guards_compile(texts, count, (gci_naming){ 0 }, &guards, &error) != GCACHE_OK)
        fail_msg("%s: %s", list, error.message);
    return guards;
}

static bool
implies(char const *narrow, char const *wide)
{
    gci_guards *a = compile(narrow), *b = compile(wide);
    gci_claims *of_a = gci_claims_new(a), *of_b = gci_claims_new(b);
    bool answer = gci_claims_imply(of_a, of_b);

    gci_claims_free(of_a);
    gci_claims_free(of_b);
    gci_guards_free(a);
    gci_guards_free(b);
    return answer;
}

typedef struct example {
    char const *narrow, *wide;
} example;

static example const decided[] = {
    { "s0 <= 512", "s0 <= 1024" },
    { "s0 <= 512", "s0 < 513" },
    { "2 <= s0 and s0 <= 8", "s0 <= 9; s0 >= 1" },
    { "L['t0'] == 16", "L['t0'] % 8 == 0" },
    { "L['t0'] == 16; L['t1'] <= 100", "L['t0'] <= 100 and L['t1'] < 1000" },
    { "s0 % 16 == 0", "s0 % 8 == 0" },
    { "s0 % 16 == 5", "s0 % 8 == 5" },
    { "s0 % 16 == 5", "s0 % 8 != 4" },
    { "s0 == 3; s1 == 4", "s0*s1 <= 12" },
    { "2 <= s0; s0 <= 1024; 2 <= s1; s1 <= 1024", "s0*s1 <= 2147483647" },
    { "s0 > 5", "s0 != 5" },
    { "s0 != 5; s0 < 100", "s0 != 5" },
    { "s1 // s0 >= 1; s0 >= 2", "s1 // s0 >= 0" },
    { "s0 <= 10; s1 <= 7; s0 >= 0; s1 >= 0", "max(s0, s1) <= 10; min(s0, s1) <= 7" },
    { "(s0 // 4) == 2", "s0 // 4 <= 2" },
    { "4 <= s0 and s0 <= 7", "s0 // 4 == 1" },
    { "s0 == s1", "s0 - s1 <= 0" },
    { "s0 + s1 <= 10", "2*s0 + 2*s1 <= 20" },
    { "s0 <= 10", "" },
};

static example const undecided[] = {
    { "s0 <= 1024", "s0 <= 512" },
    { "s0 % 8 == 0", "s0 % 16 == 0" },
    { "s0 % 6 == 0", "s0 % 4 == 0" },
    { "s0 <= 10", "s1 <= 10" },
    { "", "s0 <= 10" },
    { "s0 <= 10 or s1 <= 10", "s0 <= 10; s1 == s1" },
    { "s0 <= 10; s1 == s1", "s0 // s1 <= 10 or s0 > 0" },
    { "s0 == 8; s1 == s1", "s0 % s1 == 0" },
    { "s0 >= 2; s1 >= 2", "s0*s1 >= 5" },
    { "s0 <= 3; s1 <= 3", "s0*s1 <= 9" },
    { "s0 != 5", "s0 != 6" },
    { "s0 > 5", "s0 / 2 > 2.5" },
};

static void
what_bounds_and_remainders_say_is_decided(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof decided / sizeof decided[0]; i++)
        if (!implies(decided[i].narrow, decided[i].wide))
            fail_msg("%s: isn't known to imply %s", decided[i].narrow, decided[i].wide);
}

static void
what_does_not_follow_is_not_claimed(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof undecided / sizeof undecided[0]; i++)
        if (implies(undecided[i].narrow, undecided[i].wide))
            fail_msg("%s: claimed to imply %s", undecided[i].narrow, undecided[i].wide);
}

/* ---- random lists, against the evaluator ---- */

static uint32_t seed = 20260101;

static uint32_t
random_below(uint32_t limit)
{
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % limit;
}

static char const *
random_expression(void)
{
    static char const *const expressions[] = { "s0", "s1", "s0 + s1", "s0 - s1", "s0*s1", "s0 % 4", "s0 % 8", "s1 % 2",
                                               "s0 // 3", "s1 // s0", "s0 % s1", "max(s0, s1)", "2*s0 + 3", "s0*s0", "-s1" };

    return expressions[random_below(sizeof expressions / sizeof expressions[0])];
}

static void
write_random_list(char *text, size_t size)
{
    static char const *const relations[] = { "<=", ">=", "<", ">", "==", "!=" };
    size_t at = 0, count = 1 + random_below(3);

    for (size_t i = 0; i < count; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s %s %d", i > 0 ? "; " : "", random_expression(),
                               relations[random_below(6)], (int)random_below(12) - 3);
}

static bool
holds(gci_guards const *guards, int64_t a, int64_t b)
{
    char first[24], second[24];
    gcache_hint_literal literals[] = { { "s0", first }, { "s1", second } };
    gci_hints hints;
    gcache_verdict verdict;

    snprintf(first, sizeof first, "%lld", (long long)a);
    snprintf(second, sizeof second, "%lld", (long long)b);
    gcache_hints given = { .literals = literals, .literal_count = 2 };
    gci_hints_init(&hints);
    assert_int_equal(gci_hints_read(&hints, &given, (gci_naming){ 0 }, NULL), GCACHE_OK);
    bool held = gci_guards_eval(guards, &hints, &verdict) == GCACHE_TRUE;
    gci_hints_clear(&hints);
    return held;
}

static void
check_by_values(char const *narrow, char const *wide)
{
    gci_guards *a = compile(narrow), *b = compile(wide);

    for (int64_t x = -6; x <= 14; x++)
        for (int64_t y = -6; y <= 14; y++)
            if (holds(a, x, y) && !holds(b, x, y))
                fail_msg("%s: claimed to imply %s, but not for %d, %d", narrow, wide, (int)x, (int)y);
    gci_guards_free(a);
    gci_guards_free(b);
}

static void
no_claim_is_wrong(void **state)
{
    char narrow[256], wide[256];
    size_t claims = 0;

    (void)state;
    for (int i = 0; i < 4000; i++) {
        write_random_list(narrow, sizeof narrow);
        write_random_list(wide, sizeof wide);
        if (!implies(narrow, wide))
            continue;
        check_by_values(narrow, wide);
        claims++;
    }
    assert_true(claims > 50);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(what_bounds_and_remainders_say_is_decided),
        cmocka_unit_test(what_does_not_follow_is_not_claimed),
        cmocka_unit_test(no_claim_is_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
