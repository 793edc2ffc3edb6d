/*
 * index.db: what needs queries. Sizes, recency and namespaces of entries, sketches of keys. Nothing in it is needed to find an
 * entry, and all of it but the times of last use can be rebuilt from the entries. Tables: docs/formats/index-db.md.
 *
 * Invariants (the cure for SQLite's WAL-reset defect, 3.7.0 .. 3.51.2, which loses a committed transaction when a
 * checkpoint races the commit that resets the WAL):
 *  1. Every connection has wal_autocheckpoint=0 and SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE: SQLite never checkpoints by
 *     itself.
 *  2. Every write transaction and every checkpoint, making and migrating the database included, is done under the
 *     exclusive flock on locks/index: no checkpoint runs beside a commit.
 *  3. A checkpoint is TRUNCATE, which takes the writer's lock of its own; under 2 it can't be busy and so can't degrade to a
 *     passive one. It is done after a commit that left more than CHECKPOINT_FRAMES frames in the WAL, and where room is short.
 *     RESTART wouldn't do: it leaves the frames for a later commit of the same connection to write over, and a connection that
 *     comes when all others have gone recovers every one of them, and appends.
 * And:
 *  4. The database is opened when it is first needed, never on the way to a hit, and never by other means than SQLite.
 *  5. No connection goes over a fork: it is closed before, and parent and child open their own (fork_gate.h).
 *  6. On a network file system, where WAL doesn't work, the journal mode is DELETE.
 *  7. A database that turns out damaged is put aside. One that is made is filled from the entries before anybody sees it,
 *     in the transaction that makes its tables. So rows are complete, whatever happened to the file.
 *
 * What shows damage: at opening another kind of file, or other tables than ours; in use what SQLite says, and a negative
 * number, since all we ever read are amounts, times and ids. The format of the directory stands for that of the tables: a
 * version that isn't ours is damage too, but for those before: the first had the journal as a table of its own, and both had
 * the numbers of components instead of sketches. Those tables are dropped, and sketches are made as they are needed.
 *
 * Locking: one connection a store, under `turns`; begin and end bracket every use.
 */
#ifndef GCI_STORE_DATABASE_INDEX_H
#define GCI_STORE_DATABASE_INDEX_H

#include "base/system/file.h"
#include "base/system/turns.h"
#include "store/database/sql.h"
#include "store/processes/fork_gate.h"

#define GCI_SELECT_ROW "SELECT k.id, k.key, k.kind, k.bytes, e.id, e.space, e.bytes, e.size, e.created, e.used "

#define GCI_SELECT_VICTIM                                                                             \
    "SELECT k.key, e.id, e.size, e.hits, e.used FROM entries e JOIN keys k ON k.id = e.key_id "

