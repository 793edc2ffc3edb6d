/*
 * gcache_get_or_compile: one compile among all who ask, and what happens when a compile isn't kept.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct compiler {
    atomic_int calls, released;
    char const *guard;
    char const *do_not_store;
    uint64_t takes_us, says_ns; /* says_ns: the compile time it hands over; 0: measured */
    gcache_status fails;
    bool post_load_refuses;
} compiler;

static void
release(void *state, gcache_compiled *compiled)
{
    compiler *c = state;

    assert_int_equal(compiled->entry->payload_size, 4);
    c->released++;
}

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    compiler *c = state;

    (void)graph, (void)hints;
    c->calls++;
    usleep((useconds_t)c->takes_us);
    if (c->fails != GCACHE_OK) {
        snprintf(error->message, sizeof error->message, "no register left");
        return c->fails;
    }
    *out_compiled->entry = (gcache_entry){ .size = sizeof(gcache_entry), .guards = &c->guard, .guard_count = c->guard != NULL,
                                          .payload = "code", .payload_size = 4, .compile_ns = c->says_ns };
    out_compiled->do_not_store = c->do_not_store;
    out_compiled->release = release;
    return GCACHE_OK;
}

static bool
post_load(void *state, gcache_result const *hit)
{
    compiler *c = state;

    assert_int_equal(hit->outcome, GCACHE_HIT);
    return !c->post_load_refuses;
}

/* One call; returns its status after checking what every result must be. */
static gcache_status
get(fixture *f, gcache_graph *g, gcache_hints const *hints, gcache_compile_options const *options, compiler *c, char *out_note)
{
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_status status = gcache_get_or_compile_with(f->cache, g, hints, options, compile, c, &r, &f->error);

    if (status >= 0) {
        assert_int_equal(r.payload_size, 4);
        assert_memory_equal(r.payload, "code", 4);
        assert_int_equal(r.outcome, status);
    }
    if (out_note != NULL)
        strcpy(out_note, r.note);
    gcache_result_clear(&r);
    return status;
}

static void
compiles_once_and_hits_afterwards(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 }), other = GCACHE_HINTS({ "s0", 7 }, { "s1", 16 });
    compiler c = { .guard = "s0 % 8 == 0", .takes_us = 1000 };
    char note[256];

    assert_int_equal(get(f, g, &hints, NULL, &c, note), GCACHE_MISS);
    assert_string_equal(note, "");
    assert_int_equal(get(f, g, &hints, NULL, &c, NULL), GCACHE_HIT);
    assert_int_equal(c.calls, 1);
    assert_int_equal(c.released, 1);
    assert_int_equal(get(f, g, &other, NULL, &c, note), GCACHE_MISS);
    assert_string_equal(note, "not stored: its guard is false for the hints it was compiled for: s0 % 8 == 0");
    gcache_graph_free(g);
}

static void
a_failing_compile_stores_nothing(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    compiler c = { .fails = GCACHE_ERROR_INTERNAL };

    assert_int_equal(get(f, g, NULL, NULL, &c, NULL), GCACHE_ERROR_INTERNAL);
    assert_string_equal(f->error.message, "no register left");
    c.fails = GCACHE_OK;
    assert_int_equal(get(f, g, NULL, NULL, &c, NULL), GCACHE_MISS);
    assert_int_equal(c.calls, 2);
    gcache_graph_free(g);
}

static void
says_why_a_compile_is_not_kept(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    compiler c = { .do_not_store = "it calls back into this process" };
    char note[256];

    assert_int_equal(get(f, g, NULL, &options, &c, note), GCACHE_MISS);
    assert_string_equal(note, "not stored: it calls back into this process");
    c.do_not_store = NULL;
    options.reader = true;
    assert_int_equal(get(f, g, NULL, &options, &c, note), GCACHE_MISS);
    assert_string_equal(note, "not stored: another process is the one that writes");
    options.reader = false;
    options.min_compile_ns = UINT64_C(3600000000000);
    assert_int_equal(get(f, g, NULL, &options, &c, note), GCACHE_MISS);
    assert_non_null(strstr(note, ", less than 1 h 0 min"));
    options.min_compile_ns = 0;
    assert_int_equal(get(f, g, NULL, &options, &c, note), GCACHE_MISS);
    assert_string_equal(note, "");
    options.refresh = true;
    assert_int_equal(get(f, g, NULL, &options, &c, note), GCACHE_MISS);
    assert_int_equal(c.calls, 5);
    gcache_graph_free(g);
}

/* What took exactly the minimum is kept; a nanosecond less isn't, and both times are told. */
static void
the_minimum_compile_time_itself_is_enough(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    compiler c = { .says_ns = 2999999999 };
    char note[256];

    options.min_compile_ns = 3000000000;
    assert_int_equal(get(f, g, NULL, &options, &c, note), GCACHE_MISS);
    assert_memory_equal(note, "not stored: compiled in ", 24);
    c.says_ns = 1500000000;
    assert_int_equal(get(f, g, NULL, &options, &c, note), GCACHE_MISS);
    assert_string_equal(note, "not stored: compiled in 1.5 s, less than 3.0 s");
    c.says_ns = 3000000000;
    assert_int_equal(get(f, g, NULL, &options, &c, note), GCACHE_MISS);
    assert_string_equal(note, "");
    assert_int_equal(get(f, g, NULL, &options, &c, NULL), GCACHE_HIT);
    assert_int_equal(c.calls, 3);
    gcache_graph_free(g);
}

