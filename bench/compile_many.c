/*
 * gcache_compile_many over 10,000 small modules, all hits: time a module, beside the same objects read from a file each, which is
 * what a cache without an index of its own would do at best: no key, no guards, no check of what was read. And modules that
 * miss, stored durably: in batches that share the wait for the disk, beside one at a time.
 */
#include "harness.h"

#include <guardcache/guardcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES = 10000, BATCHES = 5, OBJECT_BYTES = 1500, WORKERS = 2, SYNCED = 400 };

typedef struct rig {
    char *directory;
    gcache *cache;
    gcache_module *modules;
    gcache_rules *rules; /* read once: a graph without would read its kind's own */
} rig;

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    static char object[OBJECT_BYTES];

    (void)state, (void)graph, (void)hints, (void)error;
    out_compiled->entry->payload = object;
    out_compiled->entry->payload_size = sizeof object;
    return GCACHE_OK;
}

/* A module's description, anew: computing its key belongs to the job. */
static gcache_graph *
describe(rig const *r, int number)
{
    char text[256];
    gcache_graph *graph = gcache_graph_new("llvm-ir");
    int size = snprintf(text, sizeof text, "define i32 @f%d(i32 %%x) {\n  %%y = mul i32 %%x, %d\n  ret i32 %%y\n}\n",
                        number, number);

    gcache_graph_use_rules(graph, r->rules);
    gcache_graph_component(graph, "module", gcache_value_text(graph, text, (size_t)size));
    return graph;
}

/* Clears what a call left in the first `count` modules. */
static void
clear_modules(rig *r, int count)
{
    for (int i = 0; i < count; i++) {
        gcache_result_clear(&r->modules[i].result);
        gcache_graph_free(r->modules[i].graph);
    }
}

static size_t
compile_all(rig *r)
{
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;
    gcache_many_summary summary = GCACHE_MANY_SUMMARY_INIT;
    gcache_error error;

    options.workers = WORKERS;
    for (int i = 0; i < MODULES; i++)
        r->modules[i] = (gcache_module){ .size = sizeof(gcache_module), .graph = describe(r, i) };
    if (gcache_compile_many(r->cache, r->modules, MODULES, &options, compile, &summary, &error) != GCACHE_OK)
        bench_die("gcache_compile_many", error.message);
    clear_modules(r, MODULES);
    return summary.hits;
}

/* Modules nobody knows yet, in batches of compile_many's own. */
static double
store_together(rig *r, int first)
{
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;
    gcache_many_summary summary = GCACHE_MANY_SUMMARY_INIT;
    gcache_error error;

    options.workers = WORKERS;
    for (int i = 0; i < SYNCED; i++)
        r->modules[i] = (gcache_module){ .size = sizeof(gcache_module), .graph = describe(r, first + i) };
    uint64_t start = bench_now_ns();
    if (gcache_compile_many(r->cache, r->modules, SYNCED, &options, compile, &summary, &error) != GCACHE_OK ||
        summary.stored != SYNCED)
        bench_die("gcache_compile_many", "not all stored");
    double elapsed = (double)(bench_now_ns() - start) / SYNCED;
    clear_modules(r, SYNCED);
    return elapsed;
}

/* The same by a loop: each waits for the disk by itself. */
static double
store_one_by_one(rig *r, int first)
{
    double elapsed = 0;

    for (int i = 0; i < SYNCED; i++) {
        gcache_graph *graph = describe(r, first + i);
        gcache_error error;
        gcache_result result = GCACHE_RESULT_INIT;
        uint64_t start = bench_now_ns();
        if (gcache_get_or_compile(r->cache, graph, NULL, compile, NULL, &result, &error) != GCACHE_MISS)
            bench_die("gcache_get_or_compile", "no miss");
        elapsed += (double)(bench_now_ns() - start) / SYNCED;
        gcache_result_clear(&result);
        gcache_graph_free(graph);
    }
    return elapsed;
}

static int
compare(void const *a, void const *b)
{
    double x = *(double const *)a, y = *(double const *)b;

    return (x > y) - (x < y);
}

static bench_figure
figure_of(double samples[BATCHES])
{
    qsort(samples, BATCHES, sizeof *samples, compare);
    return (bench_figure){ samples[BATCHES / 2], samples[0], samples[BATCHES - 1] };
}

/* In turns, so that both see the same disk. */
static void
bench_storing(rig *r)
{
    double together[BATCHES], alone[BATCHES];

    for (int i = 0; i < BATCHES; i++) {
        together[i] = store_together(r, MODULES + 2 * i * SYNCED);
        alone[i] = store_one_by_one(r, MODULES + (2 * i + 1) * SYNCED);
    }
    bench_figure many = figure_of(together), one = figure_of(alone);
    bench_print("a module: stored one by one, synced", one, "default durability");
    bench_print("a module: gcache_compile_many, synced", many, "the same in batches");
    printf("ratio of one by one to batches: %.1f\n", one.median_ns / many.median_ns);
}

