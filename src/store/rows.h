/*
 * The rows of index.db against the files of one shard: for verify, which reports, and repair and gc, which put right.
 */
#ifndef GCI_STORE_ROWS_H
#define GCI_STORE_ROWS_H

#include "base/arena.h"
#include "store/drain.h"
#include "store/shard.h"

/* Entries as they were read from candidate indexes. */
typedef struct gci_row_list {
    gci_entry_row *items;
    size_t count, capacity;
    gci_arena arena; /* texts and components */
    bool failed;
} gci_row_list;

void gci_row_list_init(gci_row_list *list);
void gci_row_list_clear(gci_row_list *list);

/* Adds a key's live candidates, and its components if `described`. */
void gci_row_list_add(gci_store *store, gci_row_list *list, gci_candidates *set, bool described);

/* An entry of the list that has no row. Called between begin and end: fn may not use the index. */
typedef void (*gci_missing_row_fn)(void *state, gci_entry_row const *row);

/* Calls fn for every entry of the list without a row. ERROR_NOT_FOUND: there is no index.db. */
gcache_status gci_rows_missing(gci_store *store, gci_row_list const *list, gci_missing_row_fn fn, void *state,
                               gcache_error *error);

/*
 * Makes the rows of a shard what its candidate indexes say; recency and hits of rows that stay are kept. The files are
 * read under the index lock: an insert that comes later has its event drained later.
 */
gcache_status gci_rows_rebuild(gci_store *store, unsigned shard, gcache_error *error);

#endif
