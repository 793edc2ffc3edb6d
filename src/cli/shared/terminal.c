/*
 * What standard output is to people: how wide, and whether it shows colours.
 */
#include "cli/shared/cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Wider lines are hard to read. */
#define COLUMNS_MOST 160

/* COLUMNS counts in a pipe too: whoever exports it means it. 0: not known. */
static size_t
columns_given(void)
{
    char const *text = getenv("COLUMNS");
    char *end = NULL;
    unsigned long given = text != NULL && *text != '\0' ? strtoul(text, &end, 10) : 0;

    return end != NULL && *end == '\0' && given <= 100000 ? given : 0;
}

size_t
cli_terminal_columns(void)
{
    struct winsize window = { 0 };
    size_t columns = columns_given();

    if (columns == 0 && isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0)
        columns = window.ws_col;
    return columns < COLUMNS_MOST ? columns : COLUMNS_MOST;
}

bool
cli_terminal_has_color(void)
{
    char const *none = getenv("NO_COLOR"), *terminal = getenv("TERM");

    return isatty(STDOUT_FILENO) && (none == NULL || *none == '\0') && terminal != NULL && strcmp(terminal, "dumb") != 0;
}
