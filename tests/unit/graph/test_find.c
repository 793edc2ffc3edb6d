/*
 * A text found in another beside memmem: at every place, across the sixteens that are looked at together, and where the same
 * bytes are everywhere.
 */
#include "graph/rules/find.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

enum { SIZE = 200, LARGE = 20000 };

static void
check(char const *text, size_t size, gci_view part)
{
    bool wanted = part.size == 0 || (size != 0 && memmem(text, size, part.data, part.size) != NULL);

    if (gci_find(gci_view_of(text, size), part) != wanted)
        fail_msg("\"%.*s\" in %zu bytes", (int)part.size, part.data, size);
}

static void
test_places(void **state)
{
    static char const *const parts[] = { "", "x", "xy", "xyx", "loc(", "=======x", "x================y" };

    (void)state;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        gci_view part = gci_view_text(parts[i]);
        for (size_t size = 0; size <= SIZE; size++) {
            char *text = malloc(size + 1); /* of its own, so that a byte too far is seen */
            assert_non_null(text);
            memset(text, '=', size);
            check(text, size, part);
            for (size_t at = 0; at + part.size <= size; at++) {
                memset(text, '=', size);
                memcpy(text + at, part.data, part.size);
                check(text, size, part);
            }
            free(text);
        }
    }
}

static void
test_alike(void **state)
{
    static char text[LARGE], part[100];

    (void)state;
    memset(text, 'a', sizeof text);
    for (size_t size = 3; size <= sizeof part; size++) {
        memset(part, 'a', sizeof part);
        part[size / 2] = 'b';
        check(text, sizeof text, gci_view_of(part, size));
        memcpy(text + sizeof text - size, part, size);
        check(text, sizeof text, gci_view_of(part, size));
        memset(text, 'a', sizeof text);
    }
}

int
main(void)
{
    struct CMUnitTest const tests[] = { cmocka_unit_test(test_places), cmocka_unit_test(test_alike) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
