/*
 * What lies in one of the 256 directories below entries/, by key: for those who walk over everything.
 */
#ifndef GCI_STORE_DIRECTORY_SHARD_H
#define GCI_STORE_DIRECTORY_SHARD_H

#include "store/directory/paths.h"

#define GCI_SHARDS 256

/* A file that belongs to a key. */
typedef struct gci_shard_file {
    gcache_key key;
    gci_name_kind kind;
    char id[GCACHE_ENTRY_ID_SIZE]; /* of an entry */
} gci_shard_file;

/* All files, by key, then kind, then id. Names that are none of ours are left out (strange.h). */
typedef struct gci_shard {
    gci_shard_file *files;
    size_t count, capacity;
} gci_shard;

/* A directory that isn't there, or isn't one, is empty. */
gcache_status gci_shard_read(gci_dir dir, unsigned number, gci_shard *out_shard, gcache_error *error);
void gci_shard_clear(gci_shard *shard);

/* One key's files within the array. */
typedef struct gci_shard_key {
    gcache_key key;
    gci_shard_file const *files;
    size_t count;
    bool has_pack, has_description;
} gci_shard_key;

/* The key whose files begin at *at; *at moves behind them. false: none is left. */
bool gci_shard_next(gci_shard const *shard, size_t *at, gci_shard_key *out_key);

#endif
