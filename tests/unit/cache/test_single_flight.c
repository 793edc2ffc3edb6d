/*
 * Single flight among processes: 8 of them want the same 200 graphs, each is compiled once in total; and whoever waits for
 * a compiler that is killed takes over at once.
 */
#include "fixture.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PROCESSES = 8, GRAPHS = 200, TAKEOVER_MOST_MS = 100 };

/* What all processes see. */
typedef struct shared {
    _Atomic int compiles[GRAPHS];
    _Atomic int64_t took_over_ns;
    _Atomic int holding;
} shared;

static int64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static shared *
make_shared(void)
{
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_ptr_not_equal(s, MAP_FAILED);
    return s;
}

static gcache_graph *
make_numbered(int number)
{
    gcache_graph *g = make_matmul("s0", "s1");

    gcache_graph_component(g, "number", gcache_value_int(g, number));
    return g;
}

typedef struct work {
    shared *s;
    int number;
} work;

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    work *w = state;

    (void)graph, (void)hints, (void)error;
    w->s->compiles[w->number]++;
    usleep(500);
    out_compiled->entry->payload = &w->number;
    out_compiled->entry->payload_size = sizeof w->number;
    return GCACHE_OK;
}

/* Wants all graphs, beginning at another one in each process. false: one of them was wrong. */
static bool
want_all(char const *directory, shared *s, int process)
{
    gcache *cache;
    bool right = gcache_open(directory, NULL, &cache, NULL) == GCACHE_OK;

    for (int i = 0; right && i < GRAPHS; i++) {
        work w = { s, (i + process / 2 * 17) % GRAPHS };
        gcache_graph *g = make_numbered(w.number);
        gcache_result r = GCACHE_RESULT_INIT;
        gcache_status status = gcache_get_or_compile(cache, g, NULL, compile, &w, &r, NULL);
        right = status >= 0 && r.payload_size == sizeof(int) && memcmp(r.payload, &w.number, sizeof(int)) == 0;
        gcache_result_clear(&r);
        gcache_graph_free(g);
    }
    gcache_close(right ? cache : NULL);
    return right;
}

static void
eight_processes_compile_each_graph_once(void **state)
{
    fixture *f = *state;
    shared *s = make_shared();
    pid_t children[PROCESSES];

    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(want_all(f->directory, s, i) ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i < GRAPHS; i++)
        assert_int_equal(s->compiles[i], 1);
    munmap(s, sizeof *s);
}

/* The first one never ends, the next notes when it began. */
static gcache_status
compile_or_hang(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled,
                gcache_error *error)
{
    work *w = state;

    (void)graph, (void)hints, (void)error;
    if (w->number == 0) {
        w->s->holding = 1;
        pause();
    }
    w->s->took_over_ns = now_ns();
    out_compiled->entry->payload = "code";
    out_compiled->entry->payload_size = 4;
    return GCACHE_OK;
}

static pid_t
start_compiler(char const *directory, shared *s, int number)
{
    pid_t child = fork();

    if (child != 0)
        return child;
    work w = { s, number };
    gcache *cache;
    gcache_result r = GCACHE_RESULT_INIT;
    if (gcache_open(directory, NULL, &cache, NULL) != GCACHE_OK)
        _exit(2);
    gcache_status status = gcache_get_or_compile(cache, make_numbered(0), NULL, compile_or_hang, &w, &r, NULL);
    _exit(status == GCACHE_MISS ? 0 : 1);
}

static void
the_next_takes_over_from_a_killed_holder(void **state)
{
    fixture *f = *state;
    shared *s = make_shared();
    int status;

    pid_t holder = start_compiler(f->directory, s, 0);
    assert_true(holder > 0);
    while (s->holding == 0)
        usleep(1000);
    pid_t next = start_compiler(f->directory, s, 1);
    assert_true(next > 0);
    /* Long enough for it to be waiting. */
    usleep(300000);
    assert_int_equal(s->took_over_ns, 0);
    int64_t killed = now_ns();
    kill(holder, SIGKILL);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    assert_int_equal(waitpid(next, &status, 0), next);
    assert_int_equal(status, 0);
    assert_in_range(s->took_over_ns - killed, 1, (int64_t)TAKEOVER_MOST_MS * 1000000);
    munmap(s, sizeof *s);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(eight_processes_compile_each_graph_once),
        CASE(the_next_takes_over_from_a_killed_holder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
