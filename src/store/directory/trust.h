/*
 * Whose files are handed out (gcache_trust).
 *
 * A file is looked at when it is opened, by its descriptor (base/system/file.h). The folders on the way to it are looked at
 * here: once a store for those of entries/, each time for others. The top is looked at when the cache is opened.
 */
#ifndef GCI_STORE_DIRECTORY_TRUST_H
#define GCI_STORE_DIRECTORY_TRUST_H

#include "base/system/file.h"

/* ERROR_UNTRUSTED: a folder on the way to a file below dir isn't trusted. OK if one isn't there. */
gcache_status gci_trust_folders(gci_dir dir, char const *path, gcache_error *error);

/* The same for a file or folder that isn't opened through the seam, and the folders on the way. */
gcache_status gci_trust_path(gci_dir dir, char const *path, gcache_error *error);

/* Calls fn for every file and folder that isn't trusted, with the reason. */
typedef void (*gci_distrust_fn)(void *state, char const *path, char const *why);
void gci_trust_each(gci_dir dir, gci_distrust_fn fn, void *state);

#endif
