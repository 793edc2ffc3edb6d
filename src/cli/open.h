/*
 * Opening what a command works on: the cache directory and a description.
 */
#ifndef GCI_CLI_OPEN_H
#define GCI_CLI_OPEN_H

#include "cli/cli.h"

#include <guardcache/cache.h>

/*
 * Opens the cache: directory, else GUARDCACHE_DIR, else guardcache in the XDG cache directory. What the library has to
 * tell goes to standard error. A read-only open never makes or changes anything.
 */
gcache_status cli_open_cache(char const *directory, bool read_only, gcache **out_cache, gcache_error *error);

/* The library's log callback: a line on standard error. */
void cli_log(void *state, char const *line);

/* Reads a description file; "-" is standard input. */
gcache_status cli_read_graph(char const *path, gcache_graph **out_graph, gcache_error *error);

#endif
