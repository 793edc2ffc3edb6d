/*
 * From the segment into index.db.
 *
 * Invariants:
 *  1. How far the segment was drained is written in the same transaction as what was drained: an event counts once.
 *  2. Draining what was drained before (the file was emptied, and a crash came in between) changes nothing but hit
 *     counts.
 */
#ifndef GCI_STORE_INDEX_DRAIN_H
#define GCI_STORE_INDEX_DRAIN_H

#include "store/state/state.h"

/*
 * What index.db knows of an entry. An insert's event is written before its frame, so a row alone doesn't say that the entry
 * was ever whole: as long as nobody has seen it, used_ns equals created_ns. Whoever stored it says so with the next hits that
 * are written out (gci_note_stored), so that what was lost afterwards can be distinguished from what was never finished.
 */
typedef struct gci_entry_row {
    int64_t key_id;      /* of a row that was read */
    bool is_entry;       /* of a row that was read; false: a key without any */
    gcache_key key;
    uint8_t id[16];
    uint64_t created_ns;
    uint64_t used_ns;    /* when it was last handed out, or stored; 0: as created_ns */
    uint64_t entry_cost; /* of its own file */
    uint64_t size;       /* of its frame, payload included */
    uint32_t hits;       /* of a use */
    uint64_t key_cost;   /* of the candidate index and the description */
    gci_view namespace_, kind;
    uint64_t const *components; /* none */
    size_t component_count;
    gci_view sketch;     /* of the key, if it may be new */
    bool is_keyed;       /* somebody else computed the key: such are compared among themselves */
} gci_entry_row;

/*
 * Appends the event of an entry that is about to appear in a candidate index. Before it does: an entry without a row
 * would never be evicted, a row without an entry is dropped when eviction comes to it. What fails is logged as well.
 */
gcache_status gci_note_entry(gci_store *store, gci_entry_row const *row);
/* Appends the event of an entry that was taken out, or wasn't put in; key_cost 0: the key is gone. */
void gci_note_removal(gci_store *store, gcache_key const *key, char const *id, uint64_t key_cost);

/* Appends the event of a key that was mended: ids (of 16 bytes each) is all that it has now. */
void gci_note_kept(gci_store *store, gcache_key const *key, gci_view ids, uint64_t key_cost);

/* An item of a COUNTED event. */
typedef struct gci_counted {
    uint8_t which; /* gci_store_counter */
    uint64_t number;
} gci_counted;

/* Does to the rows what an event says. Between begin and end of a write. */
void gci_apply_event(gci_index *index, gci_event const *event);

/* Drains everything there is. ERROR_BUSY: somebody else does, for longer than wait_ns. */
gcache_status gci_drain(gci_store *store, uint64_t wait_ns, gcache_error *error);

/* The same, and the segment is emptied however small it is. */
gcache_status gci_drain_and_empty(gci_store *store, uint64_t wait_ns, gcache_error *error);

/* Drains if enough has gathered and nobody else is at it. */
void gci_drain_if_due(gci_store *store);

/* Before the store closes: drains if it is worth opening a database for. true: it did. */
bool gci_drain_at_close(gci_store *store);

/* A row of GCI_SELECT_ROW; its texts live until the next one is read. false: it makes no sense. */
bool gci_read_entry_row(sqlite3_stmt *row, gci_entry_row *out_row);

/* Puts the rows of one entry and its key. Between begin and end of a write. */
void gci_put_entry_row(gci_index *index, gci_entry_row const *row);

/* Puts the sketch of a key unless it has one. Between begin and end of a write. */
void gci_put_sketch(gci_index *index, int64_t key_id, int64_t kind, uint64_t created_ns, gci_view sketch);
/* What index.db knows keys by that can be compared: their kind, and who computed them. Never 0. */
int64_t gci_sketch_kind(gci_view kind, bool is_keyed);

/* Drops the row of a key that has no entries, and its sketch. Between begin and end of a write. */
void gci_drop_unused_key_row(gci_index *index, int64_t key_id);

extern gci_fields const gci_inserted_fields, gci_sketched_fields, gci_touched_fields, gci_removed_fields, gci_kept_fields,
    gci_counted_fields;

#endif
