/*
 * guardcache rm: takes entries out.
 */
#include "cli/entries/entries.h"
#include "cli/shared/cli.h"

static bool
run(cli_call *call)
{
    if (!cli_open(call, CLI_CHANGE))
        return false;
    for (size_t i = 0; i < call->count; i++) {
        cli_entry_name entry;
        if (!cli_entry_find(call->cache, call->arguments[i], &entry, &call->error) ||
            gcache_remove(call->cache, &entry.key, entry.id, &call->error) != GCACHE_OK)
            return false;
    }
    return true;
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { 0 },
};

cli_command const cli_cmd_rm = {
    .name = "rm",
    .arguments = "ENTRY...",
    .summary = "take entries out of the cache",
    .about = "ENTRY is an entry's id or the beginning of one. That it was there stays known to guardcache explain.\n",
    .options = table,
    .run = run,
};
