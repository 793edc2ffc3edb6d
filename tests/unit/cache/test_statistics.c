/*
 * Sums over the journal: what they add up to, and that a cache without a journal has them too.
 */
#include "fixture.h"

#include "cache/handle/cache.h"
#include "cache/handle/counters.h"
#include "cache/journal/journal_entry.h"
#include "cache/observe/statistics.h"

static void
look_up(fixture *f, gcache_graph *g, int64_t size, char const *label)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", size }, { "s1", 16 });
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_result r = GCACHE_RESULT_INIT;

    request.label = label;
    assert_true(gcache_lookup_with(f->cache, g, &hints, &request, &r, &f->error) >= 0);
    gcache_result_clear(&r);
}

/* no_key, an insert, 3 hits, then 2 guard misses of which the first is compiled. */
static gcache_graph *
make_history(fixture *f)
{
    gcache_graph *g = make_matmul("s0", "s1");

    look_up(f, g, 16, "resnet");
    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0 and s1 > 2", "x"), GCACHE_OK);
    for (int64_t size = 8; size <= 24; size += 8)
        look_up(f, g, size, "resnet");
    look_up(f, g, 12, "bert");
    assert_int_equal(insert_text(f, g, NULL, "s0 == 12 and s1 == 16", "y"), GCACHE_OK);
    look_up(f, g, 13, "bert");
    return g;
}

static void
adds_up(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_history(f);
    gci_statistics statistics;

    assert_int_equal(gci_statistics_collect(f->cache, NULL, true, &statistics, &f->error), GCACHE_OK);
    assert_int_equal(statistics.hits, 3);
    assert_int_equal(statistics.saved_ns, 3 * UINT64_C(4100000000));
    assert_int_equal(statistics.misses[GCACHE_REASON_NO_KEY], 1);
    assert_int_equal(statistics.misses[GCACHE_REASON_GUARD_FALSE], 2);
    assert_int_equal(statistics.cost_ns, 2 * UINT64_C(4100000000));
    assert_int_equal(statistics.inserts, 2);
    assert_int_equal(statistics.timed, 3);
    assert_true(statistics.oldest_ns < statistics.newest_ns);
    assert_int_equal(statistics.labels.count, 2);
    assert_int_equal(statistics.keys.count, 1);
    assert_int_equal(statistics.keys.items[0].hits, 3);
    assert_int_equal(statistics.keys.items[0].misses, 3);
    assert_int_equal(statistics.misses_by_cost.count, 2);
    gci_statistics_clear(&statistics);
    gcache_graph_free(g);
}

static gci_group const *
find(gci_groups const *groups, char const *part)
{
    for (size_t i = 0; i < groups->count; i++)
        if (strstr(groups->items[i].name.data, part) != NULL)
            return &groups->items[i];
    fail_msg("no group with %s", part);
    return NULL;
}

static void
guards_are_known_by_what_failed_them(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_history(f);
    gci_statistics statistics;

    assert_int_equal(gci_statistics_collect(f->cache, NULL, true, &statistics, &f->error), GCACHE_OK);
    gci_group const *modulus = find(&statistics.guards, "x.size(0) % 8 == 0"),
                    *equality = find(&statistics.guards, "x.size(0) == 12");
    assert_int_equal(modulus->misses, 1);
    assert_int_equal(modulus->cost_ns, UINT64_C(4100000000));
    assert_memory_equal(modulus->values[0].data, "x.size(0)=12", 12);
    assert_int_equal(equality->misses, 1);
    assert_int_equal(equality->cost_ns, 0);
    assert_memory_equal(equality->values[0].data, "x.size(0)=13", 12);
    gci_groups_sort(&statistics.guards);
    assert_ptr_equal(find(&statistics.guards, "x.size(0) % 8"), &statistics.guards.items[0]);
    gci_statistics_clear(&statistics);
    gcache_graph_free(g);
}

/* Of so many hits, how many are journaled as those that come once in `period`, from `phase` on. */
static uint64_t
told_of_every(unsigned period, unsigned phase, uint64_t hits)
{
    gci_counters counters = { .process = getpid() };
    gci_lane_numbers *lane = gci_counters_lane(&counters);
    uint64_t told = 0;

    for (uint64_t hit = 0; hit < hits; hit++) {
        bool due = gci_count_hit(&counters, lane, 0);
        if (due) {
            uint64_t stands_for = gci_counters_report(&counters, lane).hits;
            told += hit % period == phase ? stands_for : 0;
        }
    }
    return told;
}

/* A label that comes so regularly is off by chance; all of them together are right. */
static void
what_comes_round_regularly_is_sampled_fairly(void **state)
{
    double sum = 0, truth = 0;

    (void)state;
    for (unsigned period = 2; period <= 128; period++) {
        sum += (double)told_of_every(period, period - 1, 40000) * period;
        truth += 40000;
    }
    print_message("    %.2f\n", sum / truth);
    assert_in_range((uint64_t)(100 * sum / truth), 80, 125);
}

static void
a_cache_without_a_past_has_sums(void **state)
{
    fixture *f = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    char *text = NULL;

    for (gcache_statistics_form form = GCACHE_STATISTICS_TEXT; form <= GCACHE_STATISTICS_PROMETHEUS; form++) {
        assert_int_equal(gcache_statistics_show(f->cache, NULL, form, &text, &f->error), GCACHE_OK);
        assert_true(strlen(text) > 20);
        gcache_free(text);
    }
    options.disabled = true;
    fixture_reopen(f, &options);
    assert_int_equal(gcache_statistics_show(f->cache, NULL, GCACHE_STATISTICS_TEXT, &text, &f->error),
                     GCACHE_OK);
    gcache_free(text);
    assert_int_equal(gcache_statistics_top(f->cache, NULL, GCACHE_TOP_GUARDS, 5, GCACHE_STATISTICS_TEXT, &text, &f->error),
                     GCACHE_OK);
    gcache_free(text);
    assert_int_equal(gcache_statistics_top(f->cache, NULL, GCACHE_TOP_GUARDS, 5, GCACHE_STATISTICS_PROMETHEUS, &text, &f->error),
                     GCACHE_ERROR_ARGUMENT);
}

/* The longest there is, too: who may write to the journal may write that. */
static void
every_time_has_its_place(void **state)
{
    gci_journal_entry entry = { .kind = GCACHE_JOURNAL_HIT, .entry = "", .hits = UINT64_MAX, .elapsed_ns = UINT64_MAX };
    fixture *f = *state;
    gci_statistics statistics;
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_JOURNAL_BYTES_MAX);
    gci_journal_entry_write(&bytes, &entry);
    assert_true(gci_store_journal_append(f->cache->store, gci_buf_view(&bytes)));
    gci_buf_clear(&bytes);
    assert_int_equal(gci_statistics_collect(f->cache, NULL, true, &statistics, &f->error), GCACHE_OK);
    assert_int_equal(statistics.timed, 1);
    assert_int_equal(statistics.times[GCI_TIME_BUCKETS - 1], 1);
    gci_statistics_clear(&statistics);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(adds_up),
        CASE(guards_are_known_by_what_failed_them),
        CASE(every_time_has_its_place),
        cmocka_unit_test(what_comes_round_regularly_is_sampled_fairly),
        CASE(a_cache_without_a_past_has_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
