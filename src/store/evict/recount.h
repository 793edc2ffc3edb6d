/*
 * Counting what is there: the files themselves, not what anybody has written about them. Nothing is evicted for its size but
 * after a count.
 */
#ifndef GCI_STORE_EVICT_RECOUNT_H
#define GCI_STORE_EVICT_RECOUNT_H

#include "store/state/state.h"

typedef struct gci_recounted {
    uint64_t bytes;       /* all of it, attachments included */
    uint64_t attachments; /* of them */
    uint64_t keys;
    uint64_t names;       /* files and folders of entries */
} gci_recounted;

/* Only looks. ERROR_MEMORY; a folder that can't be read counts as empty, and the log says so. */
gcache_status gci_count_files(gci_store *store, gci_recounted *out_counted, gcache_error *error);

/*
 * Sweeps what dead writers left, counts the files, sets the shared figures to what was found, and forgets what the dead had
 * reserved. By the holder of the evict lock. Inserts may go on meanwhile: then what they add may be counted twice, until the
 * next count.
 */
gcache_status gci_recount(gci_store *store, gci_recounted *out_counted, gcache_error *error);

/* Does that if a figure is damaged, or nobody has counted yet, and nobody else is at it. */
void gci_recount_if_unknown(gci_store *store);

/* Removes temporary files whose writers are dead. dry: only counts them. */
uint64_t gci_strays_remove(gci_store *store, bool dry);

#endif
