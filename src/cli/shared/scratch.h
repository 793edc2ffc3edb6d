/*
 * A temporary directory that is gone when the command ends, also by SIGINT, SIGTERM or SIGHUP: those are only noted,
 * the command's loop asks cli_signal_caught and leaves, and cli_die_of_signal ends the process as the signal would have.
 */
#ifndef GCI_CLI_SHARED_SCRATCH_H
#define GCI_CLI_SHARED_SCRATCH_H

#include <guardcache/status.h>
#include <stdbool.h>

#define CLI_SCRATCH_PATH 4096

/* Makes a directory below TMPDIR, or /tmp, and catches signals from then on. */
bool cli_scratch_make(char out_path[CLI_SCRATCH_PATH], gcache_error *error);

/* Removes a directory and all that is in it; an empty path is none. */
void cli_scratch_remove(char const *path);

void cli_catch_signals(void);
/* The signal that came, or 0. */
int cli_signal_caught(void);
/* Returns if none came. */
void cli_die_of_signal(void);

#endif
