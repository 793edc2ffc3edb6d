/*
 * What ls, show and cat share: finding an entry by the beginning of its id, and an entry as an object.
 */
#ifndef GCI_CLI_SHARED_ENTRIES_H
#define GCI_CLI_SHARED_ENTRIES_H

#include "cli/shared/object.h"

#include <guardcache/cache.h>

/* Which entry: ids are unique under a key. */
typedef struct cli_entry_name {
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE];
} cli_entry_name;

/*
 * Finds the one entry whose id begins with prefix. ERROR_NOT_FOUND where there is none, ERROR_ARGUMENT where the prefix is
 * no hex number or begins several ids (an entry stored under two keys is two entries).
 */
gcache_status cli_entry_find(gcache *cache, char const *prefix, cli_entry_name *out_name, gcache_error *error);

/* An entry as `ls --json` and `show --json` print it. */
cli_object cli_entry_object(gcache_entry_view const *entry, gci_arena *arena);

/* "1.2 MiB"; needs room for CLI_SIZE_TEXT bytes. */
#define CLI_SIZE_TEXT 32
void cli_size_text(uint64_t size, char out_text[CLI_SIZE_TEXT]);

/* "4.1 s", "812 ms", "-" for an unknown duration. */
#define CLI_DURATION_TEXT 32
void cli_duration_text(uint64_t ns, char out_text[CLI_DURATION_TEXT]);

/* "2026-05-01 14:02:11" in the local time zone. */
#define CLI_TIME_TEXT 32
void cli_time_text(uint64_t ns, char out_text[CLI_TIME_TEXT]);

#endif
