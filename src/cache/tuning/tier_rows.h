/*
 * Rows of tuning results in tiers: what one host has tuned, others needn't. A value in a tier (docs/formats/remote.md) holds the
 * rows of one record or of one bundle, and is replaced when they are tuned again.
 *
 * They go there only if the caller said which back end they are for: a record that is right for one compiler and wrong for
 * another must not meet it on another host. And they carry no signature, so where signatures are required they stay here.
 */
#ifndef GCI_CACHE_TUNING_TIER_ROWS_H
#define GCI_CACHE_TUNING_TIER_ROWS_H

#include "base/arena.h"
#include "cache/handle/cache.h"
#include "store/index/tables.h"

/* What rows are called by in tiers: their own table and name, and what besides must be equal. */
typedef struct gci_tier_rows {
    char const *table;
    gci_view name;
    char const *backend; /* NULL or "": the tiers are left out, which the log says once a handle */
    char const *configs_hash; /* of a best configuration; else NULL */
} gci_tier_rows;

/* Queues rows for every tier that is written to. */
void gci_tier_rows_put(gcache *cache, gci_tier_rows const *which, gci_row const *rows, size_t count);

extern gci_fields const gci_tier_rows_fields;

/* Asks the tiers, in their order. true: *out_rows, in the arena, are those of the first that has any. */
bool gci_tier_rows_get(gcache *cache, gci_tier_rows const *which, gci_arena *arena, gci_row **out_rows, size_t *out_count);

#endif
