/*
 * A line of progress on a terminal.
 */
#include "cli/shared/progress.h"

#include "base/system/clock.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FIRST_AFTER_NS GCI_SECOND_NS
/* Ten pictures a second look smooth and cost nothing. */
#define EVERY_NS UINT64_C(100000000)

/* Wider lines are harder to read; a bar that is narrower says nothing. */
#define WIDEST 120
#define NARROWEST_BAR 10
/* " [", "]" */
#define AROUND 3
/* " 100 %  59 min left" */
#define STATE_BYTES 40
/* Before that much is done, nobody knows how long the rest takes. */
#define PERCENT_KNOWN 2

void
cli_progress_init_beside(cli_progress *progress, char const *label, uint64_t total)
{
    uint64_t now = gci_clock_steady_ns();

    *progress = (cli_progress){ .wanted = total != 0 && isatty(STDERR_FILENO), .label = label, .total = total, .start_ns = now,
                                .next_ns = now + FIRST_AFTER_NS };
}

void
cli_progress_init(cli_progress *progress, char const *label, uint64_t total)
{
    cli_progress_init_beside(progress, label, total);
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

/* How far it is, and what the rest takes if it goes on like this. */
static void
write_state(char out[STATE_BYTES], int percent, double left_s)
{
    unsigned seconds = left_s < 1e7 ? (unsigned)left_s + 1 : 10000000;
    int size = snprintf(out, STATE_BYTES, "%3d %%", percent);

    if (percent < PERCENT_KNOWN || percent >= 100)
        return;
    if (seconds < 100)
        snprintf(out + size, STATE_BYTES - (size_t)size, "  %2u s left", seconds);
    else if (seconds < 6000)
        snprintf(out + size, STATE_BYTES - (size_t)size, "  %2u min left", (seconds + 59) / 60);
    else
        snprintf(out + size, STATE_BYTES - (size_t)size, "  %u h left", (seconds + 3599) / 3600);
}

static void
draw(cli_progress const *progress, uint64_t done, uint64_t now)
{
    double part = done < progress->total ? (double)done / (double)progress->total : 1;
    double elapsed_s = (double)(now - progress->start_ns) / (double)GCI_SECOND_NS;
    int percent = (int)(part * 100);
    char state[STATE_BYTES];

    write_state(state, percent, part > 0 ? elapsed_s * (1 - part) / part : 0);
    int room = terminal_width() - 1 - (int)strlen(progress->label) - AROUND - STATE_BYTES / 2;
    fputs("\r\033[K", stderr);
    if (room < NARROWEST_BAR) {
        fputs(state, stderr);
    } else {
        fprintf(stderr, "%s [", progress->label);
        for (int i = 0; i < room; i++)
            fputc(i < room * percent / 100 ? '=' : ' ', stderr);
        fprintf(stderr, "] %s", state);
    }
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
    draw(progress, done, now);
}

void
cli_progress_of(cli_progress *progress, char const *label, uint64_t done, uint64_t total)
{
    if (total != progress->total) {
        cli_progress_end(progress);
        cli_progress_init_beside(progress, label, total);
    }
    cli_progress_step(progress, done);
}

void
cli_progress_end(cli_progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}
