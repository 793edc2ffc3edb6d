/*
 * Export and import: what a run used, what is stored, selections, damage, interruption, requirements.
 */
#include "fixture.h"

#include <fcntl.h>
#include <guardcache/artifacts.h>
#include <guardcache/maintenance.h>
#include <guardcache/blobs.h>
#include <guardcache/tuning.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRAPHS = 12 };

static gcache_graph *
numbered(int number)
{
    gcache_graph *g = make_matmul("s0", "s1");

    gcache_graph_component(g, "number", gcache_value_int(g, number));
    return g;
}

/* Two candidates a graph, one of them with an attachment that all share, of a label of its own, and a requirement. */
static void
insert_number(fixture *f, int number)
{
    gcache_graph *g = numbered(number);
    char payload[4096], label[32];
    char const *guards[] = { "s0 % 8 == 0", "s0 % 2 == 1" };
    gcache_attachment library = { .name = "lib/kernel.so", .bytes = "machine code", .size = 12, .executable = true };
    gcache_pair driver = { "driver", number % 2 == 0 ? "535" : "550" };

    snprintf(label, sizeof label, "model.py:%d", number);
    memset(payload, 'a' + number, sizeof payload);
    for (int i = 0; i < 2; i++) {
        gcache_entry entry = { .size = sizeof entry, .guards = &guards[i], .guard_count = 1, .payload = payload,
                               .payload_size = (size_t)(i == 0 ? 100 : 4096), .label = label, .compile_ns = 1000000,
                               .attachments = &library, .attachment_count = i == 0, .requires_ = &driver,
                               .requires_count = i == 1 };
        if (gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error) != GCACHE_OK)
            fail_msg("%s", f->error.message);
    }
    gcache_graph_free(g);
}

/* How many of the candidates of all graphs hit. */
static int
count_hits(fixture *f)
{
    gcache_pair const driver[] = { { "driver", "535" } }, other[] = { { "driver", "550" } };
    int hits = 0;

    for (int i = 0; i < GRAPHS; i++) {
        gcache_graph *g = numbered(i);
        for (int k = 0; k < 2; k++) {
            gcache_hint const s0[] = { { "s0", k == 0 ? 16 : 17 }, { "s1", 4 } };
            gcache_hints hints = { s0, 2, NULL, 0 };
            gcache_request request = GCACHE_REQUEST_INIT;
            gcache_result r = GCACHE_RESULT_INIT;
            request.provides = i % 2 == 0 ? driver : other;
            request.provides_count = 1;
            if (gcache_lookup_with(f->cache, g, &hints, &request, &r, &f->error) == GCACHE_HIT) {
                assert_int_equal(((char const *)r.payload)[0], 'a' + i);
                hits++;
            }
            gcache_result_clear(&r);
        }
        gcache_graph_free(g);
    }
    return hits;
}

static void
fill(fixture *f)
{
    gcache_blob blob = GCACHE_BLOB_INIT;
    gcache_site const site = { .size = sizeof site, .op = "mm" };
    char const *const choices[] = { "a", "b" };

    for (int i = 0; i < GRAPHS; i++)
        insert_number(f, i);
    assert_int_equal(gcache_blob_put(f->cache, "int main;", 9, "c", NULL, &blob, &f->error), GCACHE_OK);
    assert_int_equal(gcache_timings_put(f->cache, &site, choices, (double[]){ 1, 2 }, 2, &f->error), GCACHE_OK);
}

static gcache_transfer
export(fixture_pair *p, gcache_export_options const *options)
{
    gcache_transfer written = GCACHE_TRANSFER_INIT;

    if (gcache_export(p->from->cache, p->file, options, &written, &p->from->error) != GCACHE_OK)
        fail_msg("%s", p->from->error.message);
    return written;
}

static gcache_transfer
import(fixture_pair *p)
{
    gcache_transfer read = GCACHE_TRANSFER_INIT;

    if (gcache_import(p->to->cache, p->file, NULL, &read, &p->to->error) != GCACHE_OK)
        fail_msg("%s", p->to->error.message);
    return read;
}

