/*
 * Timings (all choices or none), best configurations (exactly one match), bundles.
 */
#include "fixture.h"

#include <fcntl.h>
#include <guardcache/artifacts.h>
#include <guardcache/tuning.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE(...) { sizeof(gcache_site), __VA_ARGS__ }
#define KERNEL(source, label, tools) { sizeof(gcache_kernel), source, label, tools, NULL }

enum { MOST_CHOICES = 8 };

static gcache_site const mm = { .size = sizeof mm, .system = "a100", .op = "mm", .inputs = "64x64", .precision = "highest" };

/* ---- timings ---- */

typedef struct bench {
    int calls;
    bool fails, leaves_out;
} bench;

/* A choice's timing is the length of its name; "broken" can't run. */
static gcache_status
benchmark(void *state, char const *const *choices, size_t count, double *out_timings, gcache_error *error)
{
    bench *b = state;

    b->calls++;
    for (size_t i = 0; i < count; i++)
        out_timings[i] = strcmp(choices[i], "broken") == 0 ? (double)INFINITY : (double)strlen(choices[i]);
    if (b->leaves_out)
        out_timings[0] = (double)NAN;
    if (b->fails)
        snprintf(error->message, sizeof error->message, "no device");
    return b->fails ? GCACHE_ERROR_INTERNAL : GCACHE_OK;
}

typedef struct answer {
    double timings[MOST_CHOICES];
    gcache_timings t;
} answer;

static gcache_status
get(fixture *f, gcache_site const *site, char const *const *choices, size_t count, bench *b, answer *a)
{
    a->t = (gcache_timings){ .size = sizeof a->t, .timings = a->timings };
    return gcache_timings_get(f->cache, site, choices, count, b != NULL ? benchmark : NULL, b, &a->t, &f->error);
}

static void
all_choices_are_known_or_all_are_measured(void **state)
{
    fixture *f = *state;
    char const *const choices[] = { "triton_0", "broken", "cublas" };
    char const *const more[] = { "triton_0", "broken", "cublas", "ck" };
    bench b = { 0 };
    answer a;

    assert_int_equal(get(f, &mm, choices, 3, &b, &a), GCACHE_MISS);
    assert_true(a.t.measured);
    assert_int_equal(get(f, &mm, choices, 3, &b, &a), GCACHE_HIT);
    assert_false(a.t.measured);
    assert_int_equal(b.calls, 1);
    assert_true(a.timings[0] == 8 && isinf(a.timings[1]) && a.timings[2] == 6);
    /* One unknown: all are measured again. */
    assert_int_equal(get(f, &mm, more, 4, NULL, &a), GCACHE_MISS);
    assert_int_equal(a.t.known, 3);
    assert_true(isnan(a.timings[3]));
    assert_string_equal(a.t.why, "1 of 4 choices is unknown: ck");
    assert_int_equal(get(f, &mm, more, 4, &b, &a), GCACHE_MISS);
    assert_int_equal(b.calls, 2);
    assert_int_equal(get(f, &mm, more, 4, NULL, &a), GCACHE_HIT);
    assert_int_equal(get(f, &mm, choices, 3, NULL, &a), GCACHE_HIT);
}

static void
every_part_of_the_site_counts(void **state)
{
    fixture *f = *state;
    char const *const choices[] = { "a" };
    gcache_site const others[] = {
        SITE("h100", "mm", "64x64", NULL, "highest"),   SITE("a100", "bmm", "64x64", NULL, "highest"),
        SITE("a100", "mm", "64x32", NULL, "highest"),   SITE("a100", "mm", "64x64", "512", "highest"),
        SITE("a100", "mm", "64x64", NULL, "medium"),
    };
    bench b = { 0 };
    answer a;

    get(f, &mm, choices, 1, &b, &a);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_int_equal(get(f, &others[i], choices, 1, NULL, &a), GCACHE_MISS);
    assert_int_equal(get(f, &mm, choices, 1, NULL, &a), GCACHE_HIT);
}

