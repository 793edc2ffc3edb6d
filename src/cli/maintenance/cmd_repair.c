/*
 * guardcache repair: makes a damaged cache whole again.
 */
#include "cli/maintenance/findings.h"
#include "cli/shared/cli.h"

#include <stdio.h>

typedef struct options {
    bool json;
} options;

static bool
print_json(cli_call *call, cli_findings const *found, gcache_repaired const *repaired)
{
    cli_object object = cli_object_new(&call->arena);

    cli_object_set_count(&object, "keys", repaired->keys);
    cli_object_set_count(&object, "entries", repaired->entries);
    cli_object_set_count(&object, "quarantined", repaired->quarantined);
    cli_object_set_count(&object, "recovered", repaired->recovered);
    cli_object_set_count(&object, "lost", repaired->lost);
    cli_object_set(&object, "problems", found->list);
    return cli_object_print(&object, &call->error);
}

static void
print_text(cli_findings const *found, gcache_repaired const *repaired)
{
    cli_print("%s, %s: ", cli_count(repaired->keys, "key", "keys").text,
              cli_count(repaired->entries, "entry", "entries").text);
    if (found->count == 0)
        puts("nothing to repair");
    else
        cli_print("%llu put aside, %llu recovered, %llu lost\n", (unsigned long long)repaired->quarantined,
                  (unsigned long long)repaired->recovered, (unsigned long long)repaired->lost);
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    gcache_repaired repaired = GCACHE_REPAIRED_INIT;
    cli_findings found = cli_findings_of(call, wanted->json);
    gcache_maintenance_options how = cli_findings_options(&found, "repair", 1);

    bool done = cli_open(call, CLI_EXISTING) && gcache_repair(call->cache, &how, &repaired, &call->error) == GCACHE_OK;
    cli_progress_end(&found.progress);
    if (done && wanted->json)
        return print_json(call, &found, &repaired);
    if (done)
        print_text(&found, &repaired);
    return done;
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object: keys, entries, quarantined, recovered, lost, problems" },
    { 0 },
};

cli_command const cli_cmd_repair = {
    .name = "repair",
    .summary = "rebuild every index from the entries, put damaged files aside",
    .about = "Reads every entry and makes the candidate indexes and index.db anew from them. What is damaged, or stands in\n"
             "the place of something else, goes into quarantine/ in the cache directory, to be looked at and removed by\n"
             "hand. Says how many entries an index knew that no file holds any more: they are lost, and can be stored\n"
             "again. What isn't trusted for its owner or mode stays: guardcache doctor says what to do. Others may use the\n"
             "cache meanwhile.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
