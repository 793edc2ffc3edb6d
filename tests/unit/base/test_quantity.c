/*
 * Sizes and ages as people write them.
 */
#include "base/text/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef struct reading {
    char const *text;
    uint64_t value;
} reading;

/* read takes all of good, which ends with a text that is NULL, and nothing of bad, which ends with NULL. */
static void
check_reader(bool (*read)(char const *text, uint64_t *out_value), reading const *good, char const *const *bad)
{
    uint64_t value;

    for (; good->text != NULL; good++) {
        assert_true(read(good->text, &value));
        assert_int_equal(value, good->value);
    }
    for (; *bad != NULL; bad++)
        assert_false(read(*bad, &value));
}

static void
test_sizes(void **state)
{
    static reading const good[] = { { "0", 0 }, { "17", 17 }, { "17B", 17 }, { "3K", 3072 }, { "3 KiB", 3072 },
                                    { "2GB", UINT64_C(2) << 30 }, { "1T", UINT64_C(1) << 40 },
                                    { "9223372036854775807", INT64_MAX }, { NULL, 0 } };
    static char const *const bad[] = { "", " 1", "-1", "+1", "K", "1k", "1KK", "1iB", "1  K", "9223372036854775808", "8388608T",
                                       "99999999999999999999", NULL };

    (void)state;
    check_reader(gci_size_read, good, bad);
}

static void
test_ages(void **state)
{
    static reading const good[] = { { "0s", 0 }, { "90s", UINT64_C(90000000000) }, { "2m", UINT64_C(120000000000) },
                                    { "2min", UINT64_C(120000000000) }, { "1h", UINT64_C(3600000000000) },
                                    { "3d", UINT64_C(259200000000000) }, { "999999999999d", UINT64_MAX }, { NULL, 0 } };
    static char const *const bad[] = { "", "1", "s", "-1s", "1 s", "1w", "1hh", "99999999999999999999s", NULL };

    (void)state;
    check_reader(gci_age_read, good, bad);
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
