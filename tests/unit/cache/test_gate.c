/*
 * Every setting that closes a way, against every public call: one table of what each call says, and a few crowds that must not
 * wait for each other, or compile once.
 */
#include "fixture.h"

#include <guardcache/blobs.h>
#include <guardcache/bulk.h>
#include <guardcache/maintenance.h>
#include <guardcache/share.h>
#include <guardcache/tuning.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { WORD = 96 };

/* ---- settings ---- */

typedef enum {
    NOTHING,
    DISABLED,
    BYPASS,
    ASKED_BYPASS,
    READ_ONLY,
    READER,
    REFRESH,
    ASKED_REFRESH,
    NO_JOURNAL,
    STRICT,
    SETTINGS
} setting;

static char const *const setting_names[SETTINGS] = { "nothing",  "disabled",        "bypass",         "bypass of the request",
                                                     "read-only", "reader",          "refresh",        "refresh of the call",
                                                     "no journal", "strict" };

static gcache_options
options_of(setting s)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.disabled = s == DISABLED;
    options.bypass = s == BYPASS ? "a release" : NULL;
    options.read_only = s == READ_ONLY;
    options.refresh = s == REFRESH;
    options.no_journal = s == NO_JOURNAL;
    options.strict = s == STRICT;
    return options;
}

static gcache_request
request_of(setting s)
{
    gcache_request request = GCACHE_REQUEST_INIT;

    request.bypass = s == ASKED_BYPASS ? "a release" : NULL;
    return request;
}

static gcache_compile_options
compile_options_of(setting s, gcache_request const *request)
{
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;

    options.request = request;
    options.reader = s == READER;
    options.refresh = s == ASKED_REFRESH;
    options.lease_timeout_ns = 20000000;
    return options;
}

/* ---- calls: each writes what came of it ---- */

typedef struct trial {
    fixture *f;
    setting setting;
    gcache_graph *known, *unknown; /* one has an entry */
} trial;

static void
write_status(gcache_status status, char *out)
{
    snprintf(out, WORD, "%s", gcache_status_name(status));
}

static void
write_result(gcache_status status, gcache_result *r, char *out)
{
    if (status == GCACHE_HIT)
        snprintf(out, WORD, "hit %.*s", (int)r->payload_size, r->payload != NULL ? (char const *)r->payload : "");
    else if (status == GCACHE_MISS && r->payload != NULL)
        snprintf(out, WORD, "compiled, %s", r->note[0] != '\0' ? r->note : "stored");
    else
        snprintf(out, WORD, "%s %s", gcache_status_name(status), gcache_reason_name(r->reason));
    gcache_result_clear(r);
}

static void
look_up(trial *t, char *out)
{
    gcache_request request = request_of(t->setting);
    gcache_result r = GCACHE_RESULT_INIT;

    write_result(gcache_lookup_with(t->f->cache, t->known, NULL, &request, &r, NULL), &r, out);
}

static void
probe(trial *t, char *out)
{
    gcache_request request = request_of(t->setting);
    gcache_result r = GCACHE_RESULT_INIT;

    request.probe = true;
    write_result(gcache_lookup_with(t->f->cache, t->known, NULL, &request, &r, NULL), &r, out);
}

static void
explain(trial *t, char *out)
{
    gcache_request request = request_of(t->setting);
    char *text = NULL;

    write_status(gcache_explain(t->f->cache, t->known, NULL, &request, GCACHE_EXPLAIN_TEXT, &text, NULL), out);
    gcache_free(text);
}

static void
insert(trial *t, char *out)
{
    gcache_entry entry = { .size = sizeof entry, .payload = "new", .payload_size = 3 };
    gcache_error error = { 0 };

    gcache_status status = gcache_insert(t->f->cache, t->unknown, NULL, &entry, NULL, &error);
    snprintf(out, WORD, "%s%s%.60s", gcache_status_name(status), status != GCACHE_OK ? " " : "", error.message);
}

