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

/* The files of one key, by kind, then id. Names that are none of ours are left out (strange.h). */
typedef struct gci_shard_key {
    gcache_key key;
    gci_shard_file const *files;
    size_t count;
    bool has_pack; /* a file of its own, or a place in a pool */
} gci_shard_key;

/*
 * Calls fn for each key of a shard, in order of the keys; the files were listed before, and `pooled` are keys whose candidate
 * indexes lie in pools (gci_pool_shard_each finds them). Anything but GCACHE_OK ends the walk and is returned. A directory that
 * isn't there, or isn't one, is empty.
 */
typedef gcache_status (*gci_shard_key_fn)(void *state, gci_shard_key const *key);
gcache_status gci_shard_each(gci_dir dir, unsigned number, gcache_key const *pooled, size_t pooled_count, gci_shard_key_fn fn,
                             void *state, gcache_error *error);

#endif
