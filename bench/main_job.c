/*
 * The main job in one run: what a lookup, an insert and a key cost, beside the raw system calls.
 *
 *   bench_main_job            all rows
 *   bench_main_job --answer DIR KEY    what the "cold process" row runs: open, one lookup, exit
 */
#include "harness.h"

#include <fcntl.h>
#include <guardcache/guardcache.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { PAYLOAD_SIZE = 4096, MANY_CANDIDATES = 10, GRAPH_NODES = 3000 };

static gcache_error error;

static void
require(bool condition, char const *what)
{
    if (!condition)
        bench_die(what, error.message);
}

/* A small attention-like graph; `serial` makes its key another one. */
static gcache_graph *
make_graph(int64_t serial)
{
    gcache_graph *g = gcache_graph_new("bench/1");
    gcache_node x = gcache_graph_input(g, "x", &(gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = "float32",
                                                                 .shape = { "s0", "s1" }, .rank = 2 });
    gcache_node w = gcache_graph_input(g, "w", &(gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = "float32",
                                                                 .shape = { "s1", "64" }, .rank = 2 });
    gcache_node mm = gcache_graph_call(g, "matmul", (gcache_node[]){ x, w }, 2);
    gcache_graph_kwarg_int(g, mm, "serial", serial);
    gcache_graph_output(g, mm);
    return g;
}

static void
insert(gcache *cache, gcache_graph *g, char const *guard, gcache_hints const *hints, void const *payload, size_t size)
{
    gcache_entry entry = { .size = sizeof entry, .guards = &guard, .guard_count = 1, .payload = payload, .payload_size = size,
                           .compile_ns = 1000000000 };

    require(gcache_insert(cache, g, hints, &entry, NULL, &error) == GCACHE_OK, "insert");
}

/* ---- lookups ---- */

typedef struct lookup_case {
    gcache *cache;
    gcache_graph *graph;
    gcache_hints hints;
    gcache_status expected;
} lookup_case;

static void
look_up(void *state)
{
    lookup_case *c = state;
    gcache_result result = GCACHE_RESULT_INIT;

    require(gcache_lookup(c->cache, c->graph, &c->hints, &result, &error) == c->expected, "lookup");
    gcache_result_clear(&result);
}

static void
bench_lookups(gcache *cache, char const *payload)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 });
    lookup_case one = { cache, make_graph(1), hints, GCACHE_HIT };
    insert(cache, one.graph, "s0 % 8 == 0 and s0 <= 1024", &hints, payload, PAYLOAD_SIZE);
    bench_print("repeated lookup, 1 candidate, same hints, hit", bench_run(look_up, &one, 51, 20000), "warm");

    lookup_case many = { cache, make_graph(2), hints, GCACHE_HIT };
    for (int i = 0; i < MANY_CANDIDATES; i++) {
        char guard[64];
        snprintf(guard, sizeof guard, "s0 == %d and s1 <= 4096", 8 * (i + 1));
        insert(cache, many.graph, guard, NULL, payload, PAYLOAD_SIZE);
    }
    bench_print("repeated lookup, 10 candidates, hit", bench_run(look_up, &many, 51, 20000), "warm");
    lookup_case none = many;
    none.hints = (gcache_hints)GCACHE_HINTS({ "s0", 49 }, { "s1", 16 });
    none.expected = GCACHE_MISS;
    bench_print("repeated lookup, 10 candidates, none holds", bench_run(look_up, &none, 51, 20000), "warm");
    gcache_graph_free(one.graph);
    gcache_graph_free(many.graph);
}

/* ---- cold process ---- */

typedef struct process_case {
    char *program, *directory;
    bool answer;
} process_case;

static void
run_process(void *state)
{
    process_case *c = state;
    char *arguments[] = { c->program, (char *)(c->answer ? "--answer" : "--nothing"), c->directory, NULL };
    pid_t child;
    int status = 0;

    require(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0, "spawn");
    require(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "cold process");
}

/* What the cold process does; it prints its own time from open to answer when asked to. */
static int
answer(char const *directory, bool print)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 });
    gcache_graph *g = make_graph(1);
    gcache_key key;
    gcache *cache;
    gcache_result result = GCACHE_RESULT_INIT;

    require(gcache_graph_key(g, &key, &error) == GCACHE_OK, "key");
    uint64_t start = bench_now_ns();
    require(gcache_open(directory, NULL, &cache, &error) == GCACHE_OK, "open");
    uint64_t opened = bench_now_ns();
    gcache_status status = gcache_lookup(cache, g, &hints, &result, &error);
    uint64_t answered = bench_now_ns();
    require(status == GCACHE_HIT, "cold lookup");
    if (print)
        printf("%llu %llu\n", (unsigned long long)(opened - start), (unsigned long long)(answered - opened));
    gcache_result_clear(&result);
    gcache_close(cache);
    gcache_graph_free(g);
    return 0;
}