/* name, SQL. Prepared when first used. */
#define GCI_STATEMENT_MAP(X)                                                                          \
    X(META_GET, "SELECT value FROM meta WHERE name = ?1")                                             \
    X(META_SET, "INSERT INTO meta(name, value) VALUES(?1, ?2) "                                       \
                "ON CONFLICT(name) DO UPDATE SET value = excluded.value")                             \
    X(KEY_PUT, "INSERT INTO keys(key, kind, bytes) VALUES(?1, ?2, ?3) "                               \
               "ON CONFLICT(key) DO UPDATE SET bytes = excluded.bytes")                               \
    X(KEY_ID, "SELECT id FROM keys WHERE key = ?1")                                                   \
    X(KEY_BYTES, "UPDATE keys SET bytes = ?2 WHERE id = ?1")                                          \
    X(KEY_ENTRIES_DROP, "DELETE FROM entries WHERE key_id = ?1")                                      \
    X(SKETCH_PUT, "INSERT OR IGNORE INTO sketches(key_id, kind, created, sketch) VALUES(?1, ?2, ?3, ?4)") \
    X(SKETCHES, "SELECT key_id, created, sketch FROM sketches WHERE kind = ?1")                       \
    X(KEYS_UNSKETCHED, "SELECT id, key, kind FROM keys WHERE id NOT IN (SELECT key_id FROM sketches) LIMIT ?1") \
    X(KEYS_BARE, "SELECT count(*) FROM keys WHERE kind = ?1 AND id NOT IN "                           \
                 "(SELECT key_id FROM sketches WHERE length(sketch) > 0)")                            \
    X(KEYS_COUNT, "SELECT count(*) FROM keys")                                                        \
    X(KEY_OF_ID, "SELECT key FROM keys WHERE id = ?1")                                                \
    X(ENTRY_PUT, "INSERT INTO entries(key_id, id, space, bytes, size, created, used, hits) "          \
                 "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, 0) "                                             \
                 "ON CONFLICT(key_id, id) DO UPDATE SET bytes = excluded.bytes, size = excluded.size, " \
                 "used = max(used, excluded.used)")                                                   \
    X(ENTRY_TOUCH, "UPDATE entries SET used = max(used, ?3), hits = hits + ?4 "                       \
                   "WHERE key_id = (SELECT id FROM keys WHERE key = ?1) AND id = ?2")                 \
    X(ENTRY_DROP, "DELETE FROM entries WHERE key_id = ?1 AND id = ?2")                                \
    X(ENTRIES_CLEAR, "DELETE FROM entries")                                                           \
    X(ENTRY_OLDEST, GCI_SELECT_VICTIM "ORDER BY e.used LIMIT ?1 OFFSET ?2")                           \
    X(ENTRY_FUTURE, "UPDATE entries SET used = ?1 WHERE used > ?1")                                   \
    X(ENTRY_UNUSED, GCI_SELECT_VICTIM "WHERE e.used < ?2 ORDER BY e.used LIMIT ?1")                   \
    X(ENTRY_OF_SPACE, GCI_SELECT_VICTIM "WHERE e.space = ?2 LIMIT ?1")                                \
    X(SIZES,  "SELECT (SELECT coalesce(sum(bytes), 0) FROM keys) + "                                  \
              "(SELECT coalesce(sum(bytes), 0) FROM entries), "                                       \
              "(SELECT count(*) FROM entries), (SELECT count(*) FROM keys), "                         \
              "(SELECT coalesce(min(bytes), 0) FROM keys), (SELECT coalesce(min(bytes), 0) FROM entries)") \
    X(KEY_SKETCH_DROP_UNUSED, "DELETE FROM sketches WHERE key_id = ?1 AND NOT EXISTS "                \
                              "(SELECT 1 FROM entries WHERE key_id = ?1)")                            \
    X(KEY_DROP_UNUSED, "DELETE FROM keys WHERE id = ?1 AND NOT EXISTS "                               \
                       "(SELECT 1 FROM entries WHERE key_id = ?1)")                                   \
    X(ROWS, GCI_SELECT_ROW "FROM entries e JOIN keys k ON k.id = e.key_id")                           \
    X(ENTRIES_BETWEEN, GCI_SELECT_ROW "FROM keys k LEFT JOIN entries e ON e.key_id = k.id "           \
                       "WHERE k.key >= ?1 AND k.key <= ?2 ORDER BY k.key")                            \
    X(ENTRY_HAS, "SELECT 1 FROM entries "                                                             \
                 "WHERE key_id = (SELECT id FROM keys WHERE key = ?1) AND id = ?2")                   \
    X(ENTRY_OLDEST_OF_KEY, GCI_SELECT_VICTIM "WHERE k.key = ?2 ORDER BY e.used LIMIT ?1")

typedef enum gci_statement {
#define X(name, sql) GCI_SQL_##name,
    GCI_STATEMENT_MAP(X)
#undef X
    GCI_SQL_COUNT
} gci_statement;

/* What the index needs of the store above it; each may be NULL. */
typedef struct gci_index_owner {
    void (*fill)(void *state); /* puts the rows of all entries; a transaction is open */
    void (*report)(void *state, char const *what);
    void *state;
} gci_index_owner;