static void
get_or_compile(trial *t, gcache_graph *graph, char *out)
{
    gcache_request request = request_of(t->setting);
    gcache_compile_options options = compile_options_of(t->setting, &request);
    gcache_result r = GCACHE_RESULT_INIT;

    write_result(gcache_get_or_compile_with(t->f->cache, graph, NULL, &options, compile_new, NULL, &r, NULL), &r, out);
}

static void
get_known(trial *t, char *out)
{
    get_or_compile(t, t->known, out);
}

static void
get_unknown(trial *t, char *out)
{
    get_or_compile(t, t->unknown, out);
}

static void
compile_many(trial *t, char *out)
{
    gcache_request request = request_of(t->setting);
    gcache_compile_options each = compile_options_of(t->setting, &request);
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;
    gcache_module module = { .size = sizeof module, .graph = t->unknown };

    options.each = &each;
    assert_int_equal(gcache_compile_many(t->f->cache, &module, 1, &options, compile_new, NULL, NULL), GCACHE_OK);
    write_result(module.status, &module.result, out);
}

static void
begin_compile(trial *t, char *out)
{
    gcache_request request = request_of(t->setting);
    gcache_compile_options options = compile_options_of(t->setting, &request);
    uint64_t before = gcache_counter_read(t->f->cache, GCACHE_COUNTER_LEASES);
    gcache_compile *compile;
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(gcache_compile_begin(t->f->cache, t->unknown, NULL, &options, NULL, &compile, &r, NULL), GCACHE_MISS);
    snprintf(out, WORD, "%s", gcache_counter_read(t->f->cache, GCACHE_COUNTER_LEASES) != before ? "leased" : "goes on");
    assert_int_equal(gcache_compile_end(compile, NULL, NULL), GCACHE_MISS);
    gcache_result_clear(&r);
}

/* Whoever holds a lease waits for none, so the one who holds it is another thread. */
static void *
get_in_thread(void *state)
{
    char text[WORD];

    get_unknown(state, text);
    return NULL;
}

/* Somebody else holds the lease: who may not have it doesn't wait for it either. */
static void
wait_for_another(trial *t, char *out)
{
    gcache *other;
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_compile *held;
    gcache_result r = GCACHE_RESULT_INIT;
    pthread_t thread;

    assert_int_equal(gcache_open(t->f->directory, NULL, &other, NULL), GCACHE_OK);
    options.refresh = t->setting == REFRESH || t->setting == ASKED_REFRESH;
    assert_int_equal(gcache_compile_begin(other, t->unknown, NULL, &options, NULL, &held, &r, NULL), GCACHE_MISS);
    uint64_t before = fixture_statistic(t->f->cache, GCACHE_STATISTIC_LEASE_WAITS);
    assert_int_equal(pthread_create(&thread, NULL, get_in_thread, t), 0);
    pthread_join(thread, NULL);
    bool waited = fixture_statistic(t->f->cache, GCACHE_STATISTIC_LEASE_WAITS) != before;
    snprintf(out, WORD, "%s", waited ? "waits" : "goes on");
    gcache_compile_end(held, NULL, NULL);
    gcache_result_clear(&r);
    gcache_close(other);
}

static gcache_site const site = { .size = sizeof site, .system = "cpu", .op = "mm", .inputs = "8x8", .precision = "highest" };
static char const *const choices[] = { "a" };

static gcache_status
benchmark(void *state, char const *const *names, size_t count, double *out_timings, gcache_error *error)
{
    (void)state, (void)names, (void)error;
    for (size_t i = 0; i < count; i++)
        out_timings[i] = 2.0;
    return GCACHE_OK;
}

static void
get_timings(trial *t, char *out)
{
    double room[1];
    gcache_timings timings = { .size = sizeof timings, .timings = room };

    gcache_timings_get(t->f->cache, &site, choices, 1, benchmark, NULL, &timings, NULL);
    snprintf(out, WORD, "%s", timings.measured ? "measured" : "known");
}

static void
put_timings(trial *t, char *out)
{
    write_status(gcache_timings_put(t->f->cache, &site, choices, (double[]){ 1.0 }, 1, NULL), out);
}

