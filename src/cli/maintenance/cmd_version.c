/*
 * guardcache version.
 */
#include "cli/shared/cli.h"

#include <guardcache/version.h>
#include <stdio.h>

static bool
run(cli_call *call)
{
    (void)call;
    printf("guardcache %s\n", gcache_version());
    return true;
}

static cli_option const table[] = { { 0 } };

cli_command const cli_cmd_version = {
    .name = "version",
    .summary = "print the version",
    .options = table,
    .run = run,
};
