/*
 * What a cache holds beside its entries and what the command has no words for: a blob, a shared value, a directory for a
 * compiler's own cache, a bundle of tuning records, a lease. For round_trip.py.
 *
 *   beside DIRECTORY make     puts them there and dies while it holds a lease, whose file stays
 *   beside DIRECTORY check    asks for them: right bytes or none, and what isn't there can be put again
 *
 * Exit status 1, and a line that says why, if an answer is wrong or an error.
 */
#include <guardcache/blobs.h>
#include <guardcache/compile.h>
#include <guardcache/share.h>
#include <guardcache/tuning.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nobody else holds the lease, so this is far more than taking it over needs. */
#define LEASE_WAIT_NS UINT64_C(2000000000)
/* As long as it takes to see that nobody tells a value. */
#define SHARE_WAIT_NS UINT64_C(1000000)

static char const blob[] = "int kernel(void) { return 1; }\n";
static char const value[] = "profile of the step";

static void
fail(char const *what, gcache_error const *error)
{
    printf("%s: %s\n", what, error->message);
    exit(1);
}

static void
put_blob(gcache *cache)
{
    gcache_error error = { 0 };
    gcache_blob stored = GCACHE_BLOB_INIT;
    size_t size = 0;
    void *bytes = NULL;

    if (gcache_blob_put(cache, blob, sizeof blob - 1, "cpp", NULL, &stored, &error) != GCACHE_OK)
        fail("a blob can't be put", &error);
    if (gcache_blob_get(cache, stored.name, "cpp", NULL, &bytes, &size, &error) != GCACHE_OK)
        fail("a blob that was put just now can't be read", &error);
    if (size != sizeof blob - 1 || memcmp(bytes, blob, size) != 0)
        fail("a blob has other bytes", &error);
    gcache_free(bytes);
}

/* The first handle of the job that tells it; others have to wait. */
static void
share_value(gcache *cache, char const *job, bool leader)
{
    gcache_share share = GCACHE_SHARE_INIT;
    gcache_error error = { 0 };
    void *told = NULL;
    size_t size = 0;

    share.job = job;
    share.name = "step";
    share.leader = leader;
    share.value = leader ? value : NULL;
    share.value_size = leader ? sizeof value : 0;
    share.timeout_ns = SHARE_WAIT_NS;
    gcache_status status = gcache_share_value(cache, &share, &told, &size, &error);
    if (status == GCACHE_ERROR_BUSY && !leader)
        return;
    if (status != GCACHE_OK)
        fail("a value can't be shared", &error);
    if (size != sizeof value || memcmp(told, value, size) != 0)
        fail("a shared value has other bytes", &error);
    gcache_free(told);
}

static void
make_folder(gcache *cache)
{
    gcache_error error = { 0 };
    gcache_access access;
    char *path = NULL, name[4096];

    if (gcache_subdirectory(cache, "own", GCACHE_ACCESS_UPDATE, &access, &path, &error) != GCACHE_OK)
        fail("a directory can't be made", &error);
    snprintf(name, sizeof name, "%s/file", path);
    FILE *file = fopen(name, "a");
    if (file == NULL || fclose(file) != 0) {
        printf("%s can't be written\n", name);
        exit(1);
    }
    gcache_free(path);
}

static void
use_bundle(gcache *cache)
{
    static char const *const choices[] = { "tile_16", "tile_32" };
    static double const timings[] = { 1.5, 2.5 };
    gcache_site site = { sizeof site, "machine", "mm", "16x16", "", "ieee" };
    gcache_bundle_options options = GCACHE_BUNDLE_OPTIONS_INIT;
    gcache_error error = { 0 };

    options.source = "y = softmax(x)\n";
    options.backend = "b";
    gcache_status status = gcache_bundle_begin(cache, &options, NULL, &error);
    if (status < 0)
        fail("a bundle can't be begun", &error);
    if (gcache_timings_put(cache, &site, choices, timings, 2, &error) != GCACHE_OK)
        fail("timings can't be put", &error);
    if (gcache_bundle_end(cache, &error) != GCACHE_OK)
        fail("a bundle can't be stored", &error);
}

static gcache_compile *
begin_compile(gcache *cache, gcache_graph *graph, gcache_result *result)
{
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_compile *compile = NULL;
    gcache_error error = { 0 };

    options.lease_timeout_ns = LEASE_WAIT_NS;
    if (gcache_compile_begin(cache, graph, NULL, &options, NULL, &compile, result, &error) != GCACHE_MISS ||
        result->reason != GCACHE_REASON_NO_KEY)
        fail("a compile can't be begun", &error);
    return compile;
}

int
main(int count, char **arguments)
{
    gcache_error error = { 0 };
    gcache *cache;

    if (count != 3)
        return 2;
    bool make = strcmp(arguments[2], "make") == 0;
    if (gcache_open(arguments[1], NULL, &cache, &error) != GCACHE_OK)
        fail("the cache can't be opened", &error);
    put_blob(cache);
    share_value(cache, "first job", make);
    share_value(cache, make ? "second job" : "third job", true);
    make_folder(cache);
    use_bundle(cache);
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_graph *graph = gcache_graph_new("generic");
    gcache_compile *compile = begin_compile(cache, graph, &result);
    if (make)
        _exit(0);
    gcache_compile_end(compile, NULL, NULL);
    gcache_result_clear(&result);
    gcache_graph_free(graph);
    gcache_close(cache);
    return 0;
}
