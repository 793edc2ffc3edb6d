/* The tier in memory: the contract, and every fault it has on demand. */
#include "conformance.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int
open_tier(void **state)
{
    conformance *c = calloc(1, sizeof *c);
    gcache_error error;

    *state = c;
    return c == NULL || gcache_tier_memory_new(&c->functions, &c->tier, &error) != GCACHE_OK;
}

static int
close_tier(void **state)
{
    conformance *c = *state;

    c->functions->close(c->tier);
    free(c);
    return 0;
}

static void
fail_by(conformance const *c, gcache_tier_faults faults)
{
    gcache_tier_memory_fail(c->tier, &faults);
}

/* A payload and a head that are there. */
static void
publish_pair(conformance const *c, gcache_object out_pair[2])
{
    gcache_key key = conform_key();

    out_pair[0] = conform_object(GCACHE_OBJECT_PAYLOAD, &key, "payload", 7);
    out_pair[1] = conform_object(GCACHE_OBJECT_HEAD, &key, "head", 4);
    assert_int_equal(conform_publish(c, out_pair, 2), GCACHE_TIER_HIT);
}

static void
where_to_is_needed(void **state)
{
    gcache_tier_functions const *functions;
    gcache_error error = { 0 };
    void *tier;

    (void)state;
    assert_int_equal(gcache_tier_memory_new(NULL, &tier, &error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gcache_tier_memory_new(&functions, NULL, &error), GCACHE_ERROR_ARGUMENT);
    gcache_tier_memory_fail(NULL, NULL);
}

static void
refused_calls_are_trouble_at_once(void **state)
{
    conformance const *c = *state;
    conform_found found = { 0 };
    gcache_object pair[2];

    publish_pair(c, pair);
    fail_by(c, (gcache_tier_faults){ .refuse = true });
    gcache_tier_call call = conform_call();
    uint64_t begin = conform_steady_ns();
    assert_int_equal(c->functions->list(c->tier, &call, &pair[0].key, conform_collect, &found), GCACHE_TIER_TROUBLE);
    assert_int_equal(call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    assert_int_equal(c->functions->publish(c->tier, &call, pair, 2), GCACHE_TIER_TROUBLE);
    assert_int_equal(c->functions->statistics(c->tier, &call, NULL, NULL), GCACHE_TIER_TROUBLE);
    assert_true(conform_steady_ns() - begin < UINT64_C(5000000000));
    gcache_tier_memory_fail(c->tier, NULL);
    assert_int_equal(conform_list(c, &pair[0].key, &found), GCACHE_TIER_HIT);
    conform_clear(&found);
}

static void
hung_calls_take_until_their_deadline(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };
    gcache_tier_call call = GCACHE_TIER_CALL_INIT;

    fail_by(c, (gcache_tier_faults){ .hang = true });
    call.deadline_ns = conform_steady_ns() + 50000000;
    assert_int_equal(c->functions->list(c->tier, &call, &key, conform_collect, &found), GCACHE_TIER_TROUBLE);
    assert_int_equal(call.reason, GCACHE_REASON_REMOTE_TIMEOUT);
    assert_true(conform_steady_ns() >= call.deadline_ns);
}

static void
delays_are_waited_for(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };
    gcache_tier_call call = conform_call();

    fail_by(c, (gcache_tier_faults){ .delay_ns = 30000000 });
    uint64_t begin = conform_steady_ns();
    assert_int_equal(c->functions->list(c->tier, &call, &key, conform_collect, &found), GCACHE_TIER_MISS);
    assert_true(conform_steady_ns() - begin >= 30000000);
    call.deadline_ns = conform_steady_ns() + 5000000;
    assert_int_equal(c->functions->list(c->tier, &call, &key, conform_collect, &found), GCACHE_TIER_TROUBLE);
    assert_int_equal(call.reason, GCACHE_REASON_REMOTE_TIMEOUT);
}

static void
payloads_are_lost_and_heads_are_not(void **state)
{
    conformance const *c = *state;
    conform_found found = { 0 };
    gcache_object pair[2];

    publish_pair(c, pair);
    fail_by(c, (gcache_tier_faults){ .lose_payloads = true });
    assert_int_equal(conform_list(c, &pair[0].key, &found), GCACHE_TIER_HIT);
    assert_int_equal(conform_fetch(c, pair, 2, &found), GCACHE_TIER_MISS);
    assert_int_equal(found.count, 1);
    assert_true(conform_has(&found, &pair[1]));
    conform_clear(&found);
}

static void
a_byte_of_what_is_handed_out_is_flipped(void **state)
{
    conformance const *c = *state;
    conform_found found = { 0 };
    gcache_object pair[2];

    publish_pair(c, pair);
    fail_by(c, (gcache_tier_faults){ .damage = true });
    assert_int_equal(conform_fetch(c, pair, 2, &found), GCACHE_TIER_HIT);
    for (int i = 0; i < 2; i++) {
        gcache_object const *object = conform_find(&found, &pair[i]);
        size_t different = 0;
        assert_non_null(object);
        assert_int_equal(object->size, pair[i].size);
        for (size_t at = 0; at < object->size; at++)
            different += ((char const *)object->bytes)[at] != ((char const *)pair[i].bytes)[at];
        assert_int_equal(different, 1);
    }
    gcache_tier_memory_fail(c->tier, NULL);
    assert_int_equal(conform_fetch(c, pair, 2, &found), GCACHE_TIER_HIT);
    assert_true(conform_has(&found, &pair[0]) && conform_has(&found, &pair[1]));
    conform_clear(&found);
}

