/*
 * Entries of which the rows of index.db and the files say different things. What comes or goes while both are looked at
 * mismatches once, what is wrong each time. For verify.
 */
#ifndef GCI_STORE_REPAIR_MISMATCHES_H
#define GCI_STORE_REPAIR_MISMATCHES_H

#include "store/repair/rows.h"

typedef struct gci_mismatch {
    gcache_key key;
    uint8_t id[16];
    bool lost; /* a row without an entry; else an entry without a row */
} gci_mismatch;

/* All zero at first, sorted once they are found; free the items. */
typedef struct gci_mismatches {
    gci_mismatch *items;
    size_t count, capacity;
    bool failed;
} gci_mismatches;

/* Finds those of a shard, of which the list was read before the rows were brought up to date. whole: a missing row counts. */
gcache_status gci_mismatches_find(gci_store *store, gci_index *index, bool whole, unsigned shard, gci_row_list const *list,
                              gci_mismatches *out, gcache_error *error);

bool gci_mismatches_have(gci_mismatches const *all, gci_mismatch const *wanted);

#endif
