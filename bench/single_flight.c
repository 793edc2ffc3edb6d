/*
 * Single flight where only the compile tells which shapes it serves: 4 processes of 8 threads all want 16 variants of one graph,
 * each by a size of its own that it gives as a hint. The fewest compiles are 16; without any waiting it would be up to 512. How
 * often was compiled, and how long did a call wait at most before it was served or began to compile, in compile times? With
 * flights that callers name, and without; in an order of each thread's own, in the same order for all, and each thread one
 * variant further than the one before.
 */
#include "harness.h"

#include <guardcache/guardcache.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4, THREADS = 8, VARIANTS = 16, WIDTH = 64, RUNS = 30, COMPILE_MS = 80 };

typedef enum order { OWN, SAME, SHIFTED } order;

/* What all processes see. */
typedef struct shared {
    _Atomic int ready, compiles;
    _Atomic uint64_t longest_wait_ns;
} shared;

typedef struct caller {
    pthread_t thread;
    gcache *cache;
    shared *s;
    int number; /* among all processes */
    order order;
    bool named;
    unsigned seed;
} caller;

/* One call: when it began, and what its compile leaves. */
typedef struct job {
    shared *s;
    uint64_t begin_ns;
    int variant;
    bool compiled;
    char guard[64];
    char const *guards[1];
} job;

static void
note_wait(job const *j)
{
    uint64_t wait = bench_now_ns() - j->begin_ns, longest = j->s->longest_wait_ns;

    while (wait > longest && !atomic_compare_exchange_weak(&j->s->longest_wait_ns, &longest, wait))
        ;
}

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    job *j = state;

    (void)graph, (void)hints, (void)error;
    note_wait(j);
    j->compiled = true;
    j->s->compiles++;
    usleep(COMPILE_MS * 1000);
    snprintf(j->guard, sizeof j->guard, "s0 // %d == %d", WIDTH, j->variant);
    j->guards[0] = j->guard;
    out_compiled->entry->guards = j->guards;
    out_compiled->entry->guard_count = 1;
    out_compiled->entry->payload = &j->variant;
    out_compiled->entry->payload_size = sizeof j->variant;
    return GCACHE_OK;
}

static gcache_graph *
describe(void)
{
    char const *text = "define void @f(i32 %s0) {\n  ret void\n}\n";
    gcache_graph *graph = gcache_graph_new("llvm-ir");

    gcache_graph_component(graph, "module", gcache_value_text(graph, text, strlen(text)));
    return graph;
}

static void
get(caller const *c, int variant)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", variant * WIDTH + 1 + c->number });
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_graph *graph = describe();
    gcache_error error;
    char flight[32];

    snprintf(flight, sizeof flight, "variant %d", variant);
    options.flight = c->named ? flight : NULL;
    job j = { .s = c->s, .begin_ns = bench_now_ns(), .variant = variant };
    gcache_status status = gcache_get_or_compile_with(c->cache, graph, &hints, &options, compile, &j, &result, &error);
    if (status < 0)
        bench_die("gcache_get_or_compile_with", error.message);
    if (result.payload_size != sizeof variant || memcmp(result.payload, &variant, sizeof variant) != 0)
        bench_die("gcache_get_or_compile_with", "another variant");
    if (!j.compiled)
        note_wait(&j);
    gcache_result_clear(&result);
    gcache_graph_free(graph);
}

static void *
want_all(void *state)
{
    caller *c = state;
    int variants[VARIANTS];

    for (int i = 0; i < VARIANTS; i++)
        variants[i] = c->order == SHIFTED ? (i + c->number) % VARIANTS : i;
    for (int i = VARIANTS - 1; c->order == OWN && i > 0; i--) {
        int j = rand_r(&c->seed) % (i + 1), moved = variants[i];
        variants[i] = variants[j];
        variants[j] = moved;
    }
    for (c->s->ready++; c->s->ready < PROCESSES * THREADS;)
        usleep(100);
    for (int i = 0; i < VARIANTS; i++)
        get(c, variants[i]);
    return NULL;
}

static void
be_process(char const *directory, caller model, int process)
{
    caller callers[THREADS];
    gcache_error error;

    if (gcache_open(directory, NULL, &model.cache, &error) != GCACHE_OK)
        bench_die("gcache_open", error.message);
    for (int i = 0; i < THREADS; i++) {
        callers[i] = model;
        callers[i].number = process * THREADS + i;
        callers[i].seed = model.seed * PROCESSES * THREADS + (unsigned)callers[i].number;
        if (pthread_create(&callers[i].thread, NULL, want_all, &callers[i]) != 0)
            bench_die("pthread_create", "failed");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(callers[i].thread, NULL);
    gcache_close(model.cache);
    _exit(0);
}

/* Something is stored under the key, for a shape that nobody asks for. */
static void
store_another(char const *directory)
{
    char const *guard = "s0 == 0";
    gcache_entry entry = GCACHE_ENTRY_INIT;
    gcache_graph *graph = describe();
    gcache_error error;
    gcache *cache;

    entry.guards = &guard;
    entry.guard_count = 1;
    entry.payload = "zero";
    entry.payload_size = 4;
    if (gcache_open(directory, NULL, &cache, &error) != GCACHE_OK ||
        gcache_insert(cache, graph, NULL, &entry, NULL, &error) != GCACHE_OK)
        bench_die("gcache_insert", error.message);
    gcache_graph_free(graph);
    gcache_close(cache);
}

static void
run_once(order how, bool named, unsigned seed, double *out_compiles, double *out_wait)
{
    shared *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    caller model = { .s = s, .order = how, .named = named, .seed = seed };
    char *directory = bench_make_directory();
    int status;

    if (s == MAP_FAILED)
        bench_die("mmap", "failed");
    store_another(directory);
    for (int i = 0; i < PROCESSES; i++) {
        if (fork() == 0)
            be_process(directory, model, i);
    }
    for (int i = 0; i < PROCESSES; i++) {
        if (wait(&status) < 0 || status != 0)
            bench_die("a process", "failed");
    }
    *out_compiles = s->compiles;
    *out_wait = (double)s->longest_wait_ns / 1e6 / COMPILE_MS;
    munmap(s, sizeof *s);
    bench_remove_directory(directory);
}

static void
run(char const *name, order how, bool named, unsigned runs)
{
    double compiles[RUNS], waits[RUNS], sum = 0;
    unsigned few = 0;

    for (unsigned i = 0; i < runs; i++) {
        run_once(how, named, i, &compiles[i], &waits[i]);
        sum += compiles[i];
        few += compiles[i] <= 2 * VARIANTS;
    }
    bench_figure count = bench_figure_of(compiles, runs), wait = bench_figure_of(waits, runs);
    printf("%-24s %5.1f compiles [%.0f .. %.0f], %u of %u runs with at most %d; longest wait %.2f compiles [%.2f .. %.2f]\n", name,
           sum / runs, count.lowest_ns, count.highest_ns, few, runs, 2 * VARIANTS, wait.median_ns, wait.lowest_ns,
           wait.highest_ns);
}

int
main(void)
{
    printf("%d processes of %d threads, %d variants, a compile takes %d ms; %d runs, of the same order %d\n", PROCESSES, THREADS,
           VARIANTS, COMPILE_MS, RUNS, RUNS / 5);
    run("named, any order", OWN, true, RUNS);
    run("named, the same order", SAME, true, RUNS / 5);
    run("unnamed, any order", OWN, false, RUNS);
    run("unnamed, shifted orders", SHIFTED, false, RUNS);
    run("unnamed, the same order", SAME, false, RUNS / 5);
    return 0;
}
