/*
 * Who waits for whom, and for how long: nobody waits for a third compile that doesn't serve him, and whoever is compiling
 * something waits for nobody, so that rings of threads that want each other's can't come to be.
 */
#include "fixture.h"

#include <guardcache/fleet.h>

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { CROWD = 6, RING_MOST = 3 };

#define PATIENCE_NS UINT64_C(3000000000)

static gcache_graph *
make_numbered(int number)
{
    gcache_graph *g = make_matmul("s0", "s1");

    gcache_graph_component(g, "number", gcache_value_int(g, number));
    return g;
}

static gcache_compile_options
patient(void)
{
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;

    options.lease_timeout_ns = 4 * PATIENCE_NS;
    return options;
}

/* ---- a crowd that wants one thing, which isn't kept, or not liked ---- */

typedef struct wish {
    pthread_t thread;
    gcache *cache;
    gcache_compile_options options;
    char const *do_not_store;
    bool fails;
    _Atomic bool flies, may_end;
    gcache_status status;
    gcache_reason reason;
} wish;

static gcache_status
compile_when_told(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled,
                  gcache_error *error)
{
    wish *w = state;

    (void)graph, (void)hints, (void)error;
    for (w->flies = true; !w->may_end;)
        usleep(500);
    out_compiled->entry->payload = "code";
    out_compiled->entry->payload_size = 4;
    out_compiled->do_not_store = w->do_not_store;
    return w->fails ? GCACHE_ERROR_IO : GCACHE_OK;
}

static void *
ask(void *state)
{
    wish *w = state;
    gcache_graph *g = make_numbered(0);
    gcache_hints hints = GCACHE_HINTS({ "s0", 32 }, { "s1", 16 });
    gcache_result r = GCACHE_RESULT_INIT;

    w->status = gcache_get_or_compile_with(w->cache, g, &hints, &w->options, compile_when_told, w, &r, NULL);
    w->reason = r.reason;
    gcache_result_clear(&r);
    gcache_graph_free(g);
    return NULL;
}

static size_t
count_flying(wish const *crowd)
{
    size_t flying = 0;

    for (size_t i = 0; i < CROWD; i++)
        flying += crowd[i].flies && !crowd[i].may_end;
    return flying;
}

/* Waits, for ten seconds at most, until so many compile, and a little, whether it stays with these. */
static void
await_flying(wish const *crowd, size_t wanted)
{
    for (int i = 0; i < 20000 && count_flying(crowd) < wanted; i++)
        usleep(500);
    usleep(30000);
    assert_int_equal(count_flying(crowd), wanted);
}

static void
end_flying(wish *crowd)
{
    for (size_t i = 0; i < CROWD; i++)
        crowd[i].may_end = crowd[i].flies;
}

