/*
 * The command's two output streams: escaped, checked, and flushed once.
 */
#include "cli/shared/cli.h"

#include "base/error.h"
#include "base/visible.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Why the first of what is lost was: other calls may change errno before it is told. 0: nothing is. */
static int lost_errno;

static void
write_to(FILE *stream, gci_view bytes)
{
    if (bytes.size != 0 && fwrite(bytes.data, 1, bytes.size, stream) != bytes.size && stream == stdout && lost_errno == 0)
        lost_errno = errno;
}

static __attribute__((format(printf, 2, 0))) void
print_to(FILE *stream, char const *format, va_list arguments)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_visible_vformat(&text, format, arguments);
    if (text.failed)
        fputs("(out of memory)", stream);
    else
        write_to(stream, gci_buf_view(&text));
    gci_buf_clear(&text);
}

void
cli_print(char const *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_to(stdout, format, arguments);
    va_end(arguments);
}

void
cli_print_lines(gci_view text)
{
    gci_buf lines;

    gci_buf_init(&lines, GCI_BUF_NO_LIMIT);
    gci_visible_append_lines(&lines, text);
    cli_write(lines.failed ? gci_view_text("(out of memory)\n") : gci_buf_view(&lines));
    gci_buf_clear(&lines);
}

bool
cli_print_text(gcache_status status, char **text)
{
    gci_view view = gci_view_text(status == GCACHE_OK ? *text : NULL);

    cli_print_lines(view);
    if (view.size != 0 && view.data[view.size - 1] != '\n')
        putchar('\n');
    gcache_free(*text);
    return status == GCACHE_OK;
}

void
cli_complain(char const *format, ...)
{
    va_list arguments;

    fflush(stdout);
    fputs("guardcache: ", stderr);
    va_start(arguments, format);
    print_to(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void
cli_write(gci_view bytes)
{
    write_to(stdout, bytes);
}

bool
cli_output_lost(void)
{
    return ferror(stdout) != 0;
}

/* `guardcache ls | head`: the reader has what it wanted. The failed write may be long past. */
static bool
reader_left(void)
{
    struct pollfd out = { .fd = STDOUT_FILENO };

    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR) != 0;
}

cli_exit
cli_finish(cli_exit status)
{
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    if (reader_left())
        return CLI_ERROR;
    gcache_error error;
    gci_fail_errno(&error, lost_errno != 0 ? lost_errno : errno != 0 ? errno : EIO, "standard output");
    return cli_fail(&error);
}
