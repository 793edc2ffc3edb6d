/*
 * gcache_compile_many: order, parallelism, duplicates, failures, bypasses, cancellation, the final line.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MODULES = 60 };

/* A module's number is its code. */
typedef struct unit {
    int number;
    bool fails;
    atomic_int *calls, *running, *most_running;
} unit;

typedef struct batch {
    unit units[MODULES];
    gcache_module modules[MODULES];
    atomic_int calls, running, most_running;
} batch;

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    unit *u = state;
    int running = ++*u->running;

    (void)graph, (void)hints;
    (*u->calls)++;
    for (int most = *u->most_running; running > most && !atomic_compare_exchange_weak(u->most_running, &most, running);)
        continue;
    usleep(2000);
    --*u->running;
    if (u->fails) {
        snprintf(error->message, sizeof error->message, "module %d has no register left", u->number);
        return GCACHE_ERROR_INTERNAL;
    }
    out_compiled->entry->payload = &u->number;
    out_compiled->entry->payload_size = sizeof u->number;
    return GCACHE_OK;
}

/* Module i is number i modulo `distinct`. */
static batch *
batch_new(int distinct)
{
    batch *b = calloc(1, sizeof *b);

    assert_non_null(b);
    for (int i = 0; i < MODULES; i++) {
        gcache_graph *g = make_matmul("s0", "s1");
        b->units[i] = (unit){ i % distinct, false, &b->calls, &b->running, &b->most_running };
        gcache_graph_component(g, "number", gcache_value_int(g, i % distinct));
        b->modules[i] = (gcache_module){ .size = sizeof(gcache_module), .graph = g, .state = &b->units[i] };
    }
    return b;
}

static void
batch_clear(batch *b)
{
    for (int i = 0; i < MODULES; i++) {
        gcache_result_clear(&b->modules[i].result);
        gcache_graph_free(b->modules[i].graph);
    }
    free(b);
}

static gcache_many_summary
run(fixture *f, batch *b, gcache_many_options const *options, gcache_status expected)
{
    gcache_many_summary summary = GCACHE_MANY_SUMMARY_INIT;

    assert_int_equal(gcache_compile_many(f->cache, b->modules, MODULES, options, compile, &summary, &f->error), expected);
    return summary;
}

static void
objects_come_back_in_order(void **state)
{
    fixture *f = *state;
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;

    options.workers = 4;
    for (int round = 0; round < 2; round++) {
        batch *b = batch_new(MODULES);
        gcache_many_summary summary = run(f, b, &options, GCACHE_OK);
        for (int i = 0; i < MODULES; i++) {
            assert_true(b->modules[i].done);
            assert_int_equal(b->modules[i].status, round == 0 ? GCACHE_MISS : GCACHE_HIT);
            assert_int_equal(b->modules[i].result.payload_size, sizeof i);
            assert_memory_equal(b->modules[i].result.payload, &i, sizeof i);
        }
        assert_int_equal(b->calls, round == 0 ? MODULES : 0);
        assert_int_equal(summary.hits, round == 0 ? 0 : MODULES);
        assert_int_equal(summary.stored, round == 0 ? MODULES : 0);
        assert_true(round == 0 ? summary.compile_ns >= MODULES * UINT64_C(2000000) : summary.compile_ns == 0);
        assert_true((summary.saved_ns != 0) == (round == 1));
        if (round == 0)
            assert_in_range(b->most_running, 2, 4);
        batch_clear(b);
    }
}

static void
equal_modules_are_compiled_once(void **state)
{
    fixture *f = *state;
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;
    batch *b = batch_new(7);

    options.workers = 6;
    gcache_many_summary summary = run(f, b, &options, GCACHE_OK);
    assert_int_equal(b->calls, 7);
    assert_int_equal(summary.compiled, 7);
    assert_int_equal(summary.hits, MODULES - 7);
    for (int i = 0; i < MODULES; i++)
        assert_memory_equal(b->modules[i].result.payload, &b->units[i].number, sizeof(int));
    batch_clear(b);
}

