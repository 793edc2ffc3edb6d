/*
 * The commands as commands.def lists them.
 */
#ifndef GCI_CLI_SHARED_COMMANDS_H
#define GCI_CLI_SHARED_COMMANDS_H

#include "cli/shared/cli.h"

#define COMMAND(file, symbol) extern cli_command const symbol;
#include "cli/shared/commands.def"
#undef COMMAND

#endif