/* One compiles, then another; then all the rest at the same time. */
static void
check_crowd(gcache *cache, wish const *like, gcache_status ending)
{
    wish crowd[CROWD];

    for (size_t i = 0; i < CROWD; i++) {
        crowd[i] = *like;
        crowd[i].cache = cache;
        assert_int_equal(pthread_create(&crowd[i].thread, NULL, ask, &crowd[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        await_flying(crowd, 1);
        end_flying(crowd);
    }
    await_flying(crowd, CROWD - 2);
    end_flying(crowd);
    for (size_t i = 0; i < CROWD; i++) {
        pthread_join(crowd[i].thread, NULL);
        assert_int_equal(crowd[i].status, ending);
        assert_int_not_equal(crowd[i].reason, GCACHE_REASON_LEASE_TIMEOUT);
    }
}

static void
what_isnt_stored_is_waited_for_twice(void **state)
{
    fixture *f = *state;

    check_crowd(f->cache, &(wish){ .options = patient(), .do_not_store = "it calls back" }, GCACHE_MISS);
}

static void
what_fails_is_waited_for_twice(void **state)
{
    fixture *f = *state;

    check_crowd(f->cache, &(wish){ .options = patient(), .fails = true }, GCACHE_ERROR_IO);
}

static void
in_a_named_flight_too(void **state)
{
    fixture *f = *state;
    wish like = { .options = patient(), .do_not_store = "it calls back" };

    like.options.flight = "batch 9-16";
    check_crowd(f->cache, &like, GCACHE_MISS);
}

static void
when_refreshing_too(void **state)
{
    fixture *f = *state;
    wish like = { .options = patient(), .do_not_store = "it calls back" };

    like.options.refresh = true;
    check_crowd(f->cache, &like, GCACHE_MISS);
}

static void
beside_what_is_stored_too(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_numbered(0);

    assert_int_equal(insert_text(f, g, NULL, "s0 == 7", "seven"), GCACHE_OK);
    gcache_graph_free(g);
    check_crowd(f->cache, &(wish){ .options = patient(), .do_not_store = "it calls back" }, GCACHE_MISS);
}

static bool
dislike(void *state, gcache_result const *hit)
{
    (void)state, (void)hit;
    return false;
}

static void
what_is_refused_is_waited_for_twice(void **state)
{
    fixture *f = *state;
    wish like = { .options = patient() };

    like.options.post_load = dislike;
    check_crowd(f->cache, &like, GCACHE_MISS);
}

/* ---- rings: each compiles something and needs what the next one compiles ---- */

typedef struct ring {
    gcache *caches[RING_MOST];
    int count;
    gcache_compile_options options;
    pthread_barrier_t all_compile;
} ring;

typedef struct need {
    ring *ring;
    int number;
    gcache_status outer, inner;
    gcache_reason reason;
} need;

static void *
hold_and_need(void *state)
{
    need *l = state;
    ring *r = l->ring;
    gcache *cache = r->caches[l->number];
    gcache_graph *held = make_numbered(l->number), *needed = make_numbered((l->number + 1) % r->count);
    gcache_result outer = GCACHE_RESULT_INIT, inner = GCACHE_RESULT_INIT;
    gcache_compile *outside, *inside;

    l->outer = gcache_compile_begin(cache, held, NULL, &r->options, NULL, &outside, &outer, NULL);
    pthread_barrier_wait(&r->all_compile);
    l->inner = gcache_compile_begin(cache, needed, NULL, &r->options, NULL, &inside, &inner, NULL);
    l->reason = inner.reason;
    gcache_compile_end(inside, NULL, NULL);
    pthread_barrier_wait(&r->all_compile);
    gcache_compile_end(outside, NULL, NULL);
    gcache_result_clear(&inner);
    gcache_result_clear(&outer);
    gcache_graph_free(needed);
    gcache_graph_free(held);
    return NULL;
}

static void
check_ring(ring *r, gcache_reason reason)
{
    pthread_t threads[RING_MOST];
    need links[RING_MOST];

    assert_int_equal(pthread_barrier_init(&r->all_compile, NULL, (unsigned)r->count), 0);
    for (int i = 0; i < r->count; i++) {
        links[i] = (need){ .ring = r, .number = i };
        assert_int_equal(pthread_create(&threads[i], NULL, hold_and_need, &links[i]), 0);
    }
    for (int i = 0; i < r->count; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(links[i].outer, GCACHE_MISS);
        assert_int_equal(links[i].inner, GCACHE_MISS);
        assert_int_equal(links[i].reason, reason);
    }
    pthread_barrier_destroy(&r->all_compile);
}

static ring
ring_of(gcache *cache, int count)
{
    ring r = { .caches = { cache, cache, cache }, .count = count, .options = GCACHE_COMPILE_OPTIONS_INIT };

    r.options.lease_timeout_ns = PATIENCE_NS;
    return r;
}

static void
two_need_each_others(void **state)
{
    fixture *f = *state;
    ring r = ring_of(f->cache, 2);

    check_ring(&r, GCACHE_REASON_NO_KEY);
}

static void
three_in_a_ring(void **state)
{
    fixture *f = *state;
    ring r = ring_of(f->cache, 3);

    check_ring(&r, GCACHE_REASON_NO_KEY);
}

static void
named_flights_in_a_ring(void **state)
{
    fixture *f = *state;
    ring r = ring_of(f->cache, 2);

    r.options.flight = "all";
    check_ring(&r, GCACHE_REASON_NO_KEY);
}

static void
refreshing_in_a_ring(void **state)
{
    fixture *f = *state;
    ring r = ring_of(f->cache, 2);

    r.options.refresh = true;
    check_ring(&r, GCACHE_REASON_REFRESH);
}

static void
handles_of_one_directory_in_a_ring(void **state)
{
    fixture *f = *state;
    ring r = ring_of(f->cache, 2);

    assert_int_equal(gcache_open(f->directory, NULL, &r.caches[1], NULL), GCACHE_OK);
    check_ring(&r, GCACHE_REASON_NO_KEY);
    gcache_close(r.caches[1]);
}

/* Two hosts, which share nothing but a tier. */
static void
a_ring_through_a_tier(void **state)
{
    fixture *hosts[2] = { *state };
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_tier_functions const *functions;
    gcache_tier_user user = { .name = "memory://rack" };
    ring r = ring_of(NULL, 2);
    void *second;

    assert_int_equal(gcache_tier_memory_new(&functions, &user.tier, NULL), GCACHE_OK);
    user.functions = functions;
    options.user_tiers = &user;
    options.user_tier_count = 1;
    assert_int_equal(fixture_open(&second), 0);
    hosts[1] = second;
    for (int i = 0; i < 2; i++) {
        fixture_reopen(hosts[i], &options);
        r.caches[i] = hosts[i]->cache;
    }
    check_ring(&r, GCACHE_REASON_NO_KEY);
    fixture_reopen(hosts[0], NULL);
    fixture_close(&second);
    functions->close(user.tier);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(what_isnt_stored_is_waited_for_twice),
        CASE(what_fails_is_waited_for_twice),
        CASE(in_a_named_flight_too),
        CASE(when_refreshing_too),
        CASE(beside_what_is_stored_too),
        CASE(what_is_refused_is_waited_for_twice),
        CASE(two_need_each_others),
        CASE(three_in_a_ring),
        CASE(named_flights_in_a_ring),
        CASE(refreshing_in_a_ring),
        CASE(handles_of_one_directory_in_a_ring),
        CASE(a_ring_through_a_tier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