static gcache_pair const parameters[] = { { "XBLOCK", "64" } };
static gcache_config const config = { parameters, 1 };
static gcache_kernel const kernel = { .size = sizeof kernel, .source_hash = "abc" };
static gcache_best const best = { .size = sizeof best, .config = { parameters, 1 }, .configs_hash = "h" };

static void
find_best(trial *t, char *out)
{
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;

    gcache_best_find(t->f->cache, &kernel, &config, 1, "h", false, &found, NULL);
    snprintf(out, WORD, "%s", gcache_best_verdict_name(found.verdict));
    gcache_best_found_clear(&found);
}

static void
put_best(trial *t, char *out)
{
    write_status(gcache_best_put(t->f->cache, &kernel, &best, NULL), out);
}

static void
load_bundle(trial *t, char *out)
{
    gcache_bundle_options options = GCACHE_BUNDLE_OPTIONS_INIT;

    options.source_hash = "bundle";
    write_status(gcache_bundle_begin(t->f->cache, &options, NULL, NULL), out);
    gcache_bundle_end(t->f->cache, NULL);
}

/* What a second handle finds of a bundle that was collected under the setting. */
static void
store_bundle(trial *t, char *out)
{
    gcache_bundle_options options = GCACHE_BUNDLE_OPTIONS_INIT;
    gcache *other;

    options.source_hash = "another";
    gcache_bundle_begin(t->f->cache, &options, NULL, NULL);
    gcache_best_put(t->f->cache, &kernel, &best, NULL);
    gcache_bundle_end(t->f->cache, NULL);
    assert_int_equal(gcache_open(t->f->directory, NULL, &other, NULL), GCACHE_OK);
    write_status(gcache_bundle_begin(other, &options, NULL, NULL), out);
    gcache_bundle_end(other, NULL);
    gcache_close(other);
}

static void
put_blob(trial *t, char *out)
{
    gcache_blob blob = GCACHE_BLOB_INIT;

    write_status(gcache_blob_put(t->f->cache, "b", 1, "txt", NULL, &blob, NULL), out);
}

static void
get_blob(trial *t, char *out)
{
    gcache_blob_options options = GCACHE_BLOB_OPTIONS_INIT;
    void *bytes = NULL;
    size_t size;

    options.name = "kept";
    write_status(gcache_blob_get(t->f->cache, "kept", "txt", &options, &bytes, &size, NULL), out);
    gcache_free(bytes);
}

static void
subdirectory(trial *t, char *out)
{
    gcache_access access;
    char *path = NULL;

    gcache_status status = gcache_subdirectory(t->f->cache, "xla", GCACHE_ACCESS_UPDATE, &access, &path, NULL);
    snprintf(out, WORD, "%s%s", gcache_status_name(status),
             status != GCACHE_OK ? "" : access == GCACHE_ACCESS_UPDATE ? " update" : " read");
    gcache_free(path);
}

static void
share(trial *t, char *out)
{
    gcache_share value = GCACHE_SHARE_INIT;
    void *bytes = NULL;
    size_t size;

    value.job = "j";
    value.name = "n";
    value.leader = true;
    value.value = "v";
    value.value_size = 1;
    write_status(gcache_share_value(t->f->cache, &value, &bytes, &size, NULL), out);
    gcache_free(bytes);
}

static int
count_past(void *state, gcache_journal_entry const *entry)
{
    if (entry->kind == GCACHE_JOURNAL_MISS)
        snprintf(state, WORD, "%s %s", gcache_reason_name(entry->reason), entry->text);
    return entry->kind == GCACHE_JOURNAL_MISS;
}

/* The newest miss that the journal has after one more. */
static void
journal(trial *t, char *out)
{
    gcache_request request = request_of(t->setting);
    gcache *other;
    gcache_result r = GCACHE_RESULT_INIT;

    gcache_lookup_with(t->f->cache, t->unknown, NULL, &request, &r, NULL);
    gcache_result_clear(&r);
    snprintf(out, WORD, "nothing");
    assert_int_equal(gcache_open(t->f->directory, NULL, &other, NULL), GCACHE_OK);
    gcache_journal_each(other, NULL, count_past, out, NULL);
    gcache_close(other);
}

