/*
 * What each operation costs as its subject grows: entries of a cache (ten a key, loaded by import), candidates of a key, nodes
 * of a description, guards of a list. Rows are called KIND/SIZE/WHAT, from which bench/report.py draws curves.
 *
 *   bench_scale [ENTRIES]      up to so many entries (100,000); on a tmpfs unless TMPDIR says otherwise
 */
#include "harness.h"

#include <guardcache/artifacts.h>
#include <guardcache/guardcache.h>
#include <guardcache/maintenance.h>
#include <guardcache/observe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAYLOAD = 200, ASKED = 2000, INSERTED = 500 };
/* Candidates of a key, and keys that are exported, imported and forgotten at a time. */
enum { A_KEY = 10, LOADED_AT_ONCE = 10000 };
/* Serials of graphs that aren't among those that are loaded. */
#define FRESH_KEYS (UINT64_C(1) << 41)
#define UNKNOWN_KEY (UINT64_C(1) << 42)

static gcache_error error;

static void
require(bool condition, char const *what)
{
    if (!condition)
        bench_die(what, error.message);
}

static bench_figure
alone(double value)
{
    return (bench_figure){ value, value, value };
}

static void
row(char const *kind, uint64_t size, char const *what, bench_figure figure)
{
    char name[96];

    snprintf(name, sizeof name, "%s/%llu/%s", kind, (unsigned long long)size, what);
    bench_print(name, figure, "");
}

/* A number that isn't a time. */
static void
count(char const *kind, uint64_t size, char const *what, double value)
{
    char name[96];

    snprintf(name, sizeof name, "%s/%llu/%s", kind, (unsigned long long)size, what);
    bench_record(name, alone(value));
    printf("%-52s%13.3f\n", name, value);
}

/* What the memory tier holds. */
static double
memory_bytes(gcache *cache)
{
    gcache_statistics *statistics;

    require(gcache_statistics_read(cache, &statistics, &error) == GCACHE_OK, "statistics");
    uint64_t bytes = gcache_statistics_get(statistics, GCACHE_STATISTIC_MEMORY_BYTES);
    gcache_statistics_free(statistics);
    return (double)bytes;
}

static gcache_graph *
make_graph(uint64_t serial)
{
    gcache_graph *g = gcache_graph_new("bench/1");
    gcache_node x = gcache_graph_input(g, "x", &(gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = "float32",
                                                                 .shape = { "s0", "s1" }, .rank = 2 });
    gcache_node last = gcache_graph_call(g, "matmul", (gcache_node[]){ x, x }, 2);
    gcache_graph_kwarg_int(g, last, "serial", (int64_t)serial);
    gcache_graph_output(g, last);
    return g;
}

static void
insert(gcache *cache, gcache_graph *graph, char const *guard)
{
    static char payload[PAYLOAD];
    gcache_entry entry = { .size = sizeof entry, .guards = &guard, .guard_count = 1, .payload = payload,
                           .payload_size = sizeof payload, .compile_ns = 1000000 };

    require(gcache_insert(cache, graph, NULL, &entry, NULL, &error) == GCACHE_OK, "insert");
}

static gcache *
open_cache(char const *directory, size_t max_candidates)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache *cache;

    options.durability = GCACHE_DURABILITY_NONE;
    options.max_size = UINT64_MAX;
    options.max_candidates = max_candidates;
    options.compression_level = -1;
    require(gcache_open(directory, &options, &cache, &error) == GCACHE_OK, "open");
    return cache;
}

static void
ask(gcache *cache, gcache_graph *graph, int64_t s0, gcache_status expected)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", s0 }, { "s1", 16 });
    gcache_result result = GCACHE_RESULT_INIT;

    require(gcache_lookup(cache, graph, &hints, &result, &error) == expected, "lookup");
    gcache_result_clear(&result);
}

/* ---- entries ---- */

