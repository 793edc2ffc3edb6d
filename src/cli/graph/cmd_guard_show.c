/*
 * guardcache guard show, guard fmt: two listings of the same compiled guards.
 */
#include "cli/shared/cli.h"

#include <guardcache/guard.h>

static bool
list(cli_call *call, gcache_guards_form form)
{
    gcache_guards *guards = NULL;
    char *text = NULL;

    char const *const *texts = (char const *const *)call->arguments;
    bool done =
        cli_guards_check("guard", texts, call->count, &call->error) &&
        gcache_guards_compile(texts, call->count, &guards, &call->error) == GCACHE_OK &&
        cli_print_text(gcache_guards_show(guards, form, &text, &call->error), &text);
    gcache_guards_free(guards);
    return done;
}

static bool
run_show(cli_call *call)
{
    return list(call, GCACHE_GUARDS_PROGRAM);
}

static bool
run_fmt(cli_call *call)
{
    return list(call, GCACHE_GUARDS_NORMAL);
}

static cli_option const table[] = { { 0 } };

cli_command const cli_cmd_guard_show = {
    .name = "guard show",
    .arguments = "EXPRESSION...",
    .summary = "list the program that guards are compiled to",
    .options = table,
    .run = run_show,
};

cli_command const cli_cmd_guard_fmt = {
    .name = "guard fmt",
    .arguments = "EXPRESSION...",
    .summary = "print guards in normal form, a conjunct a line",
    .options = table,
    .run = run_fmt,
};
