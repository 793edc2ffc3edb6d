/* tables.db: a connection for each call, statements, and putting a damaged database aside. */
#include "store/index/tables.h"

#include "base/system/clock.h"
#include "base/system/dir_path.h"
#include "store/database/sql.h"
#include "store/directory/layout.h"
#include "store/directory/trust.h"
#include "store/processes/fork_gate.h"
#include "store/state/files.h"
#include "store/state/state.h"

#include <sqlite3.h>
#include <string.h>

#define FILE_NAME "tables.db"
#define JOURNAL_NAME FILE_NAME "-journal"
/* What SQLite opens beside the database if it is there. The latter two are another kind of journal's, which this one hasn't. */
static char const *const beside[] = { JOURNAL_NAME, FILE_NAME "-wal", FILE_NAME "-shm" };
#define BESIDE_COUNT (sizeof beside / sizeof *beside)
/* While somebody damages it over and over again, putting aside may help only for a moment. */
#define ATTEMPTS 4
#define LOCK_NAME "locks/tables"
/* A writer holds the lock for a transaction of a few rows; this long means it has been stopped. */
#define BUSY_MS 10000
#define TURN_WAIT_NS (BUSY_MS * UINT64_C(1000000))

static gci_field const row_fields[] = {
    GCI_TEXT(gci_row, table, "table", ""),
    GCI_TEXT(gci_row, namespace_, "namespace", ""),
    GCI_TEXT(gci_row, name, "name", ""),
    GCI_TEXT(gci_row, item, "item", ""),
    GCI_TEXT(gci_row, value, "value", ""),
    GCI_NUMBER(gci_row, at_ns, 8, "at", "when it was made, in ns since 1970"),
};
gci_fields const gci_row_fields = GCI_FIELDS("export: row", gci_row, row_fields);

static char const schema[] =
    "PRAGMA journal_mode = DELETE;"
    "CREATE TABLE IF NOT EXISTS rows(\"table\" TEXT NOT NULL, space TEXT NOT NULL, name TEXT NOT NULL,"
    " item TEXT NOT NULL, value BLOB NOT NULL, at INTEGER NOT NULL,"
    " PRIMARY KEY(\"table\", space, name, item)) WITHOUT ROWID;";

/* A parameter that is NULL matches everything. */
#define WHERE                                                                                         \
    " WHERE (?1 IS NULL OR \"table\" = ?1) AND (?2 IS NULL OR space = ?2)"                            \
    " AND (?3 IS NULL OR name = ?3) AND (?4 IS NULL OR item = ?4)"

static char const put_sql[] =
    "INSERT INTO rows(\"table\", space, name, item, value, at) VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
    " ON CONFLICT DO UPDATE SET value = excluded.value, at = max(excluded.at, at) WHERE ?7 OR excluded.at >= at";
static char const each_sql[] = "SELECT \"table\", space, name, item, value, at FROM rows" WHERE
                               " ORDER BY \"table\", space, name, item";
/* The usual question, by table, namespace and name, written so that the primary key serves it. */
static char const each_named_sql[] = "SELECT \"table\", space, name, item, value, at FROM rows"
                                     " WHERE \"table\" = ?1 AND space = ?2 AND name = ?3 AND (?4 IS NULL OR item = ?4)"
                                     " ORDER BY item";

/* ---- a connection ---- */

static gcache_status
fail_sqlite(gci_store *store, sqlite3 *database, int code, gcache_error *error)
{
    int kind = code & 0xff;
    gcache_status status = kind == SQLITE_READONLY   ? GCACHE_ERROR_READ_ONLY
                           : kind == SQLITE_CANTOPEN ? GCACHE_ERROR_NOT_FOUND
                                                     : gci_sql_status(code);

    return gci_fail(error, status, "%s/" FILE_NAME ": %s", store->directory.name,
                    database != NULL ? sqlite3_errmsg(database) : sqlite3_errstr(code));
}

/*
 * SQLite would make it readable, and under some umasks writable, for others. It gets its name when it is closed: closing it
 * under that name would take away the locks of a thread that uses it already.
 */