typedef struct asked {
    char const *directory;
    gcache_graph *graph;
    size_t max_candidates;
    int64_t s0;
} asked;

static void
ask_once(void *state)
{
    asked *a = state;
    gcache *cache = open_cache(a->directory, a->max_candidates);

    ask(cache, a->graph, a->s0, GCACHE_HIT);
    gcache_close(cache);
}

static void
open_and_close(void *state)
{
    asked *a = state;

    gcache_close(open_cache(a->directory, a->max_candidates));
}

/* Hits of keys all over the cache, each of which has to be read. */
static bench_figure
ask_around(gcache *cache, uint64_t keys)
{
    uint64_t asked_for = keys < ASKED ? keys : ASKED;
    double samples[ASKED];

    for (uint64_t i = 0; i < asked_for; i++) {
        gcache_graph *graph = make_graph(i * (keys / asked_for));
        gcache_key key;
        require(gcache_graph_key(graph, &key, &error) == GCACHE_OK, "key");
        uint64_t start = bench_now_ns();
        ask(cache, graph, 16, GCACHE_HIT);
        samples[i] = (double)(bench_now_ns() - start);
        gcache_graph_free(graph);
    }
    return bench_figure_of(samples, asked_for);
}

/* Of new keys, so the cache grows by them. */
static bench_figure
insert_around(gcache *cache, uint64_t keys)
{
    double samples[INSERTED];

    for (uint64_t i = 0; i < INSERTED; i++) {
        gcache_graph *graph = make_graph(FRESH_KEYS + 10 * keys + i);
        uint64_t start = bench_now_ns();
        insert(cache, graph, "s0 % 8 == 0");
        samples[i] = (double)(bench_now_ns() - start);
        gcache_graph_free(graph);
    }
    return bench_figure_of(samples, INSERTED);
}

/* ---- what is about the whole cache ---- */

static void
read_statistics(void *state)
{
    gcache_statistics *statistics;

    require(gcache_statistics_read(state, &statistics, &error) == GCACHE_OK, "statistics");
    gcache_statistics_free(statistics);
}

/* A graph that isn't stored: its nearest neighbours are. */
static void
explain_unknown(void *state)
{
    gcache_graph *graph = make_graph(UNKNOWN_KEY);
    gcache_hints hints = GCACHE_HINTS({ "s0", 16 }, { "s1", 16 });
    char *text;

    require(gcache_explain(state, graph, &hints, NULL, GCACHE_EXPLAIN_TEXT, &text, &error) == GCACHE_MISS, "explain");
    gcache_free(text);
    gcache_graph_free(graph);
}

static void
verify(void *state)
{
    gcache_verified verified = GCACHE_VERIFIED_INIT;

    require(gcache_verify(state, NULL, &verified, &error) == GCACHE_OK && verified.problems == 0, "verify");
}

static void
repair(void *state)
{
    gcache_repaired repaired = GCACHE_REPAIRED_INIT;

    require(gcache_repair(state, NULL, &repaired, &error) == GCACHE_OK && repaired.lost == 0, "repair");
}

static double
elapsed_of(void (*body)(void *state), void *state)
{
    uint64_t start = bench_now_ns();

    body(state);
    return (double)(bench_now_ns() - start);
}

static void
measure_whole(char const *directory, uint64_t entries)
{
    gcache *cache = open_cache(directory, 0);

    row("entries", entries, "gcache_statistics_read", bench_run(read_statistics, cache, 11, 3));
    row("entries", entries, "gcache_explain, an unknown key", bench_run(explain_unknown, cache, 11, 3));
    row("entries", entries, "gcache_verify", alone(elapsed_of(verify, cache)));
    row("entries", entries, "gcache_repair", alone(elapsed_of(repair, cache)));
    gcache_close(cache);
}

