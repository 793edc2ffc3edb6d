/*
 * Single flight when guards aren't known before the compile: many shapes of one graph, of which some share a variant, and only
 * the compile tells which. A variant here serves WIDTH sizes: those with the same s0 // WIDTH.
 */
#include "fixture.h"

#include <pthread.h>
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
   before the first one has ended. Without turns all 32 do. */
static void
unnamed_flights_are_few(void **state)
{
    shared *s = run_crowd(*state, false);

    assert_in_range(sum_of(s), VARIANTS, 3 * VARIANTS);
    print_message("%d\n", sum_of(s));
    munmap(s, sizeof *s);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(a_named_flight_compiles_once),
        CASE(unnamed_flights_are_few),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
