/*
 * guardcache guard eval: one expression for people, or JSON lines in and JSON lines out (--batch).
 *
 * A batch line is {"guard": TEXT, "hints": {NAME: VALUE}}. What the guard's text makes of it is a result, also when it
 * is invalid; a line that isn't of this form ends the batch with its number.
 */
#include "base/error.h"
#include "base/text/json.h"
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

/* One line's tree: a few times the longest line. */
#define LINE_MAX_BYTES (4 * GCI_JSON_MAX_BYTES)

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
compiled_init(compiled *last)
{
    *last = (compiled){ 0 };
    gci_buf_init(&last->text, GCI_BUF_NO_LIMIT);
}

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

static void
set_verdict(cli_object *object, gcache_verdict const *verdict)
{
    if (verdict->truth != GCACHE_RAISES) {
        cli_object_set_bool(object, "result", verdict->truth == GCACHE_TRUE);
        return;
    }
    cli_object_set_text(object, "result", "error");
    cli_object_set_text(object, "error", verdict->exception);
    cli_object_set_text(object, "message", verdict->message);
}

static void
set_invalid(cli_object *object, gcache_error const *error)
{
    cli_object_set_text(object, "result", "invalid");
    cli_object_set_text(object, "message", error->message);
    cli_object_set_int(object, "column", error->column);
}

/* A guard the language can't take (ERROR_LIMIT: nested too deeply) is a result; anything else is trouble. */
static bool
is_invalid(gcache_status status)
{
    return status == GCACHE_ERROR_SYNTAX || status == GCACHE_ERROR_LIMIT;
}

/* ---- batch ---- */

static gcache_status
eval_line(compiled *last, gci_view line, cli_place place, gci_arena *arena, gcache_error *error)
{
    gci_value map;
    gci_value const *guard = NULL, *hint_map = NULL;
    gcache_hints hints = { 0 };
    gcache_verdict verdict;
    cli_object object = cli_object_new(arena);

    gcache_status status = cli_object_read(line, place, arena, &map, error);
    if (status == GCACHE_OK)
        status = cli_get_value(&map, "guard", GCI_STRING, place, &guard, error);
    if (status == GCACHE_OK && guard == NULL)
        status = cli_bad_member(place, "guard", "is missing", error);
    if (status == GCACHE_OK)
        status = cli_get_value(&map, "hints", GCI_MAP, place, &hint_map, error);
    if (status == GCACHE_OK && hint_map != NULL)
        status = cli_hints_read(hint_map, place, arena, &hints, error);
    if (status != GCACHE_OK)
        return status;

    status = compile(last, guard->text);
    if (is_invalid(status)) {
        set_invalid(&object, &last->error);
        return cli_object_print(&object, error);
    }
    if (status != GCACHE_OK) {
        *error = last->error;
        return status;
    }
    status = gcache_guards_eval(last->guards, &hints, &verdict, error);
    if (status != GCACHE_OK)
        return status;
    set_verdict(&object, &verdict);
    return cli_object_print(&object, error);
}

static cli_exit
eval_batch(void)
{
    cli_lines lines;
    gci_view line;
    gci_arena arena;
    compiled last;
    gcache_error error = { 0 };
    gcache_status status;

    cli_lines_init(&lines, STDIN_FILENO, "standard input");
    gci_arena_init(&arena, LINE_MAX_BYTES);
    compiled_init(&last);
    while ((status = cli_lines_next(&lines, &line, &error)) == GCACHE_OK && line.data != NULL && !cli_output_lost()) {
        cli_place place = { .file = lines.name, .line = lines.number };
        gci_arena_reset(&arena);
        status = eval_line(&last, line, place, &arena, &error);
        if (status != GCACHE_OK)
            break;
    }
    if (status == GCACHE_ERROR_ARGUMENT)
        cli_complain("%s:%zu: %s", lines.name, lines.number, error.message);
    else if (status != GCACHE_OK)
        cli_fail(&error);
    compiled_clear(&last);
    gci_arena_clear(&arena);
    cli_lines_clear(&lines);
    return status == GCACHE_OK ? CLI_OK : CLI_ERROR;
}

/* ---- one expression ---- */

static cli_exit
print_verdict(options const *wanted, gcache_verdict const *verdict, gci_arena *arena)
{
    gcache_error error = { 0 };

    if (wanted->json) {
        cli_object object = cli_object_new(arena);
        set_verdict(&object, verdict);
        if (cli_object_print(&object, &error) != GCACHE_OK)
            return cli_fail(&error);
    } else if (verdict->truth == GCACHE_RAISES) {
        cli_print("error: %s: %s\n", verdict->exception, verdict->message);
    } else {
        puts(verdict->truth == GCACHE_TRUE ? "true" : "false");
    }
    return verdict->truth == GCACHE_TRUE ? CLI_OK : CLI_NO;
}

static cli_exit
eval_one(options const *wanted, char const *expression)
{
    gci_arena arena;
    gcache_hints hints;
    gcache_guards *guards = NULL;
    gcache_verdict verdict;
    gcache_error error = { 0 };
    cli_exit result = CLI_ERROR;

    gci_arena_init(&arena, LINE_MAX_BYTES);
    gcache_status status = cli_hints_gather(wanted->hints_file, wanted->hints, &arena, &hints, &error);
    if (status == GCACHE_OK)
        status = gcache_guards_compile(&expression, 1, &guards, &error);
    if (status == GCACHE_OK)
        status = gcache_guards_eval(guards, &hints, &verdict, &error);
    if (status == GCACHE_OK)
        result = print_verdict(wanted, &verdict, &arena);
    else
        cli_fail(&error);
    gcache_guards_free(guards);
    gci_arena_clear(&arena);
    return result;
}

static cli_exit
run(cli_call const *call)
{
    options const *wanted = call->options;

    if (wanted->batch != (call->count == 0)) {
        cli_complain("guard eval: give either an expression or --batch");
        return CLI_ERROR;
    }
    return wanted->batch ? eval_batch() : eval_one(wanted, call->arguments[0]);
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
    .most = 1,
    .run = run,
};