static void
a_failure_spoils_nothing_else(void **state)
{
    fixture *f = *state;
    batch *b = batch_new(MODULES);
    char line[GCACHE_MANY_LINE_SIZE];

    b->units[20].fails = b->units[40].fails = true;
    b->modules[3].bypass = "the output is textual assembly";
    gcache_many_summary summary = run(f, b, NULL, GCACHE_ERROR_INTERNAL);
    assert_string_equal(f->error.message, "module 20 has no register left");
    assert_string_equal(b->modules[40].error.message, "module 40 has no register left");
    assert_int_equal(summary.failed, 2);
    assert_int_equal(summary.compiled, MODULES - 2);
    assert_int_equal(summary.stored, MODULES - 3);
    assert_int_equal(b->modules[3].result.reason, GCACHE_REASON_BYPASS);
    assert_string_equal(b->modules[3].result.note, "not stored: bypass: the output is textual assembly");
    gcache_many_line(&summary, line, sizeof line);
    assert_memory_equal(line, "60 modules, 0 hits (0.0 %), compiled in ", 40);
    assert_non_null(strstr(line, ", saved 0 ns, 2 failed"));
    batch_clear(b);
}

typedef struct watcher {
    batch *batch;
    size_t last;        /* modules that were done when it was told last */
    int begun_at_stop;
} watcher;

static bool
stop_after_ten(void *state, gcache_many_summary const *so_far)
{
    size_t done = so_far->hits + so_far->compiled + so_far->failed;
    watcher *w = state;

    assert_int_equal(done, w->last + 1);
    w->last = done;
    if (done == 10)
        w->begun_at_stop = w->batch->calls;
    return done < 10;
}

static void
progress_may_cancel(void **state)
{
    fixture *f = *state;
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;
    batch *b = batch_new(MODULES);
    gcache_options unsynced = GCACHE_OPTIONS_INIT;
    watcher w = { .batch = b };
    size_t done = 0;

    /* Where nobody waits for the disk, a module is stored before its worker takes the next one. */
    unsynced.durability = GCACHE_DURABILITY_NONE;
    fixture_reopen(f, &unsynced);

    options.workers = 3;
    options.progress = stop_after_ten;
    options.progress_state = &w;
    gcache_many_summary summary = run(f, b, &options, GCACHE_OK);
    /* What was begun when the tenth ended is finished: two others. */
    assert_in_range(w.begun_at_stop, 10, 12);
    assert_in_range(w.last, w.begun_at_stop, 12);
    assert_int_equal(w.last, b->calls);
    for (int i = 0; i < MODULES; i++)
        done += b->modules[i].done;
    assert_int_equal(done, w.last);
    assert_int_equal(summary.cancelled, MODULES - w.last);
    batch_clear(b);
}

/* The same module under other names: a hit that says what is called how, for the link step. */
static void
renames_come_back(void **state)
{
    fixture *f = *state;
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_compile_options each = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;
    batch *b = batch_new(MODULES), *other = batch_new(MODULES);

    request.accept_renames = true;
    each.request = &request;
    options.each = &each;
    for (int i = 0; i < MODULES; i++) {
        gcache_graph_free(other->modules[i].graph);
        gcache_graph *g = other->modules[i].graph = make_matmul("s77", "s3");
        gcache_graph_component(g, "number", gcache_value_int(g, i));
    }
    run(f, b, NULL, GCACHE_OK);
    assert_int_equal(run(f, other, &options, GCACHE_OK).hits, MODULES);
    for (int i = 0; i < MODULES; i++) {
        gcache_result const *hit = &other->modules[i].result;
        assert_true(hit->renamed);
        assert_int_equal(hit->rename_count, 2);
        assert_string_equal(hit->renames[0].stored, "s0");
        assert_string_equal(hit->renames[0].current, "s77");
    }
    batch_clear(b);
    batch_clear(other);
}

static void
the_line_reads_well(void **state)
{
    gcache_many_summary summary = { .size = sizeof summary, .modules = 2000, .hits = 1990, .compiled = 10, .compile_ns = 1200000000,
                                    .saved_ns = 41000000000 };
    char line[GCACHE_MANY_LINE_SIZE], cut[10];

    (void)state;
    gcache_many_line(&summary, line, sizeof line);
    assert_string_equal(line, "2,000 modules, 1,990 hits (99.5 %), compiled in 1.2 s, saved 41.0 s");
    gcache_many_line(&summary, cut, sizeof cut);
    assert_string_equal(cut, "2,000 mod");
    summary = (gcache_many_summary)GCACHE_MANY_SUMMARY_INIT;
    gcache_many_line(&summary, line, sizeof line);
    assert_string_equal(line, "0 modules, 0 hits (0.0 %), compiled in 0 ns, saved 0 ns");
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(objects_come_back_in_order),
        CASE(equal_modules_are_compiled_once),
        CASE(a_failure_spoils_nothing_else),
        CASE(progress_may_cancel),
        CASE(renames_come_back),
        CASE(the_line_reads_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
