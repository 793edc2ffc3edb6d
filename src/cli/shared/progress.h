/*
 * A line of progress on standard error, for what takes long: what is done, how far it is, and about how long it will still take.
 * Nothing appears unless standard error is a terminal, and not before the work has taken a second.
 */
#ifndef GCI_CLI_SHARED_PROGRESS_H
#define GCI_CLI_SHARED_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
    bool wanted, drawn;
    char const *label;
    uint64_t total, start_ns, next_ns;
} cli_progress;

/* label is a word or two ("replay"), and isn't copied. */
/* For a command that writes all the time: nothing appears if standard output is a terminal as well. */
void cli_progress_init(cli_progress *progress, char const *label, uint64_t total);
/* For one that takes the bar away (cli_progress_end) before it writes a line. */
void cli_progress_init_beside(cli_progress *progress, char const *label, uint64_t total);
void cli_progress_step(cli_progress *progress, uint64_t done);
/* The same where only the work itself knows its total, and may be of several parts: with a new total a new bar begins. *progress
   is {0} first. */
void cli_progress_of(cli_progress *progress, char const *label, uint64_t done, uint64_t total);
/* Takes the bar away. */
void cli_progress_end(cli_progress *progress);

#endif
