/*
 * What ls, show, cat and rm share: finding an entry by the beginning of its id, and an entry as an object.
 */
#ifndef GCI_CLI_ENTRIES_ENTRIES_H
#define GCI_CLI_ENTRIES_ENTRIES_H

#include "cli/shared/object.h"

#include <guardcache/cache.h>

/* Which entry: ids are unique under a key. */
typedef struct cli_entry_name {
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE];
} cli_entry_name;

/*
 * Finds the one entry whose id begins with prefix. Fails where there is none, where the prefix is no hex number, and where it
 * begins several ids (an entry stored under two keys is two entries).
 */
bool cli_entry_find(gcache *cache, char const *prefix, cli_entry_name *out_name, gcache_error *error);

/* An entry as an object, as `ls --json` and `show --json` print it. */
cli_object cli_entry_object(gcache_entry_view const *entry, gci_arena *arena);

#endif
