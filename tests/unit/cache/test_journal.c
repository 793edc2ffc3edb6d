/*
 * What lookups leave behind: past misses read as they would have read then, whatever happened since.
 */
#include "fixture.h"

#include "base/buf.h"
#include "base/system/clock.h"
#include "cache/journal/journal_entry.h"

#include <guardcache/maintenance.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void
look_up(fixture *f, gcache_graph *g, gcache_hints const *hints, gcache_request const *request, gcache_status expected)
{
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(gcache_lookup_with(f->cache, g, hints, request, &r, &f->error), expected);
    gcache_result_clear(&r);
}

static char *
explain_past(fixture *f, gcache_journal_query const *query, gcache_explain_form form, size_t expected)
{
    char *text = NULL;
    size_t count = 0;

    if (gcache_journal_explain(f->cache, query, form, &text, &count, &f->error) != GCACHE_OK)
        fail_msg("%s", f->error.message);
    assert_int_equal(count, expected);
    return text;
}

static void
assert_has(char const *text, char const *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no \"%s\" in:\n%s", part, text);
}

/* The last miss, explained now from the journal, reads as `then` did; only the first line also says when it was. */
static void
assert_reads_as(fixture *f, char const *then)
{
    gcache_journal_query last = GCACHE_JOURNAL_QUERY_INIT;
    size_t first_line = strcspn(then, "\n"), up_to_kind = strcspn(then, ")");

    last.last = 1;
    char *text = explain_past(f, &last, GCACHE_EXPLAIN_TEXT, 1);
    assert_memory_equal(text, then, up_to_kind);
    char const *rest = text + strcspn(text, "\n");
    if (strncmp(rest, then + first_line, strlen(then + first_line)) != 0)
        fail_msg("then:\n%s\nnow:\n%s", then, text);
    gcache_free(text);
}

/* Asks, explains at once, lets something happen, and explains from the journal. */
static void
check_story(fixture *f, gcache_graph *g, gcache_hints const *hints, gcache_request const *request,
            void (*happen)(fixture *f, gcache_graph *g))
{
    char *then = NULL;

    look_up(f, g, hints, request, GCACHE_MISS);
    assert_int_equal(gcache_explain(f->cache, g, hints, request, GCACHE_EXPLAIN_TEXT, &then, &f->error), GCACHE_MISS);
    assert_reads_as(f, then);
    happen(f, g);
    assert_reads_as(f, then);
    gcache_free(then);
}

static int
remove_entry(void *state, gcache_entry_view const *entry)
{
    fixture *f = state;

    return gcache_remove(f->cache, &entry->key, entry->id, &f->error) != GCACHE_OK;
}

static void
take_all_out(fixture *f, gcache_graph *g)
{
    (void)g;
    assert_int_equal(gcache_each_entry(f->cache, NULL, remove_entry, f, &f->error), GCACHE_OK);
}

static void
store_what_holds(fixture *f, gcache_graph *g)
{
    assert_int_equal(insert_text(f, g, NULL, NULL, "serves everybody"), GCACHE_OK);
}

static void
guards_read_as_then(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_pair source = { "s0", "x.size(0)" };

    request.label = "train.py:88 forward";
    request.sources = &source;
    request.sources_count = 1;
    assert_int_equal(insert_text(f, g, NULL, "s1 > 2 and s0 % 8 == 0", "x"), GCACHE_OK);
    assert_int_equal(insert_text(f, g, NULL, "s0 <= 4", "y"), GCACHE_OK);
    check_story(f, g, &now, &request, take_all_out);
    gcache_graph_free(g);
}

static void
renamed_guards_read_as_then(void **state)
{
    fixture *f = *state;
    gcache_graph *stored = make_matmul("s77", "s3"), *asked = make_matmul("s3", "s77");
    gcache_hints now = GCACHE_HINTS({ "s3", 12 }, { "s77", 5 });
    gcache_request request = GCACHE_REQUEST_INIT;

    assert_int_equal(insert_text(f, stored, NULL, "s77 % 8 == 0 and s3 == 5", "shared"), GCACHE_OK);
    check_story(f, asked, &now, &request, take_all_out);
    request.accept_renames = true;
    assert_int_equal(insert_text(f, stored, NULL, "s77 % 8 == 0 and s3 == 5", "shared"), GCACHE_OK);
    check_story(f, asked, &now, &request, take_all_out);
    gcache_graph_free(stored);
    gcache_graph_free(asked);
}