static void
everything_arrives(void **state)
{
    fixture_pair *p = *state;
    gcache_graph *g = numbered(3);
    gcache_hints hints = GCACHE_HINTS({ "s0", 16 }, { "s1", 4 });
    char place[160], *text;
    gcache_result r = GCACHE_RESULT_INIT;
    void *bytes;
    size_t size;
    gcache_blob blob = GCACHE_BLOB_INIT;
    double timings[2];
    gcache_timings t = { .size = sizeof t, .timings = timings };

    fill(p->from);
    gcache_transfer written = export(p, NULL);
    assert_int_equal(written.entries, 2 * GRAPHS);
    assert_int_equal(written.keys, GRAPHS);
    /* Kept once by content. */
    assert_int_equal(written.attachments, 1);
    assert_int_equal(written.blobs, 1);
    assert_int_equal(written.rows, 2);

    assert_int_equal(count_hits(p->to), 0);
    gcache_transfer read = import(p);
    assert_int_equal(read.entries, 2 * GRAPHS);
    assert_int_equal(read.existed, 0);
    assert_int_equal(read.bytes, written.bytes);
    assert_int_equal(count_hits(p->to), 2 * GRAPHS);

    assert_int_equal(gcache_lookup(p->to->cache, g, &hints, &r, &p->to->error), GCACHE_HIT);
    assert_int_equal(r.compile_ns, 1000000);
    snprintf(place, sizeof place, "%s/placed", p->to->directory);
    assert_int_equal(gcache_place(p->to->cache, &r, place, &p->to->error), GCACHE_OK);
    strcat(place, "/lib/kernel.so");
    assert_int_equal(access(place, X_OK), 0);
    gcache_result_clear(&r);
    gcache_graph_free(g);

    assert_int_equal(gcache_blob_put(p->from->cache, "int main;", 9, "c", NULL, &blob, NULL), GCACHE_OK);
    assert_int_equal(gcache_blob_get(p->to->cache, blob.name, "c", NULL, &bytes, &size, &p->to->error), GCACHE_OK);
    gcache_free(bytes);
    assert_int_equal(gcache_timings_get(p->to->cache, &(gcache_site){ .size = sizeof(gcache_site), .op = "mm" },
                                                                      (char const *const[]){ "a", "b" }, 2,
                                        NULL, NULL, &t, &p->to->error), GCACHE_HIT);

    /* Descriptions came along: an unknown graph is explained by its nearest. */
    g = numbered(99);
    assert_int_equal(gcache_explain(p->to->cache, g, NULL, NULL, GCACHE_EXPLAIN_TEXT, &text, &p->to->error), GCACHE_MISS);
    assert_non_null(strstr(text, "nearest"));
    gcache_free(text);
    gcache_graph_free(g);
}

static void
importing_again_adds_nothing(void **state)
{
    fixture_pair *p = *state;

    fill(p->from);
    export(p, NULL);
    import(p);
    gcache_transfer read = import(p);
    assert_int_equal(read.existed, 2 * GRAPHS + 1);
    assert_int_equal(count_hits(p->to), 2 * GRAPHS);
}

static void
nothing_newer_is_overwritten(void **state)
{
    fixture_pair *p = *state;
    gcache_site const site = { .size = sizeof site, .op = "mm" };
    char const *const choices[] = { "a" };
    double timing = 0;
    gcache_timings t = { .size = sizeof t, .timings = &timing };

    assert_int_equal(gcache_timings_put(p->from->cache, &site, choices, (double[]){ 1 }, 1, NULL), GCACHE_OK);
    export(p, NULL);
    assert_int_equal(gcache_timings_put(p->to->cache, &site, choices, (double[]){ 7 }, 1, NULL), GCACHE_OK);
    import(p);
    assert_int_equal(gcache_timings_get(p->to->cache, &site, choices, 1, NULL, NULL, &t, NULL), GCACHE_HIT);
    assert_true(timing == 7);
    /* The other way round the newer one arrives. */
    assert_int_equal(gcache_export(p->to->cache, p->file, NULL, NULL, NULL), GCACHE_OK);
    assert_int_equal(gcache_import(p->from->cache, p->file, NULL, NULL, NULL), GCACHE_OK);
    assert_int_equal(gcache_timings_get(p->from->cache, &site, choices, 1, NULL, NULL, &t, NULL), GCACHE_HIT);
    assert_true(timing == 7);
}