static void
measure_entries(char const *directory, uint64_t entries)
{
    uint64_t keys = entries / A_KEY;
    asked a = { .directory = directory, .graph = make_graph(keys / 2), .s0 = 16 };

    row("entries", entries, "gcache_open, gcache_close", bench_run(open_and_close, &a, 51, 50));
    row("entries", entries, "first answer of a handle", bench_run(ask_once, &a, 51, 20));
    gcache *cache = open_cache(directory, 0);
    row("entries", entries, "gcache_lookup, a key's first", ask_around(cache, keys));
    bench_disk_use use = bench_disk_use_of(directory);
    row("entries", entries, "gcache_insert, not synced", insert_around(cache, keys));
    gcache_close(cache);
    count("entries", entries, "bytes on disk an entry", use.bytes / (double)entries);
    count("entries", entries, "inodes an entry", use.inodes / (double)entries);
    measure_whole(directory, entries);
    gcache_graph_free(a.graph);
}

/* Writes the keys from..to with all their candidates to a file, by way of a cache that is removed again. */
static void
export_keys(char const *file, uint64_t from, uint64_t to)
{
    char *source = bench_make_directory();
    gcache *cache = open_cache(source, 0);
    char guard[64];

    for (uint64_t key = from; key < to; key++) {
        gcache_graph *graph = make_graph(key);
        for (int i = 0; i < A_KEY; i++) {
            snprintf(guard, sizeof guard, "s0 %% 8 == 0 and s0 <= %d", 8 * (i + 2));
            insert(cache, graph, guard);
        }
        gcache_graph_free(graph);
    }
    require(gcache_export(cache, file, NULL, NULL, &error) == GCACHE_OK, "export");
    gcache_close(cache);
    bench_remove_directory(source);
}

/* The time that the import takes, in ns. */
static double
import_keys(char const *directory, char const *file, uint64_t from, uint64_t to)
{
    gcache_transfer read = GCACHE_TRANSFER_INIT;

    export_keys(file, from, to);
    gcache *cache = open_cache(directory, 0);
    uint64_t start = bench_now_ns();
    require(gcache_import(cache, file, NULL, &read, &error) == GCACHE_OK, "import");
    double elapsed = (double)(bench_now_ns() - start);
    require(read.entries == (to - from) * A_KEY, "as many as were exported");
    gcache_close(cache);
    remove(file);
    return elapsed;
}

static void
grow_entries(char const *directory, uint64_t most)
{
    char file[4096];
    uint64_t loaded = 0;

    snprintf(file, sizeof file, "%s.export", directory);
    for (uint64_t size = 1000; size <= most; size *= 10) {
        uint64_t keys = size / A_KEY, from = loaded;
        double elapsed = 0;
        while (loaded < keys) {
            uint64_t to = keys - loaded < LOADED_AT_ONCE ? keys : loaded + LOADED_AT_ONCE;
            elapsed += import_keys(directory, file, loaded, to);
            loaded = to;
        }
        row("entries", size, "gcache_import, an entry, not synced", alone(elapsed / (double)((keys - from) * A_KEY)));
        measure_entries(directory, size);
    }
}

/* ---- candidates of a key ---- */

typedef struct lookup_case {
    gcache *cache;
    gcache_graph *graph;
    int64_t s0;
    gcache_status expected;
} lookup_case;

static void
look_up(void *state)
{
    lookup_case *c = state;

    ask(c->cache, c->graph, c->s0, c->expected);
}

static void
measure_candidates(char const *directory, gcache_graph *graph, uint64_t size, double insert_ns)
{
    gcache *reading = open_cache(directory, 20000);
    lookup_case hit = { reading, graph, (int64_t)(8 * size), GCACHE_HIT };
    asked a = { directory, graph, 20000, 8 };

    look_up(&hit);
    look_up(&hit);
    count("candidates", size, "memory a candidate, bytes", memory_bytes(reading) / (double)size);
    row("candidates", size, "gcache_insert, not synced", alone(insert_ns));
    row("candidates", size, "gcache_lookup, hit", bench_run(look_up, &hit, 51, 2000));
    row("candidates", size, "first answer of a handle", bench_run(ask_once, &a, 11, 3));
    gcache_close(reading);
}

