/*
 * Errors as the command says them: a line for people, or one JSON object under --json.
 */
#include "base/error.h"
#include "base/text/json.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* An error's texts, escaped. */
#define OBJECT_MAX_BYTES ((size_t)64 << 10)

/* The command line: its words may be the files that errors are about. */
static struct {
    int count;
    char **words;
    bool json;
} line;

/* The guard that the next error is about, if it is about one. */
static struct {
    char const *text;
    size_t number;
} blamed;

void
cli_failure_begin(int argc, char **argv)
{
    line.count = argc;
    line.words = argv;
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        line.json = line.json || strcmp(argv[i], "--json") == 0;
}

void
cli_failure_in(char const *guard, size_t number)
{
    blamed.text = guard;
    blamed.number = number;
}

/* ---- the file ---- */

/* Whether an error is about that file: its message begins so. A command's name or an option may begin one too. */
static bool
is_about(gcache_error const *error, char const *file)
{
    size_t size = strlen(file);

    return size != 0 && strncmp(error->message, file, size) == 0 && error->message[size] == ':' &&
           (error->status != GCACHE_ERROR_ARGUMENT || access(file, F_OK) == 0);
}

/* "file:line:column: message" */
static size_t
size_before_line(gcache_error const *error)
{
    char number[24];

    snprintf(number, sizeof number, ":%d:", error->line);
    char const *found = error->line > 0 ? strstr(error->message, number) : NULL;
    return found != NULL ? (size_t)(found - error->message) : 0;
}

/* The size of the file's name at the beginning of the message; 0: none is known. */
static size_t
file_size(gcache_error const *error)
{
    for (int i = 1; i < line.count && line.words[i] != NULL; i++) {
        char const *word = line.words[i], *value = strchr(word, '=');
        if (is_about(error, word))
            return strlen(word);
        if (value != NULL && is_about(error, value + 1))
            return strlen(value + 1);
    }
    return size_before_line(error);
}

/* ---- the object ---- */

static void
set_place(cli_object *object, gcache_error const *error)
{
    gci_view file = gci_view_of(error->message, blamed.text == NULL ? file_size(error) : 0);

    if (file.size != 0)
        cli_object_set(object, "file", (gci_value){ .type = GCI_STRING, .text = file });
    if (blamed.text != NULL) {
        cli_object_set_text(object, "guard", blamed.text);
        cli_object_set_count(object, "number", blamed.number);
    }
    if (error->line > 0)
        cli_object_set_int(object, "line", error->line);
    if (error->column > 0)
        cli_object_set_int(object, "column", error->column);
    if (error->path[0] != '\0')
        cli_object_set_text(object, "path", error->path);
}

static void
print_object(gcache_error const *error, char const *message)
{
    gci_arena arena;
    gci_buf text;

    gci_arena_init(&arena, OBJECT_MAX_BYTES);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    cli_object inside = cli_object_new(&arena), object = cli_object_new(&arena);
    cli_object_set_text(&inside, "code", gcache_status_name(error->status));
    cli_object_set_text(&inside, "message", message);
    set_place(&inside, error);
    cli_object_set(&object, "error", inside.map);
    gci_json_write(&text, &object.map);
    fflush(stdout);
    if (arena.failed || text.failed)
        fputs("{\"error\": {\"code\": \"ERROR_MEMORY\", \"message\": \"out of memory\"}}", stderr);
    else
        fwrite(text.data, 1, text.size, stderr);
    fputc('\n', stderr);
    gci_buf_clear(&text);
    gci_arena_clear(&arena);
}

/* Below the message. */
static void
print_excerpt(gcache_error const *error)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    cli_excerpt_write(&text, blamed.text, error->column);
    if (!text.failed)
        fwrite(text.data, 1, text.size, stderr);
    gci_buf_clear(&text);
}

cli_exit
cli_fail(gcache_error const *error)
{
    char const *message = error->message[0] != '\0' ? error->message : gcache_status_text(error->status);

    if (line.json)
        print_object(error, message);
    else
        cli_complain("%s", message);
    if (!line.json && blamed.text != NULL && blamed.text[0] != '\0' && error->column > 0)
        print_excerpt(error);
    blamed.text = NULL;
    return CLI_ERROR;
}

cli_exit
cli_refuse(gcache_error const *error, char const *file)
{
    if (line.json)
        print_object(error, error->message);
    else if (file != NULL)
        cli_complain("%s: bypass: %s", file, error->message);
    else
        cli_complain("refused: %s", error->message);
    return CLI_NO;
}

bool
cli_refused(cli_call *call)
{
    call->answer = cli_refuse(&call->error, NULL);
    return true;
}

/* ---- setting errors ---- */

bool
cli_wrong(gcache_error *error, char const *format, ...)
{
    char text[sizeof error->message];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s", text) == GCACHE_OK;
}

bool
cli_no_memory(gcache_error *error)
{
    return gci_fail_memory(error) == GCACHE_OK;
}
