/*
 * guardcache guard eval: one expression for people, or JSON lines in and JSON lines out (--batch).
 *
 * A batch line is {"guard": TEXT, "hints": {NAME: VALUE}}. What the guard's text makes of it is a result, also when it
 * is invalid; a line that isn't of this form ends the batch with its number.
 */
#include "base/error.h"
#include "cli/shared/cli.h"
#include "cli/shared/hints.h"
#include "cli/shared/lines.h"

#include <guardcache/guard.h>
#include <stdio.h>
#include <unistd.h>

typedef struct options {
    bool batch, json;
    cli_list hints;
    char const *hints_file;
} options;

/*
 * The guard compiled last. Batches ask the same guard with many hints in a row, and compiling costs more than
 * evaluating.
 */
typedef struct compiled {
    gci_buf text;
    bool valid; /* text, status, guards and error belong together */
    gcache_status status;
    gcache_guards *guards;
    gcache_error error;
} compiled;

static void
compiled_clear(compiled *last)
{
    gcache_guards_free(last->guards);
    gci_buf_clear(&last->text);
    *last = (compiled){ .text = last->text };
}

static gcache_status
compile_zero_terminated(compiled *last, char const *text, size_t size)
{
    size_t length = strlen(text);

    if (length != size) {
        gci_fail(&last->error, GCACHE_ERROR_SYNTAX, "column %zu: a zero character", length + 1);
        last->error.column = (int)length + 1;
        return GCACHE_ERROR_SYNTAX;
    }
    return gcache_guards_compile(&text, 1, &last->guards, &last->error);
}

static gcache_status
compile(compiled *last, gci_view text)
{
    if (last->valid && last->text.size == text.size + 1 && gci_view_equal(gci_view_of(last->text.data, text.size), text))
        return last->status;
    compiled_clear(last);
    gci_buf_append_view(&last->text, text);
    gci_buf_append_char(&last->text, '\0');
    if (last->text.failed)
        return gci_fail_memory(&last->error);
    last->status = compile_zero_terminated(last, last->text.data, text.size);
    last->valid = last->status != GCACHE_ERROR_MEMORY;
    return last->status;
}

/* ---- results ---- */

static bool
print_verdict_object(gcache_verdict const *verdict, gci_arena *arena, gcache_error *error)
{
    cli_object object = cli_object_new(arena);

    if (verdict->truth != GCACHE_RAISES) {
        cli_object_set_bool(&object, "result", verdict->truth == GCACHE_TRUE);
    } else {
        cli_object_set_text(&object, "result", "error");
        cli_object_set_text(&object, "error", verdict->exception);
        cli_object_set_text(&object, "message", verdict->message);
    }
    return cli_object_print(&object, error);
}

static bool
print_invalid(gcache_error const *why, gci_arena *arena, gcache_error *error)
{
    cli_object object = cli_object_new(arena);

    cli_object_set_text(&object, "result", "invalid");
    cli_object_set_text(&object, "message", why->message);
    cli_object_set_int(&object, "column", why->column);
    return cli_object_print(&object, error);
}

/* ---- batch ---- */

static bool
eval_line(cli_call *call, compiled *last, gci_view line, cli_place place)
{
    gci_value map;
    gci_value const *guard = NULL, *hint_map = NULL;
    gcache_hints hints = { 0 };
    gcache_verdict verdict;
    gci_arena *arena = &call->arena;
    gcache_error *error = &call->error;

    if (!cli_object_read(line, place, arena, &map, error) || !cli_get_value(&map, "guard", GCI_STRING, place, &guard, error))
        return false;
    if (guard == NULL)
        return cli_bad_member(place, "guard", "is missing", error);
    if (!cli_get_value(&map, "hints", GCI_MAP, place, &hint_map, error) ||
        (hint_map != NULL && !cli_hints_read(hint_map, place, arena, &hints, error)))
        return false;

    gcache_status status = compile(last, guard->text);
    /* A guard the language can't take (ERROR_LIMIT: nested too deeply) is a result; anything else is trouble. */
    if (status == GCACHE_ERROR_SYNTAX || status == GCACHE_ERROR_LIMIT)
        return print_invalid(&last->error, arena, error);
    if (status != GCACHE_OK) {
        *error = last->error;
        return false;
    }
    status = gcache_guards_eval(last->guards, &hints, &verdict, error);
    if (status == GCACHE_ERROR_ARGUMENT) {
        gcache_error why = *error;
        return cli_wrong(error, "%s:%zu: %s", place.file, place.line, why.message);
    }
    return status == GCACHE_OK && print_verdict_object(&verdict, arena, error);
}