static void
errors_requirements_and_variants_read_as_then(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1"), *h = make_matmul("s0", "9");
    gcache_hints zero = GCACHE_HINTS({ "s0", 12 }, { "s1", 0 });
    gcache_pair needs = { "libdevice", "a" }, has = { "libdevice", "b" };
    gcache_entry entry = { .size = sizeof entry, .payload = "t", .payload_size = 1, .variant = "pgle", .requires_ = &needs,
                           .requires_count = 1 };
    gcache_request request = GCACHE_REQUEST_INIT;

    assert_int_equal(insert_text(f, g, NULL, "s0 // s1 == 2", "x"), GCACHE_OK);
    check_story(f, g, &zero, NULL, store_what_holds);
    assert_int_equal(gcache_insert(f->cache, h, NULL, &entry, NULL, &f->error), GCACHE_OK);
    check_story(f, h, NULL, NULL, store_what_holds);
    assert_int_equal(gcache_each_entry(f->cache, NULL, remove_entry, f, &f->error), GCACHE_OK);
    assert_int_equal(gcache_insert(f->cache, h, NULL, &entry, NULL, &f->error), GCACHE_OK);
    request.provides = &has;
    request.provides_count = 1;
    check_story(f, h, NULL, &request, store_what_holds);
    gcache_graph_free(g);
    gcache_graph_free(h);
}

static void
a_key_nobody_knew_is_compared_with_what_was_there_then(void **state)
{
    fixture *f = *state;
    gcache_graph *stored = make_matmul("s0", "s1"), *asked = make_matmul("s0", "7");
    char *text;

    assert_int_equal(insert_text(f, stored, NULL, NULL, "x"), GCACHE_OK);
    check_story(f, asked, NULL, NULL, store_what_holds);
    gcache_journal_query last = GCACHE_JOURNAL_QUERY_INIT;
    last.last = 1;
    text = explain_past(f, &last, GCACHE_EXPLAIN_TEXT, 1);
    assert_has(text, "nothing was stored under it");
    assert_has(text, "inputs[");
    assert_has(text, "since then: now it hits ");
    gcache_free(text);
    gcache_graph_free(stored);
    gcache_graph_free(asked);
}

/* ---- what happens between a miss and its journal entry ---- */

typedef struct intruder {
    fixture *f;
    gcache_graph *graph;
    char const *guard;
} intruder;

/* A listener hears of the miss before it is journaled. */
static void
store_after_miss(void *state, gcache_event const *event)
{
    intruder *i = state;
    char const *guard = i->guard;

    if (event->kind != GCACHE_EVENT_MISS || guard == NULL)
        return;
    i->guard = NULL;
    assert_int_equal(insert_text(i->f, i->graph, NULL, guard, "stored meanwhile"), GCACHE_OK);
}

/* A candidate that is stored then didn't fail: nobody tried it. */
static void
check_intruder(fixture *f, char const *guard, char const *expected)
{
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints seven = GCACHE_HINTS({ "s0", 7 }, { "s1", 16 });
    gcache_options options = GCACHE_OPTIONS_INIT;
    intruder i = { .f = f, .graph = g };
    gcache_journal_query last = GCACHE_JOURNAL_QUERY_INIT;

    options.event = store_after_miss;
    options.event_state = &i;
    fixture_reopen(f, &options);
    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "x"), GCACHE_OK);
    i.guard = guard;
    look_up(f, g, &seven, NULL, GCACHE_MISS);
    last.last = 1;
    char *text = explain_past(f, &last, GCACHE_EXPLAIN_TEXT, 1);
    assert_has(text, "1 candidate,");
    assert_has(text, expected);
    assert_null(strstr(text, "> 100"));
    gcache_free(text);
    gcache_graph_free(g);
}

static void
what_is_stored_after_the_miss_is_not_among_those_that_failed(void **state)
{
    check_intruder(*state, "s0 > 100", "x.size(0) % 8 == 0");
}

static void
what_would_have_hit_after_the_miss_is_not_among_those_that_failed(void **state)
{
    check_intruder(*state, "s0 == 7", "since then: now it hits ");
}

