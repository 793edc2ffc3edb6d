/*
 * guardcache doctor: facts about a cache directory and the machine.
 */
#include "cli/maintenance/findings.h"
#include "cli/shared/cli.h"

#include <stdio.h>

typedef struct options {
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
    cli_object object = cli_object_new(found->arena);
    cli_object_set_text(&object, "name", name);
    cli_object_set_text(&object, "value", value);
    cli_object_set_text(&object, "warning", warning);
    cli_findings_add(found, &object);
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    cli_findings found = cli_findings_of(call, wanted->json);

    if (!cli_open(call, CLI_EXISTING) || gcache_doctor(call->cache, report_fact, &found, &call->error) != GCACHE_OK)
        return false;
    call->answer = found.count == 0 ? CLI_OK : CLI_NO;
    if (!wanted->json) {
        puts(found.count == 0 ? "all is well" : cli_count(found.count, "warning", "warnings").text);
        return true;
    }
    cli_object object = cli_object_new(&call->arena);
    cli_object_set(&object, "facts", found.list);
    cli_object_set_count(&object, "warnings", found.count);
    return cli_object_print(&object, &call->error);
}

static cli_option const table[] = {
    CLI_CACHE_OPTION,
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object: facts, each with its warning or null" },
    { 0 },
};

cli_command const cli_cmd_doctor = {
    .name = "doctor",
    .summary = "whether this place is good for a cache: versions, file system, limits",
    .about = "Reads no entries: that is what guardcache verify does. Exit status 1 if there is a warning.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