static gcache_status
make_file(gci_store *store, gcache_error *error)
{
    gci_path temporary = gci_path_temporary();
    gci_dir dir = store->directory;
    struct stat facts;
    gci_file file;
    bool existed;

    if (gci_dir_stat(dir, FILE_NAME, &facts, NULL) == GCACHE_OK)
        return GCACHE_OK;
    gcache_status status = gci_layout_create(dir, temporary.text, O_WRONLY | O_CREAT | O_EXCL, &file, error);
    if (status != GCACHE_OK)
        return status;
    gci_file_close(&file);
    status = gci_dir_link(dir, temporary.text, dir, FILE_NAME, &existed, error);
    gci_dir_unlink(dir, temporary.text, NULL);
    return status;
}

/* Rows carry no signature. */
static gcache_status
check_trust(gci_store *store, bool writing, gcache_error *error)
{
    gci_dir dir = gci_trust_unsigned(store);

    gcache_status status = writing ? make_file(store, error) : GCACHE_OK;
    if (status == GCACHE_OK)
        status = gci_trust_path(dir, FILE_NAME, error);
    for (size_t i = 0; status == GCACHE_OK && i < BESIDE_COUNT; i++)
        status = gci_trust_path(dir, beside[i], error);
    return status;
}

static gcache_status
connect(gci_store *store, bool writing, sqlite3 **out_database, gcache_error *error)
{
    /* A reader may have to roll back what a writer left that died. */
    int flags = writing            ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                : store->read_only ? SQLITE_OPEN_READONLY
                                   : SQLITE_OPEN_READWRITE;
    gci_buf path;

    *out_database = NULL;
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    gcache_status status = check_trust(store, writing, error);
    if (status == GCACHE_OK)
        status = gci_dir_path(store->directory, &path, error);
    gci_buf_append(&path, "/" FILE_NAME, sizeof "/" FILE_NAME);
    if (status == GCACHE_OK && path.failed)
        status = gci_fail_memory(error);
    if (status == GCACHE_OK) {
        int code = sqlite3_open_v2(path.data, out_database, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW,
                                   NULL);
        if (code == SQLITE_OK)
            code = sqlite3_busy_timeout(*out_database, BUSY_MS);
        if (code == SQLITE_OK && writing)
            code = sqlite3_exec(*out_database, schema, NULL, NULL, NULL);
        if (code != SQLITE_OK)
            status = fail_sqlite(store, *out_database, code, error);
    }
    gci_buf_clear(&path);
    return status;
}

/* ---- damage ---- */

/* What has the name, whatever it is; 0: nothing. */
static uint64_t
inode_of(gci_store *store, char const *name)
{
    struct stat facts;

    return gci_dir_stat(store->directory, name, &facts, NULL) == GCACHE_OK ? facts.st_ino : 0;
}

static bool
is_plain(gci_store *store, char const *name)
{
    struct stat facts;

    return gci_dir_stat(store->directory, name, &facts, NULL) != GCACHE_OK || S_ISREG(facts.st_mode);
}

static bool
are_plain_beside(gci_store *store)
{
    for (size_t i = 0; i < BESIDE_COUNT; i++) {
        if (!is_plain(store, beside[i]))
            return false;
    }
    return true;
}

/*
 * A writer's turn. SQLite alone keeps writers apart, but who waits for it sleeps ever longer while others come and go. So they
 * wait here, where who has waited for long asks more often, and SQLite has one writer at a time to deal with. Who can't have
 * the lock goes on without it, and is no worse off than before. Taken before the fork gate: a fork waits for nobody who waits.
 */
static gci_file
take_turn(gci_store *store)
{
    gci_file turn = GCI_FILE_NONE;

    gci_lock_take(store->directory, LOCK_NAME, GCI_LOCK_EXCLUSIVE, TURN_WAIT_NS, &turn, NULL);
    return turn;
}

/*
 * Of several who find it damaged the first puts it aside; the others see that another file has the name. The journal goes
 * with the database, and before it: it would be played back into the next one. All of it in a writer's turn, or the journal
 * could be that of whoever has made the next database already.
 */
