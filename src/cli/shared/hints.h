/*
 * Hints as the command line and JSON give them: `t0=16`, {"t0": 16, "f": {"$float": "nan"}, "b": true, "n": null}.
 */
#ifndef GCI_CLI_SHARED_HINTS_H
#define GCI_CLI_SHARED_HINTS_H

#include "cli/shared/cli.h"
#include "cli/shared/object.h"

#include <guardcache/cache.h>

/* Everything handed out lives in the arena. */
bool cli_hints_read(gci_value const *map, cli_place place, gci_arena *arena, gcache_hints *out_hints,
                             gcache_error *error);

/* Joins a file's hints (file may be NULL) and NAME=VALUE options; a name given twice is an error. */
bool cli_hints_gather(char const *file, cli_list options, gci_arena *arena, gcache_hints *out_hints,
                               gcache_error *error);

/* A hint's value as JSON has it, from the way Python prints it: {"$float": "nan"} for nan. */
gci_value cli_hint_value(char const *literal, gci_arena *arena);

/* NAME=VALUE; the name is copied into the arena. */
bool cli_pair_read(char const *text, gci_arena *arena, gcache_pair *out_pair, gcache_error *error);
/* The same for each of a list: *out_pairs of items.count. */
bool cli_pairs_read(cli_list items, gci_arena *arena, gcache_pair **out_pairs, gcache_error *error);

#endif