static int
count_entry(void *state, gcache_entry_view const *entry)
{
    (void)entry;
    ++*(int *)state;
    return 0;
}

/* Entries and statistics are what lies in the directory, whatever is switched off. */
static void
browse(trial *t, char *out)
{
    int count = 0;

    assert_int_equal(gcache_each_entry(t->f->cache, NULL, count_entry, &count, NULL), GCACHE_OK);
    snprintf(out, WORD, "%d %d", count, (int)fixture_statistic(t->f->cache, GCACHE_STATISTIC_ENTRIES));
}

/* What looks at nothing must not say that all is well. */
static void
run_maintenance(trial *t, char *out)
{
    gcache *cache = t->f->cache;

    gcache_status status = gcache_verify(cache, NULL, NULL, NULL);
    assert_int_equal(gcache_verify(cache, NULL, NULL, NULL), status);
    if (status == GCACHE_REFUSED)
        assert_true(gcache_repair(cache, NULL, NULL, NULL) == status && gcache_gc(cache, NULL, NULL, NULL) == status);
    write_status(status, out);
}

/* ---- the table ---- */

#define NOT_BYPASS "compiled, not stored: bypass: a release"
#define NOT_OFF "compiled, not stored: the cache is switched off"
#define NOT_RO "compiled, not stored: the cache is read-only"
#define NOT_READER "compiled, not stored: another process is the one that writes"

/* What is the same as without any setting is NULL. What changes the known entry stands behind what asks for it. */
static struct {
    char const *name;
    void (*call)(trial *t, char *out);
    char const *nothing, *disabled, *bypass, *asked_bypass, *read_only, *reader, *refresh, *asked_refresh, *no_journal;
} const calls[] = {
    { "entries", browse, "1 1", NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL },
    { "verify", run_maintenance, "OK", "REFUSED", NULL, NULL, NULL, NULL, NULL, NULL, NULL },
    { "journal", journal, "no_key ", "nothing", "bypass a release", "bypass a release", "nothing", NULL, "refresh ", NULL,
      "nothing" },
    { "lookup", look_up, "hit old", "MISS disabled", "MISS bypass", "MISS bypass", NULL, NULL, "MISS refresh", NULL, NULL },
    { "probe", probe, "hit ", "MISS disabled", "MISS bypass", "MISS bypass", NULL, NULL, "MISS refresh", NULL, NULL },
    { "explain", explain, "HIT", "MISS", "MISS", "MISS", NULL, NULL, "MISS", NULL, NULL },
    { "insert", insert, "OK", "REFUSED the cache is switched off", "REFUSED a release", NULL,
      "ERROR_READ_ONLY the cache is read-only", NULL, NULL, NULL, NULL },
    { "get_or_compile, known", get_known, "hit old", NOT_OFF, NOT_BYPASS, NOT_BYPASS, NULL, NULL, "compiled, stored",
      "compiled, stored", NULL },
    { "get_or_compile", get_unknown, "compiled, stored", NOT_OFF, NOT_BYPASS, NOT_BYPASS, NOT_RO, NOT_READER, NULL, NULL, NULL },
    { "compile_many", compile_many, "compiled, stored", NOT_OFF, NOT_BYPASS, NOT_BYPASS, NOT_RO, NOT_READER, NULL, NULL, NULL },
    { "compile_begin", begin_compile, "leased", "goes on", "goes on", "goes on", "goes on", "goes on", NULL, NULL, NULL },
    { "waiting", wait_for_another, "waits", "goes on", "goes on", "goes on", "goes on", "goes on", NULL, NULL, NULL },
    { "timings", get_timings, "known", "measured", "measured", NULL, NULL, NULL, "measured", NULL, NULL },
    { "timings_put", put_timings, "OK", "REFUSED", "REFUSED", NULL, "ERROR_READ_ONLY", NULL, NULL, NULL, NULL },
    { "best_find", find_best, "used", "no_record", "no_record", NULL, NULL, NULL, "no_record", NULL, NULL },
    { "best_put", put_best, "OK", "REFUSED", "REFUSED", NULL, "ERROR_READ_ONLY", NULL, NULL, NULL, NULL },
    /* A bundle is used by writing its records where they are found. */
    { "bundle_begin", load_bundle, "HIT", "MISS", "MISS", NULL, "MISS", NULL, "MISS", NULL, NULL },
    { "bundle_end", store_bundle, "HIT", "MISS", "MISS", NULL, "MISS", NULL, NULL, NULL, NULL },
    { "blob_put", put_blob, "OK", "REFUSED", "REFUSED", NULL, "ERROR_READ_ONLY", NULL, NULL, NULL, NULL },
    { "blob_get", get_blob, "OK", "ERROR_NOT_FOUND", "ERROR_NOT_FOUND", NULL, NULL, NULL, NULL, NULL, NULL },
    { "subdirectory", subdirectory, "OK update", "REFUSED", "REFUSED", NULL, "OK read", NULL, NULL, NULL, NULL },
    { "share_value", share, "OK", "ERROR_ARGUMENT", NULL, NULL, "ERROR_READ_ONLY", NULL, NULL, NULL, NULL },
};

