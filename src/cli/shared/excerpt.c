/*
 * A guard that isn't one, shown with a caret.
 */
#include "base/error.h"
#include "base/text/columns.h"
#include "base/utf8.h"
#include "base/visible.h"
#include "cli/shared/cli.h"
#include "cli/shared/object.h"

#include <guardcache/guard.h>
#include <stdio.h>
#include <string.h>

/* Of a long text, what stands around the caret: on a line of a terminal of 100 columns, with more before it than behind. */
#define BEFORE_BYTES 60
#define AROUND_BYTES 90

#define INDENT "    "

/* Of a guard that is named within a message. */
#define GUARD_SHOWN_BYTES 200

/* The beginning of text from its byte `from` on, or from the character's that it is in. */
static size_t
character_start(char const *text, size_t from)
{
    while (from > 0 && ((unsigned char)text[from] & 0xC0) == 0x80)
        from--;
    return from;
}

void
cli_excerpt_write(gci_buf *out, char const *text, int column)
{
    size_t size = strlen(text), at = (size_t)column - 1 < size ? (size_t)column - 1 : size;
    size_t start = at > BEFORE_BYTES ? character_start(text, at - BEFORE_BYTES) : 0;
    gci_view window = gci_utf8_cut(gci_view_of(text + start, size - start), AROUND_BYTES);

    gci_buf_append_text(out, start > 0 ? INDENT "..." : INDENT);
    size_t line = out->size - strlen(INDENT) - (start > 0 ? 3 : 0);
    gci_visible_append(out, gci_view_of(window.data, at - start));
    size_t columns = out->failed ? 0 : gci_columns(gci_view_of(out->data + line, out->size - line));
    gci_visible_append(out, gci_view_of(window.data + (at - start), window.size - (at - start)));
    gci_buf_append_text(out, start + window.size < size ? "...\n" : "\n");
    gci_buf_format(out, "%*s^\n", (int)columns, "");
}

/* "2nd" */
static cli_words
ordinal(size_t number)
{
    static char const *const endings[] = { "th", "st", "nd", "rd" };
    size_t last = number / 10 % 10 != 1 && number % 10 < 4 ? number % 10 : 0;
    cli_words words;

    snprintf(words.text, sizeof words.text, "%zu%s", number, endings[last]);
    return words;
}

/* "column 6: a name is expected" says what is wrong behind the colon: the caret shows the column. */
static char const *
without_column(gcache_error const *error)
{
    char prefix[32];
    int size = snprintf(prefix, sizeof prefix, "column %d: ", error->column);

    return error->column > 0 && strncmp(error->message, prefix, (size_t)size) == 0 ? error->message + size : error->message;
}

/* The number of the first text that isn't a guard, and why; count: all are. */
static size_t
find_wrong(char const *const *texts, size_t count, gcache_error *out_why)
{
    size_t i = 0;

    for (; i < count; i++) {
        gcache_guards *guards = NULL;
        *out_why = (gcache_error){ .message = "" };
        gcache_status status = gcache_guards_compile(&texts[i], 1, &guards, out_why);
        gcache_guards_free(guards);
        if (status != GCACHE_OK)
            break;
    }
    return i;
}

bool
cli_guards_blame(cli_place place, char const *const *texts, size_t count, gcache_error *error)
{
    gcache_error why;
    size_t wrong = find_wrong(texts, count, &why);

    if (wrong == count)
        return false;
    if (count > 1)
        gci_fail(error, why.status, "%s:%zu: guard %.*s (%s of %zu): %s", place.file, place.line, GUARD_SHOWN_BYTES, texts[wrong],
                 ordinal(wrong + 1).text, count, why.message);
    else
        gci_fail(error, why.status, "%s:%zu: guard %.*s: %s", place.file, place.line, GUARD_SHOWN_BYTES, texts[wrong],
                 why.message);
    error->line = (int)place.line;
    error->column = why.column;
    return true;
}

bool
cli_guards_check(char const *what, char const *const *texts, size_t count, gcache_error *error)
{
    gcache_error why;
    size_t wrong = find_wrong(texts, count, &why);

    if (wrong == count)
        return true;
    if (count > 1)
        gci_fail(error, why.status, "%s (%s of %zu): %s", what, ordinal(wrong + 1).text, count, without_column(&why));
    else
        gci_fail(error, why.status, "%s: %s", what, without_column(&why));
    error->column = why.column;
    cli_failure_in(texts[wrong], wrong + 1);
    return false;
}
