/*
 * The face of this room: verify and repair.
 */
#ifndef GCI_STORE_REPAIR_REPAIR_H
#define GCI_STORE_REPAIR_REPAIR_H

#include "base/error.h"
#include "store/state/options.h"

/* Reads everything and checks files, indexes and rows against each other. Changes nothing. OK also if there are problems. */
gcache_status gci_store_verify(gci_store *store, gcache_maintenance_options const *options, gcache_verified *out_verified,
                               gcache_error *error);

/* Rebuilds candidate indexes and index.db from entry records alone; puts damaged things aside, deletes nothing. */
gcache_status gci_store_repair(gci_store *store, gcache_maintenance_options const *options, gcache_repaired *out_repaired,
                               gcache_error *error);

#endif
