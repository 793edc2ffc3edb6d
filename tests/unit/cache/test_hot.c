/*
 * A repeated lookup that hits takes no memory and gives none back: names were resolved before, candidates and payload are held
 * by the memory tier. Allocations are counted by the linker's wrapping, so the library is the one that is shipped.
 */
#include "fixture.h"

#include <stdatomic.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void __wrap_free(void *memory);

static size_t taken, given_back;

void *
__wrap_malloc(size_t size)
{
    taken++;
    return __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
    taken++;
    return __real_calloc(count, size);
}

void *
__wrap_realloc(void *memory, size_t size)
{
    taken++;
    return __real_realloc(memory, size);
}

void
__wrap_free(void *memory)
{
    given_back += memory != NULL;
    __real_free(memory);
}

/* Enough for the selector to be made (after 32), and for hits to be journaled rarely (the first 64 all are). */
enum { BEFORE = 5000, COUNTED = 1000 };

static void
hit(fixture *f, gcache_graph *graph, gcache_hints const *hints, int times)
{
    for (int i = 0; i < times; i++) {
        gcache_result r = GCACHE_RESULT_INIT;
        assert_int_equal(gcache_lookup(f->cache, graph, hints, &r, &f->error), GCACHE_HIT);
        gcache_result_clear(&r);
    }
}

/* How many of the counted hits took memory. */
static size_t
allocations(fixture *f, int candidates)
{
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 }, { "s1", 16 });
    char guard[32];

    for (int i = 0; i < candidates; i++) {
        snprintf(guard, sizeof guard, "s0 == %d", 8 * (i + 1));
        assert_int_equal(insert_text(f, g, NULL, guard, guard), GCACHE_OK);
    }
    hit(f, g, &hints, BEFORE);
    size_t worst = 0, times = 0;
    for (int i = 0; i < COUNTED; i++) {
        taken = given_back = 0;
        hit(f, g, &hints, 1);
        worst = taken + given_back > worst ? taken + given_back : worst;
        times += taken + given_back != 0;
    }
    print_message("    %d candidates: %zu of %d hits took memory, at most %zu calls\n", candidates, times, (int)COUNTED, worst);
    gcache_graph_free(g);
    return times;
}

static void
a_hit_takes_no_memory(void **state)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.no_journal = true;
    fixture_reopen(*state, &options);
    assert_int_equal(allocations(*state, 1), 0);
    assert_int_equal(allocations(*state, 10), 0);
}

/* A few hits stand in the journal for those before them. */
static void
but_for_those_that_are_journaled(void **state)
{
    assert_in_range(allocations(*state, 1), 1, COUNTED / 100);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_setup_teardown(a_hit_takes_no_memory, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(but_for_those_that_are_journaled, fixture_open, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
