/*
 * guardcache version.
 */
#include "cli/shared/cli.h"

#include <guardcache/version.h>
#include <stdio.h>

static cli_exit
run(cli_call const *call)
{
    (void)call;
    printf("guardcache %s\n", gcache_version());
    return CLI_OK;
}

static cli_option const table[] = { { 0 } };

cli_command const cli_cmd_version = {
    .name = "version",
    .arguments = "",
    .summary = "print the version",
    .about = "",
    .options = table,
    .run = run,
};