static void
selections_narrow_it_down(void **state)
{
    fixture_pair *p = *state;
    gcache_export_options options = GCACHE_EXPORT_OPTIONS_INIT;
    gcache_graph *g = numbered(4);
    gcache_key key;

    fill(p->from);
    options.label = "model.py:1";
    gcache_transfer written = export(p, &options);
    /* 1, 10 and 11 */
    assert_int_equal(written.entries, 6);
    assert_int_equal(written.rows + written.blobs, 0);
    options.label = NULL;
    assert_int_equal(gcache_graph_key(g, &key, NULL), GCACHE_OK);
    options.key = &key;
    assert_int_equal(export(p, &options).entries, 2);
    options.key = NULL;
    options.until_ns = 1;
    assert_int_equal(export(p, &options).entries, 0);
    options.until_ns = 0;
    options.since_ns = 1;
    assert_int_equal(export(p, &options).entries, 2 * GRAPHS);
    options.namespace_ = "elsewhere";
    assert_int_equal(export(p, &options).entries, 0);
    gcache_graph_free(g);
}

static void
namespaces_travel_along(void **state)
{
    fixture_pair *p = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_export_options selection = GCACHE_EXPORT_OPTIONS_INIT;

    options.namespace_ = "team a";
    fixture_reopen(p->from, &options);
    fill(p->from);
    export(p, NULL);
    import(p);
    assert_int_equal(count_hits(p->to), 0);
    fixture_reopen(p->to, &options);
    assert_int_equal(count_hits(p->to), 2 * GRAPHS);
    selection.namespace_ = "team a";
    gcache_transfer written = GCACHE_TRANSFER_INIT;
    assert_int_equal(gcache_export(p->to->cache, p->file, &selection, &written, NULL), GCACHE_OK);
    assert_int_equal(written.entries, 2 * GRAPHS);
}

/* ---- damage ---- */

static size_t
load(char const *path, unsigned char **out_bytes)
{
    struct stat facts;
    int file = open(path, O_RDONLY);

    assert_true(file >= 0);
    assert_int_equal(fstat(file, &facts), 0);
    *out_bytes = malloc((size_t)facts.st_size);
    assert_int_equal(read(file, *out_bytes, (size_t)facts.st_size), facts.st_size);
    close(file);
    return (size_t)facts.st_size;
}

