#ifndef GCI_TIER_DIRECTORY_H
#define GCI_TIER_DIRECTORY_H
#include <guardcache/cache.h>
#include <guardcache/tier.h>
typedef struct gci_directory_tier_options {
    char const *path;
    char const *prefix;
    bool read_only;
    gcache_trust trust;
} gci_directory_tier_options;
gcache_status gci_directory_tier_open(gci_directory_tier_options const *options, gcache_tier_functions const **out_functions,
                                      void **out_tier, gcache_error *error);
#endif