static void
grow_candidates(char const *directory)
{
    gcache_graph *graph = make_graph(UINT64_C(1) << 40);
    uint64_t stored = 0;
    char guard[64];

    for (uint64_t size = 10; size <= 10000; size *= 10) {
        gcache *cache = open_cache(directory, 20000);
        uint64_t start = bench_now_ns(), from = stored;
        for (; stored < size; stored++) {
            snprintf(guard, sizeof guard, "s0 == %llu and s1 <= 4096", 8ull * (stored + 1));
            insert(cache, graph, guard);
        }
        gcache_close(cache);
        measure_candidates(directory, graph, size, (double)(bench_now_ns() - start) / (double)(size - from));
    }
    gcache_graph_free(graph);
}

/* ---- nodes of a description ---- */

static void
build_and_key(void *state)
{
    uint64_t nodes = *(uint64_t *)state;
    gcache_graph *g = gcache_graph_new("bench/1");
    gcache_node last = gcache_graph_input(g, "x", &(gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = "float32",
                                                                    .shape = { "s0", "s1" }, .rank = 2 });
    gcache_key key;

    for (uint64_t i = 0; i < nodes; i++) {
        last = gcache_graph_call(g, "aten.add.Tensor", (gcache_node[]){ last, last }, 2);
        gcache_graph_kwarg_int(g, last, "alpha", (int64_t)i);
    }
    gcache_graph_output(g, last);
    require(gcache_graph_key(g, &key, &error) == GCACHE_OK, "key");
    gcache_graph_free(g);
}

static void
grow_nodes(void)
{
    for (uint64_t nodes = 100; nodes <= 100000; nodes *= 10)
        row("nodes", nodes, "built and keyed", bench_run(build_and_key, &nodes, 11, 1 + 10000 / nodes));
}

/* ---- guards of a list ---- */

typedef struct list_case {
    char const **texts;
    size_t count;
    gcache_guards *guards;
} list_case;

static void
compile_list(void *state)
{
    list_case *c = state;
    gcache_guards *guards;

    require(gcache_guards_compile(c->texts, c->count, &guards, &error) == GCACHE_OK, "compile");
    gcache_guards_free(guards);
}

static void
evaluate_list(void *state)
{
    list_case *c = state;
    gcache_hints hints = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 });
    gcache_verdict verdict;

    require(gcache_guards_eval(c->guards, &hints, &verdict, &error) == GCACHE_OK && verdict.truth == GCACHE_TRUE, "eval");
}

static void
grow_guards(void)
{
    enum { MOST = 10000, LENGTH = 48 };
    static char texts[MOST][LENGTH];
    static char const *pointers[MOST];

    for (int i = 0; i < MOST; i++) {
        snprintf(texts[i], LENGTH, "s0 + %d*s1 != %d", i + 1, i);
        pointers[i] = texts[i];
    }
    for (size_t size = 10; size <= MOST; size *= 10) {
        list_case c = { pointers, size, NULL };
        row("guards", size, "gcache_guards_compile", bench_run(compile_list, &c, 11, 1 + 1000 / size));
        require(gcache_guards_compile(c.texts, c.count, &c.guards, &error) == GCACHE_OK, "compile");
        row("guards", size, "gcache_guards_eval", bench_run(evaluate_list, &c, 11, 1 + 100000 / size));
        gcache_guards_free(c.guards);
    }
}

int
main(int argc, char **argv)
{
    uint64_t most = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;

    setenv("TMPDIR", "/dev/shm", 0);
    char *directory = bench_make_directory();
    grow_nodes();
    grow_guards();
    grow_candidates(directory);
    bench_remove_directory(directory);
    directory = bench_make_directory();
    grow_entries(directory, most);
    bench_remove_directory(directory);
    return 0;
}
