/*
 * One call of a tier in a directory: its way into the directory, and what it says of trouble.
 *
 * The directory is opened by its path for every call. So a volume may be mounted after the tier was opened, or again; a handle
 * that its server has forgotten (ESTALE) lasts for a call at most; and a fork has nothing to share.
 */
#ifndef GCI_TIER_DIRECTORY_CALL_H
#define GCI_TIER_DIRECTORY_CALL_H

#include "base/system/file.h"
#include "tier/directory/object_place.h"

#include <stdatomic.h>

#define GCI_HOST_SIZE 48

typedef struct gci_directory_tier {
    char *path;
    char prefix[GCI_DIRECTORY_PREFIX_MAX + 1];
    char host[GCI_HOST_SIZE]; /* in temporary names */
    bool read_only;
    gcache_trust trust;
    _Atomic uint64_t swept_ns; /* when temporary files were looked through last; 0: never */
} gci_directory_tier;

/* It doesn't move: root.owners leads into it. */
typedef struct gci_directory_call {
    gci_directory_tier *tier;
    gcache_tier_call *call;
    gci_dir root;
    gci_owners owners;
    mode_t folder_mode, file_mode; /* of what is made; 0: nobody else has rights, so none are given */
} gci_directory_call;

/* Makes the directory unless it is there; failure shows when it is used. Those above it are somebody else's: a mount point. */
void gci_directory_make_root(gci_directory_tier const *tier);

/* HIT: go on, and end it. TROUBLE: also when it is too late, or the tier is read-only and writes is set. */
gcache_tier_answer gci_directory_begin(gci_directory_tier *tier, gcache_tier_call *call, bool writes, gci_directory_call *out);
void gci_directory_end(gci_directory_call *c);

bool gci_directory_is_late(gcache_tier_call const *call);

/* TROUBLE, with its reason and message. */
gcache_tier_answer gci_directory_timeout(gci_directory_tier const *tier, gcache_tier_call *call);
gcache_tier_answer gci_directory_trouble(gci_directory_tier const *tier, gcache_tier_call *call, gcache_error const *error);

/* Whether what failed so is tried once more, by way of its path: a folder that was empty went when it was needed (ERROR_NOT_FOUND),
   or a server has forgotten a handle (ESTALE is one of what ERROR_IO stands for). *attempt begins with 0. */
bool gci_directory_try_again(gcache_status status, int *attempt);

/* ---- folders ---- */

typedef struct gci_directory_folder {
    gci_dir dir;
    char path[GCI_DIRECTORY_FOLDER_SIZE]; /* seen from the directory */
    char name[512];                       /* in messages; cut where it is too long */
} gci_directory_folder;

/* Opens one; no link is followed on the way, and everything on it is trusted. ERROR_NOT_FOUND, ERROR_CORRUPT, ERROR_UNTRUSTED,
   ERROR_IO. It doesn't move: dir.name leads into it. */
gcache_status gci_directory_open_folder(gci_directory_call *c, char const *path, gci_directory_folder *out, gcache_error *error);
/* The same, and makes what is missing. */
gcache_status gci_directory_make_folder(gci_directory_call *c, char const *path, gci_directory_folder *out, gcache_error *error);
/* Closes it and opens it once more. */
gcache_status gci_directory_reopen_folder(gci_directory_call *c, gci_directory_folder *folder, gcache_error *error);
void gci_directory_close_folder(gci_directory_folder *folder);

#endif
