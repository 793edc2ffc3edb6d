/*
 * The main job in one run: what lookups, inserts, guards and keys cost through the public API, beside raw system calls.
 *
 *   bench_main_job                 all rows, each a call that users make; below it what it can't be faster than
 *   bench_main_job --answer DIR    what the row of a process runs: open, a hit, exit
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

/* `count` candidates that pin s0 to multiples of 8. */
static gcache_graph *
make_key(gcache *cache, int64_t serial, int count, char const *payload, size_t size)
{
    gcache_graph *g = make_graph(serial);
    char guard[64];

    for (int i = 0; i < count; i++) {
        snprintf(guard, sizeof guard, "s0 == %d and s1 <= 4096", 8 * (i + 1));
        insert(cache, g, guard, NULL, payload, size);
    }
    return g;
}

static void
bench_choice(gcache *cache, int64_t serial, int count, char const *payload)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 * count }, { "s1", 16 }), misses = GCACHE_HINTS({ "s0", 49 }, { "s1", 16 });
    lookup_case c = { cache, make_key(cache, serial, count, payload, PAYLOAD_SIZE), hints, GCACHE_HIT };
    char name[96];

    snprintf(name, sizeof name, "gcache_lookup, %d candidate%s, hit", count, count == 1 ? "" : "s");
    bench_print(name, bench_run(look_up, &c, 51, 20000), "warm, with its payload of 4 kB");
    c.hints = misses;
    c.expected = GCACHE_MISS;
    snprintf(name, sizeof name, "gcache_lookup, %d candidate%s, none holds", count, count == 1 ? "" : "s");
    bench_print(name, bench_run(look_up, &c, 51, 500), "journaled");
    gcache_graph_free(c.graph);
}

typedef struct file_case {
    char path[4096];
    size_t size;
} file_case;

static void
read_whole(void *state)
{
    static char bytes[1 << 20];
    file_case *c = state;

    int fd = open(c->path, O_RDONLY | O_CLOEXEC);
    require(fd >= 0 && read(fd, bytes, c->size) == (ssize_t)c->size && close(fd) == 0, "raw read");
}

static void
bench_raw_read(char const *directory, size_t size, char const *name)
{
    file_case c = { .size = size };
    char *bytes = calloc(1, size);

    snprintf(c.path, sizeof c.path, "%s/raw.read", directory);
    int fd = open(c.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    require(bytes != NULL && fd >= 0 && write(fd, bytes, size) == (ssize_t)size && close(fd) == 0, "raw write");
    bench_print(name, bench_run(read_whole, &c, 51, 2000), "");
    free(bytes);
}

/* What a journal can't do without: the bytes of a miss of ten candidates, at the end of a file that grows. */
static void
append_raw(void *state)
{
    static char const entry[1500];

    require(write(*(int *)state, entry, sizeof entry) == sizeof entry, "raw append");
}

static void
bench_raw_append(char const *directory)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/raw.append", directory);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    require(fd >= 0, "raw append");
    bench_print("  floor: append 1.5 kB to a file", bench_run(append_raw, &fd, 51, 500), "");
    close(fd);
}

static void
bench_lookups(gcache *cache, char const *directory, char const *payload)
{
    enum { LARGE = 100 * 1024 };
    char *large = calloc(1, LARGE);

    require(large != NULL, "memory");
    bench_choice(cache, 1, 1, payload);
    bench_choice(cache, 2, MANY_CANDIDATES, payload);
    bench_choice(cache, 3, 1000, payload);
    bench_raw_append(directory);
    lookup_case c = { cache, make_key(cache, 4, 6, large, LARGE), GCACHE_HINTS({ "s0", 48 }, { "s1", 16 }), GCACHE_HIT };
    bench_print("gcache_lookup, payload of 100 kB, hit", bench_run(look_up, &c, 51, 20000), "warm, verified when it was read");
    bench_raw_read(directory, LARGE, "  floor: open, read, close 100 kB");
    gcache_graph_free(c.graph);
    free(large);
}

/* ---- a fresh handle ---- */

typedef struct handle_case {
    char const *directory;
    gcache_graph *graph;
    gcache_options options;
} handle_case;

static void
ask_once(void *state)
{
    handle_case *c = state;
    gcache_hints hints = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 });
    gcache_result result = GCACHE_RESULT_INIT;
    gcache *cache;

    require(gcache_open(c->directory, &c->options, &cache, &error) == GCACHE_OK, "open");
    require(gcache_lookup(cache, c->graph, &hints, &result, &error) == GCACHE_HIT, "lookup");
    gcache_result_clear(&result);
    gcache_close(cache);
}

static void
bench_handles(char const *directory)
{
    handle_case c = { directory, make_graph(2), GCACHE_OPTIONS_INIT };
    gcache_key key;

    require(gcache_graph_key(c.graph, &key, &error) == GCACHE_OK, "key");
    bench_print("gcache_open, a hit, gcache_close", bench_run(ask_once, &c, 51, 500), "journaled and counted");
    c.options.read_only = true;
    bench_print("  read-only", bench_run(ask_once, &c, 51, 500), "");
    bench_raw_read(directory, PAYLOAD_SIZE, "  floor: open, read, close 4 kB");
    gcache_graph_free(c.graph);
}

/* ---- guards ---- */

typedef struct guards_case {
    gcache_guards *guards;
    gcache_prepared *prepared;
    gcache_hints hints;
    char const *text;
} guards_case;

static void
evaluate(void *state)
{
    guards_case *c = state;
    gcache_verdict verdict;

    require(gcache_guards_eval(c->guards, &c->hints, &verdict, &error) == GCACHE_OK && verdict.truth == GCACHE_TRUE, "guards");
}