static void
all_hits(void *state)
{
    if (compile_all(state) != MODULES)
        bench_die("gcache_compile_many", "not all hits");
}

/* A new handle: nothing is in memory. */
static void
all_hits_cold(void *state)
{
    rig *r = state;
    gcache_error error;

    gcache_close(r->cache);
    if (gcache_open(r->directory, NULL, &r->cache, &error) != GCACHE_OK)
        bench_die("gcache_open", error.message);
    all_hits(state);
}

/* What every cache that keys by content does, by one thread. */
static void
keys_only(void *state)
{
    gcache_error error;
    gcache_key key;

    for (int i = 0; i < MODULES; i++) {
        gcache_graph *graph = describe(state, i);
        if (gcache_graph_key(graph, &key, &error) != GCACHE_OK)
            bench_die("gcache_graph_key", error.message);
        gcache_graph_free(graph);
    }
}

static void
name_file(rig const *r, int number, char *out, size_t size)
{
    snprintf(out, size, "%s-files/%d", r->directory, number);
}

static void
read_files(void *state)
{
    char path[512], bytes[OBJECT_BYTES];

    for (int i = 0; i < MODULES; i++) {
        name_file(state, i, path, sizeof path);
        FILE *file = fopen(path, "rb");
        if (file == NULL || fread(bytes, 1, sizeof bytes, file) != sizeof bytes)
            bench_die(path, "can't be read");
        fclose(file);
    }
}

static void
write_files(rig *r)
{
    static char const bytes[OBJECT_BYTES];
    char path[512];

    snprintf(path, sizeof path, "mkdir -p '%s-files'", r->directory);
    if (system(path) != 0)
        bench_die("mkdir", "failed");
    for (int i = 0; i < MODULES; i++) {
        name_file(r, i, path, sizeof path);
        FILE *file = fopen(path, "wb");
        if (file == NULL || fwrite(bytes, 1, sizeof bytes, file) != sizeof bytes || fclose(file) != 0)
            bench_die(path, "can't be written");
    }
}

static bench_figure
a_module(bench_figure all)
{
    return (bench_figure){ all.median_ns / MODULES, all.lowest_ns / MODULES, all.highest_ns / MODULES };
}

int
main(void)
{
    rig r = { .directory = bench_make_directory(), .modules = calloc(MODULES, sizeof *r.modules) };
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_error error;
    char command[512];

    if (gcache_rules_of_kind("llvm-ir", &r.rules, &error) != GCACHE_OK)
        bench_die("rules", error.message);
    options.durability = GCACHE_DURABILITY_NONE;
    options.memory_bytes = (size_t)256 << 20; /* a module takes some 10 KiB: the default doesn't hold them all */
    if (r.modules == NULL || gcache_open(r.directory, &options, &r.cache, &error) != GCACHE_OK)
        bench_die("setting up", "failed");
    uint64_t start = bench_now_ns();
    if (compile_all(&r) != 0)
        bench_die("the first run", "hits in an empty cache");
    double stored_ns = (double)(bench_now_ns() - start) / MODULES;
    write_files(&r);
    printf("10,000 modules of %d bytes, time a module\n", OBJECT_BYTES);
    bench_print("a module: stored, no sync", (bench_figure){ stored_ns, stored_ns, stored_ns }, "key, lookup, lease, insert");
    bench_figure files = a_module(bench_run(read_files, &r, BATCHES, 1));
    bench_print("a module: a file each, read", files, "open, read, close");
    bench_figure keys = a_module(bench_run(keys_only, &r, BATCHES, 1));
    bench_print("a module: describe and key alone", keys, "one thread");
    bench_figure warm = a_module(bench_run(all_hits, &r, BATCHES, 1));
    bench_print("a module: gcache_compile_many, warm", warm, "describe, key, lookup");
    bench_figure cold = a_module(bench_run(all_hits_cold, &r, BATCHES, 1));
    bench_print("a module: gcache_compile_many, new handle", cold, "the same, from disk");
    printf("ratio to a file each: warm %.2f, new handle %.2f\n", warm.median_ns / files.median_ns,
           cold.median_ns / files.median_ns);
    bench_storing(&r);
    gcache_close(r.cache);
    snprintf(command, sizeof command, "rm -r '%s-files'", r.directory);
    if (system(command) != 0)
        bench_die("rm", "failed");
    bench_remove_directory(r.directory);
    gcache_rules_free(r.rules);
    free(r.modules);
    return 0;
}
