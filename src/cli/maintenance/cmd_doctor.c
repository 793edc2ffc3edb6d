/*
 * guardcache doctor: facts about a cache directory and the machine.
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

/* Counted are the facts about which something should be done. */
static void
report_fact(void *state, char const *name, char const *value, char const *warning)
{
    cli_findings *found = state;

    found->count += warning != NULL;
    if (!found->json) {
        cli_print("%-14s  %s\n", name, value);
        if (warning != NULL)
            cli_print("%-14s  ! %s\n", "", warning);
        return;
    }
    cli_object object = cli_object_new(&found->arena);
    cli_object_set_text(&object, "name", name);
    cli_object_set_text(&object, "value", value);
    cli_object_set_text(&object, "warning", warning);
    cli_findings_add(found, &object);
}

static gcache_status
print_end(cli_findings *found, gcache_error *error)
{
    char warnings[CLI_COUNT_TEXT];

    if (found->json) {
        cli_object object = cli_object_new(&found->arena);
        cli_object_set(&object, "facts", found->list);
        cli_object_set_count(&object, "warnings", found->count);
        return cli_object_print(&object, error);
    }
    puts(found->count == 0 ? "all is well" : cli_count_text(found->count, "warning", "warnings", warnings));
    return GCACHE_OK;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;
    gcache_error error = { 0 };
    gcache *cache = NULL;
    cli_findings found;

    cli_findings_init(&found, wanted->json);
    gcache_status status = cli_open_existing(wanted->cache, &cache, &error);
    if (status == GCACHE_OK)
        status = gcache_doctor(cache, report_fact, &found, &error);
    if (status == GCACHE_OK)
        status = print_end(&found, &error);
    gcache_close(cache);
    cli_exit result = status != GCACHE_OK ? cli_fail(&error) : found.count == 0 ? CLI_OK : CLI_NO;
    cli_findings_clear(&found);
    return result;
}

static cli_option const table[] = {
    { "cache", CLI_TEXT, offsetof(options, cache), "DIR", "the cache directory" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object: facts, each with its warning or null" },
    { 0 },
};

cli_command const cli_cmd_doctor = {
    .name = "doctor",
    .arguments = "",
    .summary = "whether this place is good for a cache: versions, file system, limits",
    .about = "Reads no entries: that is what guardcache verify does. Exit status 1 if there is a warning.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
