/*
 * Single flight when guards aren't known before the compile: many shapes of one graph, of which some share a variant, and only
 * the compile tells which. A variant here serves WIDTH sizes: those with the same s0 // WIDTH.
 */
#include "fixture.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4, THREADS = 8, VARIANTS = 16, WIDTH = 64, COMPILE_US = 50000 };

/* What all processes see. */
typedef struct shared {
    _Atomic int compiles[VARIANTS];
    _Atomic int wrong;
} shared;

static shared *
make_shared(void)
{
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(s, MAP_FAILED);
    return s;
}

static int
sum_of(shared const *s)
{
    int sum = 0;

    for (int i = 0; i < VARIANTS; i++)
        sum += s->compiles[i];
    return sum;
}

/* ---- a compiler ---- */

/* One call: its size, and what compiling for it leaves. */
typedef struct job {
    shared *s;
    int size;
    int variant;
    char guard[64];
    char const *guards[1];
} job;

static job
job_for(shared *s, int size)
{
    return (job){ .s = s, .size = size, .variant = size / WIDTH };
}

/* The entry that serves the job and all others of its variant. */
static void
fill_entry(job *j, gcache_entry *entry)
{
    snprintf(j->guard, sizeof j->guard, "s0 // %d == %d", WIDTH, j->variant);
    j->guards[0] = j->guard;
    entry->guards = j->guards;
    entry->guard_count = 1;
    entry->payload = &j->variant;
    entry->payload_size = sizeof j->variant;
}

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    job *j = state;

    (void)graph, (void)hints, (void)error;
    j->s->compiles[j->variant]++;
    usleep(COMPILE_US);
    fill_entry(j, out_compiled->entry);
    return GCACHE_OK;
}

/* GCACHE_HIT or GCACHE_MISS with the right payload; else an error. */
static gcache_status
get(gcache *cache, job *j, gcache_compile_options const *options)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", j->size }, { "s1", 16 });
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_result r = GCACHE_RESULT_INIT;

    gcache_status status = gcache_get_or_compile_with(cache, g, &hints, options, compile, j, &r, NULL);
    bool right = r.payload_size == sizeof(int) && memcmp(r.payload, &j->variant, sizeof(int)) == 0;
    gcache_result_clear(&r);
    gcache_graph_free(g);
    return status >= 0 && !right ? GCACHE_ERROR_CORRUPT : status;
}

/* ---- a crowd: PROCESSES of THREADS each, every thread wants all variants, each by a size of its own ---- */

typedef struct member {
    pthread_t thread;
    gcache *cache;
    shared *s;
    int number; /* among all of the crowd */
    bool named;
} member;

static void *
want_all(void *state)
{
    member *m = state;

    for (int i = 0; i < VARIANTS; i++) {
        job j = job_for(m->s, i * WIDTH + 1 + m->number);
        char flight[16];
        gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
        snprintf(flight, sizeof flight, "bucket %d", i);
        options.flight = m->named ? flight : NULL;
        if (get(m->cache, &j, &options) < 0)
            m->s->wrong++;
    }
    return NULL;
}

static void
be_process(char const *directory, shared *s, int process, bool named)
{
    member members[THREADS];
    gcache *cache;

    if (gcache_open(directory, NULL, &cache, NULL) != GCACHE_OK)
        _exit(1);
    for (int i = 0; i < THREADS; i++) {
        members[i] = (member){ .cache = cache, .s = s, .number = process * THREADS + i, .named = named };
        if (pthread_create(&members[i].thread, NULL, want_all, &members[i]) != 0)
            _exit(1);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(members[i].thread, NULL);
    gcache_close(cache);
    _exit(0);
}

static shared *
run_crowd(fixture *f, bool named)
{
    shared *s = make_shared();
    pid_t children[PROCESSES];

    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            be_process(f->directory, s, i, named);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(s->wrong, 0);
    return s;
}

static void
a_named_flight_compiles_once(void **state)
{
    shared *s = run_crowd(*state, true);

    for (int i = 0; i < VARIANTS; i++)
        assert_int_equal(s->compiles[i], 1);
    munmap(s, sizeof *s);
}

/* All want the same variant at the same time, by sizes of their own, one variant after the other: two flights each may begin
   before the first one has ended, and some more where a busy machine is late with what has ended. Without turns all 32 do. */
static void
unnamed_flights_are_few(void **state)
{
    shared *s = run_crowd(*state, false);

    assert_in_range(sum_of(s), VARIANTS, 6 * VARIANTS);
    munmap(s, sizeof *s);
}

/* ---- pilots: threads that begin a compile when they may, and end it when they are told to ---- */

enum { ASKS, FLIES, ENDED };

typedef struct pilot {
    pthread_t thread;
    gcache *cache;
    job job;
    gcache_compile_options options;
    _Atomic int state, may_end;
    gcache_status status; /* of the beginning */
    gcache_reason reason;
    int asked; /* whether it keeps waiting */
} pilot;

static void
begin_and_end(pilot *p)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", p->job.size }, { "s1", 16 });
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_entry entry = GCACHE_ENTRY_INIT;
    gcache_compiled compiled = GCACHE_COMPILED_INIT;
    gcache_compile *begun;

    p->status = gcache_compile_begin(p->cache, g, &hints, &p->options, p, &begun, &r, NULL);
    p->reason = r.reason;
    if (p->status == GCACHE_MISS) {
        for (p->state = FLIES; p->may_end == 0;)
            usleep(500);
        fill_entry(&p->job, &entry);
        compiled.entry = &entry;
        gcache_compile_end(begun, &compiled, NULL);
    }
    gcache_result_clear(&r);
    gcache_graph_free(g);
    p->state = ENDED;
}

