#include "store/index.h"

#include "base/check.h"
#include "store/paths.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* "gcix" in the header of the file, where file(1) looks. */
#define APPLICATION_ID 0x67636978
#define SCHEMA_VERSION 1

/* Four megabytes: what SQLite itself would begin to checkpoint at. */
#define CHECKPOINT_FRAMES 1000
#define WAL_BYTES_MAX (8 << 20)
/* Waits inside SQLite: for recovery after a crash, and for programs that don't know our lock. */
#define BUSY_MS 5000

static char const schema[] =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE keys(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, bytes INTEGER NOT NULL);"
    "CREATE TABLE components(number INTEGER NOT NULL, key_id INTEGER NOT NULL, PRIMARY KEY(number, key_id)) WITHOUT ROWID;"
    "CREATE INDEX components_of_key ON components(key_id);"
    "CREATE TABLE entries(key_id INTEGER NOT NULL, id BLOB NOT NULL, space TEXT NOT NULL, bytes INTEGER NOT NULL,"
    " size INTEGER NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL, hits INTEGER NOT NULL,"
    " PRIMARY KEY(key_id, id)) WITHOUT ROWID;"
    "CREATE INDEX entries_by_use ON entries(used);"
    "CREATE INDEX entries_by_space ON entries(space) WHERE space <> '';"
    "CREATE TABLE lookups(seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, entry BLOB NOT NULL);";

static char const *const statement_texts[] = {
#define X(name, sql) sql,
    GCI_STATEMENT_MAP(X)
#undef X
};

void
gci_index_init(gci_index *index, gci_dir dir, bool read_only, bool network)
{
    *index = (gci_index){ .dir = dir, .read_only = read_only, .network = network, .lock = GCI_FILE_NONE };
    pthread_mutex_init(&index->mutex, NULL);
}

static void
disconnect(gci_index *index)
{
    for (size_t i = 0; i < GCI_SQL_COUNT; i++) {
        sqlite3_finalize(index->statements[i]);
        index->statements[i] = NULL;
    }
    sqlite3_close(index->database);
    index->database = NULL;
}

void
gci_index_close(gci_index *index)
{
    disconnect(index);
    gci_file_close(&index->lock);
    pthread_mutex_destroy(&index->mutex);
}

void
gci_index_after_fork(gci_index *index)
{
    /* The connection stays as it is: SQLite's locks belong to the parent. The lock file is only closed. */
    memset(index->statements, 0, sizeof index->statements);
    index->database = NULL;
    gci_file_close(&index->lock);
    pthread_mutex_init(&index->mutex, NULL);
}

/* ---- trouble ---- */

static gcache_status
status_of(int code)
{
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return GCACHE_OK;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return GCACHE_ERROR_BUSY;
    case SQLITE_NOMEM:
        return GCACHE_ERROR_MEMORY;
    case SQLITE_FULL:
        return GCACHE_ERROR_NO_SPACE;
    case SQLITE_READONLY:
        return GCACHE_ERROR_READ_ONLY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return GCACHE_ERROR_CORRUPT;
    default:
        return GCACHE_ERROR_IO;
    }
}

static gcache_status
fail(gci_index *index, int code, gcache_error *error)
{
    char const *text = index->database != NULL ? sqlite3_errmsg(index->database) : sqlite3_errstr(code);

    return gci_fail(error, status_of(code), "%s/index.db: %s", index->dir.name, text);
}

static int
execute(gci_index *index, char const *sql)
{
    return sqlite3_exec(index->database, sql, NULL, NULL, NULL);
}

/* ---- opening ---- */

static int
note_wal(void *state, sqlite3 *database, char const *name, int frames)
{
    gci_index *index = state;

    (void)database;
    (void)name;
    index->wal_frames = frames;
    return SQLITE_OK;
}