static void
only_what_was_meant_is_told(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1"), *h = make_matmul("s0", "9");
    gcache_hints now = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });
    gcache_request resnet = GCACHE_REQUEST_INIT, bert = GCACHE_REQUEST_INIT;
    gcache_key key;
    char hex[GCACHE_KEY_HEX_SIZE];

    resnet.label = "resnet.py:12 forward";
    bert.label = "bert.py:7 forward";
    look_up(f, g, &now, &resnet, GCACHE_MISS);
    uint64_t middle = gci_clock_wall_ns();
    look_up(f, h, NULL, &bert, GCACHE_MISS);
    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "x"), GCACHE_OK);
    look_up(f, g, &now, &resnet, GCACHE_MISS);

    gcache_free(explain_past(f, NULL, GCACHE_EXPLAIN_ALL, 3));
    gcache_journal_query query = GCACHE_JOURNAL_QUERY_INIT;
    query.label = "resnet";
    gcache_free(explain_past(f, &query, GCACHE_EXPLAIN_TEXT, 2));
    query.reason = GCACHE_REASON_GUARD_FALSE;
    char *text = explain_past(f, &query, GCACHE_EXPLAIN_TEXT, 1);
    assert_has(text, "miss: guard_false    resnet.py:12 forward    key ");
    gcache_free(text);
    query = (gcache_journal_query)GCACHE_JOURNAL_QUERY_INIT;
    query.since_ns = middle;
    gcache_free(explain_past(f, &query, GCACHE_EXPLAIN_JSON, 2));
    assert_int_equal(gcache_graph_key(h, &key, &f->error), GCACHE_OK);
    gcache_key_to_hex(&key, hex);
    hex[8] = '\0';
    query = (gcache_journal_query)GCACHE_JOURNAL_QUERY_INIT;
    query.key = hex;
    text = explain_past(f, &query, GCACHE_EXPLAIN_TEXT, 1);
    assert_has(text, "bert.py:7 forward");
    gcache_free(text);
    query = (gcache_journal_query)GCACHE_JOURNAL_QUERY_INIT;
    query.namespace_ = "";
    gcache_free(explain_past(f, &query, GCACHE_EXPLAIN_TEXT, 3));
    query.namespace_ = "other";
    gcache_free(explain_past(f, &query, GCACHE_EXPLAIN_TEXT, 0));
    query.size--;
    assert_int_equal(gcache_journal_explain(f->cache, &query, GCACHE_EXPLAIN_TEXT, &text, NULL, &f->error), GCACHE_ERROR_ARGUMENT);
    gcache_graph_free(g);
    gcache_graph_free(h);
}

static void
a_killed_process_has_told_why(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });
    int status;

    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "x"), GCACHE_OK);
    gcache_close(f->cache);
    f->cache = NULL;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        gcache_result r = GCACHE_RESULT_INIT;
        if (gcache_open(f->directory, NULL, &f->cache, NULL) == GCACHE_OK &&
            gcache_lookup(f->cache, g, &now, &r, NULL) == GCACHE_MISS)
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    fixture_reopen(f, NULL);
    char *text = explain_past(f, NULL, GCACHE_EXPLAIN_TEXT, 1);
    assert_has(text, "miss: guard_false");
    assert_has(text, "x.size(0) % 8 == 0");
    gcache_free(text);
    gcache_graph_free(g);
}

/* ---- what is counted ---- */

typedef struct sums {
    uint64_t misses, hits, hit_entries, saved_ns, inserts, compile_ns, not_stored;
    char text[128];
} sums;

static int
add_up(void *state, gcache_journal_entry const *entry)
{
    sums *s = state;

    s->misses += entry->kind == GCACHE_JOURNAL_MISS;
    s->hits += entry->hits;
    s->hit_entries += entry->kind == GCACHE_JOURNAL_HIT;
    s->saved_ns += entry->saved_ns;
    s->inserts += entry->kind == GCACHE_JOURNAL_INSERT;
    s->not_stored += entry->kind == GCACHE_JOURNAL_NOT_STORED;
    if (entry->kind == GCACHE_JOURNAL_MISS)
        s->compile_ns += entry->compile_ns;
    if (entry->kind == GCACHE_JOURNAL_NOT_STORED)
        snprintf(s->text, sizeof s->text, "%s", entry->text);
    return 0;
}

