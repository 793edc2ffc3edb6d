/*
 * The list of commands, in the order in which help shows them. A new command is a file and a line here.
 */
#ifndef GCI_CLI_SHARED_COMMANDS_H
#define GCI_CLI_SHARED_COMMANDS_H

#include "cli/shared/cli.h"

#define CLI_COMMAND_MAP(X)                                                                            \
    X(cli_cmd_key)                                                                                    \
    X(cli_cmd_canon)                                                                                  \
    X(cli_cmd_diff)                                                                                   \
    X(cli_cmd_rules_list)                                                                             \
    X(cli_cmd_rules_test)                                                                             \
    X(cli_cmd_fingerprint)                                                                            \
    X(cli_cmd_guard_eval)                                                                             \
    X(cli_cmd_guard_show)                                                                             \
    X(cli_cmd_guard_fmt)                                                                              \
    X(cli_cmd_insert)                                                                                 \
    X(cli_cmd_lookup)                                                                                 \
    X(cli_cmd_explain)                                                                                \
    X(cli_cmd_journal)                                                                                \
    X(cli_cmd_stats)                                                                                  \
    X(cli_cmd_top)                                                                                    \
    X(cli_cmd_report)                                                                                 \
    X(cli_cmd_test)                                                                                   \
    X(cli_cmd_shrink)                                                                                 \
    X(cli_cmd_replay)                                                                                 \
    X(cli_cmd_ls)                                                                                     \
    X(cli_cmd_show)                                                                                   \
    X(cli_cmd_cat)                                                                                    \
    X(cli_cmd_rm)                                                                                     \
    X(cli_cmd_verify)                                                                                 \
    X(cli_cmd_repair)                                                                                 \
    X(cli_cmd_gc)                                                                                     \
    X(cli_cmd_doctor)                                                                                 \
    X(cli_cmd_config)                                                                                 \
    X(cli_cmd_export)                                                                                 \
    X(cli_cmd_import)                                                                                 \
    X(cli_cmd_tune_ls)                                                                                \
    X(cli_cmd_tune_get)                                                                               \
    X(cli_cmd_tune_put)                                                                               \
    X(cli_cmd_tune_explain)                                                                           \
    X(cli_cmd_version)

#define X(symbol) extern cli_command const symbol;
CLI_COMMAND_MAP(X)
#undef X

#endif
