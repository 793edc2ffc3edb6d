/*
 * index.db as it would be if the segment were drained into it, in a temporary database: for those who may not write, and who
 * compare rows with files while others write.
 */
#ifndef GCI_STORE_INDEX_SNAPSHOT_H
#define GCI_STORE_INDEX_SNAPSHOT_H

#include "store/state/state.h"

typedef struct gci_snapshot {
    gci_store *store;
    gci_index index;  /* temporary */
    uint64_t nonce;   /* of the segment, and how far it is taken in */
    uint64_t taken;
    uint64_t emptied; /* the nonce of a segment that was seen emptied before index.db was last taken in */
    bool loaded;      /* index.db is taken in */
    bool whole;       /* there is one: without it only what the segment has is known */
    pthread_mutex_t mutex;
} gci_snapshot;

void gci_snapshot_init(gci_snapshot *snapshot, gci_store *store);
void gci_snapshot_close(gci_snapshot *snapshot);

/* Takes in what has happened until now. An index.db that isn't there is an empty one; ERROR_CORRUPT, ERROR_IO, ... */
gcache_status gci_snapshot_refresh(gci_snapshot *snapshot, gcache_error *error);

#endif
