/*
 * guardcache rm: takes entries out.
 */
#include "cli/entries/entries.h"
#include "cli/shared/cli.h"

typedef struct options {
    bool json;
} options;

static bool
print_removed(cli_call *call, cli_entry_name const *entry)
{
    gci_arena_reset(&call->arena);
    cli_object object = cli_object_new(&call->arena);
    cli_object_set_text(&object, "removed", entry->id);
    cli_object_set_key(&object, "key", &entry->key);
    return cli_object_print(&object, &call->error);
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;

    if (!cli_open(call, CLI_CHANGE))
        return false;
    for (size_t i = 0; i < call->count; i++) {
        cli_entry_name entry;
        if (!cli_entry_find(call->cache, call->arguments[i], &entry, &call->error) ||
            gcache_remove(call->cache, &entry.key, entry.id, &call->error) != GCACHE_OK ||
            (wanted->json && !print_removed(call, &entry)))
            return false;
    }
    return true;
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { "json", CLI_FLAG, offsetof(options, json), NULL, "an object an entry that was taken out" },
    { 0 },
};

cli_command const cli_cmd_rm = {
    .name = "rm",
    .arguments = "ENTRY...",
    .summary = "take entries out of the cache",
    .about = "ENTRY is an entry's id or the beginning of one. That it was there stays known to guardcache explain. It is taken\n"
             "out of the tiers that are written to as well; from one that is only read a lookup brings it back.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
