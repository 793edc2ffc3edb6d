/*
 * guardcache verify: reads everything that is stored and says what is damaged.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/entries.h"
#include "cli/maintenance/findings.h"
#include "cli/shared/open.h"

#include <stdio.h>
#include <unistd.h>

typedef struct options {
    char const *cache;
    int64_t threads;
    bool json;
} options;

/* More threads than this wait for the disk, or for one another's findings. */
#define THREADS_DEFAULT_MAX 8

static gcache_status
print_json(cli_findings *found, gcache_verified const *verified, gcache_error *error)
{
    cli_object object = cli_object_new(&found->arena);

    cli_object_set_count(&object, "keys", verified->keys);
    cli_object_set_count(&object, "entries", verified->entries);
    cli_object_set_count(&object, "bytes", verified->bytes);
    cli_object_set(&object, "problems", found->list);
    return cli_object_print(&object, error);
}

static void
print_text(gcache_verified const *verified)
{
    char bytes[CLI_SIZE_TEXT], keys[CLI_COUNT_TEXT], entries[CLI_COUNT_TEXT], problems[CLI_COUNT_TEXT];

    cli_size_text(verified->bytes, bytes);
    cli_print("%s, %s, %s: %s\n", cli_count_text(verified->keys, "key", "keys", keys),
              cli_count_text(verified->entries, "entry", "entries", entries), bytes,
              verified->problems == 0 ? "no problems" : cli_count_text(verified->problems, "problem", "problems", problems));
}

static int
thread_count(options const *wanted)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);

    if (wanted->threads != 0)
        return (int)wanted->threads;
    return processors < 1 ? 1 : processors < THREADS_DEFAULT_MAX ? (int)processors : THREADS_DEFAULT_MAX;
}

static gcache_status
verify(options const *wanted, gcache_verified *out_verified, gcache_error *error)
{
    gcache *cache = NULL;
    cli_findings found;

    if (wanted->threads < 0 || wanted->threads > INT32_MAX)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "--threads: %lld threads", (long long)wanted->threads);
    cli_findings_init(&found, wanted->json);
    gcache_maintenance_options how = cli_findings_options(&found, thread_count(wanted));
    gcache_status status = cli_open_directory(wanted->cache, true, &cache, error);
    if (status == GCACHE_OK)
        status = gcache_verify(cache, &how, out_verified, error);
    cli_progress_end(&found.progress);
    if (status == GCACHE_OK && wanted->json)
        status = print_json(&found, out_verified, error);
    else if (status == GCACHE_OK)
        print_text(out_verified);
    gcache_close(cache);
    cli_findings_clear(&found);
    return status;
}

static cli_exit
run(cli_call const *call)
{
    gcache_verified verified = GCACHE_VERIFIED_INIT;
    gcache_error error = { 0 };

    if (verify(call->options, &verified, &error) != GCACHE_OK)
        return cli_fail(&error);
    return verified.problems == 0 ? CLI_OK : CLI_NO;
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "threads", CLI_INT, offsetof(options, threads), "N", "how many read at once; one a processor, at most 8" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object: keys, entries, bytes, problems" },
    { 0 },
};

cli_command const cli_cmd_verify = {
    .name = "verify",
    .arguments = "",
    .summary = "read every file of the cache and check it",
    .about = "Looks both ways: whether every file is whole and index.db knows it, and whether files hold what index.db\n"
             "knows. Changes nothing, and may run beside others. Exit status 1 if there are problems; guardcache repair\n"
             "cures them.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