static void
put_aside(gci_store *store, uint64_t damaged)
{
    gci_file turn = take_turn(store), lock;

    gci_layout_lock(store->directory, &lock);
    bool beside_only = is_plain(store, FILE_NAME) && !are_plain_beside(store);
    bool ours = !beside_only && damaged != 0 && inode_of(store, FILE_NAME) == damaged;
    for (size_t i = 0; i < BESIDE_COUNT; i++) {
        if ((ours && inode_of(store, beside[i]) != 0) || !is_plain(store, beside[i]))
            gci_quarantine_file(store, beside[i], "journal of a damaged database, or none", NULL);
    }
    if (ours)
        gci_quarantine_file(store, FILE_NAME, "damaged, and can't be rebuilt: what was tuned is to be tuned again", NULL);
    gci_file_unlock_and_close(&lock);
    gci_file_unlock_and_close(&turn);
}

/* What is done with a connection. SQLITE_OK, or SQLite's code for why it failed. */
typedef int (*work_fn)(sqlite3 *database, void *work);

static gcache_status
connect_and_do(gci_store *store, bool writing, work_fn fn, void *work, gcache_error *error)
{
    sqlite3 *database;

    gcache_status status = connect(store, writing, &database, error);
    if (status == GCACHE_OK) {
        int code = fn(database, work);
        /* One who makes the database hasn't made its table yet. */
        if (code == SQLITE_ERROR && !writing)
            code = SQLITE_CANTOPEN;
        if (code != SQLITE_OK)
            status = fail_sqlite(store, database, code, error);
    }
    sqlite3_close(database);
    return status;
}

static gcache_status
try_once(gci_store *store, bool writing, work_fn fn, void *work, gcache_error *error)
{
    /* SQLite would wait for a pipe. */
    if (!is_plain(store, FILE_NAME) || !are_plain_beside(store))
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s/" FILE_NAME ": not a plain file", store->directory.name);
    if (!gci_fork_gate_enter())
        return gci_fail(error, GCACHE_ERROR_BUSY, "%s/" FILE_NAME ": " GCI_FORK_GATE_SHUT, store->directory.name);
    gcache_status status = connect_and_do(store, writing, fn, work, error);
    gci_fork_gate_leave();
    return status;
}

static gcache_status
try_in_turn(gci_store *store, bool writing, work_fn fn, void *work, gcache_error *error)
{
    gci_file turn = GCI_FILE_NONE;

    if (writing)
        turn = take_turn(store);
    gcache_status status = try_once(store, writing, fn, work, error);
    gci_file_unlock_and_close(&turn);
    return status;
}

/* A call that fails is tried again when what is damaged was put aside. What SQLite couldn't open, write or remove may have been
   damaged under its hands: the next attempt sees what is there. */
static gcache_status
try_and_mend(gci_store *store, bool writing, work_fn fn, void *work, gcache_error *error)
{
    gcache_status status = GCACHE_ERROR_CORRUPT;

    for (int i = 0; i < ATTEMPTS; i++) {
        uint64_t inode = inode_of(store, FILE_NAME);
        status = try_in_turn(store, writing, fn, work, error);
        bool again = status == GCACHE_ERROR_CORRUPT ||
                     (writing && (status == GCACHE_ERROR_IO || status == GCACHE_ERROR_NOT_FOUND));
        if (!again || store->read_only)
            return status;
        if (status == GCACHE_ERROR_CORRUPT)
            put_aside(store, inode);
    }
    return status;
}

static gcache_status
with_database(gci_store *store, bool writing, work_fn fn, void *work, gcache_error *error)
{
    gcache_error trouble = { 0 };

    gci_store_enter(store);
    if (writing && store->read_only)
        return gci_store_check_writable(store, error);
    gcache_status status = try_and_mend(store, writing, fn, work, &trouble);
    if (status == GCACHE_ERROR_CORRUPT && store->read_only) {
        gci_store_log(store, "%s; done without", trouble.message);
        status = GCACHE_OK;
    }
    if (status == GCACHE_OK && writing)
        status = gci_store_check_place(store, &trouble);
    /* Nothing has ever been put. */
    if (status == GCACHE_ERROR_NOT_FOUND && !writing)
        status = GCACHE_OK;
    if (status != GCACHE_OK && error != NULL)
        *error = trouble;
    return status;
}

/* ---- statements ---- */

/* NULL, which matches everything, for a view without data. */
static gci_sql
filter_of(gci_view view)
{
    return view.data != NULL ? gci_sql_text(view) : (gci_sql){ .kind = GCI_SQL_IS_NULL };
}

/* ---- put ---- */

