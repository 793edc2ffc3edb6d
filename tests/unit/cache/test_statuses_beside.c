/*
 * The statuses of tuning, files, fingerprints and what has been: each that a header lists is returned.
 */
#include "statuses.h"

#include <guardcache/fleet.h>

/* ---- tuning ---- */

static char const *const choices[] = { "a" };
static gcache_site const site = { .size = sizeof site, .op = "mm" };

static gcache_status
timings_get(trial *t, gcache_site const *one)
{
    double room[1];
    gcache_timings timings = { .size = sizeof timings, .timings = room };

    return gcache_timings_get(C, one, choices, 1, NULL, NULL, &timings, E);
}

static gcache_status
timings_put(trial *t, gcache_site const *one)
{
    return gcache_timings_put(C, one, choices, (double[]){ 1 }, 1, E);
}

CASE(gcache_timings_get, HIT) { return timings_put(t, &site) == GCACHE_OK ? timings_get(t, &site) : GCACHE_ERROR_INTERNAL; }
CASE(gcache_timings_get, MISS) { return timings_get(t, &site); }
CASE(gcache_timings_get, ERROR_ARGUMENT) { return timings_get(t, NULL); }
CASE(gcache_timings_put, OK) { return timings_put(t, &site); }
CASE(gcache_timings_put, REFUSED) { return reopen(t, false, true), timings_put(t, &site); }
CASE(gcache_timings_put, ERROR_ARGUMENT) { return timings_put(t, NULL); }
CASE(gcache_timings_put, ERROR_READ_ONLY) { return reopen(t, true, false), timings_put(t, &site); }

/* ---- files ---- */

static gcache_status
blob_put(trial *t, char const *extension)
{
    gcache_blob blob = GCACHE_BLOB_INIT;

    return gcache_blob_put(C, "x", 1, extension, NULL, &blob, E);
}

CASE(gcache_blob_put, OK) { return blob_put(t, "c"); }
CASE(gcache_blob_put, REFUSED) { return reopen(t, false, true), blob_put(t, "c"); }
CASE(gcache_blob_put, ERROR_ARGUMENT) { return blob_put(t, "../c"); }
CASE(gcache_blob_put, ERROR_READ_ONLY) { return reopen(t, true, false), blob_put(t, "c"); }

static gcache_status
subdirectory(trial *t, char const *name, gcache_access wanted)
{
    gcache_access access;
    char *path = NULL;
    gcache_status status = gcache_subdirectory(C, name, wanted, &access, &path, E);

    return free_text(status, &path);
}

CASE(gcache_subdirectory, OK) { return subdirectory(t, "xla", GCACHE_ACCESS_UPDATE); }
CASE(gcache_subdirectory, REFUSED) { return reopen(t, false, true), subdirectory(t, "xla", GCACHE_ACCESS_UPDATE); }
CASE(gcache_subdirectory, ERROR_NOT_FOUND) { return subdirectory(t, "xla", GCACHE_ACCESS_READ); }
CASE(gcache_subdirectory, ERROR_ARGUMENT) { return subdirectory(t, "../xla", GCACHE_ACCESS_UPDATE); }

/* ---- files, from and to other machines ---- */

static gcache_status
show_file(trial *t, char const *text)
{
    char const *file = t->f->file;
    char *manifest = NULL;

    if (text != NULL)
        write_file(file, text);
    else
        assert_int_equal(gcache_export(C, file, NULL, NULL, E), GCACHE_OK);
    return free_text(gcache_export_show(file, &manifest, E), &manifest);
}

CASE(gcache_export, OK) { return gcache_export(C, t->f->file, NULL, NULL, E); }
CASE(gcache_export, ERROR_ARGUMENT) { return gcache_export(C, in_directory(t, "export"), NULL, NULL, E); }
CASE(gcache_export_show, OK) { return show_file(t, NULL); }
CASE(gcache_export_show, ERROR_FORMAT) { return show_file(t, "what is this"); }

CASE(gcache_export_show, ERROR_NOT_FOUND)
{
    char *manifest = NULL;

    return free_text(gcache_export_show(in_directory(t, "nowhere"), &manifest, E), &manifest);
}

static gcache_status
import(trial *t, char const *harm)
{
    char const *file = t->f->file;

    stored(t);
    assert_int_equal(gcache_export(C, file, NULL, NULL, E), GCACHE_OK);
    harm_files(t, harm);
    return gcache_import(C, file, NULL, NULL, E);
}

