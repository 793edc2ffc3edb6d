/*
 * Files of a cache, whatever they hold: costs, temporary files, moving into place, quarantine.
 */
#ifndef GCI_STORE_STATE_FILES_H
#define GCI_STORE_STATE_FILES_H

#include "store/state/state.h"

/* What a file of this size takes on disk: the cap counts in file system blocks. */
#define GCI_DISK_BLOCK 4096
static inline uint64_t
gci_disk_cost(uint64_t size)
{
    return (size + GCI_DISK_BLOCK - 1) / GCI_DISK_BLOCK * GCI_DISK_BLOCK;
}

/* What a file takes: its size in blocks, or less where it has holes. An absurd size costs no more than there is on disk. */
uint64_t gci_cost_of_facts(struct stat const *facts);
/* The same; 0 if it isn't there. */
uint64_t gci_cost_of_path(gci_store *store, char const *path);

/* What has to reach the disk before it gets its name. */
typedef enum gci_weight {
    GCI_WEIGHT_COMMIT, /* it holds a payload, or replaces something that does: synced unless durability is `none` */
    GCI_WEIGHT_LIGHT   /* it can be made again, or done without: synced only if durability is `full` */
} gci_weight;

bool gci_must_sync(gci_store const *store, gci_weight weight);

/* Writes a file under a temporary name. On an error nothing is left. */
gcache_status gci_write_temporary(gci_store *store, gci_weight weight, gci_view const *parts, size_t count,
                                  gci_path *out_path, gcache_error *error);

/* The same, but the file isn't synced yet, and open. */
gcache_status gci_begin_temporary(gci_store *store, gci_view const *parts, size_t count, gci_path *out_path,
                                  gci_file *out_file, gcache_error *error);
/* What may be done before gci_end_temporary is done while the disk works. On an error nothing is left. */
gcache_status gci_start_temporary(gci_store *store, gci_path const *path, gci_file *file, gcache_error *error);
/* Syncs it, if it must be, and closes it. On an error nothing is left. */
gcache_status gci_end_temporary(gci_store *store, gci_weight weight, gci_path const *path, gci_file *file,
                                gcache_error *error);

/* Moves a temporary file to its place below entries/ or attachments/, making the directory if it is missing. On an
   error the temporary file is removed. */
gcache_status gci_move_into_place(gci_store *store, gci_path const *temporary, gci_path const *place, gcache_error *error);

/* The same where what is there stays: *out_existed. */
gcache_status gci_link_into_place(gci_store *store, gci_path const *temporary, gci_path const *place, bool *out_existed,
                                  gcache_error *error);

/* Whether a file is older than any write that may still be under way: what is stray then has no owner. */
#define GCI_OLD_NS UINT64_C(3600000000000)
bool gci_is_old(struct stat const *facts);

/* When a file was last written to, in ns since 1970. */
uint64_t gci_changed_ns(struct stat const *facts);

/* Renames a file into quarantine/, says so in the log, and counts it. */
gcache_status gci_quarantine_file(gci_store *store, char const *path, char const *why, gcache_error *error);

/* Writes bytes that were found damaged into quarantine/. */
gcache_status gci_quarantine_bytes(gci_store *store, char const *origin, gci_view bytes, char const *why,
                                   gcache_error *error);

#endif
