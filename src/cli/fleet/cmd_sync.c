/*
 * guardcache tier sync, push and pull: the directory and tiers made equal.
 */
#include "cli/shared/cli.h"
#include "cli/shared/object.h"
#include "cli/shared/progress.h"

#include <guardcache/fleet.h>

typedef struct options {
    bool again, json;
} options;

static void
watch(void *state, uint64_t done, uint64_t total)
{
    cli_progress_of(state, "keys", done, total);
}

static bool
print(cli_call *call, gcache_synced const *sum)
{
    options const *wanted = call->options;
    cli_object object = cli_object_new(&call->arena);

    if (!wanted->json) {
        cli_print("%s compared: %s taken there, %llu fetched, %llu on both sides already", cli_count(sum->keys, "key", "keys").text,
                  cli_count(sum->pushed, "entry", "entries").text, (unsigned long long)sum->pulled,
                  (unsigned long long)sum->present);
        cli_print(sum->left_out != 0 ? ", %llu left out\n" : "\n", (unsigned long long)sum->left_out);
        return true;
    }
    cli_object_set_count(&object, "keys", sum->keys);
    cli_object_set_count(&object, "pushed", sum->pushed);
    cli_object_set_count(&object, "pulled", sum->pulled);
    cli_object_set_count(&object, "present", sum->present);
    cli_object_set_count(&object, "left_out", sum->left_out);
    return cli_object_print(&object, &call->error);
}

static bool
run(cli_call *call, char const *url, bool push, bool pull)
{
    gcache_synced sum = GCACHE_SYNCED_INIT;
    options const *wanted = call->options;
    cli_progress progress = { 0 };
    gcache_sync_options sync = GCACHE_SYNC_OPTIONS_INIT;

    sync.tier = url;
    sync.push = push;
    sync.pull = pull;
    sync.again = wanted->again;
    sync.progress = watch;
    sync.state = &progress;
    if (!cli_open(call, CLI_USE))
        return false;
    gcache_status status = gcache_tiers_sync(call->cache, &sync, &sum, &call->error);
    cli_progress_end(&progress);
    if (status == GCACHE_REFUSED)
        return cli_refused(call);
    bool printed = (status == GCACHE_OK || sum.keys != 0) && print(call, &sum);
    call->answer = sum.left_out != 0 ? CLI_NO : CLI_OK;
    return status == GCACHE_OK && printed;
}

static bool
run_sync(cli_call *call)
{
    return run(call, NULL, true, true);
}

static bool
run_push(cli_call *call)
{
    return run(call, call->arguments[0], true, false);
}

static bool
run_pull(cli_call *call)
{
    return run(call, call->arguments[0], false, true);
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { "again", CLI_FLAG, offsetof(options, again), NULL, "take there also what is there: heals what lost its payload" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "print an object: keys, pushed, pulled, present, left_out" },
    { 0 },
};

static cli_option const pull_table[] = {
    CLI_CACHE_OPTION,
    { "json", CLI_FLAG, offsetof(options, json), NULL, "print an object: keys, pushed, pulled, present, left_out" },
    { 0 },
};

cli_command const cli_cmd_tier_sync = {
    .name = "tier sync",
    .summary = "make the directory and its tiers equal",
    .about = "Takes to each tier what it lacks, and fetches what isn't here: entries that were stored while a tier was in\n"
             "trouble, or before there was one. What is interrupted goes on where it was when it is called again.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run_sync,
};

cli_command const cli_cmd_push = {
    .name = "push",
    .arguments = "URL",
    .summary = "take to a tier what it lacks",
    .about = "The tier need not be among the cache's own. URLs are those of the setting tiers: redis://, rediss://,\n"
             "redis+unix://, file://.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run_push,
};

cli_command const cli_cmd_pull = {
    .name = "pull",
    .arguments = "URL",
    .summary = "fetch from a tier what isn't here",
    .about = "Every entry is verified before it is stored: its checksums, and, where signatures are required, its signature.\n",
    .options = pull_table,
    .options_size = sizeof(options),
    .run = run_pull,
};