static void
save(char const *path, unsigned char const *bytes, size_t size)
{
    int file = open(path, O_WRONLY | O_TRUNC);

    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

static void
assert_refused(fixture_pair *p)
{
    gcache_transfer read = GCACHE_TRANSFER_INIT;
    gcache_status status = gcache_import(p->to->cache, p->file, NULL, &read, &p->to->error);

    assert_true(status == GCACHE_ERROR_CORRUPT || status == GCACHE_ERROR_FORMAT);
    assert_int_equal(read.entries + read.keys + read.attachments + read.blobs + read.rows, 0);
    assert_non_null(strstr(p->to->error.message, p->file));
}

static void
a_flipped_bit_anywhere_is_refused(void **state)
{
    fixture_pair *p = *state;
    unsigned char *bytes;

    fill(p->from);
    export(p, NULL);
    size_t size = load(p->file, &bytes);
    /* Every byte of both ends, a bit of every 37th between, and every bit position in turn. */
    for (size_t at = 0; at < size; at += at < 64 || at > size - 128 ? 1 : 37) {
        bytes[at] ^= (unsigned char)(1u << at % 8);
        save(p->file, bytes, size);
        assert_refused(p);
        bytes[at] ^= (unsigned char)(1u << at % 8);
    }
    for (size_t cut = 1; cut < size; cut = cut * 3 / 2 + 1) {
        save(p->file, bytes, size - cut);
        assert_refused(p);
    }
    assert_int_equal(count_hits(p->to), 0);
    save(p->file, bytes, size);
    import(p);
    assert_int_equal(count_hits(p->to), 2 * GRAPHS);
    free(bytes);
}

static void
die_after_five(void *state, gcache_transfer const *so_far)
{
    (void)state;
    if (so_far->entries == 5)
        kill(getpid(), SIGKILL);
}

static void
an_interrupted_import_can_be_repeated(void **state)
{
    fixture_pair *p = *state;
    gcache_verified verified = GCACHE_VERIFIED_INIT;
    int status;

    fill(p->from);
    export(p, NULL);
    pid_t child = fork();
    if (child == 0) {
        gcache_import_options options = GCACHE_IMPORT_OPTIONS_INIT;
        options.progress = die_after_five;
        gcache_import(p->to->cache, p->file, &options, NULL, NULL);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(count_hits(p->to), 5);
    assert_int_equal(gcache_verify(p->to->cache, NULL, &verified, &p->to->error), GCACHE_OK);
    assert_int_equal(verified.problems, 0);
    assert_int_equal(import(p).existed, 5);
    assert_int_equal(count_hits(p->to), 2 * GRAPHS);
}

/* ---- requirements ---- */

static void
count_unmet(void *state, gcache_key const *key, char const *entry, char const *name, char const *required,
            char const *provided)
{
    int *count = state;

    (void)key;
    assert_int_equal(strlen(entry), GCACHE_ENTRY_ID_SIZE - 1);
    assert_string_equal(name, "driver");
    assert_string_equal(required, "550");
    assert_string_equal(provided, "535");
    ++*count;
}

static void
entries_that_cannot_serve_here_are_named(void **state)
{
    fixture_pair *p = *state;
    gcache_import_options options = GCACHE_IMPORT_OPTIONS_INIT;
    gcache_pair const here[] = { { "driver", "535" } };
    gcache_transfer read = GCACHE_TRANSFER_INIT;
    int unmet = 0;

    fill(p->from);
    export(p, NULL);
    options.provides = here;
    options.provides_count = 1;
    options.check_requirements = true;
    options.unmet = count_unmet;
    options.state = &unmet;
    assert_int_equal(gcache_import(p->to->cache, p->file, &options, &read, &p->to->error), GCACHE_OK);
    assert_int_equal(unmet, GRAPHS / 2);
    assert_int_equal(read.unmet, GRAPHS / 2);
    assert_int_equal(count_hits(p->to), 2 * GRAPHS - GRAPHS / 2);
}

/* ---- what a run used ---- */

static gcache_status
take_artifact(void *state, char const *kind, char const *name, void const *bytes, size_t size, gcache_error *error)
{
    char *text = state;

    (void)error;
    sprintf(text + strlen(text), "%s/%s=%.*s;", kind, name, (int)size, (char const *)bytes);
    return GCACHE_OK;
}

static void
only_what_a_run_used_is_saved(void **state)
{
    fixture_pair *p = *state;
    gcache *cache = p->from->cache;
    gcache_import_options options = GCACHE_IMPORT_OPTIONS_INIT;
    gcache_graph *g = numbered(2);
    gcache_hints hints = GCACHE_HINTS({ "s0", 16 }, { "s1", 4 });
    gcache_site const site = { .size = sizeof site, .op = "bmm" };
    gcache_transfer written = GCACHE_TRANSFER_INIT;
    gcache_result r = GCACHE_RESULT_INIT;
    char taken[128] = "";

    fill(p->from);
    assert_int_equal(gcache_artifacts_save(cache, p->file, NULL, NULL), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gcache_artifacts_begin(cache, NULL), GCACHE_OK);
    assert_int_equal(gcache_artifacts_begin(cache, NULL), GCACHE_ERROR_ARGUMENT);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gcache_lookup(cache, g, &hints, &r, NULL), GCACHE_HIT);
        gcache_result_clear(&r);
    }
    assert_false(gcache_artifacts_dirty(cache));
    insert_number(p->from, GRAPHS);
    assert_true(gcache_artifacts_dirty(cache));
    assert_int_equal(gcache_timings_put(cache, &site, (char const *const[]){ "a" }, (double[]){ 1 }, 1, NULL), GCACHE_OK);
    assert_int_equal(gcache_artifacts_add(cache, "pgo", "job", "old", 3, NULL), GCACHE_OK);
    assert_int_equal(gcache_artifacts_add(cache, "pgo", "job", "profile", 7, NULL), GCACHE_OK);
    assert_int_equal(gcache_artifacts_save(cache, p->file, &written, NULL), GCACHE_OK);
    assert_int_equal(written.entries, 3);
    assert_int_equal(written.keys, 2);
    assert_int_equal(written.rows, 1);
    assert_int_equal(written.artifacts, 1);
    gcache_artifacts_end(cache);
    assert_false(gcache_artifacts_dirty(cache));

    options.artifact = take_artifact;
    options.state = taken;
    assert_int_equal(gcache_import(p->to->cache, p->file, &options, NULL, &p->to->error), GCACHE_OK);
    assert_string_equal(taken, "pgo/job=profile;");
    assert_int_equal(count_hits(p->to), 1);
    gcache_graph_free(g);
}

