#include "tier/directory/directory_tier.h"
gcache_status gci_directory_tier_open(gci_directory_tier_options const *o, gcache_tier_functions const **f, void **t, gcache_error *e){(void)o;(void)f;(void)t;(void)e;return GCACHE_ERROR_ARGUMENT;}
