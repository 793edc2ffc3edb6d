/*
 * gcache_compile_many over 10,000 small modules, all hits: time a module, beside the same objects read from a file each, which is
 * what a cache without an index of its own would do at best: no key, no guards, no check of what was read.
 */
#include "harness.h"

#include <guardcache/guardcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODULES = 10000, BATCHES = 5, OBJECT_BYTES = 1500, WORKERS = 2 };

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
    out_compiled->entry.payload = object;
    out_compiled->entry.payload_size = sizeof object;
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

static size_t
compile_all(rig *r)
{
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;
    gcache_many_summary summary;
    gcache_error error;

    options.workers = WORKERS;
    for (int i = 0; i < MODULES; i++)
        r->modules[i] = (gcache_module){ .graph = describe(r, i) };
    if (gcache_compile_many(r->cache, r->modules, MODULES, &options, compile, &summary, &error) != GCACHE_OK)
        bench_die("gcache_compile_many", error.message);
    for (int i = 0; i < MODULES; i++) {
        gcache_result_clear(&r->modules[i].result);
        gcache_graph_free(r->modules[i].graph);
    }
    return summary.hits;
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
    if (r.modules == NULL || gcache_open(r.directory, &options, &r.cache, &error) != GCACHE_OK)
        bench_die("setting up", "failed");
    uint64_t start = bench_now_ns();
    if (compile_all(&r) != 0)
        bench_die("the first run", "hits in an empty cache");
    double stored_ns = (double)(bench_now_ns() - start) / MODULES;
    write_files(&r);
    printf("10,000 modules of %d bytes, time a module\n", OBJECT_BYTES);
    bench_print("stored, no sync", (bench_figure){ stored_ns, stored_ns, stored_ns }, "key, lookup, lease, insert");
    bench_figure files = a_module(bench_run(read_files, &r, BATCHES, 1));
    bench_print("a file each, read", files, "open, read, close");
    bench_figure warm = a_module(bench_run(all_hits, &r, BATCHES, 1));
    bench_print("compile_many, warm", warm, "describe, key, lookup");
    bench_figure cold = a_module(bench_run(all_hits_cold, &r, BATCHES, 1));
    bench_print("compile_many, new handle", cold, "the same, from disk");
    printf("ratio to a file each: warm %.2f, new handle %.2f\n", warm.median_ns / files.median_ns,
           cold.median_ns / files.median_ns);
    gcache_close(r.cache);
    snprintf(command, sizeof command, "rm -r '%s-files'", r.directory);
    if (system(command) != 0)
        bench_die("rm", "failed");
    bench_remove_directory(r.directory);
    gcache_rules_free(r.rules);
    free(r.modules);
    return 0;
}
