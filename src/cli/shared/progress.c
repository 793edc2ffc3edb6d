/*
 * A line of progress on a terminal.
 */
#include "cli/shared/progress.h"

#include "base/system/clock.h"

#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FIRST_AFTER_NS UINT64_C(500000000)
/* Ten pictures a second look smooth and cost nothing. */
#define EVERY_NS UINT64_C(100000000)

/* Wider bars are harder to read; below the narrowest only the number fits. */
#define WIDEST 120
#define NARROWEST 24
/* "[", "] 100 %" */
#define AROUND 8

void
cli_progress_init_beside(cli_progress *progress, uint64_t total)
{
    *progress = (cli_progress){ .wanted = total != 0 && isatty(STDERR_FILENO), .total = total,
                                .next_ns = gci_clock_steady_ns() + FIRST_AFTER_NS };
}

void
cli_progress_init(cli_progress *progress, uint64_t total)
{
    cli_progress_init_beside(progress, total);
    progress->wanted = progress->wanted && !isatty(STDOUT_FILENO);
}

static int
terminal_width(void)
{
    struct winsize size;

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return 80;
    return size.ws_col < WIDEST ? size.ws_col : WIDEST;
}

static void
draw(uint64_t done, uint64_t total)
{
    int percent = done < total ? (int)(done * 100 / total) : 100, width = terminal_width();

    if (width < NARROWEST) {
        fprintf(stderr, "\r%3d %%", percent);
        return;
    }
    int room = width - AROUND - 1, filled = room * percent / 100;
    fputs("\r[", stderr);
    for (int i = 0; i < room; i++)
        fputc(i < filled ? '=' : ' ', stderr);
    fprintf(stderr, "] %3d %%", percent);
    fflush(stderr);
}

void
cli_progress_step(cli_progress *progress, uint64_t done)
{
    if (!progress->wanted)
        return;
    uint64_t now = gci_clock_steady_ns();
    if (now < progress->next_ns)
        return;
    progress->next_ns = now + EVERY_NS;
    progress->drawn = true;
    draw(done, progress->total);
}

void
cli_progress_end(cli_progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}