static void
evaluate_prepared(void *state)
{
    static int64_t const values[] = { 48, 16, 7, 5, 6 };
    guards_case *c = state;

    require(gcache_prepared_eval(c->prepared, values) == GCACHE_TRUE, "guards");
}

static void
compile_guard(void *state)
{
    guards_case *c = state;
    gcache_guards *guards;

    require(gcache_guards_compile(&c->text, 1, &guards, &error) == GCACHE_OK, "compile");
    gcache_guards_free(guards);
}

static void
bench_guards(void)
{
    static char const *const list[] = { "s0 % 8 == 0", "s0 <= 1024", "s1 == 16", "s2 > 3", "s3 + s4 < 100" };
    static char const *const names[] = { "s0", "s1", "s2", "s3", "s4" };
    guards_case c = { .hints = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 }, { "s2", 7 }, { "s3", 5 }, { "s4", 6 }) };

    /* The median of those that PyTorch wrote for fixtures/guards/torch.jsonl. */
    c.text = "round(L['t0'] / 3) != 3 and round(L['t1'] / 7, 1) > 1.2 and round(0.35*torch.sym_float(L['t0'])) > 3 and "
             "2 <= L['t0'] and 2 <= L['t1']";
    require(gcache_guards_compile(list, 5, &c.guards, &error) == GCACHE_OK &&
                gcache_guards_prepare(c.guards, names, 5, &c.prepared, &error) == GCACHE_OK, "guards");
    bench_print("gcache_guards_eval, five guards, five hints by name", bench_run(evaluate, &c, 51, 20000), "");
    bench_print("  gcache_prepared_eval", bench_run(evaluate_prepared, &c, 51, 20000), "names resolved once");
    bench_print("gcache_guards_compile, 134 characters", bench_run(compile_guard, &c, 51, 5000), "");
    gcache_prepared_free(c.prepared);
    gcache_guards_free(c.guards);
}

/* ---- cold process ---- */

typedef struct process_case {
    char *program, *directory;
    char const *what; /* the option; NULL: another program, that does nothing */
} process_case;

static void
run_process(void *state)
{
    process_case *c = state;
    char *arguments[] = { c->program, (char *)(c->what != NULL ? c->what : c->directory), c->directory, NULL };
    pid_t child;
    int status = 0;

    require(posix_spawn(&child, c->what != NULL ? "/proc/self/exe" : "/bin/true", NULL, NULL, arguments, environ) == 0, "spawn");
    require(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0, "cold process");
}

/* What the cold process does. */
static int
answer(char const *directory)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 });
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_graph *g = make_graph(2);
    gcache *cache;

    require(gcache_open(directory, NULL, &cache, &error) == GCACHE_OK, "open");
    require(gcache_lookup(cache, g, &hints, &result, &error) == GCACHE_HIT, "cold lookup");
    gcache_result_clear(&result);
    gcache_close(cache);
    gcache_graph_free(g);
    return 0;
}

static void
bench_cold(char *program, char *directory)
{
    process_case answering = { program, directory, "--answer" }, idle = { program, directory, "--nothing" },
                 nothing = { program, directory, NULL };

    bench_print("process: start, open, a hit, close, exit", bench_run(run_process, &answering, 31, 20), "");
    bench_print("  that loads the library and does nothing", bench_run(run_process, &idle, 31, 20), "");
    bench_print("  floor: /bin/true", bench_run(run_process, &nothing, 31, 20), "");
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
    enum { TIMES = 300, FIRST = 700 };
    char *payload = malloc(size), name[96], note[64];

    require(payload != NULL, "memory");
    for (size_t i = 0; i < size; i++)
        payload[i] = (char)(rand() & 0xFF); /* incompressible: the same bytes go to the disk in both rows */
    insert_case ours = { cache, directory, payload, size, 1000000 + (int64_t)size * 1000000 }, raw = ours;
    double mine[TIMES], theirs[TIMES], ratios[TIMES];

    /* A cache in use: its 256 folders are there. */
    for (size_t i = 0; i < FIRST; i++)
        insert_one(&ours);
    /* In turn, so that what else the disk has to do meets both. */
    for (size_t i = 0; i < TIMES; i++) {
        uint64_t start = bench_now_ns();
        insert_one(&ours);
        uint64_t between = bench_now_ns();
        write_raw(&raw);
        mine[i] = (double)(between - start);
        theirs[i] = (double)(bench_now_ns() - between);
        ratios[i] = mine[i] / theirs[i];
    }
    snprintf(name, sizeof name, "gcache_insert, durable, %s, new key", label);
    snprintf(note, sizeof note, "%.2f times the floor", bench_figure_of(ratios, TIMES).median_ns);
    bench_print(name, bench_figure_of(mine, TIMES), note);
    bench_print("  floor: create, write, fdatasync, rename", bench_figure_of(theirs, TIMES), "the same bytes, in turn");
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
    bench_print("graph built and keyed, 3,000 nodes", figure, note);
}

int
main(int argc, char **argv)
{
    static char payload[PAYLOAD_SIZE];

    if (argc == 3 && strncmp(argv[1], "--answer", 8) == 0)
        return answer(argv[2]);
    if (argc > 1)
        return 0;
    memset(payload, 'x', sizeof payload);
    char *directory = bench_make_directory();
    gcache *cache;
    require(gcache_open(directory, NULL, &cache, &error) == GCACHE_OK, "open");
    bench_lookups(cache, directory, payload);
    bench_handles(directory);
    bench_cold(argv[0], directory);
    bench_inserts(cache, directory, 4096, "4 KB");
    bench_inserts(cache, directory, 100 * 1024, "100 KB");
    bench_guards();
    bench_key();
    gcache_close(cache);
    bench_remove_directory(directory);
    return 0;
}
