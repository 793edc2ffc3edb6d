/*
 * Side files: what lies in a cache beside its entries, under names that its users choose.
 *
 *      blobs/<2>/<name>     content-addressed files for compilers that want a path
 *      shared/<sha256>      values that processes of one job share
 *      sub/<name>/          directories of a compiler's own caches; their content is none of ours
 *
 * The second face of the store, for src/cache alone. A path is relative to the cache directory, begins with one of the
 * three folders and has at most GCI_SIDE_PATH_MAX bytes; who makes one sees to it that no part of it is "..".
 *
 * Side files are whole or absent, like entries; they don't count toward the size cap, and nothing points to them: what has not
 * been used for long may be removed (gci_side_expire).
 */
#ifndef GCI_STORE_PUBLISH_SIDE_H
#define GCI_STORE_PUBLISH_SIDE_H

#include "base/system/file.h"
#include "store/state/options.h"

#define GCI_SIDE_PATH_MAX 190

/* Writes a file, unless one is there: *out_existed. Whether that is whole is for the caller to say. */
gcache_status gci_side_write(gci_store *store, char const *path, gci_view bytes, bool *out_existed, gcache_error *error);

/* Reads a file of at most limit bytes. ERROR_NOT_FOUND, ERROR_LIMIT, ERROR_IO, ERROR_MEMORY. */
gcache_status gci_side_read(gci_store *store, char const *path, size_t limit, gci_buf *out, gcache_error *error);

/* Calls fn for every file in a folder and the folders in it, with its path; anything but 0 ends it. */
typedef int (*gci_side_fn)(void *state, char const *path);
gcache_status gci_side_each(gci_store *store, char const *folder, gci_side_fn fn, void *state, gcache_error *error);

/* Marks a file as used, as far as that can be done. */
void gci_side_touch(gci_store *store, char const *path);

/* Puts a damaged file aside. */
void gci_side_quarantine(gci_store *store, char const *path, char const *why);

/* The cache directory itself, open as long as the store is. */
gci_dir gci_side_directory(gci_store const *store);

/* Makes a directory (`make`) or finds it. ERROR_NOT_FOUND, ERROR_READ_ONLY, ... */
gcache_status gci_side_folder(gci_store *store, char const *path, bool make, gcache_error *error);

/* Appends the absolute path of something in the cache, now; "" is the cache directory itself. */
gcache_status gci_side_absolute(gci_store *store, char const *path, gci_buf *out, gcache_error *error);

/* Removes the files of a folder, and of the folders in it, that were last written or used more than age_ns ago. */
gcache_status gci_side_expire(gci_store *store, char const *folder, uint64_t age_ns, uint64_t *out_removed,
                              gcache_error *error);

#endif