CASE(gcache_import, OK) { return import(t, NULL); }
CASE(gcache_import, ERROR_CORRUPT) { return import(t, "truncate -s -1 $PWD.file"); }
CASE(gcache_import, ERROR_FORMAT) { return import(t, "printf 'what is this' >$PWD.file"); }

CASE(gcache_import, ERROR_READ_ONLY)
{
    char const *file = t->f->file;

    assert_int_equal(gcache_export(C, file, NULL, NULL, E), GCACHE_OK);
    return reopen(t, true, false), gcache_import(C, file, NULL, NULL, E);
}

static gcache_status
add_artifact(trial *t, bool begun)
{
    if (begun)
        assert_int_equal(gcache_artifacts_begin(C, E), GCACHE_OK);
    return gcache_artifacts_add(C, "pgo", "job", "profile", 7, E);
}

CASE(gcache_artifacts_begin, OK) { return gcache_artifacts_begin(C, E); }
CASE(gcache_artifacts_begin, ERROR_ARGUMENT) { return add_artifact(t, true), gcache_artifacts_begin(C, E); }
CASE(gcache_artifacts_add, OK) { return add_artifact(t, true); }
CASE(gcache_artifacts_add, ERROR_ARGUMENT) { return add_artifact(t, false); }
CASE(gcache_artifacts_save, ERROR_ARGUMENT) { return gcache_artifacts_save(C, in_directory(t, "file"), NULL, E); }

static gcache_status
blob_get(trial *t, char const *name, char const *harm)
{
    gcache_blob blob = GCACHE_BLOB_INIT;
    void *bytes = NULL;
    size_t size;

    assert_int_equal(gcache_blob_put(C, "int x;", 6, "c", NULL, &blob, E), GCACHE_OK);
    harm_files(t, harm);
    gcache_status status = gcache_blob_get(C, name != NULL ? name : blob.name, "c", NULL, &bytes, &size, E);
    gcache_free(bytes);
    return status;
}

CASE(gcache_blob_get, OK) { return blob_get(t, NULL, NULL); }
CASE(gcache_blob_get, ERROR_NOT_FOUND) { return blob_get(t, "nowhere", NULL); }
CASE(gcache_blob_get, ERROR_ARGUMENT) { return blob_get(t, "../x", NULL); }

CASE(gcache_blob_get, ERROR_CORRUPT)
{
    return blob_get(t, NULL, "for f in $(find blobs -type f); do chmod u+w $f; printf 'int y;' >$f; done");
}

CASE(gcache_blobs_expire, OK) { return gcache_blobs_expire(C, 0, NULL, E); }
CASE(gcache_blobs_expire, ERROR_READ_ONLY) { return reopen(t, true, false), gcache_blobs_expire(C, 0, NULL, E); }

/* ---- fingerprints ---- */

static gcache_status
print_preset(trial *t, char const *hash)
{
    gcache_fingerprint *print = gcache_fingerprint_new();
    gcache_status status = gcache_fingerprint_preset(print, "compiler", hash, E);

    gcache_fingerprint_free(print);
    return status;
}

static gcache_status
print_fact(trial *t, int times)
{
    gcache_fingerprint *print = gcache_fingerprint_new();
    gcache_status status = GCACHE_OK;

    for (int i = 0; i < times; i++)
        status = gcache_fingerprint_fact(print, "version", "1", E);
    gcache_fingerprint_free(print);
    return status;
}

static gcache_status
print_file(trial *t, char const *path)
{
    gcache_fingerprint *print = gcache_fingerprint_new();
    gcache_status status = gcache_fingerprint_file(print, "file", path, E);

    gcache_fingerprint_free(print);
    return status;
}

static gcache_status
print_deep_tree(trial *t)
{
    gcache_fingerprint *print = gcache_fingerprint_new();

    harm_files(t, "d=deep; for i in $(seq 200); do d=$d/d; done; mkdir -p $d && touch $d/f");
    gcache_status status = gcache_fingerprint_tree(print, "tree", in_directory(t, "deep"), NULL, E);
    gcache_fingerprint_free(print);
    return status;
}

