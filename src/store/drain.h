/*
 * From the segment into index.db.
 *
 * Invariants:
 *  1. How far the segment was drained is written in the same transaction as what was drained: an event counts once.
 *  2. Draining what was drained before (the file was emptied, and a crash came in between) changes nothing but hit
 *     counts and the list of past lookups.
 */
#ifndef GCI_STORE_DRAIN_H
#define GCI_STORE_DRAIN_H

#include "store/insertion.h"
#include "store/inside.h"

/* What index.db knows of an entry. */
typedef struct gci_entry_row {
    gcache_key key;
    uint8_t id[16];
    uint64_t created_ns;
    uint64_t entry_cost; /* of its own file */
    uint64_t size;       /* of its frame, payload included */
    uint64_t key_cost;   /* of the candidate index and the description */
    gci_view space, kind;
    uint64_t const *components; /* numbers of the key's, if they may be new */
    size_t component_count;
} gci_entry_row;

/*
 * Appends the event of an entry that is about to appear in a candidate index. Before it does: an entry without a row
 * would never be evicted, a row without an entry is dropped when eviction comes to it.
 */
void gci_note_entry(gci_store *store, gci_entry_row const *row);
/* The same for an insert. key_cost is what the key's own files will take. */
void gci_note_insert(gci_store *store, gci_insertion const *insertion, uint64_t key_cost);
/* Appends the event of an entry that was taken out, or wasn't put in; key_cost 0: the key is gone. */
void gci_note_removal(gci_store *store, gcache_key const *key, char const *id, uint64_t key_cost);

/* Drains everything there is. ERROR_BUSY: somebody else does, for longer than wait_ns. */
gcache_status gci_drain(gci_store *store, uint64_t wait_ns, gcache_error *error);

/* Whether index.db can be read and has everything. */
bool gci_is_drained(gci_store *store);

/* Drains if enough has gathered and nobody else is at it. */
void gci_drain_if_due(gci_store *store);

/* Before the store closes: drains if it is worth opening a database for. */
void gci_drain_at_close(gci_store *store);

/* Puts the rows of one entry and its key. Between begin and end of a write. */
void gci_put_entry_row(gci_index *index, gci_entry_row const *row);
void gci_drop_entry_row(gci_index *index, gcache_key const *key, char const *id, uint64_t key_cost);

/* The id of a key's row, or -1. */
int64_t gci_key_row(gci_index *index, gcache_key const *key);

#endif