static sums
sum_up(fixture *f)
{
    sums s = { 0 };

    assert_int_equal(gcache_journal_each(f->cache, NULL, add_up, &s, &f->error), GCACHE_OK);
    return s;
}

enum { THREADS = 24, HITS = 700 };

typedef struct asker {
    fixture *f;
    gcache_graph *graph;
} asker;

static void *
hit_often(void *state)
{
    asker *a = state;
    gcache_hints hints = GCACHE_HINTS({ "s0", 16 }, { "s1", 16 });

    for (int i = 0; i < HITS; i++) {
        gcache_result r = GCACHE_RESULT_INIT;
        if (gcache_lookup(a->f->cache, a->graph, &hints, &r, NULL) != GCACHE_HIT)
            return NULL;
        gcache_result_clear(&r);
    }
    return a;
}

static void
every_hit_is_counted(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    asker a = { f, g };
    pthread_t threads[THREADS];

    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "x"), GCACHE_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hit_often, &a), 0);
    for (int i = 0; i < THREADS; i++) {
        void *right;
        pthread_join(threads[i], &right);
        assert_ptr_equal(right, &a);
    }
    assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_HITS), THREADS * HITS);
    assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_SAVED_NS), UINT64_C(4100000000) * THREADS * HITS);
    assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_INSERTS), 1);
    fixture_reopen(f, NULL);
    sums s = sum_up(f);
    assert_int_equal(s.hits, THREADS * HITS);
    assert_int_equal(s.saved_ns, UINT64_C(4100000000) * THREADS * HITS);
    /* Each lane tells of its first 64 hits one by one and then of ever fewer: some 220 of a thread's 700. */
    assert_in_range(s.hit_entries, 64, THREADS * HITS / 2);
    gcache_graph_free(g);
}

/* By a handle that does nothing else, too. */
static void
a_first_hit_is_written_at_once(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 16 }, { "s1", 16 });
    int status;

    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "x"), GCACHE_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        fixture_reopen(f, NULL);
        look_up(f, g, &now, NULL, GCACHE_HIT);
        kill(getpid(), SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(sum_up(f).hits, 1);
    gcache_graph_free(g);
}

/* A child's own hits are its own to report, from the first one on; its parent's aren't. */
static void
a_child_reports_its_hits(void **state)
{
    enum { CHILDREN = 6 };
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 16 }, { "s1", 16 });
    uint64_t hits = 0;
    int status;

    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "x"), GCACHE_OK);
    for (int round = 0; round < CHILDREN; round++) {
        fixture_reopen(f, NULL);
        for (int i = 0; i < round / 2; i++, hits++)
            look_up(f, g, &now, NULL, GCACHE_HIT);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            for (int i = 0; i <= round % 2; i++)
                look_up(f, g, &now, NULL, GCACHE_HIT);
            gcache_close(f->cache);
            _exit(0);
        }
        hits += 1 + (uint64_t)(round % 2);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    fixture_reopen(f, NULL);
    assert_int_equal(sum_up(f).hits, hits);
    gcache_graph_free(g);
}

/* What short handles count goes through the segment, which some of them drain. */
static void
short_handles_are_counted(void **state)
{
    enum { HANDLES = 300 };
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 16 }, { "s1", 16 });

    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "x"), GCACHE_OK);
    uint64_t before = fixture_statistic(f->cache, GCACHE_STATISTIC_DISK_READS);
    for (int i = 0; i < HANDLES; i++) {
        fixture_reopen(f, NULL);
        look_up(f, g, &now, NULL, GCACHE_HIT);
    }
    fixture_reopen(f, NULL);
    assert_int_equal(sum_up(f).hits, HANDLES);
    assert_in_range(fixture_statistic(f->cache, GCACHE_STATISTIC_DISK_READS), before + HANDLES, before + HANDLES + 2);
    gcache_graph_free(g);
}

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    (void)state, (void)graph, (void)hints, (void)error;
    *out_compiled->entry = (gcache_entry){ .size = sizeof(gcache_entry), .payload = "code", .payload_size = 4,
                                          .compile_ns = 12000000 };
    return GCACHE_OK;
}

