/*
 * The rows of index.db against the files of one shard: for verify, which reports, and repair and gc, which put right.
 */
#ifndef GCI_STORE_REPAIR_ROWS_H
#define GCI_STORE_REPAIR_ROWS_H

#include "base/arena.h"
#include "store/directory/shard.h"
#include "store/index/drain.h"

/* Entries as they were read from candidate indexes, or rows. */
typedef struct gci_row_list {
    gci_entry_row *items;
    size_t count, capacity;
    gci_arena arena; /* texts and sketches */
    bool failed;
} gci_row_list;

void gci_row_list_init(gci_row_list *list);
void gci_row_list_clear(gci_row_list *list);

/* Adds a key's live candidates, and its sketch if `described`. */
void gci_row_list_add(gci_store *store, gci_row_list *list, gci_candidates *set, bool described);

/* The same for all keys of a shard; candidate indexes that can't be read are left out. */
gcache_status gci_row_list_read(gci_store *store, unsigned shard, bool described, gci_row_list *list, gcache_error *error);

/* Whether an entry has its row, or nobody can tell any more. Between begin and end. */
bool gci_row_is_there(gci_index *index, gci_entry_row const *row);

/* Adds to an empty list the rows of a shard whose entries `there`, which is by key, doesn't have: what tells an entry, and its
   times. Between begin and end. */
gcache_status gci_rows_lone(gci_index *index, unsigned shard, gci_row_list const *there, gci_row_list *out_rows,
                            gcache_error *error);

/* Whether the entry is gone though it was whole once and nobody evicted it. Looks at the files anew: the row may be older or
   younger than what was read of them. */
bool gci_row_is_lost(gci_store *store, gci_entry_row const *row);

/* Called for an entry that is lost, between begin and end. */
typedef void (*gci_lost_row_fn)(void *state, gci_entry_row const *row);

/*
 * Makes the rows of a shard what its candidate indexes say; recency and hits of rows that stay are kept. The files are
 * read under the index lock: an insert that comes later has its event drained later. One that is under way may have had it
 * drained already: a young row that says no more than that stays, until eviction comes to it.
 */
gcache_status gci_rows_rebuild(gci_store *store, unsigned shard, gci_lost_row_fn lost, void *state, gcache_error *error);

/* Puts the rows of all entries into an index.db that is being made. What can't be read is left out. */
void gci_rows_fill(gci_store *store);

#endif
