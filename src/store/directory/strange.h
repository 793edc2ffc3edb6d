/*
 * What stands where a cache has something else: a pipe, a link or a folder in a file's place, a file in a folder's, and names
 * below entries/ and attachments/ that nobody who writes there gives. For verify, which reports it, and repair, which puts it
 * aside.
 */
#ifndef GCI_STORE_DIRECTORY_STRANGE_H
#define GCI_STORE_DIRECTORY_STRANGE_H

#include "store/directory/paths.h"

/* path lies in the cache directory. */
typedef void (*gci_strange_fn)(void *state, char const *path, char const *what);

/* A folder that can't be listed is an error; one that isn't there has nothing strange in it. fn may move what is reported to it. */
gcache_status gci_strange_each(gci_dir dir, gci_strange_fn fn, void *state, gcache_error *error);

#endif
