/*
 * What explaining costs: a lookup with the journal on beside the same with it off, and explaining a miss in a cache of
 * many keys.
 *
 *   bench_explain [KEYS]      100,000 keys by default
 */
#include "harness.h"

#include <fcntl.h>
#include <guardcache/guardcache.h>
#include <guardcache/observe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { KEYS = 100000, HITS = 1000000, ROUNDS = 101, MISSES = 101, LARGE_NODES = 3000, LARGE_KEYS = 100 };

static gcache_error error;

static void
require(bool condition, char const *what)
{
    if (!condition)
        bench_die(what, error.message);
}

static gcache *
open_cache(char const *directory, bool journal)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache *cache;

    options.no_journal = !journal;
    options.durability = GCACHE_DURABILITY_NONE;
    options.max_size = UINT64_MAX;
    require(gcache_open(directory, &options, &cache, &error) == GCACHE_OK, "open");
    return cache;
}

/* Four components, of which options and environment are those of many others; `serial` makes the graph another one. */
static gcache_graph *
make_graph(int64_t serial)
{
    static char const environment[] = "{\"compiler\": \"1.4.2\", \"device\": \"cpu\", \"isa\": \"avx2\"}";
    char options[64];
    gcache_graph *g = gcache_graph_new("bench/1");
    gcache_node x = gcache_graph_input(g, "x", &(gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = "float32",
                                                                 .shape = { "s0", "s1" }, .rank = 2 });
    gcache_node w = gcache_graph_input(g, "w", &(gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = "float32",
                                                                 .shape = { "s1", "64" }, .rank = 2 });
    gcache_node mm = gcache_graph_call(g, "matmul", (gcache_node[]){ x, w }, 2);
    gcache_node relu = gcache_graph_call(g, "relu", &mm, 1);

    gcache_graph_kwarg_int(g, relu, "serial", serial);
    gcache_graph_output(g, relu);
    snprintf(options, sizeof options, "{\"level\": %d, \"fast_math\": false}", (int)(serial % 100));
    gcache_graph_component(g, "options", gcache_value_json(g, options, strlen(options)));
    gcache_graph_component(g, "environment", gcache_value_json(g, environment, strlen(environment)));
    return g;
}

/* Of a kind of which nothing is stored. */
static gcache_graph *
make_stranger(int64_t serial)
{
    gcache_graph *g = gcache_graph_new("stranger/1");

    gcache_graph_component(g, "serial", gcache_value_int(g, serial));
    return g;
}

/* Of many nodes: a fresh key of such a size has most to sum up. */
static gcache_graph *
make_large_graph(int64_t serial)
{
    gcache_graph *g = gcache_graph_new("bench/1");
    gcache_node last = gcache_graph_input(g, "x", &(gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = "float32",
                                                                    .shape = { "s0", "s1" }, .rank = 2 });

    for (int64_t i = 0; i < LARGE_NODES; i++) {
        last = gcache_graph_call(g, i % 3 == 0 ? "matmul" : "relu", (gcache_node[]){ last, last }, 1 + (i % 3 == 0));
        gcache_graph_kwarg_int(g, last, "width", i % 64);
        gcache_graph_kwarg_int(g, last, "serial", i == 7 ? serial : 0);
    }
    gcache_graph_output(g, last);
    return g;
}

static void
insert(gcache *cache, int64_t serial)
{
    static char const code[256];
    gcache_graph *g = make_graph(serial);
    char const *guard = "s0 % 8 == 0 and s0 <= 1024";
    gcache_entry entry = { .size = sizeof entry, .guards = &guard, .guard_count = 1, .payload = code, .payload_size = sizeof code,
                           .compile_ns = 1000000000 };

    require(gcache_insert(cache, g, NULL, &entry, NULL, &error) == GCACHE_OK, "insert");
    gcache_graph_free(g);
}

/* Fresh keys of large graphs, which have their keys already. */
static void
bench_large_inserts(gcache *cache)
{
    static char const code[256];
    gcache_entry entry = { .size = sizeof entry, .payload = code, .payload_size = sizeof code };
    double samples[LARGE_KEYS];
    gcache_key key;

    for (int i = 0; i < LARGE_KEYS; i++) {
        gcache_graph *g = make_large_graph(i);
        require(gcache_graph_key(g, &key, &error) == GCACHE_OK, "key");
        uint64_t start = bench_now_ns();
        require(gcache_insert(cache, g, NULL, &entry, NULL, &error) == GCACHE_OK, "insert");
        samples[i] = (double)(bench_now_ns() - start);
        gcache_graph_free(g);
    }
    bench_print("insert a fresh key of 3,000 nodes", bench_figure_of(samples, LARGE_KEYS), "");
}

