/*
 * guardcache repair: makes a damaged cache whole again.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/maintenance/findings.h"
#include "cli/shared/open.h"

#include <stdio.h>

typedef struct options {
    char const *cache;
    bool json;
} options;

static gcache_status
print_json(cli_findings *found, gcache_repaired const *repaired, gcache_error *error)
{
    cli_object object = cli_object_new(&found->arena);

    cli_object_set_count(&object, "keys", repaired->keys);
    cli_object_set_count(&object, "entries", repaired->entries);
    cli_object_set_count(&object, "quarantined", repaired->quarantined);
    cli_object_set_count(&object, "recovered", repaired->recovered);
    cli_object_set_count(&object, "lost", repaired->lost);
    cli_object_set(&object, "problems", found->list);
    return cli_object_print(&object, error);
}

static void
print_text(cli_findings const *found, gcache_repaired const *repaired)
{
    char keys[CLI_COUNT_TEXT], entries[CLI_COUNT_TEXT];

    cli_print("%s, %s: ", cli_count_text(repaired->keys, "key", "keys", keys),
              cli_count_text(repaired->entries, "entry", "entries", entries));
    if (found->count == 0)
        puts("nothing to repair");
    else
        cli_print("%llu put aside, %llu recovered, %llu lost\n", (unsigned long long)repaired->quarantined,
                  (unsigned long long)repaired->recovered, (unsigned long long)repaired->lost);
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_repaired repaired = GCACHE_REPAIRED_INIT;
    gcache_error error = { 0 };
    gcache *cache = NULL;
    cli_findings found;

    cli_findings_init(&found, wanted->json);
    gcache_maintenance_options how = cli_findings_options(&found, 1);
    gcache_status status = cli_open_existing(wanted->cache, &cache, &error);
    if (status == GCACHE_OK)
        status = gcache_repair(cache, &how, &repaired, &error);
    cli_progress_end(&found.progress);
    if (status == GCACHE_OK && wanted->json)
        status = print_json(&found, &repaired, &error);
    else if (status == GCACHE_OK)
        print_text(&found, &repaired);
    gcache_close(cache);
    cli_findings_clear(&found);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object: keys, entries, quarantined, recovered, lost, problems" },
    { 0 },
};

cli_command const cli_cmd_repair = {
    .name = "repair",
    .arguments = "",
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
