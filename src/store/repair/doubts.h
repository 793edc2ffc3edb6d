/*
 * Entries of which the rows of index.db and the files say different things: what comes or goes while both are looked at is in
 * doubt once, what is wrong each time. For verify.
 */
#ifndef GCI_STORE_REPAIR_DOUBTS_H
#define GCI_STORE_REPAIR_DOUBTS_H

#include "store/repair/rows.h"

typedef struct gci_doubt {
    gcache_key key;
    uint8_t id[16];
    bool lost; /* a row without an entry; else an entry without a row */
} gci_doubt;

/* All zero at first, sorted once they are found; free the items. */
typedef struct gci_doubts {
    gci_doubt *items;
    size_t count, capacity;
    bool failed;
} gci_doubts;

/* Finds those of a shard, of which the list was read before the rows were brought up to date. whole: a missing row counts. */
gcache_status gci_doubts_find(gci_store *store, gci_index *index, bool whole, unsigned shard, gci_row_list const *list,
                              gci_doubts *out, gcache_error *error);

bool gci_doubts_have(gci_doubts const *all, gci_doubt const *wanted);

#endif
