/*
 * Where things lie in a cache directory (docs/formats/directory.md), and making, trusting and recognising one.
 *
 *      CACHEDIR.TAG                        so that backups skip it
 *      format                              "guardcache-store 1" and the XXH3-64 of that; written last
 *      generations                         shared.h
 *      evicted                             tombstones.h
 *      segment                             segment.h
 *      index.db                            index.h
 *      tables.db                           tables.h
 *      config.json                         settings
 *      entries/<2 hex>/<key>.pack          the key's candidate index
 *      entries/<2 hex>/<key>.<id>.entry    an entry whose payload isn't in the candidate index
 *      entries/<2 hex>/<key>.description   the canonical form, if it isn't in the candidate index
 *      attachments/<2 hex>/<sha256>        files that belong to entries
 *      tmp/                                files that are being written
 *      quarantine/                         what was found damaged
 *      locks/                              lock files; leases in locks/leases
 *      blobs/ shared/ sub/                 side.h
 *
 * A key has no directory of its own: that would cost an inode and a block for each of a million keys, and a component
 * more in every path.
 */
#ifndef GCI_STORE_PATHS_H
#define GCI_STORE_PATHS_H

#include "base/file.h"
#include "store/process.h"
#include "store/store.h"

#define GCI_FORMAT_VERSION 1

/* The fixed names at the top: name, what it stands for. SQLite makes the ones after its databases. */
#define GCI_TOP_MAP(X)                                                                                \
    X("CACHEDIR.TAG", S_IFREG) X("format", S_IFREG) X("generations", S_IFREG) X("evicted", S_IFREG)   \
    X("segment", S_IFREG) X("config.json", S_IFREG)                                                   \
    X("index.db", S_IFREG) X("index.db-wal", S_IFREG) X("index.db-shm", S_IFREG)                      \
    X("index.db-journal", S_IFREG) X("tables.db", S_IFREG) X("tables.db-journal", S_IFREG)            \
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
gci_path gci_path_attachment(uint8_t const sha256[32]);
/* A name in tmp/ that nobody else uses and that tells whose it is: 16 random hex digits, then the process. */
gci_path gci_path_temporary(void);
/* Whose it is; false: it doesn't say. */
bool gci_path_writer(char const *name, gci_process *out_writer);
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

/*
 * Opens the cache directory, making it if `make`. See gci_store_open for the errors. A format file that is lost or damaged
 * is made anew where that can be done, and taken for ours where it can't; *out_mended tells. owners (borrowed as long as the
 * directory is open) goes to everything below.
 */
gcache_status gci_layout_open(char const *path, bool make, gci_owners *owners, gci_dir *out_dir, bool *out_mended,
                              gcache_error *error);

/* Whether a directory is one whose content may be trusted: owners->trust says whose that is, and the rest is filled in. */
gcache_status gci_layout_trusted(gci_dir dir, gci_owners *owners, gcache_error *error);

/* ---- while it is in use: somebody may clear the directory out, and copies lack what was empty ---- */

bool gci_layout_has_tag(gci_dir dir);

/* Makes the folders that are missing, and CACHEDIR.TAG. */
gcache_status gci_layout_furnish(gci_dir dir, gcache_error *error);

/* Whether gci_layout_make_way may help after a call has failed so. */
bool gci_layout_may_help(gcache_status status);

/*
 * Makes the folders on the way to a file, and puts aside what has their place or the file's and isn't of their kind: a
 * link, a pipe, a directory where a file belongs.
 */
gcache_status gci_layout_make_way(gci_dir dir, char const *path, gcache_error *error);

/* Removes empty folders of entries and attachments, each of which takes an inode; whoever needs one makes it again. */
void gci_layout_prune(gci_dir dir);

/* Whether the folders on the way to a file are there, and folders. A rename would follow a link. */
bool gci_layout_has_way(gci_dir dir, char const *path);

/* ERROR_IO: nothing can be made in a directory that has no name any more, or another one. */
gcache_status gci_layout_fail_gone(gci_dir dir, gcache_error *error);

/* Opens a file to write to (flags with O_CREAT), after making way for it if need be. Never ERROR_NOT_FOUND. */
gcache_status gci_layout_create(gci_dir dir, char const *path, int flags, gci_file *out_file, gcache_error *error);

/* Writes a whole small file, whoever else does so at the same time: under a name of its own in tmp/, synced, renamed. */
gcache_status gci_layout_write(gci_dir dir, char const *name, gci_view bytes, gcache_error *error);

/* Moves anything, whole, to quarantine/. *out_place (may be NULL) is where it is then. */
gcache_status gci_layout_put_aside(gci_dir dir, char const *path, gci_path *out_place, gcache_error *error);

/*
 * The lock of those who replace what others may have open: of several who find it damaged only the first may put it aside,
 * which each sees by another look under the lock. Held for a few system calls. Released by gci_file_close. It is a lock on
 * the directory itself, since files and folders may be what is missing; where the system has none (NFS) nothing is locked.
 */
void gci_layout_lock(gci_dir dir, gci_file *out_lock);

#endif