typedef struct gci_index {
    gci_dir dir;
    bool read_only;
    bool network;        /* of the directory: said at first, or found when it is connected */
    gci_index_owner owner;
    bool used;           /* it was connected once */
    bool temporary;      /* nobody else sees it, and it goes with the connection */
    gci_turns turns;
    sqlite3 *database;
    gci_fork_guest guest; /* while `database` is open */
    gci_file lock;
    sqlite3_stmt *statements[GCI_SQL_COUNT];
    bool truncate;       /* the WAL, at the end of this transaction */
    int wal_frames;      /* as the WAL hook last saw it */
    int trouble;         /* the first failure since begin, as SQLite calls it */
    uint64_t inode;      /* of the file that is open */
    bool is_former;      /* of a version before ours, which we may not change: it has no sketches */
    bool condemned;      /* that file turned out damaged */
} gci_index;

void gci_index_init(gci_index *index, gci_dir dir, bool read_only, bool network, gci_index_owner owner);
/* One with the same tables that nobody else sees. */
void gci_index_init_temporary(gci_index *index);
void gci_index_close(gci_index *index);
void gci_index_after_fork(gci_index *index);

typedef enum gci_access {
    GCI_READ,  /* sees what is committed; no lock */
    GCI_WRITE  /* one transaction, under the index lock */
} gci_access;

/*
 * Opens the database if need be, makes it anew if it is damaged, and begins. ERROR_BUSY: not within wait_ns; ERROR_IO,
 * ERROR_NO_SPACE, ERROR_READ_ONLY, ERROR_NOT_FOUND (in a read-only store: there is none, or a damaged one).
 */
gcache_status gci_index_begin(gci_index *index, gci_access access, uint64_t wait_ns, gcache_error *error);

/* Of GCI_READ: there is nothing to be read now (none, a damaged one, or a full disk that keeps SQLite from reading beside
   writers), which stops nobody who only wants to know more. */
bool gci_index_is_out_of_reach(gcache_status status);

/* Commits, or rolls back if status isn't OK; returns the first trouble. Checkpoints if the WAL has grown. ERROR_CORRUPT:
   damaged; the next begin makes it anew. */
gcache_status gci_index_end(gci_index *index, gci_access access, gcache_status status, gcache_error *error);

/*
 * Between begin and end. A statement is bound (parameters from 1), stepped until false, and reset by the next use.
 * Trouble is kept and comes out of gci_index_end; what follows it does nothing.
 */
sqlite3_stmt *gci_index_use(gci_index *index, gci_statement statement);

sqlite3_stmt *gci_index_bind(gci_index *index, gci_statement statement, gci_sql const *values, size_t count);

/* A statement with all its parameters, in their order: to be stepped, or run to its end. */
#define GCI_QUERY(index, statement, ...)                                                              \
    gci_index_bind(index, statement, (gci_sql[]){ __VA_ARGS__ }, sizeof((gci_sql[]){ __VA_ARGS__ }) / sizeof(gci_sql))
#define GCI_EXECUTE(index, statement, ...) gci_index_run(index, GCI_QUERY(index, statement, __VA_ARGS__))

bool gci_index_step(gci_index *index, sqlite3_stmt *statement); /* true: a row */
bool gci_index_run(gci_index *index, sqlite3_stmt *statement);  /* false: trouble */
/* Numbers that are kept under a name; 0 if it isn't set. */
#define GCI_META_SEGMENT "segment" /* the nonce of the segment that was drained */
#define GCI_META_DRAINED "drained" /* how far */
#define GCI_META_UNSKETCHED "unsketched" /* 1: keys of a former version may lack their sketches */
uint64_t gci_meta_get(gci_index *index, char const *name);
void gci_meta_set(gci_index *index, char const *name, uint64_t value);

int64_t gci_column_number(sqlite3_stmt *statement, int at);

/* Brings the WAL into the database and gives back what it took. Where that can't be done it stays. */
void gci_index_truncate_wal(gci_index *index, uint64_t wait_ns);

/* Removes the database; whoever needs it next makes it anew from the entries. */
void gci_index_discard(gci_index *index, uint64_t wait_ns);

/* Looks at everything, between begin and end: what is wrong, in lines; "" if nothing is. For verify. */
void gci_index_check(gci_index *index, gci_buf *out_findings);

/* The same for repair: if anything is wrong, the next begin makes the database anew. */
gcache_status gci_index_mend(gci_index *index, uint64_t wait_ns, bool *out_damaged, gcache_error *error);

/* The library's version, and whether it has the WAL-reset defect. */
char const *gci_index_library(bool *out_has_defect);

#endif
