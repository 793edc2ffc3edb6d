/*
 * Making, recognising and mending a cache directory, while it is in use too.
 */
#ifndef GCI_STORE_DIRECTORY_LAYOUT_H
#define GCI_STORE_DIRECTORY_LAYOUT_H

#include "store/directory/paths.h"

/*
 * Opens the cache directory, making it if `make`. See gci_store_open for the errors. A format file that is lost or damaged
 * is made anew where that can be done, and taken for ours where it can't: *out_mended. owners (borrowed as long as the
 * directory is open) goes to everything below.
 */
gcache_status gci_layout_open(char const *path, bool make, gci_owners *owners, gci_dir *out_dir, bool *out_mended,
                              gcache_error *error);

/* Whether a directory is one whose content may be trusted: owners->trust says whose that is, and the rest is filled in. */
gcache_status gci_layout_trusted(gci_dir dir, gci_owners *owners, gcache_error *error);

/* ---- while it is in use: somebody may clear the directory out, and copies lack what was empty ---- */

bool gci_layout_has_tag(gci_dir dir);

/* Makes the folders that are missing, and CACHEDIR.TAG. */
gcache_status gci_layout_complete(gci_dir dir, gcache_error *error);

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
