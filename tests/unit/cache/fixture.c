#include "fixture.h"

#include <ftw.h>
#include <unistd.h>

int
fixture_open(void **state)
{
    fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    strcpy(f->directory, "/var/tmp/guardcache-test-XXXXXX");
    assert_non_null(mkdtemp(f->directory));
    snprintf(f->file, sizeof f->file, "%s.file", f->directory);
    *state = f;
    fixture_reopen(f, NULL);
    return 0;
}

static int
remove_one(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)facts, (void)type, (void)place;
    return remove(path);
}

int
fixture_close(void **state)
{
    fixture *f = *state;

    gcache_close(f->cache);
    nftw(f->directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    unlink(f->file);
    free(f);
    return 0;
}

int
fixture_pair_open(void **state)
{
    fixture_pair *pair = calloc(1, sizeof *pair);
    void *one;

    assert_non_null(pair);
    fixture_open(&one);
    pair->from = one;
    fixture_open(&one);
    pair->to = one;
    snprintf(pair->file, sizeof pair->file, "%s.export", pair->from->directory);
    *state = pair;
    return 0;
}

int
fixture_pair_close(void **state)
{
    fixture_pair *pair = *state;
    void *one = pair->from;

    fixture_close(&one);
    one = pair->to;
    fixture_close(&one);
    unlink(pair->file);
    free(pair);
    return 0;
}

void
fixture_reopen(fixture *f, gcache_options const *options)
{
    gcache_close(f->cache);
    f->cache = NULL;
    if (gcache_open(f->directory, options, &f->cache, &f->error) != GCACHE_OK)
        fail_msg("%s", f->error.message);
}

gcache_graph *
make_matmul(char const *a, char const *b)
{
    gcache_graph *g = gcache_graph_new("generic");
    gcache_tensor x = { .size = sizeof x, .dtype = "float32", .shape = { a, b }, .rank = 2 };
    gcache_tensor w = { .size = sizeof w, .dtype = "float32", .shape = { b, "4" }, .rank = 2 };
    gcache_node nodes[] = { gcache_graph_input(g, "x", &x), gcache_graph_input(g, "w", &w) };
    gcache_node mm = gcache_graph_call(g, "matmul", nodes, 2);

    gcache_graph_kwarg_bool(g, mm, "allow_tf32", false);
    gcache_graph_output(g, mm);
    return g;
}

gcache_status
insert_text(fixture *f, gcache_graph *graph, gcache_hints const *hints, char const *guard, char const *payload)
{
    gcache_entry entry = { .size = sizeof entry, .guards = &guard, .guard_count = guard != NULL, .payload = payload,
                           .payload_size = strlen(payload), .compile_ns = 4100000000 };

    return gcache_insert(f->cache, graph, hints, &entry, NULL, &f->error);
}

gcache_status
compile_new(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled,
            gcache_error *error)
{
    (void)state, (void)graph, (void)hints, (void)error;
    out_compiled->entry->payload = "new";
    out_compiled->entry->payload_size = 3;
    return GCACHE_OK;
}

uint64_t
fixture_statistic(gcache *cache, gcache_statistic statistic)
{
    gcache_statistics *statistics;

    assert_int_equal(gcache_statistics_read(cache, &statistics, NULL), GCACHE_OK);
    uint64_t value = gcache_statistics_get(statistics, statistic);
    gcache_statistics_free(statistics);
    return value;
}