static void
a_compile_that_was_not_kept_is_remembered(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_result r = GCACHE_RESULT_INIT;
    char *text;

    options.min_compile_ns = UINT64_C(1000000000);
    assert_int_equal(gcache_get_or_compile_with(f->cache, g, NULL, &options, compile, NULL, &r, &f->error), GCACHE_MISS);
    gcache_result_clear(&r);
    sums s = sum_up(f);
    assert_int_equal(s.misses, 1);
    assert_int_equal(s.not_stored, 1);
    assert_int_equal(s.compile_ns, 12000000);
    assert_string_equal(s.text, "not stored: compiled in 12 ms, less than 1.0 s");
    assert_int_equal(gcache_explain(f->cache, g, NULL, NULL, GCACHE_EXPLAIN_TEXT, &text, &f->error), GCACHE_MISS);
    assert_has(text, " and not stored: compiled in 12 ms, less than 1.0 s\n");
    gcache_free(text);
    gcache_graph_free(g);
}

static void
a_call_leaves_one_miss(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(gcache_get_or_compile(f->cache, g, NULL, compile, NULL, &r, &f->error), GCACHE_MISS);
    gcache_result_clear(&r);
    sums s = sum_up(f);
    assert_int_equal(s.misses, 1);
    assert_int_equal(s.inserts, 1);
    assert_int_equal(s.compile_ns, 12000000);
    assert_int_equal(gcache_counter_misses(f->cache, GCACHE_REASON_NO_KEY), 1);
    gcache_graph_free(g);
}

static void
a_read_only_cache_writes_none(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.read_only = true;
    fixture_reopen(f, &options);
    look_up(f, g, NULL, NULL, GCACHE_MISS);
    assert_int_equal(gcache_counter_misses(f->cache, GCACHE_REASON_NO_KEY), 1);
    assert_int_equal(sum_up(f).misses, 0);
    gcache_graph_free(g);
}

/* ---- what can't be ---- */

/* Thousands of hints, more than an entry of the journal holds; s0 = 12 is one of them, under the name that is given. */
static gcache_hints
many_hints(char const *s0)
{
    enum { COUNT = 4000 };
    static gcache_hint items[COUNT];
    static char names[COUNT][32];

    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "a_long_name_of_a_symbol_%d", i);
        items[i] = (gcache_hint){ names[i], i };
    }
    items[COUNT / 2] = (gcache_hint){ s0, 12 };
    return (gcache_hints){ .items = items, .count = COUNT };
}

static void
too_many_hints_leave_a_lean_entry(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = many_hints("another_name");

    look_up(f, g, &hints, NULL, GCACHE_MISS);
    assert_int_equal(sum_up(f).misses, 1);
    char *text = explain_past(f, NULL, GCACHE_EXPLAIN_TEXT, 1);
    assert_has(text, "miss: no_key");
    gcache_free(text);
    gcache_graph_free(g);
}

/* ---- what is long ---- */

/* "s1 != 1000 and s1 != 1001 and .." of at least so many bytes: true for s1 = 16. */
static char *
long_text(size_t size, char const *end)
{
    char *text = malloc(size + 100);
    size_t used = 0;

    assert_non_null(text);
    for (int i = 1000; used < size; i++)
        used += (size_t)snprintf(text + used, 32, "s1 != %d and ", i);
    snprintf(text + used, 64, "%s", end);
    return text;
}

/* Whatever a candidate's guards are like, the journal has which one failed, its values, and whether there was more. */
static void
check_long_guards(fixture *f, char const *const *guards, size_t count, char const *const *parts, size_t part_count)
{
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints good = GCACHE_HINTS({ "s0", 16 }, { "s1", 16 }), now = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });
    gcache_entry entry = { .size = sizeof entry, .guards = guards, .guard_count = count, .payload = "x", .payload_size = 1 };
    gcache_journal_query last = GCACHE_JOURNAL_QUERY_INIT;
    char *text;

    last.last = 1;
    assert_int_equal(gcache_insert(f->cache, g, &good, &entry, NULL, &f->error), GCACHE_OK);
    look_up(f, g, &now, NULL, GCACHE_MISS);
    text = explain_past(f, &last, GCACHE_EXPLAIN_JSON, 1);
    for (size_t i = 0; i < part_count; i++)
        assert_has(text, parts[i]);
    gcache_free(text);
    text = explain_past(f, &last, GCACHE_EXPLAIN_TEXT, 1);
    assert_has(text, "x.size(0) % 8 == 0");
    assert_has(text, "12 % 8 = 4");
    assert_has(text, "its other guards are too long for the journal");
    gcache_free(text);
    gcache_graph_free(g);
}