/* Timings and best configurations that a run only read belong to what it used; what it didn't ask for doesn't. */
static void
read_timings_and_records_are_saved(void **state)
{
    fixture_pair *p = *state;
    gcache *cache = p->from->cache;
    gcache_site const sites[] = { { .size = sizeof(gcache_site), .op = "mm" }, { .size = sizeof(gcache_site), .op = "bmm" } };
    char const *const choices[] = { "a", "b" };
    gcache_kernel const kernels[] = { { .size = sizeof(gcache_kernel), .source_hash = "one" },
                                      { .size = sizeof(gcache_kernel), .source_hash = "two" } };
    gcache_config const config = { .parameters = (gcache_pair[]){ { "BLOCK", "64" } }, .count = 1 };
    gcache_best const best = { .size = sizeof best, .config = config, .configs_hash = "h" };
    double timings[2];
    gcache_timings t = { .size = sizeof t, .timings = timings };
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;
    gcache_transfer written = GCACHE_TRANSFER_INIT;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(gcache_timings_put(cache, &sites[i], choices, (double[]){ 1, 2 }, 2, NULL), GCACHE_OK);
        assert_int_equal(gcache_best_put(cache, &kernels[i], &best, NULL), GCACHE_OK);
    }
    assert_int_equal(gcache_artifacts_begin(cache, NULL), GCACHE_OK);
    assert_int_equal(gcache_timings_get(cache, &sites[1], choices, 2, NULL, NULL, &t, NULL), GCACHE_HIT);
    assert_int_equal(gcache_artifacts_save(cache, p->file, &written, NULL), GCACHE_OK);
    assert_int_equal(written.rows, 2); /* a timing a choice */
    assert_int_equal(gcache_best_find(cache, &kernels[0], &config, 1, "h", false, &found, NULL), GCACHE_HIT);
    gcache_best_found_clear(&found);
    assert_false(gcache_artifacts_dirty(cache));
    assert_int_equal(gcache_artifacts_save(cache, p->file, &written, NULL), GCACHE_OK);
    assert_int_equal(written.rows, 3);
    gcache_artifacts_end(cache);

    cache = p->to->cache;
    assert_int_equal(gcache_import(cache, p->file, NULL, NULL, &p->to->error), GCACHE_OK);
    assert_int_equal(gcache_timings_get(cache, &sites[1], choices, 2, NULL, NULL, &t, NULL), GCACHE_HIT);
    assert_int_equal(gcache_timings_get(cache, &sites[0], choices, 2, NULL, NULL, &t, NULL), GCACHE_MISS);
    assert_int_equal(gcache_best_find(cache, &kernels[0], &config, 1, "h", false, &found, NULL), GCACHE_HIT);
    gcache_best_found_clear(&found);
    assert_int_equal(gcache_best_find(cache, &kernels[1], &config, 1, "h", false, &found, NULL), GCACHE_MISS);
    gcache_best_found_clear(&found);
}