/* Everything that a call may find: an entry, a timing, a record, a bundle, a blob, a folder. */
static void
fill(fixture *f, gcache_graph *known)
{
    gcache_bundle_options bundle = GCACHE_BUNDLE_OPTIONS_INIT;
    gcache_blob_options named = GCACHE_BLOB_OPTIONS_INIT;
    gcache_access access;
    gcache_blob blob = GCACHE_BLOB_INIT;
    char *path = NULL;

    bundle.source_hash = "bundle";
    named.name = "kept";
    assert_int_equal(insert_text(f, known, NULL, NULL, "old"), GCACHE_OK);
    assert_int_equal(gcache_timings_put(f->cache, &site, choices, (double[]){ 1.0 }, 1, NULL), GCACHE_OK);
    assert_int_equal(gcache_bundle_begin(f->cache, &bundle, NULL, NULL), GCACHE_MISS);
    assert_int_equal(gcache_best_put(f->cache, &kernel, &best, NULL), GCACHE_OK);
    assert_int_equal(gcache_bundle_end(f->cache, NULL), GCACHE_OK);
    assert_int_equal(gcache_blob_put(f->cache, "k", 1, "txt", &named, &blob, NULL), GCACHE_OK);
    assert_int_equal(gcache_subdirectory(f->cache, "xla", GCACHE_ACCESS_UPDATE, &access, &path, NULL), GCACHE_OK);
    gcache_free(path);
}

static void
meet_every_call(fixture *f, setting s)
{
    gcache_options options = options_of(s);
    gcache_graph *known = make_matmul("s0", "s1");

    fill(f, known);
    fixture_reopen(f, &options);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        char const *const wanted[SETTINGS] = { calls[i].nothing,   calls[i].disabled, calls[i].bypass,  calls[i].asked_bypass,
                                               calls[i].read_only, calls[i].reader,   calls[i].refresh, calls[i].asked_refresh,
                                               calls[i].no_journal };
        char const *expected = wanted[s] != NULL ? wanted[s] : calls[i].nothing;
        trial t = { f, s, known, gcache_graph_new("fx") };
        char found[WORD] = "";
        gcache_graph_component(t.unknown, "number", gcache_value_int(t.unknown, (int64_t)i));
        calls[i].call(&t, found);
        if (strcmp(found, expected) != 0)
            fail_msg("%s, %s: \"%s\", not \"%s\"", calls[i].name, setting_names[s], found, expected);
        gcache_graph_free(t.unknown);
    }
    gcache_graph_free(known);
}

static void
every_setting_meets_every_call(void **state)
{
    for (setting s = NOTHING; s < SETTINGS; s++) {
        meet_every_call(*state, s);
        fixture_close(state);
        fixture_open(state);
    }
}

/* ---- crowds ---- */

enum { CROWD = 5 };

typedef struct rank {
    char const *directory;
    gcache_options options;
    char const *bypass;
    bool by_lease;
    atomic_int *compiles;
    gcache_status status;
} rank;