static void
a_failed_benchmark_stores_nothing(void **state)
{
    fixture *f = *state;
    char const *const choices[] = { "a", "b" };
    bench b = { .fails = true };
    answer a;

    assert_int_equal(get(f, &mm, choices, 2, &b, &a), GCACHE_ERROR_INTERNAL);
    assert_string_equal(f->error.message, "no device");
    b = (bench){ .leaves_out = true };
    assert_int_equal(get(f, &mm, choices, 2, &b, &a), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(get(f, &mm, choices, 2, NULL, &a), GCACHE_MISS);
    assert_int_equal(a.t.known, 0);
}

static int
count_timing(void *state, gcache_site const *site, char const *choice, double timing, uint64_t at_ns)
{
    int *count = state;

    assert_string_equal(site->op, "mm");
    assert_true(timing >= 0 && at_ns > 0 && choice[0] == 'p');
    ++*count;
    return 0;
}

/* What an unlocked read-modify-write of one file loses. */
static void
no_update_of_eight_processes_is_lost(void **state)
{
    enum { PROCESSES = 8, EACH = 50 };
    fixture *f = *state;
    int count = 0;

    for (int i = 0; i < PROCESSES; i++) {
        if (fork() != 0)
            continue;
        bool right = true;
        for (int k = 0; k < EACH && right; k++) {
            char name[32], *choice = name;
            snprintf(name, sizeof name, "p%d_%d", i, k);
            right = gcache_timings_put(f->cache, &mm, (char const *const *)&choice, &(double){ k }, 1, NULL) == GCACHE_OK;
        }
        _exit(right ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_true(wait(&status) > 0);
        assert_int_equal(status, 0);
    }
    assert_int_equal(gcache_timings_each(f->cache, count_timing, &count, &f->error), GCACHE_OK);
    assert_int_equal(count, PROCESSES * EACH);
}

static void
a_damaged_table_is_put_aside(void **state)
{
    fixture *f = *state;
    char const *const choices[] = { "a" };
    char path[128], noise[4096];
    bench b = { 0 };
    answer a;

    get(f, &mm, choices, 1, &b, &a);
    snprintf(path, sizeof path, "%s/tables.db", f->directory);
    int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    memset(noise, 0x5a, sizeof noise);
    assert_int_equal(pwrite(file, noise, sizeof noise, 0), sizeof noise);
    close(file);
    assert_int_equal(get(f, &mm, choices, 1, &b, &a), GCACHE_MISS);
    assert_int_equal(get(f, &mm, choices, 1, &b, &a), GCACHE_HIT);
    assert_int_equal(b.calls, 2);
}

static void
a_read_only_cache_answers_and_measures(void **state)
{
    fixture *f = *state;
    char const *const choices[] = { "a" }, *const others[] = { "b" };
    gcache_options options = GCACHE_OPTIONS_INIT;
    bench b = { 0 };
    answer a;

    get(f, &mm, choices, 1, &b, &a);
    options.read_only = true;
    fixture_reopen(f, &options);
    assert_int_equal(get(f, &mm, choices, 1, NULL, &a), GCACHE_HIT);
    assert_int_equal(get(f, &mm, others, 1, &b, &a), GCACHE_MISS);
    assert_true(a.t.measured && a.timings[0] == 1);
    assert_int_equal(get(f, &mm, others, 1, NULL, &a), GCACHE_MISS);
    assert_int_equal(gcache_timings_put(f->cache, &mm, others, (double[]){ 1 }, 1, &f->error), GCACHE_ERROR_READ_ONLY);
}

/* ---- best configurations ---- */

static gcache_kernel const kernel = { .size = sizeof kernel, .source_hash = "c0ffee", .toolchain = "t1" };

#define PAIRS(...) (gcache_pair const[]){ __VA_ARGS__ }
#define CONFIG(count, ...) { PAIRS(__VA_ARGS__), count }

static gcache_config const offered[] = {
    CONFIG(3, { "BLOCK", "64" }, { "num_warps", "4" }, { "num_stages", "1" }),
    CONFIG(3, { "BLOCK", "128" }, { "num_warps", "4" }, { "num_stages", "1" }),
    CONFIG(3, { "BLOCK", "128" }, { "num_warps", "8" }, { "num_stages", "1" }),
};

static void
put(fixture *f, gcache_kernel const *k, char const *block, char const *warps, bool by_descent)
{
    gcache_best best = { .size = sizeof best, .config = CONFIG(4, { "BLOCK", block }, { "num_warps", warps }, { "num_stages", "1" },
                                          { "num_consumer_groups", "0" }),
                         .configs_hash = "h1", .by_descent = by_descent, .tuning_ns = 7000000, .kernel_hash = "k" };

    if (gcache_best_put(f->cache, k, &best, &f->error) != GCACHE_OK)
        fail_msg("%s", f->error.message);
}

static gcache_best_verdict
find(fixture *f, gcache_kernel const *k, gcache_config const *configs, size_t count, char const *hash, bool descent,
     gcache_best_found *out_found)
{
    gcache_status status = gcache_best_find(f->cache, k, configs, count, hash, descent, out_found, &f->error);

    assert_int_equal(status, out_found->verdict <= GCACHE_BEST_DESCENT ? GCACHE_HIT : GCACHE_MISS);
    return out_found->verdict;
}

static void
exactly_one_offered_configuration_must_match(void **state)
{
    fixture *f = *state;
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;
    gcache_config const twice[] = { offered[1], offered[0], offered[1] };

    assert_int_equal(find(f, &kernel, offered, 3, "h1", false, &found), GCACHE_BEST_NO_RECORD);
    gcache_best_found_clear(&found);
    put(f, &kernel, "128", "4", false);
    assert_int_equal(find(f, &kernel, offered, 3, "h1", false, &found), GCACHE_BEST_USED);
    assert_int_equal(found.index, 1);
    assert_string_equal(found.why, "");
    assert_int_equal(found.record.tuning_ns, 7000000);
    gcache_best_found_clear(&found);
    assert_int_equal(find(f, &kernel, twice, 3, "h1", false, &found), GCACHE_BEST_SEVERAL_MATCH);
    assert_string_equal(found.why, "more than one of the offered configurations match the record: 2 of 3");
    gcache_best_found_clear(&found);
    assert_int_equal(find(f, &kernel, offered, 1, "h1", false, &found), GCACHE_BEST_NO_MATCH);
    assert_string_equal(found.why, "none of the offered configurations matches the record: #1 BLOCK stored 128, asked 64");
    gcache_best_found_clear(&found);
    /* A parameter that the record doesn't know is a difference. */
    gcache_config const unknown[] = { CONFIG(2, { "BLOCK", "128" }, { "SPLIT", "2" }) };
    assert_int_equal(find(f, &kernel, unknown, 1, "h1", false, &found), GCACHE_BEST_NO_MATCH);
    assert_non_null(strstr(found.why, "SPLIT stored nothing, asked 2"));
    gcache_best_found_clear(&found);
    assert_int_equal(find(f, &kernel, offered, 3, "h2", false, &found), GCACHE_BEST_CONFIGS_HASH);
    assert_non_null(strstr(found.why, "stored h1, asked h2"));
    gcache_best_found_clear(&found);
}

/* Another process, which has all of it from the disk. */
static void
every_field_of_a_record_comes_back(void **state)
{
    fixture *f = *state;
    gcache_pair const all[] = { { "BLOCK_M", "128" }, { "num_warps", "8" }, { "num_stages", "3" },
                                { "num_consumer_groups", "2" }, { "num_buffers_warp_spec", "4" } };
    gcache_config const config = { all, 5 }, tuned = { all, 3 };
    gcache_best const best = { .size = sizeof best, .config = config, .configs_hash = "c0nf", .by_descent = true,
                               .tuning_ns = 123456789012,
                               .kernel_hash = "be57" };
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;

    assert_int_equal(gcache_best_put(f->cache, &kernel, &best, &f->error), GCACHE_OK);
    fixture_reopen(f, NULL);
    assert_int_equal(find(f, &kernel, &tuned, 1, "c0nf", false, &found), GCACHE_BEST_USED);
    assert_int_equal(found.record.config.count, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(found.record.config.parameters[i].name, all[i].name);
        assert_string_equal(found.record.config.parameters[i].value, all[i].value);
    }
    assert_string_equal(found.record.configs_hash, "c0nf");
    assert_true(found.record.by_descent);
    assert_int_equal(found.record.tuning_ns, 123456789012);
    assert_string_equal(found.record.kernel_hash, "be57");
    gcache_best_found_clear(&found);
}

static void
descent_gives_a_configuration_of_its_own(void **state)
{
    fixture *f = *state;
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;

    put(f, &kernel, "96", "16", true);
    assert_int_equal(find(f, &kernel, offered, 3, "h1", true, &found), GCACHE_BEST_DESCENT);
    assert_int_equal(found.index, SIZE_MAX);
    assert_int_equal(found.record.config.count, 4);
    assert_string_equal(found.record.config.parameters[0].value, "96");
    gcache_best_found_clear(&found);
    assert_int_equal(find(f, &kernel, offered, 3, "h1", false, &found), GCACHE_BEST_NO_MATCH);
    gcache_best_found_clear(&found);
    assert_int_equal(find(f, &kernel, offered, 3, "h2", true, &found), GCACHE_BEST_CONFIGS_HASH);
    gcache_best_found_clear(&found);
}

static void
source_tag_and_toolchain_name_the_kernel(void **state)
{
    fixture *f = *state;
    gcache_kernel const others[] = { KERNEL("c0ffef", NULL, "t1"), KERNEL("c0ffee", "mine", "t1"),
                                     KERNEL("c0ffee", NULL, "t2") };
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;

    put(f, &kernel, "128", "4", false);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(find(f, &others[i], offered, 3, "h1", false, &found), GCACHE_BEST_NO_RECORD);
        gcache_best_found_clear(&found);
    }
    put(f, &kernel, "64", "4", false);
    assert_int_equal(find(f, &kernel, offered, 3, "h1", false, &found), GCACHE_BEST_USED);
    assert_int_equal(found.index, 0);
    gcache_best_found_clear(&found);
}

/* ---- bundles ---- */

static gcache_bundle_options
bundle_of(char const *source)
{
    gcache_bundle_options options = GCACHE_BUNDLE_OPTIONS_INIT;

    options.source = source;
    options.backend = "b1";
    return options;
}

/* Takes the kernel's record away, as on a machine that never tuned it. */
static void
forget_records(fixture *f)
{
    char command[256];

    snprintf(command, sizeof command,
             "python3 -c \"import sqlite3; c = sqlite3.connect('%s/tables.db'); "
             "c.execute('DELETE FROM rows WHERE \\\"table\\\" = ?', ('best',)); c.commit()\"", f->directory);
    assert_int_equal(system(command), 0);
}

static void
a_bundle_brings_all_records_of_a_compile(void **state)
{
    fixture *f = *state;
    gcache_kernel const second = KERNEL("beef", NULL, "t1"), earlier = KERNEL("old", NULL, "t1");
    gcache_bundle_options options = bundle_of("x = 1  # run 17\n"), same = bundle_of("x = 1  # run 18\n");
    gcache_bundle_loaded loaded = GCACHE_BUNDLE_LOADED_INIT;
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;

    put(f, &earlier, "64", "4", false);
    assert_int_equal(gcache_bundle_begin(f->cache, &options, &loaded, &f->error), GCACHE_MISS);
    put(f, &kernel, "128", "4", false);
    put(f, &second, "128", "8", false);
    /* Hits belong to it too. */
    find(f, &earlier, offered, 3, "h1", false, &found);
    gcache_best_found_clear(&found);
    assert_int_equal(gcache_bundle_end(f->cache, &f->error), GCACHE_OK);
    forget_records(f);
    assert_int_equal(find(f, &kernel, offered, 3, "h1", false, &found), GCACHE_BEST_NO_RECORD);
    gcache_best_found_clear(&found);

    assert_int_equal(gcache_bundle_begin(f->cache, &same, &loaded, &f->error), GCACHE_HIT);
    assert_int_equal(loaded.records, 3);
    assert_int_equal(loaded.saved_ns, 21000000);
    assert_int_equal(gcache_bundle_end(f->cache, &f->error), GCACHE_OK);
    assert_int_equal(find(f, &second, offered, 3, "h1", false, &found), GCACHE_BEST_USED);
    assert_int_equal(found.index, 2);
    gcache_best_found_clear(&found);
    assert_int_equal(find(f, &earlier, offered, 3, "h1", false, &found), GCACHE_BEST_USED);
    gcache_best_found_clear(&found);
}

/* A local record that is older than the bundle's makes way, a newer one stays. */
static void
of_two_records_the_newer_one_counts(void **state)
{
    fixture *f = *state;
    gcache_kernel const second = KERNEL("beef", NULL, "t1");
    gcache_bundle_options options = bundle_of("x = 1\n"), later = bundle_of("y = 1\n");
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;
    char command[256];

    assert_int_equal(gcache_bundle_begin(f->cache, &options, NULL, &f->error), GCACHE_MISS);
    put(f, &kernel, "128", "4", false);
    put(f, &second, "128", "8", false);
    assert_int_equal(gcache_bundle_end(f->cache, &f->error), GCACHE_OK);
    put(f, &second, "64", "4", false);
    /* As an import from elsewhere would have left it: an hour older than the bundle. */
    put(f, &kernel, "64", "4", false);
    snprintf(command, sizeof command,
             "python3 -c \"import sqlite3; c = sqlite3.connect('%s/tables.db'); "
             "c.execute('UPDATE rows SET at = at - 3600000000000 WHERE \\\"table\\\" = ? AND name LIKE ?', "
             "('best', '%%%s%%')); c.commit()\"", f->directory, kernel.source_hash);
    assert_int_equal(system(command), 0);
    assert_int_equal(find(f, &kernel, offered, 3, "h1", false, &found), GCACHE_BEST_USED);
    assert_string_equal(found.record.config.parameters[0].value, "64");
    gcache_best_found_clear(&found);

    assert_int_equal(gcache_bundle_begin(f->cache, &options, NULL, &f->error), GCACHE_HIT);
    assert_int_equal(find(f, &kernel, offered, 3, "h1", false, &found), GCACHE_BEST_USED);
    assert_string_equal(found.record.config.parameters[0].value, "128");
    gcache_best_found_clear(&found);
    assert_int_equal(find(f, &second, offered, 3, "h1", false, &found), GCACHE_BEST_USED);
    assert_string_equal(found.record.config.parameters[0].value, "64");
    gcache_best_found_clear(&found);

    /* A record that was only read has the time at which it was made in the bundle as well, not that of the bundle. */
    assert_int_equal(gcache_bundle_begin(f->cache, &later, NULL, &f->error), GCACHE_MISS);
    find(f, &kernel, offered, 3, "h1", false, &found);
    gcache_best_found_clear(&found);
    put(f, &kernel, "64", "4", false);
    find(f, &kernel, offered, 3, "h1", false, &found);
    gcache_best_found_clear(&found);
    assert_int_equal(gcache_bundle_end(f->cache, &f->error), GCACHE_OK);
    put(f, &kernel, "128", "4", false);
    assert_int_equal(gcache_bundle_begin(f->cache, &later, NULL, &f->error), GCACHE_HIT);
    assert_int_equal(find(f, &kernel, offered, 3, "h1", false, &found), GCACHE_BEST_USED);
    assert_string_equal(found.record.config.parameters[0].value, "128");
    gcache_best_found_clear(&found);
}

/* What was found goes into the file of what the run used, and makes it no newer. */
static void
hits_belong_to_the_artifacts(void **state)
{
    fixture *f = *state;
    char const *const choices[] = { "a" };
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;
    gcache_transfer written = GCACHE_TRANSFER_INIT;
    double timing;
    gcache_timings timings = { .size = sizeof timings, .timings = &timing };

    put(f, &kernel, "128", "4", false);
    assert_int_equal(gcache_timings_put(f->cache, &mm, choices, (double[]){ 1 }, 1, &f->error), GCACHE_OK);
    assert_int_equal(gcache_artifacts_begin(f->cache, &f->error), GCACHE_OK);
    find(f, &kernel, offered, 3, "h1", false, &found);
    gcache_best_found_clear(&found);
    assert_int_equal(gcache_timings_get(f->cache, &mm, choices, 1, NULL, NULL, &timings, &f->error), GCACHE_HIT);
    assert_false(gcache_artifacts_dirty(f->cache));
    assert_int_equal(gcache_artifacts_save(f->cache, f->file, &written, &f->error), GCACHE_OK);
    assert_int_equal(written.rows, 2);
    gcache_artifacts_end(f->cache);
}

/* A bundle with one record in it, begun and ended. */
static void
store_bundle(fixture *f, gcache_bundle_options const *options)
{
    assert_int_equal(gcache_bundle_begin(f->cache, options, NULL, &f->error), GCACHE_MISS);
    put(f, &kernel, "128", "4", false);
    assert_int_equal(gcache_bundle_end(f->cache, &f->error), GCACHE_OK);
}

static gcache_status
begin_and_end(fixture *f, gcache_bundle_options const *options)
{
    gcache_status status = gcache_bundle_begin(f->cache, options, NULL, &f->error);

    assert_int_equal(gcache_bundle_end(f->cache, &f->error), GCACHE_OK);
    return status;
}

static void
source_backend_and_salt_name_the_bundle(void **state)
{
    fixture *f = *state;
    gcache_bundle_options options = bundle_of("x = 1  # a\n"), other, hashed = bundle_of(NULL);
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_key hash;

    store_bundle(f, &options);
    assert_int_equal(begin_and_end(f, &options), GCACHE_HIT);
    other = options;
    other.source = "x = 2  # a\n";
    assert_int_equal(begin_and_end(f, &other), GCACHE_MISS);
    other = options;
    other.backend = "b2";
    assert_int_equal(begin_and_end(f, &other), GCACHE_MISS);
    other = options;
    other.extra = "mine";
    assert_int_equal(begin_and_end(f, &other), GCACHE_MISS);
    /* Its hash stands for a source. */
    assert_int_equal(gcache_source_hash("x = 1  # b\n", NULL, &hash, NULL), GCACHE_OK);
    gcache_key_to_hex(&hash, hex);
    hashed.source_hash = hex;
    assert_int_equal(begin_and_end(f, &hashed), GCACHE_HIT);
}

/* Once loaded nothing more is gathered: the bundle stays as it was stored. */
static void
a_loaded_bundle_collects_nothing(void **state)
{
    fixture *f = *state;
    gcache_kernel const later = KERNEL("beef", NULL, "t1");
    gcache_bundle_options options = bundle_of("x = 1\n");
    gcache_bundle_loaded loaded = GCACHE_BUNDLE_LOADED_INIT;

    store_bundle(f, &options);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gcache_bundle_begin(f->cache, &options, &loaded, &f->error), GCACHE_HIT);
        assert_int_equal(loaded.records, 1);
        put(f, &later, "64", "4", false);
        assert_int_equal(gcache_bundle_end(f->cache, &f->error), GCACHE_OK);
    }
}