static void
a_post_load_step_may_turn_a_hit_into_a_miss(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    compiler c = { 0 };
    gcache_result r = GCACHE_RESULT_INIT;

    options.post_load = post_load;
    assert_int_equal(get(f, g, NULL, &options, &c, NULL), GCACHE_MISS);
    assert_int_equal(get(f, g, NULL, &options, &c, NULL), GCACHE_HIT);
    c.post_load_refuses = true;
    assert_int_equal(gcache_get_or_compile_with(f->cache, g, NULL, &options, compile, &c, &r, &f->error), GCACHE_MISS);
    assert_int_equal(r.reason, GCACHE_REASON_UNREADABLE);
    gcache_result_clear(&r);
    assert_int_equal(c.calls, 2);
    /* The guards are read well; so it isn't said that they can't be. */
    gcache_journal_query last = GCACHE_JOURNAL_QUERY_INIT;
    char *text = NULL;
    last.last = 1;
    assert_int_equal(gcache_journal_explain(f->cache, &last, GCACHE_EXPLAIN_TEXT, &text, NULL, &f->error), GCACHE_OK);
    assert_non_null(strstr(text, "or the program can't load it"));
    gcache_free(text);
    gcache_graph_free(g);
}

/* A description with a mistake in it: compiled all the same, each time, and the reason is told and counted. */
static void
what_cannot_be_keyed_is_compiled_without_the_cache(void **state)
{
    fixture *f = *state;
    gcache_options strict = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1");
    compiler c = { 0 };
    char note[1024];

    gcache_graph_component(g, "twice", gcache_value_int(g, 1));
    gcache_graph_component(g, "twice", gcache_value_int(g, 2));
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(get(f, g, NULL, NULL, &c, note), GCACHE_MISS);
        assert_int_equal(c.calls, i);
        assert_memory_equal(note, "not stored: bypass: ", 20);
        assert_non_null(strstr(note, "twice"));
    }
    assert_int_equal(gcache_counter_misses(f->cache, GCACHE_REASON_BYPASS), 2);
    assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_NOT_STORED), 2);
    strict.strict = true;
    fixture_reopen(f, &strict);
    assert_int_equal(get(f, g, NULL, NULL, &c, NULL), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(c.calls, 2);
    gcache_graph_free(g);
}

/* A compile that asks for itself. */
static gcache_status
compile_nested(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    fixture *f = state;
    gcache_result r = GCACHE_RESULT_INIT;

    (void)out_compiled;
    gcache_status status = gcache_get_or_compile(f->cache, graph, hints, compile_nested, state, &r, error);
    gcache_result_clear(&r);
    return status;
}

static void
a_nested_compile_of_the_same_is_an_error(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(gcache_get_or_compile(f->cache, g, NULL, compile_nested, f, &r, &f->error), GCACHE_ERROR_ARGUMENT);
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

enum { THREADS = 8, PROCESSES = 4 };

typedef struct ask {
    fixture *f;
    compiler *c;
} ask;

static void *
ask_in_thread(void *state)
{
    ask *a = state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 });
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_status status = gcache_get_or_compile(a->f->cache, g, &hints, compile, a->c, &r, NULL);
    bool right = status >= 0 && r.payload_size == 4 && memcmp(r.payload, "code", 4) == 0;

    gcache_result_clear(&r);
    gcache_graph_free(g);
    return right ? a : NULL;
}

static void
threads_share_one_compile(void **state)
{
    fixture *f = *state;
    compiler c = { .takes_us = 50000 };
    ask a = { f, &c };
    pthread_t threads[THREADS];

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_in_thread, &a), 0);
    for (int i = 0; i < THREADS; i++) {
        void *right;
        pthread_join(threads[i], &right);
        assert_ptr_equal(right, &a);
    }
    assert_int_equal(c.calls, 1);
    assert_int_equal(c.released, 1);
}

/* Exit status: 0 a hit, 1 compiled, 2 anything else. */
static int
ask_in_process(char const *directory, bool die)
{
    gcache *cache;
    gcache_graph *g = make_matmul("s0", "s1");
    compiler c = { .takes_us = die ? 10000000 : 50000 };
    gcache_result r = GCACHE_RESULT_INIT;

    if (gcache_open(directory, NULL, &cache, NULL) != GCACHE_OK)
        return 2;
    gcache_status status = gcache_get_or_compile(cache, g, NULL, compile, &c, &r, NULL);
    gcache_result_clear(&r);
    gcache_close(cache);
    gcache_graph_free(g);
    return status == GCACHE_HIT ? 0 : status == GCACHE_MISS ? 1 : 2;
}

static void
processes_share_one_compile(void **state)
{
    fixture *f = *state;
    pid_t children[PROCESSES];
    int compiled = 0;

    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            _exit(ask_in_process(f->directory, false));
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status));
        assert_in_range(WEXITSTATUS(status), 0, 1);
        compiled += WEXITSTATUS(status);
    }
    assert_int_equal(compiled, 1);
}

static void
a_killed_holder_is_taken_over_from(void **state)
{
    fixture *f = *state;
    pid_t holder = fork();

    assert_true(holder >= 0);
    if (holder == 0)
        _exit(ask_in_process(f->directory, true));
    usleep(200000);
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    pid_t next = fork();
    assert_true(next >= 0);
    if (next == 0)
        _exit(ask_in_process(f->directory, false));
    int status;
    assert_int_equal(waitpid(next, &status, 0), next);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 1);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(compiles_once_and_hits_afterwards),
        CASE(a_failing_compile_stores_nothing),
        CASE(says_why_a_compile_is_not_kept),
        CASE(the_minimum_compile_time_itself_is_enough),
        CASE(a_post_load_step_may_turn_a_hit_into_a_miss),
        CASE(what_cannot_be_keyed_is_compiled_without_the_cache),
        CASE(a_nested_compile_of_the_same_is_an_error),
        CASE(threads_share_one_compile),
        CASE(processes_share_one_compile),
        CASE(a_killed_holder_is_taken_over_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
