/*
 * A job of several processes, as a launcher runs them: what one finds out the others use.
 *
 *   job CACHE RUN FILE      runs three workers on a saved handle and exports what the run used to FILE
 *   job --warm CACHE FILE   another machine: imports FILE and looks the graph up
 *
 * The launcher hands its cache to the workers as text. The first worker is the leader: its profile is the one that all of
 * them compile with. What tuning finds is kept as the kernel's best configuration, in a bundle that the next run loads at once.
 */
#include <guardcache/guardcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORKERS 3

static int
fail(gcache_error const *error)
{
    return fprintf(stderr, "%s\n", error->message), 1;
}

static gcache_graph *
describe(void)
{
    gcache_graph *graph = gcache_graph_new("generic");
    gcache_tensor input = { .size = sizeof input, .dtype = "float32", .shape = { "n" }, .rank = 1 };
    gcache_node x = gcache_graph_input(graph, "x", &input);

    gcache_graph_output(graph, gcache_graph_call(graph, "softmax", &x, 1));
    return graph;
}

/* The best configuration of the one kernel: known, or "tuned" now and kept. */
static gcache_status
find_config(gcache *cache, char *out_line, size_t size, gcache_error *error)
{
    static gcache_pair const parameters[2][1] = { { { "BLOCK", "64" } }, { { "BLOCK", "128" } } };
    gcache_config const offered[] = { { parameters[0], 1 }, { parameters[1], 1 } };
    gcache_kernel kernel = GCACHE_KERNEL_INIT;
    gcache_best best = GCACHE_BEST_INIT;
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;

    kernel.source_hash = "softmax";
    gcache_status status = gcache_best_find(cache, &kernel, offered, 2, "two sizes", false, &found, error);
    bool known = status == GCACHE_HIT;
    size_t index = known ? found.index : 1;
    gcache_best_found_clear(&found);
    if (status == GCACHE_MISS) {
        best.config = offered[index];
        best.configs_hash = "two sizes";
        best.tuning_ns = 2000000000;
        status = gcache_best_put(cache, &kernel, &best, error);
    }
    snprintf(out_line, size, "%s BLOCK=%s", known ? "known" : "tuned", parameters[index][0].value);
    return status;
}

/* In a bundle: the first run collects what it finds, the next has all of it at once. */
static gcache_status
tune(gcache *cache, char *out_line, size_t size, gcache_error *error)
{
    gcache_bundle_options bundle = GCACHE_BUNDLE_OPTIONS_INIT;

    bundle.source = "def softmax(x): ...  # the program";
    gcache_status status = gcache_bundle_begin(cache, &bundle, NULL, error);
    if (status >= 0)
        status = find_config(cache, out_line, size, error);
    gcache_status ended = gcache_bundle_end(cache, status >= 0 ? error : NULL);
    return status < 0 ? status : ended;
}

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    (void)graph, (void)hints, (void)error;
    out_compiled->entry->payload = state;
    out_compiled->entry->payload_size = strlen(state);
    return GCACHE_OK;
}

static int
work(char const *handle, char const *run, int index)
{
    char tuned[64] = "", code[] = "machine code";
    gcache_share share = GCACHE_SHARE_INIT;
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_error error = { .message = "" };
    gcache_graph *graph = describe();
    void *profile = NULL;
    size_t size = 0;
    gcache *cache = NULL;

    share.job = run;
    share.name = "profile of softmax";
    share.leader = index == 0;
    share.value = share.leader ? "hot" : NULL;
    share.value_size = share.leader ? 3 : 0;
    gcache_status status = gcache_handle_open(handle, NULL, &cache, &error);
    if (status == GCACHE_OK)
        status = gcache_share_value(cache, &share, &profile, &size, &error);
    if (status == GCACHE_OK && share.leader)
        status = tune(cache, tuned, sizeof tuned, &error);
    if (status >= 0)
        status = gcache_get_or_compile(cache, graph, NULL, compile, code, &r, &error);
    if (status >= 0)
        printf("worker %d: profile %.*s%s%s\n", index, (int)size, (char *)profile, tuned[0] != '\0' ? ", " : "", tuned);
    gcache_result_clear(&r);
    gcache_free(profile);
    gcache_graph_free(graph);
    gcache_close(cache);
    return status < 0 ? fail(&error) : 0;
}

/* Looks the graph up, as the rest of the program would. */
static gcache_status
use(gcache *cache, gcache_error *error)
{
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_graph *graph = describe();
    gcache_status status = gcache_lookup(cache, graph, NULL, &r, error);

    printf("lookup: %s\n", status == GCACHE_HIT ? "hit" : "miss");
    gcache_result_clear(&r);
    gcache_graph_free(graph);
    return status;
}

static int
launch(char const *program, char const *directory, char const *run, char const *file)
{
    gcache_transfer written = GCACHE_TRANSFER_INIT;
    gcache_error error = { .message = "" };
    gcache *cache = NULL;
    char *handle = NULL;
    int failed = 0, outcome;

    gcache_status status = gcache_open(directory, NULL, &cache, &error);
    if (status == GCACHE_OK)
        status = gcache_handle_save(cache, &handle, &error);
    if (status == GCACHE_OK)
        status = gcache_artifacts_begin(cache, &error);
    for (int i = 0; i < WORKERS && status == GCACHE_OK; i++) {
        char const index[] = { (char)('0' + i), '\0' };
        if (fork() == 0) {
            execl(program, program, "--worker", handle, run, index, (char *)NULL);
            _exit(127);
        }
    }
    while (wait(&outcome) > 0)
        failed += outcome != 0;
    if (status == GCACHE_OK && use(cache, &error) == GCACHE_HIT)
        status = gcache_artifacts_save(cache, file, &written, &error);
    printf("exported: %d entry\n", (int)written.entries);
    gcache_free(handle);
    gcache_close(cache);
    return status < 0 ? fail(&error) : failed;
}

static int
warm(char const *directory, char const *file)
{
    gcache_error error = { .message = "" };
    gcache *cache = NULL;

    gcache_status status = gcache_open(directory, NULL, &cache, &error);
    if (status == GCACHE_OK)
        status = gcache_import(cache, file, NULL, NULL, &error);
    if (status == GCACHE_OK)
        status = use(cache, &error);
    gcache_close(cache);
    return status < 0 ? fail(&error) : status != GCACHE_HIT;
}

int
main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--worker") == 0)
        return work(argv[2], argv[3], atoi(argv[4]));
    if (argc == 4 && strcmp(argv[1], "--warm") == 0)
        return warm(argv[2], argv[3]);
    if (argc == 4)
        return launch(argv[0], argv[1], argv[2], argv[3]);
    return fprintf(stderr, "usage: job CACHE RUN FILE, or job --warm CACHE FILE\n"), 2;
}
