/*
 * Files of a tier in a directory: written whole under a temporary name, then given their own.
 */
#ifndef GCI_TIER_DIRECTORY_DIRECTORY_WRITE_H
#define GCI_TIER_DIRECTORY_DIRECTORY_WRITE_H

#include "tier/directory/directory_call.h"

/* What was written under a temporary name. */
typedef struct gci_directory_draft {
    gci_directory_folder folder;
    char name[GCI_HOST_SIZE + 64];
} gci_directory_draft;

/* Stores an object, in the place of the one that is there. */
gcache_status gci_directory_store(gci_directory_call *c, gcache_object const *object, gcache_error *error);

/* Writes bytes and syncs them: another host must not see a name without its bytes. */
gcache_status gci_directory_draft_write(gci_directory_call *c, gci_view bytes, gci_directory_draft *out, gcache_error *error);
/* Gives a draft its own name unless there is a file of that name; then *out_existed is set. The draft stays. */
gcache_status gci_directory_draft_link(gci_directory_call *c, gci_directory_draft const *draft, gci_object_place const *place,
                                       bool *out_existed, gcache_error *error);
/* Takes away what is left of it. */
void gci_directory_draft_drop(gci_directory_draft *draft);

#endif
