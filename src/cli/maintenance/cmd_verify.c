/*
 * guardcache verify: reads everything that is stored and says what is damaged.
 */
#include "cli/maintenance/findings.h"
#include "cli/shared/cli.h"

#include <unistd.h>

typedef struct options {
    int64_t threads;
    bool json;
} options;

/* More threads than this wait for the disk, or for one another's findings. */
#define THREADS_DEFAULT_MAX 8

static bool
print_json(cli_call *call, cli_findings const *found, gcache_verified const *verified)
{
    cli_object object = cli_object_new(&call->arena);

    cli_object_set_count(&object, "keys", verified->keys);
    cli_object_set_count(&object, "entries", verified->entries);
    cli_object_set_count(&object, "bytes", verified->bytes);
    cli_object_set(&object, "problems", found->list);
    return cli_object_print(&object, &call->error);
}

static void
print_text(gcache_verified const *verified)
{
    cli_print("%s, %s, %s: %s\n", cli_count(verified->keys, "key", "keys").text,
              cli_count(verified->entries, "entry", "entries").text, cli_size(verified->bytes).text,
              verified->problems == 0 ? "no problems" : cli_count(verified->problems, "problem", "problems").text);
}

static int
thread_count(options const *wanted)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    if (wanted->threads != 0)
        return (int)wanted->threads;
    return processors < 1 ? 1 : processors < THREADS_DEFAULT_MAX ? (int)processors : THREADS_DEFAULT_MAX;
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    gcache_verified verified = GCACHE_VERIFIED_INIT;
    cli_findings found = cli_findings_of(call, wanted->json);

    if (wanted->threads < 0 || wanted->threads > INT32_MAX)
        return cli_wrong(&call->error, "--threads: %lld threads", (long long)wanted->threads);
    gcache_maintenance_options how = cli_findings_options(&found, "verify", thread_count(wanted));
    bool done = cli_open(call, CLI_LOOK) && gcache_verify(call->cache, &how, &verified, &call->error) == GCACHE_OK;
    cli_progress_end(&found.progress);
    call->answer = verified.problems == 0 ? CLI_OK : CLI_NO;
    if (done && wanted->json)
        return print_json(call, &found, &verified);
    if (done)
        print_text(&verified);
    return done;
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { "threads", CLI_INT, offsetof(options, threads), "N", "how many read at once; one a processor, at most 8" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object: keys, entries, bytes, problems" },
    { 0 },
};

cli_command const cli_cmd_verify = {
    .name = "verify",
    .summary = "read every file of the cache and check it",
    .about = "Looks both ways: whether every file is whole and index.db knows it, and whether files hold what index.db\n"
             "knows. Changes nothing, and may run beside others. Exit status 1 if there are problems; guardcache repair\n"
             "cures them.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