/* Long enough for all others to arrive. */
static gcache_status
compile_slowly(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    rank *r = state;

    nanosleep(&(struct timespec){ .tv_nsec = 150000000 }, NULL);
    atomic_fetch_add(r->compiles, 1);
    return compile_new(NULL, graph, hints, out_compiled, error);
}

/* As adapters do: the halves of a compile, and an insert between them. */
static gcache_status
get_in_halves(gcache *cache, gcache_graph *graph, rank *r)
{
    gcache_entry entry = { .size = sizeof entry, .payload = "new", .payload_size = 3 };
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_compile *compile = NULL;
    gcache_result result = GCACHE_RESULT_INIT;

    request.bypass = r->bypass;
    options.request = &request;
    gcache_status status = gcache_compile_begin(cache, graph, NULL, &options, NULL, &compile, &result, NULL);
    if (status == GCACHE_MISS) {
        gcache_entry made = GCACHE_ENTRY_INIT;
        gcache_compiled compiled = { .size = sizeof compiled, .entry = &made };
        compile_slowly(r, graph, NULL, &compiled, NULL);
        if (r->bypass == NULL)
            gcache_insert(cache, graph, NULL, &entry, NULL, NULL);
    }
    gcache_compile_end(compile, NULL, NULL);
    gcache_result_clear(&result);
    return status;
}

static void *
run_rank(void *state)
{
    rank *r = state;
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache *cache;
    gcache_result result = GCACHE_RESULT_INIT;

    assert_int_equal(gcache_open(r->directory, &r->options, &cache, NULL), GCACHE_OK);
    request.bypass = r->bypass;
    options.request = &request;
    if (r->by_lease) {
        r->status = get_in_halves(cache, g, r);
    } else {
        r->status = gcache_get_or_compile_with(cache, g, NULL, &options, compile_slowly, r, &result, NULL);
        gcache_result_clear(&result);
    }
    gcache_close(cache);
    gcache_graph_free(g);
    return NULL;
}