static void
long_guards_keep_what_decided(void **state)
{
    char *filler = long_text(9000, "s1 != 2");
    char const *const guards[] = { filler, "s1 == 16", "s0 % 8 == 0", "s1 > 3" };
    static char const *const parts[] = {
        ("{\"text\": \"\", \"cut\": true, \"result\": true}, {\"text\": \"\", \"cut\": true, \"result\": true}, "
         "{\"text\": \"s0 % 8 == 0\", \"result\": false}, {\"text\": \"\", \"cut\": true, \"result\": null}]"),
        "\"first_failing\": 2, ", "\"arithmetic\": \"12 % 8 = 4\"", "\"values\": {\"s0\": 12, \"s1\": 16}, \"cut\": true}",
    };

    check_long_guards(*state, guards, 4, parts, 4);
    free(filler);
}

/* PyTorch joins all guards to one. */
static void
a_long_guard_keeps_the_part_that_decided(void **state)
{
    char *joined = long_text(30000, "s0 % 8 == 0");
    char const *const guards[] = { "s1 == 16", joined };
    static char const *const parts[] = {
        "{\"text\": \"\", \"cut\": true, \"result\": true}, {\"text\": \"s0 % 8 == 0\", \"cut\": true, \"result\": false}]",
        "\"first_failing\": 1, ", "\"arithmetic\": \"12 % 8 = 4\"", "\"values\": {\"s0\": 12, \"s1\": 16}, \"cut\": true}",
    };

    check_long_guards(*state, guards, 2, parts, 4);
    free(joined);
}

/* A miss with thousands of hints, which don't fit in. */
static void
miss_many_hints(fixture *f, gcache_request const *request)
{
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = many_hints("s0");

    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "x"), GCACHE_OK);
    look_up(f, g, &hints, request, GCACHE_MISS);
    gcache_graph_free(g);
}

/* Those that decided do. */
static void
many_hints_keep_those_that_decided(void **state)
{
    fixture *f = *state;
    gcache_request request = GCACHE_REQUEST_INIT;

    request.label = "model.py:7 forward";
    miss_many_hints(f, &request);
    char *text = explain_past(f, NULL, GCACHE_EXPLAIN_JSON, 1);
    assert_has(text, "\"label\": \"model.py:7 forward\"");
    assert_has(text, ", \"cut\": true, \"candidates\": [");
    assert_has(text, "\"first_failing\": 0, ");
    assert_has(text, "\"values\": {\"s0\": 12}");
    gcache_free(text);
    text = explain_past(f, NULL, GCACHE_EXPLAIN_TEXT, 1);
    assert_has(text, "\ntoo long for the journal, which kept only what decided\n");
    assert_has(text, "12 % 8 = 4");
    assert_null(strstr(text, "since then")); /* not all hints are known */
    gcache_free(text);
}

static void
a_cut_miss_knows_its_variant(void **state)
{
    fixture *f = *state;
    gcache_request request = GCACHE_REQUEST_INIT;

    request.variant = "slow";
    miss_many_hints(f, &request);
    char *text = explain_past(f, NULL, GCACHE_EXPLAIN_TEXT, 1);
    assert_has(text, "miss: variant");
    assert_has(text, "asked \"slow\"");
    assert_has(text, "or compile \"slow\" once");
    gcache_free(text);
}

