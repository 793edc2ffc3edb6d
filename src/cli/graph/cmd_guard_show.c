/*
 * guardcache guard show, guard fmt: two listings of the same compiled guards.
 */
#include "cli/shared/cli.h"
#include "cli/shared/object.h"

#include <guardcache/guard.h>

typedef struct options {
    bool json;
} options;

static size_t
count_lines(gci_view text)
{
    gci_view line;
    size_t count = 0;

    while (gci_view_next_line(&text, &line))
        count++;
    return count;
}

/* {name: [line, ...]} */
static bool
print_lines(cli_call *call, char const *name, gci_view text)
{
    cli_object object = cli_object_new(&call->arena);
    gci_value list = cli_list_of(&call->arena, count_lines(text));
    gci_view line;

    for (uint32_t i = 0; i < list.count && gci_view_next_line(&text, &line); i++)
        list.items[i] = (gci_value){ .type = GCI_STRING, .text = line };
    cli_object_set(&object, name, list);
    return cli_object_print(&object, &call->error);
}

static bool
print_listing(cli_call *call, gcache_guards *guards, gcache_guards_form form)
{
    options const *wanted = call->options;
    char *text = NULL;
    gcache_status status = gcache_guards_show(guards, form, &text, &call->error);

    if (!wanted->json || status != GCACHE_OK)
        return cli_print_text(status, &text);
    bool done = print_lines(call, form == GCACHE_GUARDS_PROGRAM ? "program" : "conjuncts", gci_view_text(text));
    gcache_free(text);
    return done;
}

static bool
list(cli_call *call, gcache_guards_form form)
{
    gcache_guards *guards = NULL;
    char const *const *texts = (char const *const *)call->arguments;
    bool done =
        cli_guards_check("guard", texts, call->count, &call->error) &&
        gcache_guards_compile(texts, call->count, &guards, &call->error) == GCACHE_OK &&
        print_listing(call, guards, form);
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

static cli_option const table[] = {
    { "json", CLI_FLAG, offsetof(options, json), NULL, "one object with the lines" },
    { 0 },
};

cli_command const cli_cmd_guard_show = {
    .name = "guard show",
    .arguments = "EXPRESSION...",
    .summary = "list the program that guards are compiled to",
    .options = table,
    .options_size = sizeof(options),
    .run = run_show,
};

cli_command const cli_cmd_guard_fmt = {
    .name = "guard fmt",
    .arguments = "EXPRESSION...",
    .summary = "print guards in normal form, a conjunct a line",
    .options = table,
    .options_size = sizeof(options),
    .run = run_fmt,
};
