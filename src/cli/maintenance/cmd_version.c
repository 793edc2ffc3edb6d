/*
 * guardcache version.
 */
#include "cli/shared/cli.h"
#include "cli/shared/object.h"

#include <guardcache/version.h>
#include <stdio.h>

typedef struct options {
    bool json;
} options;

static bool
run(cli_call *call)
{
    options const *wanted = call->options;
    cli_object object = cli_object_new(&call->arena);

    cli_object_set_text(&object, "version", gcache_version());
    if (wanted->json)
        return cli_object_print(&object, &call->error);
    printf("guardcache %s\n", gcache_version());
    return true;
}

static cli_option const table[] = {
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object" },
    { 0 },
};

cli_command const cli_cmd_version = {
    .name = "version",
    .summary = "print the version",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
