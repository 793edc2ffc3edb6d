/*
 * guardcache guard show, guard fmt: two listings of the same compiled guards.
 */
#include "base/error.h"
#include "cli/shared/cli.h"

#include <guardcache/guard.h>
#include <stdio.h>

static cli_exit
list(cli_call const *call, gcache_guards_form form)
{
    gcache_guards *guards = NULL;
    gcache_error error = { 0 };
    char *text = NULL;

    gcache_status status =
        gcache_guards_compile((char const *const *)call->arguments, call->count, &guards, &error);
    if (status == GCACHE_OK)
        status = gcache_guards_show(guards, form, &text, &error);
    if (status == GCACHE_OK)
        cli_print_lines(gci_view_text(text));
    gcache_free(text);
    gcache_guards_free(guards);
    return status == GCACHE_OK ? CLI_OK : cli_fail(&error);
}

static cli_exit
run_show(cli_call const *call)
{
    return list(call, GCACHE_GUARDS_PROGRAM);
}

static cli_exit
run_fmt(cli_call const *call)
{
    return list(call, GCACHE_GUARDS_NORMAL);
}

static cli_option const table[] = { { 0 } };

cli_command const cli_cmd_guard_show = {
    .name = "guard show",
    .arguments = "EXPRESSION...",
    .summary = "list the program that guards are compiled to",
    .about = "",
    .options = table,
    .least = 1,
    .most = CLI_ANY_NUMBER,
    .run = run_show,
};

cli_command const cli_cmd_guard_fmt = {
    .name = "guard fmt",
    .arguments = "EXPRESSION...",
    .summary = "print guards in normal form, a conjunct a line",
    .about = "",
    .options = table,
    .least = 1,
    .most = CLI_ANY_NUMBER,
    .run = run_fmt,
};
