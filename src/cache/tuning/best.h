/*
 * Best configurations, as the files of this folder pass them around: a row's name and value.
 */
#ifndef GCI_CACHE_TUNING_BEST_H
#define GCI_CACHE_TUNING_BEST_H

#include "cache/tuning/bundle.h"
#include "cache/tuning/tuning_rows.h"

/* A kernel's texts, a record of some dozen parameters. */
#define GCI_RECORD_BYTES_MAX ((size_t)4 << 20)

/* Checks what a caller gave. */
gcache_status gci_check_kernel(gcache const *cache, gcache_kernel const *kernel, gcache_error *error);

#endif