CASE(gcache_fingerprint_fact, OK) { return print_fact(t, 1); }
CASE(gcache_fingerprint_fact, ERROR_ARGUMENT) { return print_fact(t, 2); }
CASE(gcache_fingerprint_file, ERROR_NOT_FOUND) { return print_file(t, "/var/tmp/guardcache-test-nowhere"); }
CASE(gcache_fingerprint_tree, ERROR_LIMIT) { return print_deep_tree(t); }
CASE(gcache_fingerprint_preset, ERROR_SYNTAX) { return print_preset(t, "no hash"); }

static gcache_status
open_index(trial *t, char const *harm)
{
    gcache_fingerprint *print = gcache_fingerprint_new();

    harm_files(t, harm);
    gcache_status status = gcache_fingerprint_index_open(print, t->f->file, E);
    gcache_fingerprint_free(print);
    return status;
}

CASE(gcache_fingerprint_index_open, OK) { return open_index(t, NULL); }
CASE(gcache_fingerprint_index_open, ERROR_FORMAT) { return open_index(t, "echo notes >$PWD.file"); }
CASE(gcache_fingerprint_index_open, ERROR_LIMIT) { return open_index(t, "truncate -s 2G $PWD.file"); }

CASE(gcache_fingerprint_hash, OK)
{
    gcache_fingerprint *print = gcache_fingerprint_new();
    gcache_key hash;
    gcache_status status = gcache_fingerprint_hash(print, &hash, E);

    gcache_fingerprint_free(print);
    return status;
}

CASE(gcache_fingerprint_write, OK)
{
    gcache_fingerprint *print = gcache_fingerprint_new();
    char *text = NULL;
    gcache_status status = gcache_fingerprint_write(print, &text, E);

    gcache_fingerprint_free(print);
    return free_text(status, &text);
}

static void
ignore_change(void *state, gcache_fingerprint_change const *change)
{
    (void)state, (void)change;
}

static gcache_status
print_compare(trial *t, char const *written)
{
    gcache_fingerprint *print = gcache_fingerprint_new();
    gcache_status status = gcache_fingerprint_compare(print, written, strlen(written), ignore_change, NULL, E);

    gcache_fingerprint_free(print);
    return status;
}

CASE(gcache_fingerprint_compare, OK) { return print_compare(t, ""); }
CASE(gcache_fingerprint_compare, ERROR_SYNTAX) { return print_compare(t, "what is this"); }

/* ---- what a graph and a rule set say ---- */

CASE(gcache_graph_key, OK)
{
    gcache_key key;

    return gcache_graph_key(t->g, &key, E);
}

CASE(gcache_graph_key, REFUSED)
{
    gcache_rules *rules = secretive_rules();
    gcache_graph *graph = secretive_graph(rules);
    gcache_key key;
    gcache_status status = gcache_graph_key(graph, &key, E);

    gcache_graph_free(graph);
    gcache_rules_free(rules);
    return status;
}

/* What is asked of a graph: of the trial's, of none, or of one that a rule refuses. */
typedef gcache_status (*graph_call)(trial *t, gcache_graph *graph);

static gcache_status
refused_graph(trial *t, graph_call call)
{
    gcache_rules *rules = secretive_rules();
    gcache_graph *graph = secretive_graph(rules);
    gcache_status status = call(t, graph);

    gcache_graph_free(graph);
    gcache_rules_free(rules);
    return status;
}

static void
ignore_line(void *state, gcache_line const *line)
{
    (void)state;
    (void)line;
}

static void
ignore_step(void *state, gcache_change const *change)
{
    (void)state;
    (void)change;
}

