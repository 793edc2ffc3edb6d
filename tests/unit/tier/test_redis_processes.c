/* The tier on a Redis server that is restarted, from forked children, and by many threads at once. */
#include "redis_case.h"

#include "base/system/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { FORKS = 0 };
#else
enum { FORKS = 10 };
#endif

static void
test_a_restarted_server_is_found_again(void **state)
{
    (void)state;
    NEEDS_SERVER;
    found f;

    publish_head(1, ID1, "head");
    redis_kill(&server);
    assert_int_equal(list(1, &f), GCACHE_TIER_TROUBLE);
    assert_int_equal(t.call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    redis_start(&server);
    assert_int_equal(list(1, &f), GCACHE_TIER_MISS);
    publish_head(1, ID1, "head");
    redis_kill(&server);
    redis_start(&server);
    assert_int_equal(list(1, &f), GCACHE_TIER_MISS);
    assert_int_equal(t.call.reason, GCACHE_REASON_NONE);
}

/* ---- processes and threads ---- */

static int
count_clients(void)
{
    char reply[4096];

    redis_say(&server, "INFO clients", reply, sizeof reply);
    char const *line = strstr(reply, "connected_clients:");
    return line != NULL ? (int)strtol(line + strlen("connected_clients:"), NULL, 10) : -1;
}

static void
test_a_child_goes_on(void **state)
{
    (void)state;
    NEEDS_SERVER;
    found f;
    int status;

    publish_head(1, ID1, "head");
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            bool good = list(1, &f) == GCACHE_TIER_HIT && f.count == 1;
            for (int j = 0; good && j < 50; j++)
                good = list(1, &f) == GCACHE_TIER_HIT;
            pid_t grandchild = fork();
            if (grandchild == 0)
                _exit(list(1, &f) == GCACHE_TIER_HIT ? 0 : 1);
            good &= waitpid(grandchild, &status, 0) == grandchild && status == 0;
            close_tier(&t);
            _exit(good ? 0 : 1);
        }
        for (int j = 0; j < 50; j++)
            assert_int_equal(list(1, &f), GCACHE_TIER_HIT);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        assert_int_equal(list(1, &f), GCACHE_TIER_HIT);
    }
    /* Ours, and that of INFO: children have left none. */
    assert_int_equal(count_clients(), 2);
}

typedef struct worker {
    pthread_t thread;
    unsigned number;
    int failures;
} worker;

static void *
work(void *state)
{
    worker *w = state;
    gcache_tier_call call = GCACHE_TIER_CALL_INIT;
    char bytes[32];
    found f;

    for (unsigned i = 0; i < 100; i++) {
        snprintf(bytes, sizeof bytes, "%u of %u", i, w->number);
        gcache_object head = object_of(GCACHE_OBJECT_HEAD, w->number, ID1, bytes);
        f = (found){ 0 };
        w->failures += t.f->publish(t.at, &call, &head, 1) != GCACHE_TIER_HIT;
        w->failures += t.f->list(t.at, &call, &head.key, note, &f) != GCACHE_TIER_HIT || strcmp(f.bytes, bytes) != 0;
    }
    return NULL;
}

static void
test_threads_at_once(void **state)
{
    (void)state;
    NEEDS_SERVER;
    enum { WORKERS = 24 };
    worker workers[WORKERS] = { 0 };
    int failures = 0, status;
    found f;

    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].number = i;
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    /* Forks in the midst of it. GCC 12's AddressSanitizer leaves its own locks taken in the child. */
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(list(90000, &f) == GCACHE_TIER_MISS ? 0 : 1);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        failures += workers[i].failures;
    }
    assert_int_equal(failures, 0);
    /* A few are kept. */
    assert_in_range(count_clients(), 2, 17);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        CASE(test_a_restarted_server_is_found_again),
        CASE(test_a_child_goes_on),
        CASE(test_threads_at_once),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
