/*
 * How timings, best configurations and bundles are written into rows (docs/formats/tables.md):
 *
 *      table       name                                            item            value
 *      timing      [system, op, inputs, hint, precision]           choice          a timing
 *      best        [source hash, tag, toolchain]                   ""              a record
 *      bundle      [source hash, back end, extra]                   as best's name  a record
 *
 * Names are JSON arrays of strings, so that they are read by people and never ambiguous; hence UTF-8.
 */
#ifndef GCI_CACHE_TUNING_TUNING_ROWS_H
#define GCI_CACHE_TUNING_TUNING_ROWS_H

#include "base/fields.h"

#include <guardcache/tuning.h>

#define GCI_TABLE_TIMING "timing"
#define GCI_TABLE_BEST "best"
#define GCI_TABLE_BUNDLE "bundle"

#define GCI_SITE_PARTS 5
#define GCI_KERNEL_PARTS 3

/* JSON can't hold other bytes, so two names that differ only in them would be one row. pairs: what it is called, text or NULL. */
gcache_status gci_check_utf8(gcache_pair const *texts, size_t count, gcache_error *error);
gcache_status gci_check_site(gcache_site const *site, gcache_error *error);

/* Appends ["a", "b"]; NULL counts as "". All are UTF-8. */
void gci_write_name(gci_buf *out, char const *const *parts, size_t count);
/* Reads such a name of exactly count parts into texts that live in the arena. false: it is no such name. */
bool gci_read_name(gci_view name, gci_arena *arena, char const **out_parts, size_t count);

void gci_write_site(gci_buf *out, gcache_site const *site);
bool gci_read_site(gci_view name, gci_arena *arena, gcache_site *out_site);
void gci_write_kernel(gci_buf *out, gcache_kernel const *kernel);
bool gci_read_kernel(gci_view name, gci_arena *arena, gcache_kernel *out_kernel);

void gci_write_timing(gci_buf *out, double timing);
bool gci_read_timing(gci_view value, double *out_timing);

void gci_write_best(gci_buf *out, gcache_best const *best);
/* Everything in *out_best lives in the arena. false: it is no record, or there is no memory. */
bool gci_read_best(gci_view value, gci_arena *arena, gcache_best *out_best);

extern gci_fields const gci_timing_fields, gci_best_fields;

#endif
