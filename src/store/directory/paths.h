/*
 * Where things lie in a cache directory (docs/formats/directory.md).
 *
 *      CACHEDIR.TAG                        so that backups skip it
 *      format                              "guardcache-store 2" and the XXH3-64 of that; written last
 *      generations                         shared.h
 *      evicted                             tombstones.h
 *      segment                             event_log.h
 *      journal, journal.old                journal_file.h
 *      index.db                            index.h
 *      tables.db                           tables.h
 *      config.json                         settings
 *      entries/<2 hex>/<key>.pack          the key's candidate index
 *      entries/<2 hex>/<key>.<id>.entry    an entry whose payload isn't in the candidate index
 *      entries/<2 hex>/<key>.description   the canonical form, if it isn't in the candidate index
 *      entries/<2 hex>/<2 or 3 hex>.pool   small candidate indexes of keys that begin so, together (pool.h)
 *      attachments/<2 hex>/<sha256>        files that belong to entries
 *      tmp/                                files that are being written
 *      quarantine/                         what was found damaged
 *      locks/                              lock files; leases in locks/leases
 *      blobs/ shared/ sub/                 side.h
 *
 * A key has no directory of its own: that would cost an inode and a block for each of a million keys, and a component
 * more in every path.
 */
#ifndef GCI_STORE_DIRECTORY_PATHS_H
#define GCI_STORE_DIRECTORY_PATHS_H

#include "base/system/file.h"
#include "store/directory/process.h"

#include <guardcache/cache.h>
#include <guardcache/key.h>

#define GCI_FORMAT_VERSION 2

/* The fixed names at the top: name, what it stands for. SQLite makes the ones after its databases. */
#define GCI_TOP_MAP(X)                                                                                \
    X("CACHEDIR.TAG", S_IFREG) X("format", S_IFREG) X("generations", S_IFREG) X("evicted", S_IFREG)   \
    X("segment", S_IFREG) X("journal", S_IFREG) X("journal.old", S_IFREG) X("config.json", S_IFREG)   \
    X("index.db", S_IFREG) X("index.db-wal", S_IFREG) X("index.db-shm", S_IFREG)                      \
    X("index.db-journal", S_IFREG) X("tables.db", S_IFREG) X("tables.db-journal", S_IFREG)            \
    X("tables.db-wal", S_IFREG) X("tables.db-shm", S_IFREG)                                           \
    X("entries", S_IFDIR) X("attachments", S_IFDIR) X("tmp", S_IFDIR) X("quarantine", S_IFDIR)        \
    X("locks", S_IFDIR) X("blobs", S_IFDIR) X("shared", S_IFDIR) X("sub", S_IFDIR)

/* Enough for every path in the table, with room for a suffix. */
typedef struct gci_path {
    char text[192];
} gci_path;

gci_path gci_path_shard(gcache_key const *key);
gci_path gci_path_pack(gcache_key const *key);
gci_path gci_path_entry(gcache_key const *key, char const *id);
gci_path gci_path_description(gcache_key const *key);
/* The pool of the keys that share as many first digits with this one: GCI_POOL_DIGITS, and one more a level. */
#define GCI_POOL_LEVELS 2
#define GCI_POOL_DIGITS 2
gci_path gci_path_pool(gcache_key const *key, unsigned level);
/* Which of a folder's pools has that name: bit 0 is that of the folder, bit 1 + d that of one digit more. */
#define GCI_POOLS_ALL UINT32_C(0x1ffff)
uint32_t gci_pool_bit(char const *name);
gci_path gci_path_attachment(uint8_t const sha256[32]);
/* A unique name in tmp/ that says whose it is: 16 random hex digits, then the process. */
gci_path gci_path_temporary(void);
/* Whose it is; false: it doesn't say. */
bool gci_path_writer(char const *name, gci_process *out_writer);
/* A unique name in quarantine/ that says where the thing came from. */
gci_path gci_path_quarantine(char const *origin);

typedef enum gci_name_kind {
    GCI_NAME_PACK,
    GCI_NAME_ENTRY,
    GCI_NAME_DESCRIPTION,
    GCI_NAME_POOL,
    GCI_NAME_STRANGE
} gci_name_kind;

/* What a name in a directory of entries/ stands for; id is "" unless it is an entry, a pool's key is its digits and zeros. */
gci_name_kind gci_name_read(char const *name, gcache_key *out_key, char out_id[GCACHE_ENTRY_ID_SIZE]);

#endif