typedef struct put_work {
    gci_row const *rows;
    size_t count;
} put_work;

static int
put_row(sqlite3_stmt *statement, gci_row const *row)
{
    uint64_t at_ns = row->at_ns != 0 ? row->at_ns : gci_clock_wall_ns();
    gci_sql const values[] = { gci_sql_text(row->table), gci_sql_text(row->namespace_), gci_sql_text(row->name),
                               gci_sql_text(row->item), gci_sql_bytes(row->value.data, row->value.size),
                               gci_sql_number((int64_t)at_ns), gci_sql_number(row->at_ns == 0) };

    int code = gci_sql_bind(statement, values, sizeof values / sizeof *values);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    sqlite3_reset(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

static int
put_rows(sqlite3 *database, void *work)
{
    put_work const *w = work;
    sqlite3_stmt *statement = NULL;

    int code = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(database, put_sql, sizeof put_sql, &statement, NULL);
    for (size_t i = 0; code == SQLITE_OK && i < w->count; i++)
        code = put_row(statement, &w->rows[i]);
    sqlite3_finalize(statement);
    /* What isn't committed is rolled back when the connection is closed. */
    return code == SQLITE_OK ? sqlite3_exec(database, "COMMIT", NULL, NULL, NULL) : code;
}

gcache_status
gci_tables_put(gci_store *store, gci_row const *rows, size_t count, gcache_error *error)
{
    put_work work = { rows, count };

    return count != 0 ? with_database(store, true, put_rows, &work, error) : GCACHE_OK;
}

/* ---- each ---- */

typedef struct each_work {
    gci_row_filter const *filter;
    gci_row_fn fn;
    void *state;
} each_work;

static int
visit_row(sqlite3_stmt *statement, each_work const *w)
{
    gci_row row = {
        .table = gci_sql_column(statement, 0),
        .namespace_ = gci_sql_column(statement, 1),
        .name = gci_sql_column(statement, 2),
        .item = gci_sql_column(statement, 3),
        .value = gci_sql_column(statement, 4),
        .at_ns = (uint64_t)sqlite3_column_int64(statement, 5),
    };
    return w->fn(w->state, &row);
}

static int
each_row(sqlite3 *database, void *work)
{
    each_work const *w = work;
    gci_row_filter const *filter = w->filter;
    gci_sql const values[] = { filter_of(filter->table), filter_of(filter->namespace_), filter_of(filter->name),
                               filter_of(filter->item) };
    bool named = filter->table.data != NULL && filter->namespace_.data != NULL && filter->name.data != NULL;
    sqlite3_stmt *statement = NULL;

    int code = sqlite3_prepare_v2(database, named ? each_named_sql : each_sql, -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = gci_sql_bind(statement, values, sizeof values / sizeof *values);
    if (code == SQLITE_OK) {
        while ((code = sqlite3_step(statement)) == SQLITE_ROW && visit_row(statement, w) == 0)
            continue;
        if (code == SQLITE_DONE || code == SQLITE_ROW)
            code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code;
}

gcache_status
gci_tables_each(gci_store *store, gci_row_filter const *filter, gci_row_fn fn, void *state, gcache_error *error)
{
    each_work work = { filter, fn, state };

    return with_database(store, false, each_row, &work, error);
}

/* ---- check ---- */

static int
check_database(sqlite3 *database, void *work)
{
    sqlite3_stmt *statement = NULL;

    (void)work;
    /* quick_check doesn't see a row that is out of order, and so is never found. */
    int code = sqlite3_prepare_v2(database, "PRAGMA integrity_check(1)", -1, &statement, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_step(statement);
    char const *text = code == SQLITE_ROW ? (char const *)sqlite3_column_text(statement, 0) : NULL;
    if (code == SQLITE_ROW)
        code = text != NULL && strcmp(text, "ok") == 0 ? SQLITE_OK : SQLITE_CORRUPT;
    sqlite3_finalize(statement);
    return code;
}

bool
gci_tables_are_whole(gci_store *store)
{
    return try_once(store, false, check_database, NULL, NULL) != GCACHE_ERROR_CORRUPT;
}

bool
gci_tables_mend(gci_store *store)
{
    if (gci_tables_are_whole(store))
        return false;
    put_aside(store, inode_of(store, FILE_NAME));
    return true;
}