static void *
fly(void *state)
{
    begin_and_end(state);
    return NULL;
}

static void
start(pilot *p, gcache *cache, int size)
{
    p->cache = cache;
    p->job = job_for(NULL, size);
    if (p->options.size == 0)
        p->options = (gcache_compile_options)GCACHE_COMPILE_OPTIONS_INIT;
    assert_int_equal(pthread_create(&p->thread, NULL, fly, p), 0);
}

static size_t
count_in(pilot const *pilots, size_t count, int state)
{
    size_t found = 0;

    for (size_t i = 0; i < count; i++)
        found += pilots[i].state == state;
    return found;
}

/* Waits, for ten seconds at most, until so many are in that state. */
static void
await(pilot const *pilots, size_t count, int state, size_t wanted)
{
    for (int i = 0; i < 20000 && count_in(pilots, count, state) != wanted; i++)
        usleep(500);
    assert_int_equal(count_in(pilots, count, state), wanted);
}

static void
end_all(pilot *pilots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pilots[i].may_end = 1;
    for (size_t i = 0; i < count; i++)
        pthread_join(pilots[i].thread, NULL);
}

/* Long enough for whoever doesn't wait to begin. */
static void
let_them_wait(void)
{
    usleep(100000);
}

/* Something is stored for a shape that nobody asks for, and two are in flight, for variants 0 and 1. */
static void
start_two(fixture *f, pilot two[2])
{
    gcache_graph *g = make_matmul("s0", "s1");

    assert_int_equal(insert_text(f, g, NULL, "s0 == 0", "zero"), GCACHE_OK);
    gcache_graph_free(g);
    for (int i = 0; i < 2; i++)
        start(&two[i], f->cache, i * WIDTH + 1);
    await(two, 2, FLIES, 2);
}

static void
a_waiter_is_served_by_anothers_finish(void **state)
{
    fixture *f = *state;
    pilot two[2] = { 0 }, waiter = { 0 };

    start_two(f, two);
    start(&waiter, f->cache, 2);
    let_them_wait();
    assert_int_equal(waiter.state, ASKS);
    end_all(&two[0], 1);
    await(&waiter, 1, ENDED, 1);
    assert_int_equal(waiter.status, GCACHE_HIT);
    end_all(&waiter, 1);
    end_all(&two[1], 1);
}

/* Two in the first round, four in the second, then everybody. */
static void
nobody_waits_for_more_than_two_rounds(void **state)
{
    enum { WAITERS = 7 };
    fixture *f = *state;
    pilot two[2] = { 0 }, waiters[WAITERS] = { 0 };

    start_two(f, two);
    for (int i = 0; i < WAITERS; i++)
        start(&waiters[i], f->cache, (2 + i) * WIDTH + 1);
    let_them_wait();
    assert_int_equal(count_in(waiters, WAITERS, ASKS), WAITERS);
    end_all(two, 2);
    await(waiters, WAITERS, FLIES, 4);
    let_them_wait();
    assert_int_equal(count_in(waiters, WAITERS, FLIES), 4);
    for (int i = 0; i < WAITERS; i++) {
        if (waiters[i].state == FLIES)
            waiters[i].may_end = 1;
    }
    await(waiters, WAITERS, FLIES, 3);
    end_all(waiters, WAITERS);
    for (int i = 0; i < WAITERS; i++)
        assert_int_equal(waiters[i].status, GCACHE_MISS);
}

static void
a_waiter_gives_up(void **state)
{
    fixture *f = *state;
    pilot two[2] = { 0 }, waiter = { .options = GCACHE_COMPILE_OPTIONS_INIT };

    waiter.options.lease_timeout_ns = 50000000;
    start_two(f, two);
    start(&waiter, f->cache, 2 * WIDTH);
    await(&waiter, 1, FLIES, 1);
    assert_int_equal(waiter.reason, GCACHE_REASON_LEASE_TIMEOUT);
    end_all(&waiter, 1);
    end_all(two, 2);
}

