/*
 * With strict, every write that fails is the caller's error; without, it is told and the work goes on. Writes fail because the
 * process may write no more than a few bytes into a file, leases because flock fails.
 */
#include "fixture.h"

#include <guardcache/artifacts.h>
#include <guardcache/blobs.h>
#include <guardcache/bulk.h>
#include <guardcache/share.h>
#include <guardcache/tuning.h>
#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

static bool leases_fail;

int __real_flock(int file, int operation);
int __wrap_flock(int file, int operation);

int
__wrap_flock(int file, int operation)
{
    char link[64], path[512] = "";

    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    if (leases_fail && readlink(link, path, sizeof path - 1) > 0 && strstr(path, "/locks/leases/") != NULL) {
        errno = EIO;
        return -1;
    }
    return __real_flock(file, operation);
}

static char payload[1 << 20];
/* Enough for the small files of a lease and an index, too little for the payload. */
#define SOME (UINT64_C(256) << 10)

static void
allow_bytes(rlim_t bytes)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void
make_strict(fixture *f, bool strict)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.strict = strict;
    options.compression_level = -1;
    fixture_reopen(f, &options);
}

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    (void)graph, (void)hints, (void)error;
    ++*(int *)state;
    *out_compiled->entry = (gcache_entry){ .size = sizeof(gcache_entry), .payload = payload, .payload_size = sizeof payload };
    return GCACHE_OK;
}

static void
a_compile_that_cannot_be_stored(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_result r = GCACHE_RESULT_INIT;
    int calls = 0;

    for (int strict = 0; strict < 2; strict++) {
        make_strict(f, strict != 0);
        f->error = (gcache_error){ .status = GCACHE_OK };
        allow_bytes(SOME);
        gcache_status status = gcache_get_or_compile(f->cache, g, NULL, compile, &calls, &r, &f->error);
        allow_bytes(RLIM_INFINITY);
        assert_int_equal(status, strict ? GCACHE_ERROR_NO_SPACE : GCACHE_MISS);
        assert_int_equal(calls, strict + 1);
        assert_int_equal(f->error.status, strict ? GCACHE_ERROR_NO_SPACE : GCACHE_OK);
        /* What was compiled isn't lost. */
        assert_int_equal(r.payload_size, sizeof payload);
        assert_memory_equal(r.note, "not stored: ", 12);
        gcache_result_clear(&r);
    }
    make_strict(f, true);
    assert_int_equal(gcache_get_or_compile(f->cache, g, NULL, compile, &calls, &r, &f->error), GCACHE_MISS);
    gcache_result_clear(&r);
    assert_int_equal(gcache_get_or_compile(f->cache, g, NULL, compile, &calls, &r, &f->error), GCACHE_HIT);
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

static void
modules_that_cannot_be_stored(void **state)
{
    fixture *f = *state;
    gcache_module modules[3] = { { 0 } };
    gcache_many_summary summary = GCACHE_MANY_SUMMARY_INIT;
    int calls = 0;

    for (int strict = 0; strict < 2; strict++) {
        make_strict(f, strict != 0);
        for (int i = 0; i < 3; i++) {
            modules[i] = (gcache_module){ .size = sizeof(gcache_module), .graph = make_matmul("s0", "s1"), .state = &calls };
            gcache_graph_component(modules[i].graph, "number", gcache_value_int(modules[i].graph, i));
        }
        allow_bytes(SOME);
        gcache_status status = gcache_compile_many(f->cache, modules, 3, &(gcache_many_options){
            .size = sizeof(gcache_many_options), .workers = 1 }, compile, &summary, &f->error);
        allow_bytes(RLIM_INFINITY);
        assert_int_equal(status, strict ? GCACHE_ERROR_NO_SPACE : GCACHE_OK);
        assert_int_equal(summary.stored, 0);
        assert_int_equal(summary.failed, strict ? 3 : 0);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(modules[i].error.status, strict ? GCACHE_ERROR_NO_SPACE : GCACHE_OK);
            assert_int_equal(modules[i].result.payload_size, sizeof payload);
            gcache_result_clear(&modules[i].result);
            gcache_graph_free(modules[i].graph);
        }
    }
}

