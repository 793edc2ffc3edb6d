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
 * reserved. By the holder of the evict lock. Inserts may go on meanwhile: then bytes that they add may be counted twice, until
 * the next count, and the figures of keys and entries stay as they are, if they are known.
 */
gcache_status gci_recount(gci_store *store, gci_recounted *out_counted, gcache_error *error);

/* Does that if a figure is damaged, or nobody has counted yet, and nobody else is at it. */
void gci_recount_if_unknown(gci_store *store);

/* Before something is stored without a cap: under one nothing fits before the files were counted. What is stored beside the first
   count would go uncounted, or be counted twice. */
void gci_recount_before_storing(gci_store *store);

/* Removes temporary files whose writers are dead. dry: only counts them. */
uint64_t gci_strays_remove(gci_store *store, bool dry);

#endif
