/*
 * Tables: small rows that a cache keeps beside its entries (timings of tuning choices, best configurations, bundles of them),
 * in a SQLite database of their own, tables.db. A row belongs to a table and a namespace, has a name and an item within the
 * name, and bytes for a value that only src/cache understands. Also a face of the store, for src/cache alone.
 *
 *      CREATE TABLE rows("table" TEXT, space TEXT, name TEXT, item TEXT, value BLOB, at INTEGER,
 *                        PRIMARY KEY("table", space, name, item)) WITHOUT ROWID
 *
 * Unlike index.db this can't be rebuilt from anything, so it isn't kept in that file, and it needs no WAL: it is written
 * a few times a compile.
 *
 * Invariants:
 *  1. A connection lives for one call, which a fork waits for (fork_gate.h). So nothing is shared by threads or inherited by
 *     forked children, and journal_mode DELETE, SQLite's own locks and busy timeout are all the locking that is needed. Writers
 *     take turns before they begin (locks/tables), so that none waits for ever; who can't have a turn does without.
 *  2. A row that comes from elsewhere (at_ns given) replaces an older one, never a newer one; one made now always does.
 *  3. Rows put together appear together.
 *  4. A damaged database is put aside, with its journal, and an empty one takes its place.
 */
#ifndef GCI_STORE_INDEX_TABLES_H
#define GCI_STORE_INDEX_TABLES_H

#include "base/fields.h"
#include "store/state/options.h"

typedef struct gci_row {
    gci_view table, namespace_, name, item;
    gci_view value;
    uint64_t at_ns; /* when it was made; 0 when it is put: now */
} gci_row;

extern gci_fields const gci_row_fields;

/* Puts rows, all or none. ERROR_READ_ONLY, ERROR_BUSY, ERROR_NO_SPACE, ERROR_IO, ERROR_MEMORY. */
gcache_status gci_tables_put(gci_store *store, gci_row const *rows, size_t count, gcache_error *error);

/* Which rows: those equal in all views whose data isn't NULL. */
typedef struct gci_row_filter {
    gci_view table, namespace_, name, item;
} gci_row_filter;

/* Calls fn for matching rows in order of space, name, item; anything but 0 ends it. Views live during the call. */
typedef int (*gci_row_fn)(void *state, gci_row const *row);
gcache_status gci_tables_each(gci_store *store, gci_row_filter const *filter, gci_row_fn fn, void *state,
                              gcache_error *error);

/* Whether the database can be read, and its rows are where they are looked for. One that isn't there is whole. */
bool gci_tables_are_whole(gci_store *store);

/* Puts it aside unless it is whole; whether it did. For repair. */
bool gci_tables_mend(gci_store *store);

#endif