static bool
eval_batch(cli_call *call)
{
    cli_lines lines;
    gci_view line;
    compiled last = { 0 };
    bool done = true;

    cli_lines_init(&lines, STDIN_FILENO, "standard input");
    gci_buf_init(&last.text, GCI_BUF_NO_LIMIT);
    while (done && !cli_output_lost() && cli_lines_next(&lines, &line, &call->error)) {
        gci_arena_reset(&call->arena);
        done = eval_line(call, &last, line, (cli_place){ .file = lines.name, .line = lines.number });
    }
    compiled_clear(&last);
    cli_lines_clear(&lines);
    return done && !lines.failed;
}

/* ---- one expression ---- */

static bool
print_verdict(cli_call *call, gcache_verdict const *verdict)
{
    options const *wanted = call->options;

    call->answer = verdict->truth == GCACHE_TRUE ? CLI_OK : CLI_NO;
    if (wanted->json)
        return print_verdict_object(verdict, &call->arena, &call->error);
    if (verdict->truth == GCACHE_RAISES)
        cli_print("error: %s: %s\n", verdict->exception, verdict->message);
    else
        puts(verdict->truth == GCACHE_TRUE ? "true" : "false");
    return true;
}

static bool
eval_one(cli_call *call)
{
    options const *wanted = call->options;
    char const *expression = call->arguments[0];
    gcache_hints hints;
    gcache_guards *guards = NULL;
    gcache_verdict verdict;

    bool done = cli_hints_gather(wanted->hints_file, wanted->hints, &call->arena, &hints, &call->error) &&
                cli_guards_check("guard", &expression, 1, &call->error) &&
                gcache_guards_compile(&expression, 1, &guards, &call->error) == GCACHE_OK &&
                gcache_guards_eval(guards, &hints, &verdict, &call->error) == GCACHE_OK && print_verdict(call, &verdict);
    gcache_guards_free(guards);
    return done;
}

static bool
run(cli_call *call)
{
    options const *wanted = call->options;

    if (wanted->batch != (call->count == 0))
        return cli_wrong(&call->error, "guard eval: give either an expression or --batch");
    return wanted->batch ? eval_batch(call) : eval_one(call);
}

static cli_option const table[] = {
    { "hint", CLI_LIST, offsetof(options, hints), "NAME=VALUE", "a symbol's value, in JSON; repeat for more" },
    { "hints", CLI_TEXT, offsetof(options, hints_file), "FILE", "a JSON object of hints" },
    { "json", CLI_FLAG, offsetof(options, json), NULL, "the result as an object, as --batch prints it" },
    { "batch", CLI_FLAG, offsetof(options, batch), NULL, "JSON lines {\"guard\", \"hints\"} in, results out, in order" },
    { 0 },
};

cli_command const cli_cmd_guard_eval = {
    .name = "guard eval",
    .arguments = "EXPRESSION",
    .summary = "evaluate a guard as Python would",
    .about = "Prints true, false, or the exception that Python would raise; exit status 0, 1, 1. A text that isn't in\n"
             "the language is an error, exit status 2. Names: s0, or t0 for L['t0'].\n"
             "\n"
             "--batch answers every line with exit status 0: {\"result\": true}, {\"result\": \"error\", \"error\": \"KeyError\",\n"
             "\"message\": ..}, {\"result\": \"invalid\", \"message\": .., \"column\": N}; only a malformed line is an error.\n",
    .options = table,
    .options_size = sizeof(options),
    .run = run,
};