/* One comparison of 70,000 bytes: there is no smaller part that decided. */
static void
a_decision_that_is_too_long_is_shortened(void **state)
{
    enum { TERMS = 10000 };
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints good = GCACHE_HINTS({ "s0", 5 }, { "s1", 16 }), now = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });
    gci_buf guard;

    gci_buf_init(&guard, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&guard, "s0");
    for (int i = 0; i < TERMS; i++)
        gci_buf_append_text(&guard, " + 0*s1");
    gci_buf_append_text(&guard, " == 5");
    gci_buf_append_char(&guard, '\0');
    assert_int_equal(insert_text(f, g, &good, guard.data, "x"), GCACHE_OK);
    look_up(f, g, &now, NULL, GCACHE_MISS);
    assert_int_equal(sum_up(f).misses, 1);
    char *text = explain_past(f, NULL, GCACHE_EXPLAIN_JSON, 1);
    assert_has(text, "\"reason\": \"guard_false\"");
    assert_has(text, ", \"cut\": true, \"candidates\": [");
    assert_has(text, "{\"text\": \"s0 + 0*s1 + 0*s1");
    assert_has(text, "+ 0*s1 == 5 ...\", \"cut\": true, \"result\": false}");
    gcache_free(text);
    text = explain_past(f, NULL, GCACHE_EXPLAIN_TEXT, 1);
    assert_has(text, "\ntoo long for the journal, which kept only what decided\n");
    assert_has(text, "== 5 ...");
    assert_has(text, "1 candidate, it doesn't hold\n");
    assert_null(strstr(text, "since then"));
    gcache_free(text);
    gci_buf_clear(&guard);
    gcache_graph_free(g);
}

static void
a_requirement_that_is_too_long_is_shortened(void **state)
{
    enum { SIZE = 70000 };
    static char longest[SIZE + 1];
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });
    gcache_pair const needed = { "flags", longest };
    gcache_entry entry = { .size = sizeof entry, .payload = "x", .payload_size = 1, .requires_ = &needed, .requires_count = 1,
                           .variant = longest };

    memset(longest, 'v', SIZE);
    longest[0] = 'a';
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    look_up(f, g, &now, NULL, GCACHE_MISS);
    assert_int_equal(sum_up(f).misses, 1);
    char *text = explain_past(f, NULL, GCACHE_EXPLAIN_JSON, 1);
    assert_has(text, "\"requirement\": {\"name\": \"flags\", \"stored\": \"avvvvv");
    assert_has(text, "vvv ... vvv");
    gcache_free(text);
    gcache_graph_free(g);
}

/* What isn't a miss is counted with as many hints as there are. */
static void
hits_and_inserts_with_many_hints_are_counted(void **state)
{
    enum { COUNT = 4000 };
    static gcache_hint items[COUNT];
    static char names[COUNT][32];
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = { .items = items, .count = COUNT };

    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "a_long_name_of_a_symbol_%d", i);
        items[i] = (gcache_hint){ names[i], i };
    }
    assert_int_equal(insert_text(f, g, &hints, NULL, "x"), GCACHE_OK);
    look_up(f, g, &hints, NULL, GCACHE_HIT);
    sums s = sum_up(f);
    assert_int_equal(s.inserts, 1);
    assert_int_equal(s.hits, 1);
    gcache_graph_free(g);
}

static int
damage(void *state, uint64_t at_ns, gci_view whole)
{
    size_t *read = state;
    char *bytes = malloc(whole.size);

    assert_non_null(bytes);
    for (size_t i = 0; i < whole.size; i++) {
        gci_journal_entry entry;
        memcpy(bytes, whole.data, whole.size);
        bytes[i] = (char)(bytes[i] ^ 0x81);
        if (gci_journal_entry_read(NULL, at_ns, gci_view_of(bytes, i % 3 == 0 ? i : whole.size), &entry, NULL) == GCACHE_OK) {
            gci_journal_entry_open(&entry, NULL);
            ++*read;
        }
        gci_journal_entry_clear(&entry);
    }
    free(bytes);
    return 0;
}

static void
damaged_entries_are_passed_over(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });
    size_t read = 0;

    look_up(f, g, &now, NULL, GCACHE_MISS);
    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "x"), GCACHE_OK);
    look_up(f, g, &now, NULL, GCACHE_MISS);
    assert_int_equal(gci_store_journal_each(f->cache->store, damage, &read, &f->error), GCACHE_OK);
    assert_true(read > 100);
    gci_store_journal_append(f->cache->store, (gci_view)GCI_VIEW("\x01\x01nonsense"));
    assert_int_equal(sum_up(f).misses, 2);
    gcache_graph_free(g);
}

/* ---- stored between the lookup and its line ---- */

