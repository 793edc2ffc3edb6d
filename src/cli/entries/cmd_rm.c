/*
 * guardcache rm: takes entries out.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/entries.h"
#include "cli/shared/open.h"

typedef struct options {
    char const *cache;
} options;

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_error error = { 0 };
    gcache *cache;

    gcache_status status = cli_open_directory(wanted->cache, false, &cache, &error);
    for (size_t i = 0; status == GCACHE_OK && i < call->count; i++) {
        cli_entry_name entry;
        status = cli_entry_find(cache, call->arguments[i], &entry, &error);
        if (status == GCACHE_OK)
            status = gcache_remove(cache, &entry.key, entry.id, &error);
    }
    gcache_close(cache);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { 0 },
};

cli_command const cli_cmd_rm = {
    .name = "rm",
    .arguments = "ENTRY...",
    .summary = "take entries out of the cache",
    .about = "ENTRY is an entry's id or the beginning of one. That it was there stays known to guardcache explain.\n",
    .options = table,
    .options_size = sizeof(options),
    .least = 1,
    .most = CLI_ANY_NUMBER,
    .run = run,
};