#define GRAPH_CASES(name, call)                                                              \
    static gcache_status read_##name(trial *t, gcache_graph *graph) { return call; }         \
    CASE(gcache_graph_##name, OK) { return read_##name(t, t->g); }                           \
    CASE(gcache_graph_##name, REFUSED) { return refused_graph(t, read_##name); }             \
    CASE(gcache_graph_##name, ERROR_ARGUMENT) { return read_##name(t, NULL); }

GRAPH_CASES(components, gcache_graph_components(graph, &(gcache_component const *){ NULL }, &(size_t){ 0 }, E))
GRAPH_CASES(symbols, gcache_graph_symbols(graph, &(gcache_symbol const *){ NULL }, &(size_t){ 0 }, E))
GRAPH_CASES(text_names, gcache_graph_text_names(graph, &(gcache_text_name const *){ NULL }, &(size_t){ 0 }, E))
GRAPH_CASES(canonical, gcache_graph_canonical(graph, &(void const *){ NULL }, &(size_t){ 0 }, E))
GRAPH_CASES(lines, gcache_graph_lines(graph, ignore_line, NULL, E))
GRAPH_CASES(trace, gcache_graph_trace(graph, ignore_step, NULL, E))

/* ---- kinds of one's own ---- */

/* rules: of kind `name`, below the folder "kinds"; NULL: there is no such folder. */
static gcache_status
load_kind(trial *t, char const *name, char const *rules)
{
    char path[64];

    if (rules != NULL) {
        mkdir(in_directory(t, "kinds"), 0700);
        snprintf(path, sizeof path, "kinds/%s", name);
        mkdir(in_directory(t, path), 0700);
        snprintf(path, sizeof path, "kinds/%s/rules.json", name);
        write_file(in_directory(t, path), rules);
    }
    return gcache_kinds_load(in_directory(t, "kinds"), NULL, NULL, E);
}

static gcache_status
read_kind(trial *t, char const *name, char const *rules)
{
    gcache_rules *read = NULL;
    char path[64];

    load_kind(t, name, rules);
    snprintf(path, sizeof path, "kinds/%s", name);
    gcache_status status = gcache_kinds_read(in_directory(t, path), &read, E);
    gcache_rules_free(read);
    return status;
}

static char const *
no_variable(void *state, char const *name)
{
    (void)state;
    (void)name;
    return NULL;
}

CASE(gcache_kinds_path, OK)
{
    char *path = NULL;

    return free_text(gcache_kinds_path(no_variable, NULL, &path, E), &path);
}

#define SET(name, more) "{\"format\": \"guardcache-rules/1\", \"name\": \"" name "\"" more "}"

CASE(gcache_kinds_load, OK) { return load_kind(t, "toy", SET("toy", "")); }
CASE(gcache_kinds_load, ERROR_ARGUMENT) { return load_kind(t, "fx", SET("fx", "")); }
CASE(gcache_kinds_load, ERROR_NOT_FOUND) { return load_kind(t, "toy", NULL); }
CASE(gcache_kinds_load, ERROR_SYNTAX) { return load_kind(t, "torn", "{"); }
CASE(gcache_kinds_load, ERROR_DESCRIPTION) { return load_kind(t, "wrong", SET("another", "")); }
CASE(gcache_kinds_read, OK) { return read_kind(t, "toy", SET("toy", "")); }
CASE(gcache_kinds_read, ERROR_NOT_FOUND) { return read_kind(t, "nowhere", NULL); }
CASE(gcache_kinds_read, ERROR_SYNTAX) { return read_kind(t, "torn", "{"); }
CASE(gcache_kinds_read, ERROR_DESCRIPTION) { return read_kind(t, "typo", SET("typo", ", \"drip\": []")); }

CASE(gcache_rules_test, OK)
{
    gcache_rules *rules = NULL;
    size_t examples, problems;

    assert_int_equal(gcache_rules_of_kind("triton", &rules, E), GCACHE_OK);
    gcache_status status = gcache_rules_test(rules, NULL, NULL, &examples, &problems, E);
    gcache_rules_free(rules);
    return status;
}

CASE(gcache_guards_show, OK)
{
    char const *guard = "s0 == 8";
    gcache_guards *guards = NULL;
    char *text = NULL;

    assert_int_equal(gcache_guards_compile(&guard, 1, &guards, E), GCACHE_OK);
    gcache_status status = gcache_guards_show(guards, GCACHE_GUARDS_NORMAL, &text, E);
    gcache_guards_free(guards);
    return free_text(status, &text);
}

/* ---- what has been ---- */

static void
ignore_fact(void *state, char const *name, char const *value, char const *warning)
{
    (void)state, (void)name, (void)value, (void)warning;
}

static int
ignore_entry(void *state, gcache_journal_entry const *one)
{
    (void)state, (void)one;
    return 0;
}

static gcache_status
explain_past(trial *t, gcache *cache)
{
    char *text = NULL;
    gcache_status status = gcache_journal_explain(cache, NULL, GCACHE_EXPLAIN_TEXT, &text, NULL, E);

    return free_text(status, &text);
}

static gcache_status
report(trial *t, gcache *cache)
{
    char *html = NULL;
    gcache_status status = gcache_report(cache, NULL, &html, E);

    return free_text(status, &html);
}

CASE(gcache_doctor, OK) { return gcache_doctor(C, ignore_fact, NULL, E); }
CASE(gcache_doctor, ERROR_ARGUMENT) { return gcache_doctor(NULL, ignore_fact, NULL, E); }
CASE(gcache_journal_each, OK) { return gcache_journal_each(C, NULL, ignore_entry, NULL, E); }
CASE(gcache_journal_each, ERROR_ARGUMENT) { return gcache_journal_each(NULL, NULL, ignore_entry, NULL, E); }
CASE(gcache_journal_explain, OK) { return explain_past(t, C); }
CASE(gcache_journal_explain, ERROR_ARGUMENT) { return explain_past(t, NULL); }
CASE(gcache_report, OK) { return report(t, C); }
CASE(gcache_report, ERROR_ARGUMENT) { return report(t, NULL); }

/* ---- other processes, tuning ---- */

static gcache_status
share(trial *t, char const *job, size_t size)
{
    gcache_share value = GCACHE_SHARE_INIT;
    void *bytes = NULL;
    size_t found;

    value.job = job;
    value.name = "n";
    value.leader = true;
    value.value = "v";
    value.value_size = size;
    gcache_status status = gcache_share_value(C, &value, &bytes, &found, E);
    gcache_free(bytes);
    return status;
}

CASE(gcache_share_value, OK) { return share(t, "j", 1); }
CASE(gcache_share_value, ERROR_ARGUMENT) { return share(t, NULL, 1); }
CASE(gcache_share_value, ERROR_LIMIT) { return share(t, "j", GCACHE_SHARE_BYTES_MAX + 1); }

static gcache_status
save_and_open(trial *t, char const *text)
{
    gcache *cache = NULL;
    char *saved = NULL;

    assert_int_equal(gcache_handle_save(C, &saved, E), GCACHE_OK);
    gcache_status status = gcache_handle_open(text != NULL ? text : saved, NULL, &cache, E);
    gcache_close(cache);
    return free_text(status, &saved);
}

CASE(gcache_handle_save, OK)
{
    char *saved = NULL;

    return free_text(gcache_handle_save(C, &saved, E), &saved);
}

CASE(gcache_handle_save, ERROR_NOT_FOUND)
{
    char *saved = NULL;

    harm_files(t, "rm -r ../$(basename $PWD)");
    return free_text(gcache_handle_save(C, &saved, E), &saved);
}

CASE(gcache_handle_open, OK) { return save_and_open(t, NULL); }
CASE(gcache_handle_open, ERROR_SYNTAX) { return save_and_open(t, "{"); }

static int
ignore_timing(void *state, gcache_site const *one, char const *choice, double timing, uint64_t at_ns)
{
    (void)state, (void)one, (void)choice, (void)timing, (void)at_ns;
    return 0;
}

CASE(gcache_timings_each, OK) { return gcache_timings_each(C, ignore_timing, NULL, E); }

static int
ignore_best(void *state, gcache_kernel const *kernel, gcache_best const *best, uint64_t at_ns)
{
    (void)state;
    (void)kernel;
    (void)best;
    (void)at_ns;
    return 0;
}

static gcache_status
put_best(trial *t, gcache_best const *best)
{
    return gcache_best_put(C, &(gcache_kernel){ .size = sizeof(gcache_kernel), .source_hash = "abc" }, best, E);
}

static gcache_best const some_best = { .size = sizeof some_best, .configs_hash = "h" };

CASE(gcache_best_put, OK) { return put_best(t, &some_best); }
CASE(gcache_best_put, REFUSED) { return reopen(t, false, true), put_best(t, &some_best); }
CASE(gcache_best_put, ERROR_ARGUMENT) { return put_best(t, NULL); }
CASE(gcache_best_put, ERROR_READ_ONLY) { return reopen(t, true, false), put_best(t, &some_best); }
CASE(gcache_best_each, OK) { return gcache_best_each(C, ignore_best, NULL, E); }
CASE(gcache_best_each, ERROR_ARGUMENT) { return gcache_best_each(C, NULL, NULL, E); }

static gcache_status
find_best(trial *t, bool known, char const *configs_hash)
{
    static gcache_pair const parameters[] = { { "BLOCK", "64" } };
    gcache_config const config = { parameters, 1 };
    gcache_best const best = { .size = sizeof best, .config = config, .configs_hash = "h" };
    gcache_kernel const kernel = { .size = sizeof kernel, .source_hash = "abc" };
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;

    if (known)
        assert_int_equal(gcache_best_put(C, &kernel, &best, E), GCACHE_OK);
    gcache_status status = gcache_best_find(C, &kernel, &config, 1, configs_hash, false, &found, E);
    gcache_best_found_clear(&found);
    return status;
}

CASE(gcache_best_find, HIT) { return find_best(t, true, "h"); }
CASE(gcache_best_find, MISS) { return find_best(t, false, "h"); }
CASE(gcache_best_find, ERROR_ARGUMENT) { return find_best(t, false, NULL); }

static gcache_status
begin_bundle(trial *t, char const *source)
{
    gcache_bundle_options options = GCACHE_BUNDLE_OPTIONS_INIT;

    options.source = source;
    return gcache_bundle_begin(C, &options, NULL, E);
}

CASE(gcache_bundle_begin, MISS) { return begin_bundle(t, "x = 1"); }
CASE(gcache_bundle_begin, ERROR_ARGUMENT) { return begin_bundle(t, NULL); }

CASE(gcache_bundle_begin, HIT)
{
    assert_int_equal(begin_bundle(t, "x = 1"), GCACHE_MISS);
    assert_int_equal(find_best(t, true, "h"), GCACHE_HIT);
    assert_int_equal(gcache_bundle_end(C, E), GCACHE_OK);
    return begin_bundle(t, "x = 1");
}

CASE(gcache_bundle_end, OK) { return gcache_bundle_end(C, E); }
CASE(gcache_source_hash, OK) { return gcache_source_hash("x = 1", NULL, &(gcache_key){ { 0 } }, E); }

/* ---- all of them ---- */

/* ---- tiers ---- */

CASE(gcache_tier_memory_new, OK)
{
    gcache_tier_functions const *functions;
    void *tier = NULL;
    gcache_status status = gcache_tier_memory_new(&functions, &tier, E);

    (void)t;
    if (status == GCACHE_OK)
        functions->close(tier);
    return status;
}

/* The cache again, with a tier in memory, which stays until `close_tier`. */
static gcache_tier_functions const *tier_functions;
static void *tier_object;

static void
open_tier(trial *t, bool tier_read_only, bool read_only, bool disabled)
{
    gcache_options options = with(read_only, disabled);
    gcache_tier_user user = { .name = "memory://status", .read_only = tier_read_only };

    assert_int_equal(gcache_tier_memory_new(&tier_functions, &tier_object, NULL), GCACHE_OK);
    user.functions = tier_functions;
    user.tier = tier_object;
    options.user_tiers = &user;
    options.user_tier_count = 1;
    fixture_reopen(t->f, &options);
}

static gcache_status
close_tier(trial *t, gcache_status status)
{
    reopen(t, false, false);
    tier_functions->close(tier_object);
    return status;
}

static int
pass_over(void *state, gcache_tier_state const *tier)
{
    (void)state, (void)tier;
    return 0;
}

CASE(gcache_tiers_each, OK)
{
    open_tier(t, false, false, false);
    return close_tier(t, gcache_tiers_each(C, pass_over, NULL, E));
}

CASE(gcache_tiers_each, ERROR_ARGUMENT) { return gcache_tiers_each(C, NULL, NULL, E); }

CASE(gcache_tiers_ping, OK)
{
    open_tier(t, false, false, false);
    gcache_tier_memory_fail(tier_object, &(gcache_tier_faults){ .refuse = true });
    return close_tier(t, gcache_tiers_ping(C, NULL, pass_over, NULL, E));
}

CASE(gcache_tiers_ping, ERROR_ARGUMENT) { return gcache_tiers_ping(C, NULL, NULL, NULL, E); }

CASE(gcache_tiers_flush, OK)
{
    open_tier(t, false, false, false);
    stored(t);
    return close_tier(t, gcache_tiers_flush(C, UINT64_C(10000000000), E));
}

CASE(gcache_tiers_flush, ERROR_BUSY)
{
    open_tier(t, false, false, false);
    gcache_tier_memory_fail(tier_object, &(gcache_tier_faults){ .refuse = true });
    stored(t);
    return close_tier(t, gcache_tiers_flush(C, 1000000, E));
}

CASE(gcache_tiers_flush, ERROR_ARGUMENT)
{
    (void)t;
    return gcache_tiers_flush(NULL, 0, E);
}

static gcache_status
sync_one(trial *t, bool tier_read_only, bool read_only, bool disabled, gcache_tier_faults faults)
{
    gcache_sync_options both = GCACHE_SYNC_OPTIONS_INIT;

    stored(t);
    open_tier(t, tier_read_only, read_only, disabled);
    gcache_tier_memory_fail(tier_object, &faults);
    return close_tier(t, gcache_tiers_sync(C, &both, NULL, E));
}

CASE(gcache_tiers_sync, OK) { return sync_one(t, false, false, false, (gcache_tier_faults){ 0 }); }
CASE(gcache_tiers_sync, ERROR_READ_ONLY) { return sync_one(t, false, true, false, (gcache_tier_faults){ 0 }); }
CASE(gcache_tiers_sync, REFUSED) { return sync_one(t, false, false, true, (gcache_tier_faults){ 0 }); }
CASE(gcache_tiers_sync, ERROR_IO) { return sync_one(t, false, false, false, (gcache_tier_faults){ .refuse = true }); }

CASE(gcache_tiers_sync, ERROR_ARGUMENT)
{
    gcache_sync_options nonsense = GCACHE_SYNC_OPTIONS_INIT;

    nonsense.tier = "nonsense";
    return gcache_tiers_sync(C, &nonsense, NULL, E);
}

#define CASES(X)                                                                                      \
    X(gcache_timings_get, HIT) X(gcache_timings_get, MISS) X(gcache_timings_get, ERROR_ARGUMENT)      \
    X(gcache_timings_put, OK) X(gcache_timings_put, REFUSED) X(gcache_timings_put, ERROR_ARGUMENT)    \
    X(gcache_timings_put, ERROR_READ_ONLY)                                                            \
    X(gcache_blob_put, OK) X(gcache_blob_put, REFUSED) X(gcache_blob_put, ERROR_ARGUMENT)             \
    X(gcache_blob_put, ERROR_READ_ONLY)                                                               \
    X(gcache_subdirectory, OK) X(gcache_subdirectory, REFUSED)                                        \
    X(gcache_subdirectory, ERROR_NOT_FOUND) X(gcache_subdirectory, ERROR_ARGUMENT)                    \
    X(gcache_export, OK) X(gcache_export, ERROR_ARGUMENT)                                             \
    X(gcache_export_show, OK) X(gcache_export_show, ERROR_FORMAT)                                     \
    X(gcache_export_show, ERROR_NOT_FOUND)                                                            \
    X(gcache_import, OK) X(gcache_import, ERROR_CORRUPT) X(gcache_import, ERROR_FORMAT)               \
    X(gcache_import, ERROR_READ_ONLY)                                                                 \
    X(gcache_artifacts_begin, OK) X(gcache_artifacts_begin, ERROR_ARGUMENT)                           \
    X(gcache_artifacts_add, OK) X(gcache_artifacts_add, ERROR_ARGUMENT)                               \
    X(gcache_artifacts_save, ERROR_ARGUMENT)                                                          \
    X(gcache_blob_get, OK) X(gcache_blob_get, ERROR_NOT_FOUND) X(gcache_blob_get, ERROR_ARGUMENT)     \
    X(gcache_blob_get, ERROR_CORRUPT)                                                                 \
    X(gcache_blobs_expire, OK) X(gcache_blobs_expire, ERROR_READ_ONLY)                                \
    X(gcache_fingerprint_fact, OK) X(gcache_fingerprint_fact, ERROR_ARGUMENT)                         \
    X(gcache_fingerprint_file, ERROR_NOT_FOUND)                                                       \
    X(gcache_fingerprint_tree, ERROR_LIMIT)                                                           \
    X(gcache_fingerprint_preset, ERROR_SYNTAX)                                                        \
    X(gcache_fingerprint_index_open, OK) X(gcache_fingerprint_index_open, ERROR_FORMAT)               \
    X(gcache_fingerprint_index_open, ERROR_LIMIT)                                                     \
    X(gcache_fingerprint_hash, OK)                                                                    \
    X(gcache_fingerprint_write, OK)                                                                   \
    X(gcache_fingerprint_compare, OK) X(gcache_fingerprint_compare, ERROR_SYNTAX)                     \
    X(gcache_graph_key, OK) X(gcache_graph_key, REFUSED)                                              \
    X(gcache_graph_components, OK) X(gcache_graph_components, REFUSED) X(gcache_graph_components, ERROR_ARGUMENT)\
    X(gcache_graph_symbols, OK) X(gcache_graph_symbols, REFUSED) X(gcache_graph_symbols, ERROR_ARGUMENT)\
    X(gcache_graph_text_names, OK) X(gcache_graph_text_names, REFUSED) X(gcache_graph_text_names, ERROR_ARGUMENT)\
    X(gcache_graph_canonical, OK) X(gcache_graph_canonical, REFUSED) X(gcache_graph_canonical, ERROR_ARGUMENT)\
    X(gcache_graph_lines, OK) X(gcache_graph_lines, REFUSED) X(gcache_graph_lines, ERROR_ARGUMENT)    \
    X(gcache_graph_trace, OK) X(gcache_graph_trace, REFUSED) X(gcache_graph_trace, ERROR_ARGUMENT)    \
    X(gcache_rules_test, OK)                                                                          \
    X(gcache_kinds_path, OK)                                                                          \
    X(gcache_kinds_load, OK) X(gcache_kinds_load, ERROR_ARGUMENT) X(gcache_kinds_load, ERROR_NOT_FOUND) \
    X(gcache_kinds_load, ERROR_SYNTAX) X(gcache_kinds_load, ERROR_DESCRIPTION)                        \
    X(gcache_kinds_read, OK) X(gcache_kinds_read, ERROR_NOT_FOUND) X(gcache_kinds_read, ERROR_SYNTAX) \
    X(gcache_kinds_read, ERROR_DESCRIPTION)                                                           \
    X(gcache_guards_show, OK)                                                                         \
    X(gcache_doctor, OK) X(gcache_doctor, ERROR_ARGUMENT)                                             \
    X(gcache_journal_each, OK) X(gcache_journal_each, ERROR_ARGUMENT)                                 \
    X(gcache_journal_explain, OK) X(gcache_journal_explain, ERROR_ARGUMENT)                           \
    X(gcache_report, OK) X(gcache_report, ERROR_ARGUMENT)                                             \
    X(gcache_share_value, OK) X(gcache_share_value, ERROR_ARGUMENT)                                   \
    X(gcache_share_value, ERROR_LIMIT)                                                                \
    X(gcache_handle_save, OK)                                                                         \
    X(gcache_handle_save, ERROR_NOT_FOUND)                                                            \
    X(gcache_handle_open, OK) X(gcache_handle_open, ERROR_SYNTAX)                                     \
    X(gcache_timings_each, OK)                                                                        \
    X(gcache_best_put, OK) X(gcache_best_put, REFUSED) X(gcache_best_put, ERROR_ARGUMENT)             \
    X(gcache_best_put, ERROR_READ_ONLY) X(gcache_best_each, OK) X(gcache_best_each, ERROR_ARGUMENT)   \
    X(gcache_best_find, HIT) X(gcache_best_find, MISS) X(gcache_best_find, ERROR_ARGUMENT)            \
    X(gcache_bundle_begin, MISS) X(gcache_bundle_begin, ERROR_ARGUMENT) X(gcache_bundle_begin, HIT)   \
    X(gcache_bundle_end, OK)                                                                          \
    X(gcache_source_hash, OK)                                                                         \
    X(gcache_tier_memory_new, OK)                                                                     \
    X(gcache_tiers_each, OK) X(gcache_tiers_each, ERROR_ARGUMENT)                                     \
    X(gcache_tiers_ping, OK) X(gcache_tiers_ping, ERROR_ARGUMENT)                                     \
    X(gcache_tiers_flush, OK) X(gcache_tiers_flush, ERROR_BUSY) X(gcache_tiers_flush, ERROR_ARGUMENT) \
    X(gcache_tiers_sync, OK) X(gcache_tiers_sync, ERROR_READ_ONLY) X(gcache_tiers_sync, REFUSED)      \
    X(gcache_tiers_sync, ERROR_IO) X(gcache_tiers_sync, ERROR_ARGUMENT)

static status_case const all[] = { CASES(STATUS_CASE) };

static void
every_listed_status_is_returned(void **state)
{
    (void)state;
    run_cases(all, sizeof all / sizeof *all);
}

int
main(void)
{
    struct CMUnitTest const tests[] = { cmocka_unit_test(every_listed_status_is_returned) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