/* ---- lookups ---- */

typedef struct asked {
    gcache *cache;
    gcache_graph *graph;
    gcache_hints hints;
    gcache_status expected;
} asked;

static void
look_up(void *state)
{
    asked *a = state;
    gcache_result result = GCACHE_RESULT_INIT;

    require(gcache_lookup(a->cache, a->graph, &a->hints, &result, &error) == a->expected, "lookup");
    gcache_result_clear(&result);
}

static int
compare(void const *left, void const *right)
{
    double a = *(double const *)left, b = *(double const *)right;

    return (a > b) - (a < b);
}

static bench_figure
figure_of(double *samples, size_t count)
{
    qsort(samples, count, sizeof *samples, compare);
    return (bench_figure){ samples[count / 2], samples[0], samples[count - 1] };
}

/* Of a call, in processor time of this thread: what others compute meanwhile, and waiting for them, doesn't count. */
static double
time_of(asked *a, size_t calls)
{
    uint64_t start = bench_computing_ns();

    for (size_t i = 0; i < calls; i++)
        look_up(a);
    return (double)(bench_computing_ns() - start) / (double)calls;
}

/*
 * Both by turns, so that whatever else the machine does falls on both; what is compared is the difference of each turn.
 * The same without the journal a second time says how much of such a difference is noise.
 */
static void
compare_journal(char const *what, asked off, asked on, size_t calls)
{
    double without[ROUNDS], with[ROUNDS], more[ROUNDS], noise[ROUNDS];
    char name[96];

    time_of(&off, calls);
    time_of(&on, calls);
    for (size_t i = 0; i < ROUNDS; i++) {
        without[i] = time_of(&off, calls);
        with[i] = time_of(&on, calls);
        more[i] = with[i] - without[i];
        noise[i] = time_of(&off, calls) - without[i];
    }
    snprintf(name, sizeof name, "%s, journal off", what);
    bench_print(name, figure_of(without, ROUNDS), "");
    snprintf(name, sizeof name, "%s, journal on", what);
    bench_print(name, figure_of(with, ROUNDS), "");
    bench_print("    the difference, turn by turn", figure_of(more, ROUNDS), "");
    bench_print("    beside it: off twice, turn by turn", figure_of(noise, ROUNDS), "noise");
}

/* The first hits of a process are journaled more often than later ones: a million from the first on, both by turns. */
static void
bench_first_hits(char const *directory, gcache_graph *graph, gcache_hints const *hints)
{
    enum { TURNS = 5 };
    double total[2][TURNS], more[TURNS];

    for (int turn = 0; turn < TURNS; turn++) {
        for (int journal = 0; journal < 2; journal++) {
            asked a = { open_cache(directory, journal != 0), graph, *hints, GCACHE_HIT };
            look_up(&a);
            total[journal][turn] = time_of(&a, HITS);
            gcache_close(a.cache);
        }
        more[turn] = total[1][turn] - total[0][turn];
    }
    bench_print("a process's first million hits, journal off, mean", figure_of(total[0], TURNS), "");
    bench_print("a process's first million hits, journal on, mean", figure_of(total[1], TURNS), "");
    bench_print("    the difference, turn by turn", figure_of(more, TURNS), "");
}

static void
read_clock(void *state)
{
    *(uint64_t *)state += bench_now_ns();
}

typedef struct appended {
    int file;
    char bytes[600];
} appended;

static void
append_raw(void *state)
{
    appended *a = state;

    require(write(a->file, a->bytes, sizeof a->bytes) == (ssize_t)sizeof a->bytes, "write");
}

