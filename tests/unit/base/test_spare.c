/*
 * Pieces of memory around the sizes that are kept: whole, their own, and full of what was put there when they grow.
 */
#include "base/memory/spare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static size_t const sizes[] = { 1, 65535, 65536, 65537, 131072, 400000, 1048576, 1048577, 2097152, 2097153 };

enum { SIZES = sizeof sizes / sizeof sizes[0], PIECES = 6 };

static void
test_pieces_are_whole(void **state)
{
    char *pieces[SIZES][PIECES];

    (void)state;
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < SIZES; i++) {
            for (size_t k = 0; k < PIECES; k++) {
                pieces[i][k] = gci_spare_alloc(sizes[i]);
                assert_non_null(pieces[i][k]);
                memset(pieces[i][k], (int)(i * PIECES + k), sizes[i]);
            }
        }
        for (size_t i = 0; i < SIZES; i++) {
            for (size_t k = 0; k < PIECES; k++) {
                assert_int_equal(pieces[i][k][0], i * PIECES + k);
                assert_int_equal(pieces[i][k][sizes[i] - 1], i * PIECES + k);
                gci_spare_free(pieces[i][k], sizes[i]);
            }
        }
    }
    gci_spare_free(NULL, 1 << 17);
}

static void
test_growing(void **state)
{
    size_t size = 0;
    unsigned char *piece = NULL;

    (void)state;
    for (size_t i = 0; i < SIZES; i++) {
        unsigned char *grown = gci_spare_grow(piece, size, size, sizes[i]);
        assert_non_null(grown);
        for (size_t at = 0; at < size; at++)
            assert_int_equal(grown[at], at % 251);
        for (size_t at = size; at < sizes[i]; at++)
            grown[at] = (unsigned char)(at % 251);
        piece = grown;
        size = sizes[i];
    }
    free(piece);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_pieces_are_whole),
        cmocka_unit_test(test_growing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