/* How many of a crowd compile, and how long it takes in compiles one after another. */
static int
run_crowd(fixture *f, gcache_options options, char const *bypass, bool by_lease, double *out_turns)
{
    atomic_int compiles = 0;
    pthread_t threads[CROWD];
    rank ranks[CROWD];
    struct timespec began, ended;

    clock_gettime(CLOCK_MONOTONIC, &began);
    for (int i = 0; i < CROWD; i++) {
        ranks[i] = (rank){ f->directory, options, bypass, by_lease, &compiles, GCACHE_MISS };
        assert_int_equal(pthread_create(&threads[i], NULL, run_rank, &ranks[i]), 0);
    }
    for (int i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    *out_turns = ((double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9) / 0.15;
    return compiles;
}

/* With what was stored before being the very same, and another thing: neither is what was compiled just now. */
static void
a_crowd_that_refreshes_compiles_once(void **state)
{
    fixture *f = *state;
    gcache_options options = options_of(REFRESH);
    gcache_graph *g = make_matmul("s0", "s1");
    double turns;

    for (int before = 0; before < 3; before++) {
        if (before > 0)
            assert_int_equal(insert_text(f, g, NULL, NULL, before == 1 ? "old" : "new"), GCACHE_OK);
        assert_int_equal(run_crowd(f, options, NULL, false, &turns), 1);
        assert_int_equal(run_crowd(f, options, NULL, true, &turns), 1);
    }
    gcache_graph_free(g);
}

/* Nobody waits for somebody whose result it wouldn't get. */
static void
a_crowd_that_caches_nothing_waits_for_nobody(void **state)
{
    static setting const closed[] = { DISABLED, BYPASS, ASKED_BYPASS, READ_ONLY };
    fixture *f = *state;
    double turns;

    for (size_t i = 0; i < 2 * sizeof closed / sizeof closed[0]; i++) {
        setting s = closed[i / 2];
        assert_int_equal(run_crowd(f, options_of(s), s == ASKED_BYPASS ? "a release" : NULL, i % 2 == 1, &turns), CROWD);
        if (turns > CROWD - 1)
            fail_msg("%s: as long as %.1f compiles", setting_names[s], turns);
    }
}

/* A refresher whom nobody overtook compiles again, and who failed has stored nothing. */
static void
a_refresh_by_itself_compiles(void **state)
{
    fixture *f = *state;
    gcache_options options = options_of(REFRESH);
    char text[WORD];

    fixture_reopen(f, &options);
    trial t = { f, REFRESH, make_matmul("s0", "s1"), NULL };
    for (int i = 0; i < 3; i++) {
        get_known(&t, text);
        assert_string_equal(text, "compiled, stored");
    }
    gcache_graph_free(t.known);
}

/* A worker's handle closes what its parent's does. */
static void
a_saved_handle_keeps_its_gate(void **state)
{
    static setting const saved[] = { DISABLED, BYPASS, READ_ONLY, REFRESH };
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");

    assert_int_equal(insert_text(f, g, NULL, NULL, "old"), GCACHE_OK);
    for (size_t i = 0; i < sizeof saved / sizeof saved[0]; i++) {
        gcache_options options = options_of(saved[i]);
        char here[WORD], there[WORD], *text = NULL;
        fixture_reopen(f, &options);
        trial t = { f, saved[i], g, g };
        gcache *parent = f->cache;
        look_up(&t, here);
        assert_int_equal(gcache_handle_save(parent, &text, NULL), GCACHE_OK);
        assert_int_equal(gcache_handle_open(text, NULL, &f->cache, NULL), GCACHE_OK);
        look_up(&t, there);
        assert_string_equal(here, there);
        gcache_close(f->cache);
        f->cache = parent;
        gcache_free(text);
    }
    gcache_graph_free(g);
}

/* ---- what can't be stored ---- */

static gcache_status
compile_badly(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    out_compiled->entry->guards = state;
    out_compiled->entry->guard_count = 1;
    return compile_new(NULL, graph, hints, out_compiled, error);
}

/* Whatever keeps it from being stored, its caller has what was compiled; with strict and trouble, beside the error. */
static void
what_was_compiled_is_handed_out(void **state)
{
    static struct {
        char const *guard;
        gcache_status stored;
    } const flaws[] = {
        { "s0 %% 8 ==", GCACHE_ERROR_SYNTAX },
        { "s0 == 9", GCACHE_REFUSED },
        { "1 // (s0 - 8) == 0", GCACHE_REFUSED },
        { "s0 == 8", GCACHE_OK },
    };
    fixture *f = *state;
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 });
    gcache_options strict = options_of(STRICT);

    for (size_t i = 0; i < 2 * sizeof flaws / sizeof flaws[0]; i++) {
        char const *guard = flaws[i / 2].guard;
        gcache_graph *g = gcache_graph_new("fx");
        gcache_result r = GCACHE_RESULT_INIT;
        gcache_graph_component(g, "number", gcache_value_int(g, (int64_t)i));
        fixture_reopen(f, i % 2 == 1 ? &strict : NULL);
        gcache_status status = gcache_get_or_compile(f->cache, g, &hints, compile_badly, &guard, &r, &f->error);
        assert_int_equal(status, i % 2 == 1 && flaws[i / 2].stored < 0 ? flaws[i / 2].stored : GCACHE_MISS);
        assert_int_equal(r.payload_size, 3);
        assert_memory_equal(r.payload, "new", 3);
        assert_int_equal(r.stored, flaws[i / 2].stored);
        assert_int_equal(r.note[0] == '\0', r.stored == GCACHE_OK);
        gcache_result_clear(&r);
        gcache_graph_free(g);
    }
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int
main(void)
{
    struct CMUnitTest const cases[] = {
        CASE(every_setting_meets_every_call),
        CASE(a_crowd_that_refreshes_compiles_once),
        CASE(a_crowd_that_caches_nothing_waits_for_nobody),
        CASE(a_refresh_by_itself_compiles),
        CASE(a_saved_handle_keeps_its_gate),
        CASE(what_was_compiled_is_handed_out),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
