/*
 * Walking over all that lies below a folder of the cache.
 */
#ifndef GCI_STORE_DIRECTORY_TREE_H
#define GCI_STORE_DIRECTORY_TREE_H

#include "base/system/file.h"

#include <sys/stat.h>

typedef enum gci_tree_step {
    GCI_TREE_ON,   /* into it, if it is a folder */
    GCI_TREE_PAST,
    GCI_TREE_END
} gci_tree_step;

/*
 * Calls fn for each name, a folder before what lies in it. fn may move or remove what it is called for. What is gone meanwhile is
 * passed over, and so is a folder that isn't one any more. One that can't be listed doesn't end the walk: the first such failure
 * is returned.
 */
typedef gci_tree_step (*gci_tree_fn)(void *state, char const *path, struct stat const *facts);
gcache_status gci_tree_each(gci_dir dir, char const *folder, gci_tree_fn fn, void *state, gcache_error *error);

#endif