static void
a_bundle_needs_a_cache_to_write_to(void **state)
{
    fixture *f = *state;
    gcache_bundle_options options = bundle_of("x = 1\n");
    gcache_options read_only = GCACHE_OPTIONS_INIT;
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;

    put(f, &kernel, "128", "4", false);
    read_only.read_only = true;
    fixture_reopen(f, &read_only);
    assert_int_equal(gcache_bundle_begin(f->cache, &options, NULL, &f->error), GCACHE_MISS);
    assert_int_equal(find(f, &kernel, offered, 3, "h1", false, &found), GCACHE_BEST_USED);
    gcache_best_found_clear(&found);
    assert_int_equal(gcache_bundle_end(f->cache, &f->error), GCACHE_OK); /* of nothing: nothing was collected */
    fixture_reopen(f, NULL);
    assert_int_equal(begin_and_end(f, &options), GCACHE_MISS);
}

static void
an_empty_bundle_is_not_stored(void **state)
{
    fixture *f = *state;
    gcache_bundle_options options = bundle_of("x = 1\n");

    for (int i = 0; i < 2; i++) {
        assert_int_equal(gcache_bundle_begin(f->cache, &options, NULL, &f->error), GCACHE_MISS);
        assert_int_equal(gcache_bundle_end(f->cache, &f->error), GCACHE_OK);
    }
    /* Outside of a bundle nothing is collected, and ending twice is nothing. */
    put(f, &kernel, "128", "4", false);
    assert_int_equal(gcache_bundle_end(f->cache, &f->error), GCACHE_OK);
    assert_int_equal(gcache_bundle_begin(f->cache, &options, NULL, &f->error), GCACHE_MISS);
}

