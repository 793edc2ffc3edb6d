/*
 * Blobs for the other files of this folder.
 */
#ifndef GCI_CACHE_TRANSFER_BLOBS_H
#define GCI_CACHE_TRANSFER_BLOBS_H

#include "base/view.h"

#include <guardcache/cache.h>

/* name = (letter | digit | "_" | "-") { letter | digit | "_" | "-" | "." }, shorter than size: no path leads out of the cache. */
bool gci_side_name_valid(char const *name, size_t size);

/* Puts a blob that comes from elsewhere at a place below the cache directory ("blobs/ab/abc.c"). One that is there stays,
   unless it is damaged. */
gcache_status gci_blob_keep(gcache *cache, char const *place, gci_view bytes, bool *out_existed, gcache_error *error);

#endif
