/* The mutex that is handed over: one at a time is inside, who waits gets it, and who gives up is gone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/system/turns.h"

#include <stdatomic.h>
#include <unistd.h>

enum { THREADS = 8, ROUNDS = 2000 };

typedef struct crowd {
    gci_turns turns;
    int inside, rounds; /* not atomic: what is to be kept */
    _Atomic int failed;
} crowd;

static void *
take_turns(void *state)
{
    crowd *c = state;

    for (int i = 0; i < ROUNDS; i++) {
        /* Some give up at once, or soon. */
        uint64_t wait_ns = i % 3 == 0 ? 0 : i % 3 == 1 ? 1000 : UINT64_C(60000000000);
        if (!gci_turns_lock(&c->turns, wait_ns)) {
            c->failed += i % 3 == 2;
            continue;
        }
        c->failed += ++c->inside != 1;
        c->rounds++;
        c->inside--;
        gci_turns_unlock(&c->turns);
    }
    return NULL;
}

static void
one_at_a_time(void **state)
{
    crowd c = { .inside = 0 };
    pthread_t threads[THREADS];

    (void)state;
    gci_turns_init(&c.turns);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_turns, &c), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(c.failed, 0);
    assert_true(c.rounds >= THREADS * (ROUNDS / 3));
    gci_turns_clear(&c.turns);
}

static void *
come_once(void *state)
{
    crowd *c = state;

    c->failed += !gci_turns_lock(&c->turns, UINT64_C(60000000000));
    c->rounds++;
    gci_turns_unlock(&c->turns);
    return NULL;
}

static bool
somebody_waits(crowd *c)
{
    pthread_mutex_lock(&c->turns.mutex);
    bool waits = c->turns.first != NULL;
    pthread_mutex_unlock(&c->turns.mutex);
    return waits;
}

/* A mutex of pthread's would be ours again before who was woken runs. */
static void
who_waits_comes_before_who_comes_again(void **state)
{
    crowd c = { .inside = 0 };
    pthread_t thread;

    (void)state;
    gci_turns_init(&c.turns);
    for (int i = 1; i <= 20; i++) {
        assert_true(gci_turns_lock(&c.turns, 0));
        assert_int_equal(pthread_create(&thread, NULL, come_once, &c), 0);
        while (!somebody_waits(&c))
            usleep(100);
        usleep(2000);
        gci_turns_unlock(&c.turns);
        assert_true(gci_turns_lock(&c.turns, UINT64_C(60000000000)));
        assert_int_equal(c.rounds, i);
        gci_turns_unlock(&c.turns);
        pthread_join(thread, NULL);
    }
    assert_int_equal(c.failed, 0);
    gci_turns_clear(&c.turns);
}

static void
who_gives_up_is_gone(void **state)
{
    gci_turns turns;

    (void)state;
    gci_turns_init(&turns);
    assert_true(gci_turns_lock(&turns, 0));
    assert_false(gci_turns_lock(&turns, 0));
    assert_false(gci_turns_lock(&turns, 2000000));
    gci_turns_unlock(&turns);
    assert_true(gci_turns_lock(&turns, 0));
    gci_turns_unlock(&turns);
    gci_turns_clear(&turns);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(who_waits_comes_before_who_comes_again),
        cmocka_unit_test(who_gives_up_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
