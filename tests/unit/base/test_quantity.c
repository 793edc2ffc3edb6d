/*
 * Sizes and ages as people write them.
 */
#include "base/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void
test_sizes(void **state)
{
    static struct {
        char const *text;
        uint64_t bytes;
    } const good[] = { { "0", 0 }, { "17", 17 }, { "17B", 17 }, { "3K", 3072 }, { "3 KiB", 3072 }, { "2GB", UINT64_C(2) << 30 },
                       { "1T", UINT64_C(1) << 40 }, { "9223372036854775807", INT64_MAX } };
    static char const *const bad[] = { "", " 1", "-1", "+1", "K", "1k", "1KK", "1iB", "1  K", "9223372036854775808", "8388608T",
                                       "99999999999999999999" };
    uint64_t bytes;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(gci_size_read(good[i].text, &bytes));
        assert_int_equal(bytes, good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(gci_size_read(bad[i], &bytes));
}

static void
test_ages(void **state)
{
    static struct {
        char const *text;
        uint64_t ns;
    } const good[] = { { "0s", 0 }, { "90s", UINT64_C(90000000000) }, { "2m", UINT64_C(120000000000) },
                       { "2min", UINT64_C(120000000000) }, { "1h", UINT64_C(3600000000000) },
                       { "3d", UINT64_C(259200000000000) }, { "999999999999d", UINT64_MAX } };
    static char const *const bad[] = { "", "1", "s", "-1s", "1 s", "1w", "1hh", "99999999999999999999s" };
    uint64_t ns;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(gci_age_read(good[i].text, &ns));
        assert_int_equal(ns, good[i].ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(gci_age_read(bad[i], &ns));
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_ages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