static int
pragma_number(gci_index *index, char const *sql)
{
    sqlite3_stmt *statement = NULL;
    int number = -1;

    if (sqlite3_prepare_v2(index->database, sql, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        number = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return number;
}

static int
configure(gci_index *index)
{
    char limits[200];

    sqlite3_busy_timeout(index->database, BUSY_MS);
    sqlite3_extended_result_codes(index->database, 1);
    sqlite3_db_config(index->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(index->database, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(index->database, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_wal_hook(index->database, note_wal, index);
    snprintf(limits, sizeof limits,
             "PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=%d; PRAGMA synchronous=NORMAL;"
             "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-8192", WAL_BYTES_MAX);
    int code = execute(index, limits);
    /* The pragma removes the hook. */
    sqlite3_wal_hook(index->database, note_wal, index);
    return code;
}

/* Makes the tables of a database that has none. Under the index lock. */
static int
make_tables(gci_index *index)
{
    char head[128];

    int code = execute(index, index->network ? "PRAGMA journal_mode=DELETE" : "PRAGMA journal_mode=WAL");
    if (code == SQLITE_OK)
        code = execute(index, "BEGIN IMMEDIATE");
    if (code != SQLITE_OK)
        return code;
    snprintf(head, sizeof head, "PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION_ID, SCHEMA_VERSION);
    code = execute(index, schema);
    if (code == SQLITE_OK)
        code = execute(index, head);
    if (code == SQLITE_OK)
        code = execute(index, "COMMIT");
    if (code != SQLITE_OK)
        execute(index, "ROLLBACK");
    return code;
}

static gcache_status
check_schema(gci_index *index, gcache_error *error)
{
    int version = pragma_number(index, "PRAGMA user_version");

    if (version < 0)
        return fail(index, sqlite3_errcode(index->database), error);
    if (version > SCHEMA_VERSION)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s/index.db: version %d; this one reads up to %d", index->dir.name,
                        version, SCHEMA_VERSION);
    /* A cache may have been copied to a network file system. */
    if (index->network && !index->read_only)
        execute(index, "PRAGMA journal_mode=DELETE");
    if (version == SCHEMA_VERSION)
        return GCACHE_OK;
    if (index->read_only)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "%s/index.db: empty", index->dir.name);
    int code = make_tables(index);
    return code == SQLITE_OK ? GCACHE_OK : fail(index, code, error);
}

/* 0: it isn't there, or is no plain file. */
static uint64_t
inode_of_path(gci_index *index, bool *out_strange)
{
    struct stat facts;

    bool there = gci_dir_stat(index->dir, "index.db", &facts, NULL) == GCACHE_OK;
    *out_strange = there && !S_ISREG(facts.st_mode);
    return there && !*out_strange ? facts.st_ino : 0;
}

static gcache_status
connect(gci_index *index, gcache_error *error)
{
    int flags = index->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    bool strange;
    gci_buf path;

    /* SQLite goes by the name: it must lead where everything else goes. */
    if (!gci_dir_still_named(index->dir))
        return gci_fail(error, GCACHE_ERROR_IO, "%s: the directory was moved", index->dir.name);
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    gci_buf_format(&path, "%s/index.db", index->dir.name);
    gci_buf_append_char(&path, '\0');
    int code = path.failed ? SQLITE_NOMEM
                           : sqlite3_open_v2(path.data, &index->database, flags | SQLITE_OPEN_NOMUTEX, NULL);
    gci_buf_clear(&path);
    if (code == SQLITE_OK)
        code = configure(index);
    gcache_status status = code == SQLITE_OK ? check_schema(index, error) : fail(index, code, error);
    if (status != GCACHE_OK)
        disconnect(index);
    index->inode = inode_of_path(index, &strange);
    return status;
}

/* Under the index lock: everybody else who has it open notices by the inode. */
static void
put_aside(gci_index *index)
{
    static char const *const names[] = { "index.db", "index.db-wal", "index.db-shm" };

    disconnect(index);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gci_path place = gci_path_quarantine(names[i]);
        gci_dir_rename(index->dir, names[i], index->dir, place.text, NULL);
    }
}

/*
 * SQLite would make it readable for all. Under the index lock nobody can have it open who isn't there yet, so closing it
 * again takes nobody's locks away.
 */
static gcache_status
make_file(gci_index *index, gcache_error *error)
{
    gci_file file;

    gcache_status status = gci_file_open(index->dir, "index.db", O_RDWR | O_CREAT | O_EXCL, &file, error);
    gci_file_close(&file);
    return status;
}

static gcache_status
make_and_connect(gci_index *index, gcache_error *error)
{
    gcache_status status = make_file(index, error);

    return status == GCACHE_OK ? connect(index, error) : status;
}

static gcache_status
ensure_connected(gci_index *index, gcache_error *error)
{
    bool strange;
    uint64_t inode = inode_of_path(index, &strange);

    if (index->database != NULL && index->inode != inode)
        disconnect(index);
    if (index->database != NULL)
        return GCACHE_OK;
    if (index->read_only && inode == 0)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "%s/index.db: not there", index->dir.name);
    if (strange)
        put_aside(index);
    gcache_status status = inode == 0 ? make_and_connect(index, error) : connect(index, error);
    if (status != GCACHE_ERROR_CORRUPT || index->read_only)
        return status;
    put_aside(index);
    return make_and_connect(index, error);
}

/* ---- transactions ---- */

static gcache_status
lock(gci_index *index, uint64_t wait_ns, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    if (index->lock.fd < 0)
        status = gci_file_open(index->dir, "locks/index", O_RDWR | O_CREAT, &index->lock, error);
    return status == GCACHE_OK ? gci_file_lock(&index->lock, GCI_LOCK_EXCLUSIVE, wait_ns, error) : status;
}

gcache_status
gci_index_begin(gci_index *index, gci_access access, uint64_t wait_ns, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    pthread_mutex_lock(&index->mutex);
    index->trouble = SQLITE_OK;
    /* Connecting may create, recover or migrate: under the lock, unless nothing can be written anyway. */
    bool locked = !index->read_only && (access == GCI_WRITE || index->database == NULL);
    if (access == GCI_WRITE && index->read_only)
        status = gci_fail(error, GCACHE_ERROR_READ_ONLY, "%s: the cache is read-only", index->dir.name);
    else if (locked)
        status = lock(index, wait_ns, error);
    locked = locked && status == GCACHE_OK;
    if (status == GCACHE_OK)
        status = ensure_connected(index, error);
    if (status == GCACHE_OK) {
        int code = execute(index, access == GCI_WRITE ? "BEGIN IMMEDIATE" : "BEGIN");
        if (code != SQLITE_OK)
            status = fail(index, code, error);
    }
    if (locked && (access == GCI_READ || status != GCACHE_OK))
        gci_file_unlock(&index->lock);
    if (status != GCACHE_OK)
        pthread_mutex_unlock(&index->mutex);
    return status;
}

static void
reset_statements(gci_index *index)
{
    for (size_t i = 0; i < GCI_SQL_COUNT; i++) {
        if (index->statements[i] != NULL)
            sqlite3_reset(index->statements[i]);
    }
}

/* Under the index lock, after a commit: nobody writes now, so this can't lose anything (invariant 3). */
static void
checkpoint(gci_index *index)
{
    if (index->wal_frames <= CHECKPOINT_FRAMES)
        return;
    /* Readers in the way make it incomplete; it is tried again after the next commit. */
    sqlite3_wal_checkpoint_v2(index->database, NULL, SQLITE_CHECKPOINT_RESTART, NULL, NULL);
    index->wal_frames = 0;
}

gcache_status
gci_index_end(gci_index *index, gci_access access, gcache_status status, gcache_error *error)
{
    reset_statements(index);
    if (status == GCACHE_OK && index->trouble != SQLITE_OK)
        status = gci_fail(error, status_of(index->trouble), "%s/index.db: %s", index->dir.name,
                          sqlite3_errstr(index->trouble));
    if (status == GCACHE_OK) {
        int code = execute(index, "COMMIT");
        if (code != SQLITE_OK)
            status = fail(index, code, error);
    }
    if (status != GCACHE_OK)
        execute(index, "ROLLBACK");
    if (access == GCI_WRITE && status == GCACHE_OK && !index->network)
        checkpoint(index);
    if (status == GCACHE_ERROR_CORRUPT && access == GCI_WRITE)
        put_aside(index);
    if (access == GCI_WRITE)
        gci_file_unlock(&index->lock);
    pthread_mutex_unlock(&index->mutex);
    return status;
}

/* ---- statements ---- */

sqlite3_stmt *
gci_index_use(gci_index *index, gci_statement which)
{
    sqlite3_stmt **statement = &index->statements[which];

    GCI_ASSERT(index->database != NULL);
    if (*statement == NULL) {
        int code = sqlite3_prepare_v3(index->database, statement_texts[which], -1, SQLITE_PREPARE_PERSISTENT, statement,
                                      NULL);
        if (code != SQLITE_OK && index->trouble == SQLITE_OK)
            index->trouble = code;
    } else {
        sqlite3_reset(*statement);
    }
    return *statement;
}

void
gci_bind_number(sqlite3_stmt *statement, int at, int64_t value)
{
    sqlite3_bind_int64(statement, at, value);
}

void
gci_bind_bytes(sqlite3_stmt *statement, int at, void const *bytes, size_t size)
{
    sqlite3_bind_blob64(statement, at, size != 0 ? bytes : "", size, SQLITE_STATIC);
}

void
gci_bind_text(sqlite3_stmt *statement, int at, gci_view text)
{
    sqlite3_bind_text64(statement, at, text.size != 0 ? text.data : "", text.size, SQLITE_STATIC, SQLITE_UTF8);
}

bool
gci_index_step(gci_index *index, sqlite3_stmt *statement)
{
    if (index->trouble != SQLITE_OK || statement == NULL)
        return false;
    int code = sqlite3_step(statement);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        index->trouble = code;
    if (code != SQLITE_ROW)
        sqlite3_reset(statement);
    return code == SQLITE_ROW;
}

bool
gci_index_run(gci_index *index, sqlite3_stmt *statement)
{
    while (gci_index_step(index, statement))
        continue;
    return index->trouble == SQLITE_OK;
}

uint64_t
gci_meta_get(gci_index *index, char const *name)
{
    sqlite3_stmt *get = gci_index_use(index, GCI_SQL_META_GET);

    gci_bind_text(get, 1, gci_view_text(name));
    return gci_index_step(index, get) ? (uint64_t)gci_column_number(get, 0) : 0;
}

void
gci_meta_set(gci_index *index, char const *name, uint64_t value)
{
    sqlite3_stmt *set = gci_index_use(index, GCI_SQL_META_SET);

    gci_bind_text(set, 1, gci_view_text(name));
    gci_bind_number(set, 2, (int64_t)value);
    gci_index_run(index, set);
}

int64_t
gci_column_number(sqlite3_stmt *statement, int at)
{
    return sqlite3_column_int64(statement, at);
}

gci_view
gci_column_bytes(sqlite3_stmt *statement, int at)
{
    void const *bytes = sqlite3_column_blob(statement, at);

    return gci_view_of(bytes, (size_t)sqlite3_column_bytes(statement, at));
}

void
gci_index_check(gci_index *index, gci_buf *out_findings)
{
    sqlite3_stmt *statement = NULL;

    int code = sqlite3_prepare_v2(index->database, "PRAGMA quick_check(20)", -1, &statement, NULL);
    while (code == SQLITE_OK && sqlite3_step(statement) == SQLITE_ROW) {
        char const *line = (char const *)sqlite3_column_text(statement, 0);
        if (line != NULL && strcmp(line, "ok") != 0)
            gci_buf_format(out_findings, "%s\n", line);
    }
    sqlite3_finalize(statement);
}

/* Fixed in 3.51.3, and in two branches. */
char const *
gci_index_library(bool *out_has_defect)
{
    int number = sqlite3_libversion_number();
    bool fixed = number >= 3051003 || (number >= 3050007 && number < 3051000) || (number >= 3044006 && number < 3045000);

    *out_has_defect = !fixed && number >= 3007000;
    return sqlite3_libversion();
}
