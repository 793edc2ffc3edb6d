/*
 * Decimals read as doubles: what few digits allow to be done shortly gives what strtod gives.
 */
#include "guards/value/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static void
check(char const *text)
{
    double found = gci_read_double(text), wanted = strtod(text, NULL);

    if (memcmp(&found, &wanted, sizeof found) != 0)
        fail_msg("%s is read as %.17g, not %.17g", text, found, wanted);
}

static void
test_given(void **state)
{
    static char const *const texts[] = {
        "0", "0.0", "00.10", "5.", ".5", "1.2", "0.35", "9007199254740993", "9007199254740993.0", "999999999999999",
        "9999999999999999", "0.999999999999999", "0.00000000000000000001", "000000000000000000001", "1e22", "1e23", "1.5e-7",
        "0.1e1", "123456789012345.6", "12345678901234.5", "4.35", "0.000001", "2.2250738585072014e-308", "5e-324", "1e400",
    };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        check(texts[i]);
}

/* One to twenty digits, a point anywhere among them. */
static void
test_drawn(void **state)
{
    uint64_t drawn = 1;
    char text[32];

    (void)state;
    for (int round = 0; round < 200000; round++) {
        drawn = drawn * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        int count = snprintf(text, sizeof text, "%llu", (unsigned long long)(drawn >> 11 >> drawn % 53));
        size_t point = (size_t)(drawn >> 32) % (size_t)(count + 1);
        memmove(text + point + 1, text + point, (size_t)count + 1 - point);
        text[point] = '.';
        check(text);
    }
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_given),
        cmocka_unit_test(test_drawn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