static void
bench_cold(char *program, char *directory)
{
    process_case answering = { program, directory, true }, idle = { program, directory, false };

    bench_print("cold process: start, open, first answer, close, exit", bench_run(run_process, &answering, 31, 10), "");
    bench_print("  the same process doing nothing", bench_run(run_process, &idle, 31, 10), "the difference is the cache's");
    fflush(stdout);
    printf("  inside one such process (open ns, first lookup ns): ");
    fflush(stdout);
    char *arguments[] = { program, (char *)"--answer-print", directory, NULL };
    pid_t child;
    int status = 0;
    require(posix_spawn(&child, "/proc/self/exe", NULL, NULL, arguments, environ) == 0, "spawn");
    require(waitpid(child, &status, 0) == child && status == 0, "cold process");
}

/* ---- inserts ---- */

typedef struct insert_case {
    gcache *cache;
    char *directory;
    char *payload;
    size_t size;
    int64_t serial;
} insert_case;

static void
insert_one(void *state)
{
    insert_case *c = state;
    gcache_graph *g = make_graph(c->serial++);

    memcpy(c->payload, &c->serial, sizeof c->serial);
    insert(c->cache, g, "s0 % 8 == 0", NULL, c->payload, c->size);
    gcache_graph_free(g);
}

/* The least a durable file costs: create a temporary, write, fdatasync, rename. */
static void
write_raw(void *state)
{
    insert_case *c = state;
    char temporary[4096], final[4096];

    snprintf(temporary, sizeof temporary, "%s/raw.tmp", c->directory);
    snprintf(final, sizeof final, "%s/raw.%lld", c->directory, (long long)c->serial++);
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    require(fd >= 0 && write(fd, c->payload, c->size) == (ssize_t)c->size && fdatasync(fd) == 0 && close(fd) == 0 &&
                rename(temporary, final) == 0,
            "raw write");
}

static void
bench_inserts(gcache *cache, char *directory, size_t size, char const *label)
{
    char *payload = malloc(size), name[96];

    require(payload != NULL, "memory");
    for (size_t i = 0; i < size; i++)
        payload[i] = (char)(rand() & 0xFF); /* incompressible: the same bytes go to the disk in both rows */
    insert_case ours = { cache, directory, payload, size, 1000000 + (int64_t)size * 1000000 };
    insert_case raw = ours;
    snprintf(name, sizeof name, "durable insert, %s under a new key", label);
    bench_figure mine = bench_run(insert_one, &ours, 31, 20);
    bench_print(name, mine, "");
    bench_figure peer = bench_run(write_raw, &raw, 31, 20);
    snprintf(name, sizeof name, "  raw create+write+fdatasync+rename, %s", label);
    char note[64];
    snprintf(note, sizeof note, "insert / raw = %.2f", mine.median_ns / peer.median_ns);
    bench_print(name, peer, note);
    free(payload);
}

/* ---- description to key ---- */

static size_t canonical_size;

static void
build_and_key(void *state)
{
    int nodes = *(int *)state;
    gcache_graph *g = gcache_graph_new("bench/1");
    gcache_node last = gcache_graph_input(g, "x", &(gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = "float32",
                                                                    .shape = { "s0", "s1" }, .rank = 2 });
    gcache_key key;
    void const *bytes;

    for (int i = 0; i < nodes; i++) {
        last = gcache_graph_call(g, "aten.add.Tensor", (gcache_node[]){ last, last }, 2);
        gcache_graph_kwarg_int(g, last, "alpha", i);
    }
    gcache_graph_output(g, last);
    require(gcache_graph_key(g, &key, &error) == GCACHE_OK, "key");
    if (canonical_size == 0)
        require(gcache_graph_canonical(g, &bytes, &canonical_size, &error) == GCACHE_OK, "canonical form");
    gcache_graph_free(g);
}

static void
bench_key(void)
{
    int nodes = GRAPH_NODES;
    bench_figure figure = bench_run(build_and_key, &nodes, 31, 5);
    char note[96];

    snprintf(note, sizeof note, "%.0f MB/s of canonical bytes, %.1f M nodes/s", (double)canonical_size / figure.median_ns * 1e3,
             nodes / figure.median_ns * 1e3);
    bench_print("builder to key, 3,000 nodes", figure, note);
}

int
main(int argc, char **argv)
{
    static char payload[PAYLOAD_SIZE];

    if (argc == 3 && strncmp(argv[1], "--answer", 8) == 0)
        return answer(argv[2], strcmp(argv[1], "--answer-print") == 0);
    if (argc > 1)
        return 0;
    memset(payload, 'x', sizeof payload);
    char *directory = bench_make_directory();
    gcache *cache;
    require(gcache_open(directory, NULL, &cache, &error) == GCACHE_OK, "open");
    bench_lookups(cache, payload);
    bench_cold(argv[0], directory);
    bench_inserts(cache, directory, 4096, "4 KB");
    bench_inserts(cache, directory, 100 * 1024, "100 KB");
    bench_key();
    gcache_close(cache);
    bench_remove_directory(directory);
    return 0;
}