static void
the_manifest_tells_what_is_inside(void **state)
{
    fixture_pair *p = *state;
    char *manifest;

    fill(p->from);
    export(p, NULL);
    assert_int_equal(gcache_export_show(p->file, &manifest, &p->from->error), GCACHE_OK);
    assert_non_null(strstr(manifest, "\"format\": \"guardcache-export/3\""));
    assert_non_null(strstr(manifest, "\"entries\": 24, \"keys\": 12, \"attachments\": 1, \"blobs\": 1, \"rows\": 2"));
    gcache_free(manifest);
    assert_int_equal(gcache_export_show("/dev/null", &manifest, &p->from->error), GCACHE_ERROR_FORMAT);
    assert_int_equal(gcache_export_show("/nowhere/x", &manifest, &p->from->error), GCACHE_ERROR_NOT_FOUND);
}

/* What a bar is drawn from. */
typedef struct told {
    uint64_t calls, done, total;
    bool fell;
} told;

static void
note_progress(void *state, uint64_t done, uint64_t total)
{
    told *t = state;

    t->fell = t->fell || (total == t->total && done < t->done) || done > total;
    *t = (told){ t->calls + 1, done, total, t->fell };
}

static void
progress_is_told(void **state)
{
    fixture_pair *p = *state;
    told out = { 0 }, in = { 0 }, gone = { 0 };
    gcache_export_options selection = GCACHE_EXPORT_OPTIONS_INIT;
    gcache_import_options how = GCACHE_IMPORT_OPTIONS_INIT;
    gcache_gc_options gc = GCACHE_GC_OPTIONS_INIT;
    gcache_transfer read = GCACHE_TRANSFER_INIT;

    fill(p->from);
    selection.progress = note_progress;
    selection.state = &out;
    gcache_transfer written = export(p, &selection);
    assert_int_equal(out.calls, written.keys);
    assert_false(out.fell);
    how.watch = note_progress;
    how.state = &in;
    assert_int_equal(gcache_import(p->to->cache, p->file, &how, &read, &p->to->error), GCACHE_OK);
    assert_true(in.calls > written.entries && !in.fell && in.total == written.bytes);
    gc.namespace_ = "";
    gc.progress = note_progress;
    gc.state = &gone;
    assert_int_equal(gcache_gc(p->to->cache, &gc, NULL, &p->to->error), GCACHE_OK);
    assert_true(gone.calls > 0 && !gone.fell && gone.done == written.entries && gone.total == written.entries);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_pair_open, fixture_pair_close)
    struct CMUnitTest const tests[] = {
        CASE(progress_is_told),
        CASE(everything_arrives),
        CASE(importing_again_adds_nothing),
        CASE(nothing_newer_is_overwritten),
        CASE(selections_narrow_it_down),
        CASE(namespaces_travel_along),
        CASE(a_flipped_bit_anywhere_is_refused),
        CASE(an_interrupted_import_can_be_repeated),
        CASE(entries_that_cannot_serve_here_are_named),
        CASE(only_what_a_run_used_is_saved),
        CASE(read_timings_and_records_are_saved),
        CASE(the_manifest_tells_what_is_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