static bool
lose_patience(void *state)
{
    pilot *waiter = state;

    return ++waiter->asked < 3;
}

static void
a_waiter_loses_patience(void **state)
{
    fixture *f = *state;
    pilot two[2] = { 0 }, waiter = { .options = GCACHE_COMPILE_OPTIONS_INIT };

    waiter.options.keep_waiting = lose_patience;
    start_two(f, two);
    start(&waiter, f->cache, 2 * WIDTH);
    await(&waiter, 1, FLIES, 1);
    assert_int_equal(waiter.reason, GCACHE_REASON_LEASE_TIMEOUT);
    assert_int_equal(waiter.asked, 3);
    end_all(&waiter, 1);
    end_all(two, 2);
}

static void
a_named_flight_waits_for_no_other(void **state)
{
    fixture *f = *state;
    pilot two[2] = { 0 }, named[2] = { { .options = GCACHE_COMPILE_OPTIONS_INIT }, { .options = GCACHE_COMPILE_OPTIONS_INIT } };

    start_two(f, two);
    for (int i = 0; i < 2; i++) {
        named[i].options.flight = "third";
        start(&named[i], f->cache, 2 * WIDTH + i);
    }
    await(named, 2, FLIES, 1);
    let_them_wait();
    assert_int_equal(count_in(named, 2, ASKS), 1);
    end_all(named, 2);
    assert_int_equal(named[0].status + named[1].status, GCACHE_HIT + GCACHE_MISS);
    end_all(two, 2);
}

/* Somebody may be waiting for what this thread compiles: it must not wait in turn. */
static void
who_holds_a_lease_waits_for_no_turn(void **state)
{
    fixture *f = *state;
    pilot two[2] = { 0 }, nested = { .cache = f->cache, .may_end = 1, .options = GCACHE_COMPILE_OPTIONS_INIT };
    gcache_graph *other = gcache_graph_new("fx");
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_compile *begun;

    start_two(f, two);
    assert_int_equal(gcache_compile_begin(f->cache, other, NULL, NULL, NULL, &begun, &r, NULL), GCACHE_MISS);
    nested.job = job_for(NULL, 2 * WIDTH);
    begin_and_end(&nested);
    assert_int_equal(nested.status, GCACHE_MISS);
    assert_int_equal(nested.reason, GCACHE_REASON_GUARD_FALSE);
    assert_int_equal(gcache_compile_end(begun, NULL, NULL), GCACHE_MISS);
    gcache_result_clear(&r);
    gcache_graph_free(other);
    end_all(two, 2);
}

/* A process that begins a compile and never ends it. */
static pid_t
start_process(char const *directory, int size, shared *s)
{
    pid_t child = fork();

    if (child != 0)
        return child;
    gcache_hints hints = GCACHE_HINTS({ "s0", size }, { "s1", 16 });
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_compile *begun;
    gcache *cache;
    if (gcache_open(directory, NULL, &cache, NULL) != GCACHE_OK ||
        gcache_compile_begin(cache, make_matmul("s0", "s1"), &hints, NULL, NULL, &begun, &r, NULL) != GCACHE_MISS)
        _exit(1);
    s->compiles[size / WIDTH]++;
    for (;;)
        pause();
}

static void
flights_of_the_dead_are_not_waited_for(void **state)
{
    fixture *f = *state;
    shared *s = make_shared();
    pilot waiter = { 0 };
    gcache_graph *g = make_matmul("s0", "s1");
    pid_t children[2];

    assert_int_equal(insert_text(f, g, NULL, "s0 == 0", "zero"), GCACHE_OK);
    for (int i = 0; i < 2; i++)
        assert_true((children[i] = start_process(f->directory, i * WIDTH + 1, s)) > 0);
    for (int i = 0; i < 20000 && sum_of(s) < 2; i++)
        usleep(500);
    assert_int_equal(sum_of(s), 2);
    start(&waiter, f->cache, 2 * WIDTH);
    let_them_wait();
    assert_int_equal(waiter.state, ASKS);
    for (int i = 0; i < 2; i++) {
        kill(children[i], SIGKILL);
        assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
    }
    await(&waiter, 1, FLIES, 1);
    end_all(&waiter, 1);
    assert_int_equal(fixture_statistic(f->cache, GCACHE_STATISTIC_LEASE_TAKEOVERS), 2);
    gcache_graph_free(g);
    munmap(s, sizeof *s);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(a_named_flight_compiles_once),
        CASE(unnamed_flights_are_few),
        CASE(a_waiter_is_served_by_anothers_finish),
        CASE(nobody_waits_for_more_than_two_rounds),
        CASE(a_waiter_gives_up),
        CASE(a_waiter_loses_patience),
        CASE(a_named_flight_waits_for_no_other),
        CASE(who_holds_a_lease_waits_for_no_turn),
        CASE(flights_of_the_dead_are_not_waited_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
