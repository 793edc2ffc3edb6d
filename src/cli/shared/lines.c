/*
 * Reading a file line by line.
 */
#include "cli/shared/lines.h"

#include "base/error.h"
#include "base/text/json.h"
#include "cli/shared/cli.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* What a pipe holds on Linux. */
#define READ_STEP ((size_t)64 << 10)

/* A line is one JSON value; room for what the reader would take, and the step that found it too long. */
#define MAX_LINE GCI_JSON_MAX_BYTES

void
cli_lines_init(cli_lines *lines, int fd, char const *name)
{
    *lines = (cli_lines){ .fd = fd, .name = name };
    gci_buf_init(&lines->buf, MAX_LINE + 2 * READ_STEP);
}

void
cli_lines_clear(cli_lines *lines)
{
    gci_buf_clear(&lines->buf);
}

static void
drop_read_lines(cli_lines *lines)
{
    size_t left = lines->buf.size - lines->start;

    if (lines->start != 0 && left != 0)
        memmove(lines->buf.data, lines->buf.data + lines->start, left);
    lines->buf.size = left;
    lines->start = 0;
}

static bool
read_more(cli_lines *lines, gcache_error *error)
{
    drop_read_lines(lines);
    if (lines->buf.size > MAX_LINE)
        return cli_wrong(error, "%s:%zu: longer than %zu bytes", lines->name, lines->number + 1, MAX_LINE);
    char *room = gci_buf_reserve(&lines->buf, READ_STEP);
    if (room == NULL)
        return cli_no_memory(error);
    fflush(stdout);
    ssize_t got;
    do
        got = read(lines->fd, room, READ_STEP);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return gci_fail_errno(error, errno, "%s", lines->name) == GCACHE_OK;
    lines->buf.size += (size_t)got;
    lines->ended = got == 0;
    return true;
}

bool
cli_lines_next(cli_lines *lines, gci_view *out_line, gcache_error *error)
{
    size_t searched = 0;

    for (;;) {
        gci_view rest = gci_buf_view(&lines->buf);
        if (rest.size != 0)
            rest = gci_view_of(rest.data + lines->start, rest.size - lines->start);
        if (lines->ended || (rest.size > searched && memchr(rest.data + searched, '\n', rest.size - searched) != NULL)) {
            size_t left = rest.size;
            bool found = gci_view_next_line(&rest, out_line);
            lines->start += left - rest.size;
            lines->passed += left - rest.size;
            lines->number += found;
            return found;
        }
        searched = rest.size;
        lines->failed = !read_more(lines, error);
        if (lines->failed)
            return false;
    }
}
