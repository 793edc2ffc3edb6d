/*
 * Where things lie in a cache directory (docs/formats/directory.md), and making, trusting and recognising one.
 *
 *      CACHEDIR.TAG                        so that backups skip it
 *      format                              "guardcache-store 1"; written last: a directory without it isn't complete
 *      generations                         shared.h
 *      evicted                             tombstones.h
 *      segment                             segment.h
 *      index.db                            index.h
 *      entries/<2 hex>/<key>.pack          the key's candidate index
 *      entries/<2 hex>/<key>.<id>.entry    an entry whose payload isn't in the candidate index
 *      entries/<2 hex>/<key>.description   the canonical form, if it isn't in the candidate index
 *      attachments/<2 hex>/<sha256>        files that belong to entries
 *      tmp/                                files that are being written
 *      quarantine/                         what was found damaged
 *      locks/                              lock files; leases in locks/leases
 *
 * A key has no directory of its own: that would cost an inode and a block for each of a million keys, and a component
 * more in every path.
 */
#ifndef GCI_STORE_PATHS_H
#define GCI_STORE_PATHS_H

#include "base/file.h"
#include "store/store.h"

#define GCI_FORMAT_VERSION 1

/* Enough for every path in the table, with room for a suffix. */
typedef struct gci_path {
    char text[192];
} gci_path;

gci_path gci_path_shard(gcache_key const *key);
gci_path gci_path_pack(gcache_key const *key);
gci_path gci_path_entry(gcache_key const *key, char const *id);
gci_path gci_path_description(gcache_key const *key);
gci_path gci_path_attachment(uint8_t const sha256[32]);
/* A name in tmp/ that nobody else uses. */
gci_path gci_path_temporary(void);
/* A name in quarantine/ that nobody else uses and that tells where the thing came from. */
gci_path gci_path_quarantine(char const *origin);

typedef enum gci_name_kind {
    GCI_NAME_PACK,
    GCI_NAME_ENTRY,
    GCI_NAME_DESCRIPTION,
    GCI_NAME_STRANGE
} gci_name_kind;

/* What a name in a directory of entries/ stands for; id is "" unless it is an entry. */
gci_name_kind gci_name_read(char const *name, gcache_key *out_key, char out_id[GCACHE_ENTRY_ID_SIZE]);

/* Opens the cache directory, making it if `make`. See gci_store_open for the errors. */
gcache_status gci_layout_open(char const *path, bool make, gci_dir *out_dir, gcache_error *error);

/* Makes the folders that are missing: somebody may have cleared the directory out, or a copy of it has lost empty ones. */
gcache_status gci_layout_furnish(gci_dir dir, gcache_error *error);

#endif