static void
objects_are_handed_out_with_bytes_of_others(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };
    gcache_object heads[] = { conform_object(GCACHE_OBJECT_HEAD, &key, "one", 3),
                              conform_object(GCACHE_OBJECT_HEAD, &key, "another", 7) };

    assert_int_equal(conform_publish(c, heads, 2), GCACHE_TIER_HIT);
    fail_by(c, (gcache_tier_faults){ .swap = true });
    assert_int_equal(conform_list(c, &key, &found), GCACHE_TIER_HIT);
    assert_int_equal(found.count, 2);
    assert_int_equal(conform_find(&found, &heads[0])->size, 7);
    assert_int_equal(conform_find(&found, &heads[1])->size, 3);
    conform_clear(&found);
}

static void
a_full_tier_takes_no_more(void **state)
{
    conformance const *c = *state;
    conform_found found = { 0 };
    gcache_key key = conform_key();
    gcache_object first = conform_object(GCACHE_OBJECT_PAYLOAD, &key, "0123456789", 10);
    gcache_object second = conform_object(GCACHE_OBJECT_PAYLOAD, &key, "0123456789", 10);

    fail_by(c, (gcache_tier_faults){ .capacity = 15 });
    assert_int_equal(conform_publish(c, &first, 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_publish(c, &first, 1), GCACHE_TIER_HIT);
    gcache_tier_call call = conform_call();
    assert_int_equal(c->functions->publish(c->tier, &call, &second, 1), GCACHE_TIER_TROUBLE);
    assert_int_equal(call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    assert_int_equal(conform_fetch(c, &second, 1, &found), GCACHE_TIER_MISS);
    assert_int_equal(conform_remove(c, &first, 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_publish(c, &second, 1), GCACHE_TIER_HIT);
    conform_clear(&found);
}

static void
what_runs_out_is_gone(void **state)
{
    conformance const *c = *state;
    gcache_key key = conform_key();
    conform_found found = { 0 };
    gcache_object heads[] = { conform_object(GCACHE_OBJECT_HEAD, &key, "short", 5),
                              conform_object(GCACHE_OBJECT_HEAD, &key, "touched", 7),
                              conform_object(GCACHE_OBJECT_HEAD, &key, "kept", 4) };
    gcache_tier_call call = conform_call();

    call.ttl_ns = 300000000;
    assert_int_equal(c->functions->publish(c->tier, &call, heads, 2), GCACHE_TIER_HIT);
    call.ttl_ns = UINT64_C(3600000000000);
    assert_int_equal(c->functions->touch(c->tier, &call, &heads[1], 1), GCACHE_TIER_HIT);
    assert_int_equal(conform_publish(c, &heads[2], 1), GCACHE_TIER_HIT);
    nanosleep(&(struct timespec){ .tv_nsec = 400000000 }, NULL);
    assert_int_equal(conform_list(c, &key, &found), GCACHE_TIER_HIT);
    assert_int_equal(found.count, 2);
    assert_null(conform_find(&found, &heads[0]));
    assert_int_equal(conform_fetch(c, &heads[0], 1, &found), GCACHE_TIER_MISS);
    conform_clear(&found);
}

/* A callback may ask the tier for more. */
static int
fetch_inside(void *state, gcache_object const *object)
{
    conform_found found = { 0 };

    assert_int_equal(conform_fetch(state, object, 1, &found), GCACHE_TIER_HIT);
    conform_clear(&found);
    return 0;
}

static void
callbacks_may_call_the_tier(void **state)
{
    conformance *c = *state;
    gcache_tier_call call = conform_call();
    gcache_object pair[2];

    publish_pair(c, pair);
    assert_int_equal(c->functions->list(c->tier, &call, &pair[0].key, fetch_inside, c), GCACHE_TIER_HIT);
}

/* A child has what was there, whatever other threads were doing. */
static void *
publish_heads(void *state)
{
    conformance const *c = state;
    gcache_key key = conform_key();

    for (int i = 0; i < 3000; i++) {
        gcache_object head = conform_object(GCACHE_OBJECT_HEAD, &key, "h", 1);
        conform_publish(c, &head, 1);
        conform_remove(c, &head, 1);
    }
    return NULL;
}

static void
a_fork_amid_threads_has_a_whole_copy(void **state)
{
    conformance const *c = *state;
    conform_found found = { 0 };
    pthread_t threads[2];
    gcache_object pair[2];

#ifdef __SANITIZE_THREAD__
    skip(); /* it takes the parent's threads for leaks of the child */
#endif
    publish_pair(c, pair);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, publish_heads, (void *)(uintptr_t)c), 0);
    for (int i = 0; i < 20; i++) {
        pid_t child = fork();
        int status = -1;
        assert_true(child >= 0);
        if (child == 0) {
            alarm(30);
            _exit(conform_fetch(c, pair, 2, &found) != GCACHE_TIER_HIT || conform_publish(c, pair, 2) != GCACHE_TIER_HIT);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

#define TIER_TEST(name) cmocka_unit_test_setup_teardown(name, open_tier, close_tier)

int
main(void)
{
    struct CMUnitTest const tests[] = {
#define X(name) CONFORMANCE_TEST(name, open_tier, close_tier),
        CONFORMANCE_MAP(X)
#undef X
        TIER_TEST(where_to_is_needed),
        TIER_TEST(refused_calls_are_trouble_at_once),
        TIER_TEST(hung_calls_take_until_their_deadline),
        TIER_TEST(delays_are_waited_for),
        TIER_TEST(payloads_are_lost_and_heads_are_not),
        TIER_TEST(a_byte_of_what_is_handed_out_is_flipped),
        TIER_TEST(objects_are_handed_out_with_bytes_of_others),
        TIER_TEST(a_full_tier_takes_no_more),
        TIER_TEST(what_runs_out_is_gone),
        TIER_TEST(callbacks_may_call_the_tier),
        TIER_TEST(a_fork_amid_threads_has_a_whole_copy),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
