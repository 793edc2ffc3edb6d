/*
 * A tier in a directory that several hosts mount (docs/formats/remote.md, "In a directory").
 *
 * Nothing is locked or mapped, and no host's clock is compared with another's: a file is there whole or not at all, since it is
 * synced under a name of its own and then renamed, or linked where the first must win. There are no leases. The time to live is
 * counted from a file's modification time, which storing and touching renew; whoever keeps the directory small removes what has
 * not been touched for so long, readers remove nothing.
 *
 * Deadlines are looked at between files. A server that hangs (NFS, mounted "hard") keeps a call in the kernel, where nothing ends
 * it: mount "soft" or "softerr" with a short timeo where that matters, and it is an error that this tier reports as trouble.
 */
#ifndef GCI_TIER_DIRECTORY_DIRECTORY_TIER_H
#define GCI_TIER_DIRECTORY_DIRECTORY_TIER_H

#include <guardcache/cache.h>
#include <guardcache/tier.h>

typedef struct gci_directory_tier_options {
    char const *path;   /* absolute */
    char const *prefix; /* one path component or several; "guardcache" */
    bool read_only;     /* nothing is made, not even the directory; touch and share are NULL then */
    gcache_trust trust; /* whose files are read; a file or folder of others' is trouble, or as if it weren't there */
} gci_directory_tier_options;

/*
 * Texts are copied. A directory that isn't there yet, or can't be made now, is no error: calls say so as trouble, for a volume may
 * be mounted later. Its last folder is made, those above it aren't. What is made has the rights that the directory gives to group
 * and others. GCACHE_OK, ERROR_MEMORY, ERROR_ARGUMENT.
 */
gcache_status gci_directory_tier_open(gci_directory_tier_options const *options, gcache_tier_functions const **out_functions,
                                      void **out_tier, gcache_error *error);

#endif