static void
bench_lookups(char const *directory)
{
    gcache_hints hit = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 }), miss = GCACHE_HINTS({ "s0", 49 }, { "s1", 16 });
    gcache *on = open_cache(directory, true), *off = open_cache(directory, false);
    gcache_graph *stored = make_graph(0), *unknown = make_graph(-1);
    appended raw = { .file = open("/dev/null", O_WRONLY) };
    char path[4096];
    uint64_t sum = 0;

    /* The first hits of a thread are journaled far more often; they have a row of their own. */
    for (size_t i = 0; i < HITS; i++)
        look_up(&(asked){ on, stored, hit, GCACHE_HIT });
    compare_journal("hit", (asked){ off, stored, hit, GCACHE_HIT }, (asked){ on, stored, hit, GCACHE_HIT }, 1000);
    bench_first_hits(directory, stored, &hit);
    bench_print("    beside it: reading a clock once", bench_run(read_clock, &sum, 31, 20000), "clock_gettime");
    compare_journal("miss, guard_false", (asked){ off, stored, miss, GCACHE_MISS },
                    (asked){ on, stored, miss, GCACHE_MISS }, 20);
    compare_journal("miss, no_key", (asked){ off, unknown, hit, GCACHE_MISS }, (asked){ on, unknown, hit, GCACHE_MISS }, 20);
    close(raw.file);
    snprintf(path, sizeof path, "%s.raw", directory);
    raw.file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
    bench_print("    beside it: appending as many bytes to a file", bench_run(append_raw, &raw, 31, 200), "write");
    close(raw.file);
    unlink(path);
    gcache_graph_free(stored);
    gcache_graph_free(unknown);
    gcache_close(on);
    gcache_close(off);
}

/* ---- explanations ---- */

static void
explain(void *state)
{
    asked *a = state;
    char *text;

    require(gcache_explain(a->cache, a->graph, &a->hints, NULL, GCACHE_EXPLAIN_TEXT, &text, &error) == a->expected,
            "explain");
    gcache_free(text);
}

static void
explain_past(void *state)
{
    asked *a = state;
    gcache_journal_query query = GCACHE_JOURNAL_QUERY_INIT;
    char *text;
    size_t count;

    query.last = 1;
    query.reason = GCACHE_REASON_NO_KEY;
    require(gcache_journal_explain(a->cache, &query, GCACHE_EXPLAIN_TEXT, &text, &count, &error) == GCACHE_OK && count == 1,
            "explain the last miss");
    gcache_free(text);
}

/* Misses of many graphs, each of which is near another one: small ones, or large ones. */
static bench_figure
explain_many(gcache *cache, gcache_graph *(*make)(int64_t serial))
{
    double samples[MISSES];

    for (int64_t i = 0; i < MISSES; i++) {
        asked a = { cache, make(-2 - i), GCACHE_HINTS({ "s0", 48 }, { "s1", 16 }), GCACHE_MISS };
        gcache_key key;
        require(gcache_graph_key(a.graph, &key, &error) == GCACHE_OK, "key");
        uint64_t start = bench_now_ns();
        explain(&a);
        samples[i] = (double)(bench_now_ns() - start);
        gcache_graph_free(a.graph);
    }
    return bench_figure_of(samples, MISSES);
}

/* All that a process does which only explains. */
static void
explain_past_anew(void *state)
{
    asked a = { open_cache(state, true), NULL, { 0 }, GCACHE_MISS };

    explain_past(&a);
    gcache_close(a.cache);
}

static void
bench_explanations(char *directory, long keys)
{
    gcache_hints hints = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 });
    asked a = { open_cache(directory, true), make_graph(-1), hints, GCACHE_MISS };
    char name[96];

    look_up(&a);
    snprintf(name, sizeof name, "explain a no_key miss among %ld keys", keys);
    bench_print(name, bench_run(explain, &a, 31, 3), "");
    bench_print("    each of a hundred others", explain_many(a.cache, make_graph), "");
    bench_print("    each of a hundred of another kind", explain_many(a.cache, make_stranger), "");
    bench_print("    each of a hundred of 3,000 nodes", explain_many(a.cache, make_large_graph), "");
    snprintf(name, sizeof name, "the same from the journal, as --last does");
    bench_print(name, bench_run(explain_past, &a, 31, 3), "");
    gcache_graph_free(a.graph);
    gcache_close(a.cache);
    snprintf(name, sizeof name, "    with opening and closing the cache");
    bench_print(name, bench_run(explain_past_anew, directory, 31, 1), "");
}

int
main(int count, char **arguments)
{
    long keys = count > 1 ? strtol(arguments[1], NULL, 10) : KEYS;
    char *directory = bench_make_directory();
    gcache *cache = open_cache(directory, true);

    for (long i = 0; i < keys; i++)
        insert(cache, i);
    bench_large_inserts(cache);
    gcache_close(cache);
    bench_lookups(directory);
    bench_explanations(directory, keys);
    bench_remove_directory(directory);
    return 0;
}