/* The lease that keeps others from compiling the same. */
static void
a_lease_that_cannot_be_taken(void **state)
{
    fixture *f = *state;
    gcache_result r = GCACHE_RESULT_INIT;
    int calls = 0;

    for (int strict = 0; strict < 2; strict++) {
        make_strict(f, strict != 0);
        gcache_graph *g = make_matmul("s0", "s1");
        gcache_graph_component(g, "strict", gcache_value_int(g, strict));
        leases_fail = true;
        gcache_status status = gcache_get_or_compile(f->cache, g, NULL, compile, &calls, &r, &f->error);
        leases_fail = false;
        if (status != (strict ? GCACHE_ERROR_IO : GCACHE_MISS))
            fail_msg("%d: %s", status, f->error.message);
        assert_int_equal(calls, 1);
        gcache_result_clear(&r);
        gcache_graph_free(g);
    }
}

static gcache_status
measure(void *state, char const *const *choices, size_t count, double *out_timings, gcache_error *error)
{
    (void)state, (void)choices, (void)error;
    for (size_t i = 0; i < count; i++)
        out_timings[i] = 1;
    return GCACHE_OK;
}

/* None of these knows how to go on without what it was to write, but for timings: they have been measured. */
static void
everything_else_that_is_written(void **state)
{
    fixture *f = *state;
    static char text[4096];
    double timing;
    gcache_timings timings = { .size = sizeof timings, .timings = &timing };
    gcache_bundle_options bundle = GCACHE_BUNDLE_OPTIONS_INIT;
    gcache_share share = GCACHE_SHARE_INIT;
    gcache_blob blob = GCACHE_BLOB_INIT;
    char path[128];
    void *value;
    size_t size;

    memset(text, 'x', sizeof text - 1);
    share.job = share.name = "profile";
    share.leader = true;
    share.value = text;
    share.value_size = sizeof text;
    bundle.source = "x = 1";
    snprintf(path, sizeof path, "%s/export", f->directory);
    for (int strict = 0; strict < 2; strict++) {
        gcache_best best = { .size = sizeof best, .configs_hash = "h", .kernel_hash = text };
        make_strict(f, strict != 0);
        assert_int_equal(gcache_artifacts_begin(f->cache, NULL), GCACHE_OK);
        assert_int_equal(gcache_artifacts_add(f->cache, "kind", "name", text, sizeof text, NULL), GCACHE_OK);
        assert_int_equal(gcache_bundle_begin(f->cache, &bundle, NULL, &f->error), GCACHE_MISS);
        gcache_kernel const first = { .size = sizeof first, .source_hash = "k" };
        gcache_kernel const other = { .size = sizeof other, .source_hash = "other" };
        assert_int_equal(gcache_best_put(f->cache, &first, &best, &f->error), GCACHE_OK);
        allow_bytes(2048);
        assert_true(gcache_best_put(f->cache, &other, &best, &f->error) < 0);
        assert_true(gcache_bundle_end(f->cache, &f->error) < 0);
        assert_true(gcache_blob_put(f->cache, text, sizeof text, "c", NULL, &blob, &f->error) < 0);
        assert_true(gcache_timings_put(f->cache, &(gcache_site){ .size = sizeof(gcache_site), .op = text },
                                                                 (char const *const[]){ "a" },
                                       (double[]){ 1 }, 1, &f->error) < 0);
        assert_true(gcache_share_value(f->cache, &share, &value, &size, &f->error) < 0);
        assert_true(gcache_artifacts_save(f->cache, path, NULL, &f->error) < 0);
        gcache_status status = gcache_timings_get(f->cache, &(gcache_site){ .size = sizeof(gcache_site), .op = text },
                                                                            (char const *const[]){ "a" }, 1,
                                                  measure, NULL, &timings, &f->error);
        allow_bytes(RLIM_INFINITY);
        assert_true(timing == 1);
        assert_true(strict ? status < 0 : status == GCACHE_MISS);
        gcache_artifacts_end(f->cache);
    }
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(a_compile_that_cannot_be_stored),
        CASE(modules_that_cannot_be_stored),
        CASE(a_lease_that_cannot_be_taken),
        CASE(everything_else_that_is_written),
    };

    for (size_t i = 0, random = 1; i < sizeof payload; i++)
        payload[i] = (char)((random = random * 6364136223846793005 + 1442695040888963407) >> 56);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
