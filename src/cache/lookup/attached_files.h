/*
 * The files that belong to a hit: put in place, or read.
 */
#ifndef GCI_CACHE_LOOKUP_ATTACHED_FILES_H
#define GCI_CACHE_LOOKUP_ATTACHED_FILES_H

#include "cache/handle/cache.h"

/* Puts an entry's attachments in place. ERROR_CORRUPT, ERROR_NOT_FOUND: one can't be had, and the entry is put aside; else it
   is the directory's trouble. */
gcache_status gci_place_attachments(gcache *cache, gci_candidate *candidate, char const *directory, gci_found *out_found,
                                    gcache_error *error);

#endif