/* Another handle stores what is asked for, and the same for other hints, once the lookup has missed. */
static void
store_meanwhile(void *state, gcache_event const *event)
{
    fixture *f = state;
    char const *guard = "s0 == 3";
    gcache_entry entry = { .size = sizeof entry, .guards = &guard, .guard_count = 1, .payload = "code", .payload_size = 4 };
    gcache *other;

    if (event->kind != GCACHE_EVENT_MISS)
        return;
    gcache_graph *graph = make_matmul("s0", "7"), *beside = make_matmul("s0", "8");
    assert_int_equal(gcache_open(f->directory, NULL, &other, &f->error), GCACHE_OK);
    assert_int_equal(gcache_insert(other, graph, NULL, &entry, NULL, &f->error), GCACHE_OK);
    entry.guard_count = 0;
    assert_int_equal(gcache_insert(other, beside, NULL, &entry, NULL, &f->error), GCACHE_OK);
    gcache_close(other);
    gcache_graph_free(graph);
    gcache_graph_free(beside);
}

static char *
miss_meanwhile(fixture *f)
{
    gcache_journal_query query = GCACHE_JOURNAL_QUERY_INIT;
    gcache_hints hints = GCACHE_HINTS({ "s0", 5 });
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_graph *graph = make_matmul("s0", "7");
    char *text;

    assert_int_equal(gcache_lookup(f->cache, graph, &hints, &result, &f->error), GCACHE_MISS);
    gcache_result_clear(&result);
    gcache_graph_free(graph);
    query.last = 1;
    assert_int_equal(gcache_journal_explain(f->cache, &query, GCACHE_EXPLAIN_JSON, &text, NULL, &f->error), GCACHE_OK);
    return text;
}

static void
what_is_stored_meanwhile_was_not_there(void **state)
{
    fixture *f = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    char const *guard = "s0 == 4";
    gcache_entry entry = { .size = sizeof entry, .guards = &guard, .guard_count = 1, .payload = "older", .payload_size = 5 };

    options.event = store_meanwhile;
    options.event_state = f;
    fixture_reopen(f, &options);
    char *text = miss_meanwhile(f);
    assert_non_null(strstr(text, "\"reason\": \"no_key\""));
    assert_non_null(strstr(text, "\"nearest\": []"));
    gcache_free(text);
    /* And a candidate that came meanwhile isn't among those that failed. */
    fixture_reopen(f, NULL);
    assert_int_equal(gcache_gc(f->cache, &(gcache_gc_options){ .size = sizeof(gcache_gc_options), .target_bytes = 1 }, NULL,
                               &f->error), GCACHE_OK);
    gcache_graph *graph = make_matmul("s0", "7");
    assert_int_equal(gcache_insert(f->cache, graph, NULL, &entry, NULL, &f->error), GCACHE_OK);
    gcache_graph_free(graph);
    fixture_reopen(f, &options);
    text = miss_meanwhile(f);
    assert_non_null(strstr(text, "s0 == 4"));
    assert_null(strstr(text, "s0 == 3"));
    gcache_free(text);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(guards_read_as_then),
        CASE(renamed_guards_read_as_then),
        CASE(errors_requirements_and_variants_read_as_then),
        CASE(a_key_nobody_knew_is_compared_with_what_was_there_then),
        CASE(what_is_stored_after_the_miss_is_not_among_those_that_failed),
        CASE(what_would_have_hit_after_the_miss_is_not_among_those_that_failed),
        CASE(only_what_was_meant_is_told),
        CASE(a_killed_process_has_told_why),
        CASE(every_hit_is_counted),
        CASE(a_first_hit_is_written_at_once),
        CASE(a_child_reports_its_hits),
        CASE(short_handles_are_counted),
        CASE(a_compile_that_was_not_kept_is_remembered),
        CASE(a_call_leaves_one_miss),
        CASE(a_read_only_cache_writes_none),
        CASE(too_many_hints_leave_a_lean_entry),
        CASE(long_guards_keep_what_decided),
        CASE(a_long_guard_keeps_the_part_that_decided),
        CASE(many_hints_keep_those_that_decided),
        CASE(a_cut_miss_knows_its_variant),
        CASE(a_decision_that_is_too_long_is_shortened),
        CASE(a_requirement_that_is_too_long_is_shortened),
        CASE(hits_and_inserts_with_many_hints_are_counted),
        CASE(damaged_entries_are_passed_over),
        CASE(what_is_stored_meanwhile_was_not_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
