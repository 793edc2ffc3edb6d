/*
 * A progress bar on standard error, for what takes long. Nothing appears unless standard error is a terminal, and not
 * before the work has taken half a second.
 */
#ifndef GCI_CLI_SHARED_PROGRESS_H
#define GCI_CLI_SHARED_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct cli_progress {
    bool wanted, drawn;
    uint64_t total, next_ns;
} cli_progress;

/* For a command that writes all the time: nothing appears if standard output is a terminal as well. */
void cli_progress_init(cli_progress *progress, uint64_t total);
/* For one that takes the bar away (cli_progress_end) before it writes a line. */
void cli_progress_init_beside(cli_progress *progress, uint64_t total);
void cli_progress_step(cli_progress *progress, uint64_t done);
/* Takes the bar away. */
void cli_progress_end(cli_progress *progress);

#endif
