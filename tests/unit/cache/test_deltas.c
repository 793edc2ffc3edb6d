/*
 * Counter deltas: recorded with an entry, handed back on a hit, apart from the metadata.
 */
#include "fixture.h"

static gcache_status
insert(fixture *f, gcache_graph *g, char const *metadata, size_t size, gcache_delta const *deltas, size_t count)
{
    gcache_entry entry = { .size = sizeof entry, .payload = metadata, .payload_size = size, .metadata = metadata,
                           .metadata_size = size,
                           .deltas = deltas, .delta_count = count, .compile_ns = 4000 };

    return gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error);
}

static void
assert_hit(fixture *f, gcache_graph *g, char const *metadata, size_t size, gcache_delta const *deltas, size_t count)
{
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(gcache_lookup(f->cache, g, NULL, &r, &f->error), GCACHE_HIT);
    assert_int_equal(r.metadata_size, size);
    assert_memory_equal(r.metadata, metadata, size);
    assert_int_equal(r.compile_ns, 4000);
    assert_int_equal(r.delta_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(r.deltas[i].name, deltas[i].name);
        assert_int_equal(r.deltas[i].value, deltas[i].value);
    }
    gcache_result_clear(&r);
}

static void
deltas_come_back_with_a_hit(void **state)
{
    static gcache_delta const deltas[] = { { "kernels_generated", 17 }, { "fusions", -3 }, { "", INT64_MIN } };
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");

    assert_int_equal(insert(f, g, "strides", 7, deltas, 3), GCACHE_OK);
    assert_hit(f, g, "strides", 7, deltas, 3);
    fixture_reopen(f, NULL);
    assert_hit(f, g, "strides", 7, deltas, 3);
    gcache_graph_free(g);
}

static void
metadata_that_looks_like_deltas_stays_what_it_is(void **state)
{
    fixture *f = *state;
    char const mark[] = "\x89GCDELT\n\xff\xff\xff\xff tail";
    gcache_graph *g = make_matmul("s0", "s1");

    assert_int_equal(insert(f, g, mark, sizeof mark, NULL, 0), GCACHE_OK);
    assert_hit(f, g, mark, sizeof mark, NULL, 0);
    gcache_graph_free(g);
}

static int
check_view(void *state, gcache_entry_view const *entry)
{
    int *seen = state;

    assert_int_equal(entry->metadata_size, 4);
    assert_memory_equal(entry->metadata, "meta", 4);
    ++*seen;
    return 0;
}

static void
walks_show_the_metadata_alone(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    int seen = 0;

    assert_int_equal(insert(f, g, "meta", 4, &(gcache_delta){ "n", 1 }, 1), GCACHE_OK);
    assert_int_equal(gcache_each_entry(f->cache, NULL, check_view, &seen, &f->error), GCACHE_OK);
    assert_int_equal(seen, 1);
    assert_int_equal(insert(f, g, "meta", 4, NULL, 1), GCACHE_ERROR_ARGUMENT);
    gcache_graph_free(g);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(deltas_come_back_with_a_hit),
        CASE(metadata_that_looks_like_deltas_stays_what_it_is),
        CASE(walks_show_the_metadata_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
