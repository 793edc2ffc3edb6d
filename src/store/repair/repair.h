/*
 * The face of this room: verify and repair.
 */
#ifndef GCI_STORE_REPAIR_REPAIR_H
#define GCI_STORE_REPAIR_REPAIR_H

#include "base/error.h"
#include "store/state/options.h"

typedef struct gci_maintenance_options {
    gcache_problem_fn problem; /* one call a finding; calls don't overlap; may be NULL */
    void (*progress)(void *state, uint64_t done, uint64_t total); /* keys, or shards; may be NULL */
    void *state;
    int threads;               /* verify only; 0: one */
} gci_maintenance_options;

/* Reads everything and checks files, indexes and rows against each other. Changes nothing. OK also if there are problems. */
gcache_status gci_store_verify(gci_store *store, gci_maintenance_options const *options, gcache_verified *out_verified,
                               gcache_error *error);

typedef struct gci_repaired {
    uint64_t keys, entries;
    uint64_t quarantined; /* files and records put aside */
    uint64_t recovered;   /* entries that no index knew */
    uint64_t lost;        /* entries that an index knew and no file holds */
} gci_repaired;

/* Rebuilds candidate indexes and index.db from entry records alone; puts damaged things aside, deletes nothing. */
gcache_status gci_store_repair(gci_store *store, gci_maintenance_options const *options, gci_repaired *out_repaired,
                               gcache_error *error);

#endif