static void
misuse_of_bundles_is_an_error(void **state)
{
    fixture *f = *state;
    gcache_bundle_options options = bundle_of("x"), both = bundle_of("x"), neither = bundle_of(NULL);

    both.source_hash = "12";
    assert_int_equal(gcache_bundle_begin(f->cache, &both, NULL, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gcache_bundle_begin(f->cache, &neither, NULL, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gcache_bundle_begin(f->cache, &options, NULL, &f->error), GCACHE_MISS);
    assert_int_equal(gcache_bundle_begin(f->cache, &options, NULL, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_string_equal(f->error.message, "a bundle is open already");
}

static bool
same_hash(char const *a, char const *b, char const *comment)
{
    gcache_key first, second;

    assert_int_equal(gcache_source_hash(a, comment, &first, NULL), GCACHE_OK);
    assert_int_equal(gcache_source_hash(b, comment, &second, NULL), GCACHE_OK);
    return memcmp(&first, &second, sizeof first) == 0;
}

static void
comments_do_not_count_but_quoted_text_does(void **state)
{
    (void)state;
    assert_true(same_hash("a = 1 # x\nb\n", "a = 1 # y\nb\n", NULL));
    assert_true(same_hash("a# x", "a", NULL));
    assert_false(same_hash("a = '# x'\n", "a = '# y'\n", NULL));
    assert_false(same_hash("a = \"\"\"\n# x\n\"\"\"\n", "a = \"\"\"\n# y\n\"\"\"\n", NULL));
    assert_false(same_hash("a = '\\'# x'\n", "a = '\\'# y'\n", NULL));
    assert_true(same_hash("a = '' # x\n", "a = '' # y\n", NULL));
    assert_false(same_hash("a // x\n", "a // y\n", NULL));
    assert_true(same_hash("a // x\n", "a // y\n", "//"));
    assert_false(same_hash("a # x", "a # y", ""));
}

/* ---- what isn't UTF-8 ---- */

/* Rows are named in JSON, where all such bytes would be the same. */
static void
texts_that_are_not_utf8_are_refused(void **state)
{
    fixture *f = *state;
    char const *const choices[] = { "a" }, *const bad_choices[] = { "\xff" };
    double const timing = 1;
    gcache_site const sites[] = { SITE(.system = "\xff"), SITE(.op = "\xff"),        SITE(.inputs = "\xff"),
                                  SITE(.hint = "\xff"),   SITE(.precision = "\xff") };
    answer a;

    for (size_t i = 0; i < sizeof sites / sizeof *sites; i++) {
        assert_int_equal(gcache_timings_put(f->cache, &sites[i], choices, &timing, 1, &f->error), GCACHE_ERROR_ARGUMENT);
        assert_int_equal(get(f, &sites[i], choices, 1, NULL, &a), GCACHE_ERROR_ARGUMENT);
    }
    assert_string_equal(f->error.message, "the precision isn't UTF-8");
    assert_int_equal(gcache_timings_put(f->cache, &mm, bad_choices, &timing, 1, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_string_equal(f->error.message, "choice 0 isn't UTF-8");
}

static void
records_and_bundles_that_are_not_utf8_are_refused(void **state)
{
    fixture *f = *state;
    gcache_pair const good = { "n", "1" }, bad[] = { { "\xff", "1" }, { "n", "\xff" } };
    gcache_kernel const kernels[] = { KERNEL("\xff", NULL, NULL), KERNEL("c0ffee", "\xff", NULL),
                                      KERNEL("c0ffee", NULL, "\xff") };
    gcache_best const best = { .size = sizeof best, .config = { &good, 1 }, .configs_hash = "h" };
    gcache_bundle_options options = GCACHE_BUNDLE_OPTIONS_INIT;

    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        assert_int_equal(gcache_best_put(f->cache, &kernels[i], &best, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_string_equal(f->error.message, "the toolchain isn't UTF-8");
    gcache_kernel const plain = KERNEL("c0ffee", NULL, NULL);
    gcache_best const records[] = { { .size = sizeof(gcache_best), .config = { &bad[0], 1 }, .configs_hash = "h" },
                                    { .size = sizeof(gcache_best), .config = { &bad[1], 1 }, .configs_hash = "h" },
                                    { .size = sizeof(gcache_best), .config = { &good, 1 }, .configs_hash = "\xff" },
                                    { .size = sizeof(gcache_best), .config = { &good, 1 }, .configs_hash = "h",
                                      .kernel_hash = "\xff" } };
    for (size_t i = 0; i < sizeof records / sizeof *records; i++)
        assert_int_equal(gcache_best_put(f->cache, &plain, &records[i], &f->error), GCACHE_ERROR_ARGUMENT);
    assert_string_equal(f->error.message, "kernel_hash isn't UTF-8");
    options.source_hash = "h";
    options.extra = "\xff";
    assert_int_equal(gcache_bundle_begin(f->cache, &options, NULL, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_string_equal(f->error.message, "extra isn't UTF-8");
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(all_choices_are_known_or_all_are_measured),
        CASE(every_part_of_the_site_counts),
        CASE(a_failed_benchmark_stores_nothing),
        CASE(no_update_of_eight_processes_is_lost),
        CASE(a_damaged_table_is_put_aside),
        CASE(a_read_only_cache_answers_and_measures),
        CASE(exactly_one_offered_configuration_must_match),
        CASE(every_field_of_a_record_comes_back),
        CASE(descent_gives_a_configuration_of_its_own),
        CASE(source_tag_and_toolchain_name_the_kernel),
        CASE(a_bundle_brings_all_records_of_a_compile),
        CASE(of_two_records_the_newer_one_counts),
        CASE(hits_belong_to_the_artifacts),
        CASE(source_backend_and_salt_name_the_bundle),
        CASE(a_loaded_bundle_collects_nothing),
        CASE(a_bundle_needs_a_cache_to_write_to),
        CASE(an_empty_bundle_is_not_stored),
        CASE(misuse_of_bundles_is_an_error),
        CASE(comments_do_not_count_but_quoted_text_does),
        CASE(texts_that_are_not_utf8_are_refused),
        CASE(records_and_bundles_that_are_not_utf8_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
