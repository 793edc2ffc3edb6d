/*
 * index.db: connecting, transactions under the index lock, checkpoints, and putting a damaged database aside.
 *
 * The defect that invariants 1 to 3 of index.h cure is described in https://sqlite.org/wal.html, section 11.
 */
#include "store/database/index.h"

#include "base/check.h"
#include "store/directory/layout.h"
#include "store/directory/paths.h"
#include "store/directory/trust.h"
#include "store/processes/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* "gcix" in the header of the file, where file(1) looks. */
#define APPLICATION_ID 0x67636978
#define SCHEMA_VERSION 3
/* Had the numbers of keys' components instead of sketches; the first one table more, the journal. */
#define COMPONENTS_VERSION 2
#define JOURNAL_VERSION 1

/* Four megabytes: what SQLite itself would begin to checkpoint at. */
#define CHECKPOINT_FRAMES 1000
#define WAL_BYTES_MAX (8 << 20)
/* Waits inside SQLite: for recovery after a crash, and for programs that don't know our lock. */
#define BUSY_MS 5000
/* An insert on a full disk waits so long for readers of an old state to be done with it. */
#define TRUNCATE_MS 100
/* Who waits for longer leaves a damaged database to whoever opens it next. */
#define CONDEMN_WAIT_NS UINT64_C(1000000000)

#define TABLE_META "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID"
#define TABLE_KEYS                                                                                    \
    "CREATE TABLE keys(id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, kind TEXT NOT NULL, bytes INTEGER NOT NULL)"
#define TABLE_ENTRIES                                                                                 \
    "CREATE TABLE entries(key_id INTEGER NOT NULL, id BLOB NOT NULL, space TEXT NOT NULL, bytes INTEGER NOT NULL," \
    " size INTEGER NOT NULL, created INTEGER NOT NULL, used INTEGER NOT NULL, hits INTEGER NOT NULL,"  \
    " PRIMARY KEY(key_id, id)) WITHOUT ROWID"
#define INDEX_BY_USE "CREATE INDEX entries_by_use ON entries(used)"
#define INDEX_BY_SPACE "CREATE INDEX entries_by_space ON entries(space) WHERE space <> ''"
#define TABLE_SKETCHES                                                                                \
    "CREATE TABLE sketches(key_id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, created INTEGER NOT NULL, sketch BLOB NOT NULL)"

/* As sqlite_master holds them, in this order. */
static char const *const schema[] = { TABLE_META, TABLE_KEYS, TABLE_ENTRIES, INDEX_BY_USE, INDEX_BY_SPACE, TABLE_SKETCHES };

/* The last one in JOURNAL_VERSION only. */
static char const *const former_schema[] = {
    TABLE_META, TABLE_KEYS,
    "CREATE TABLE components(number INTEGER NOT NULL, key_id INTEGER NOT NULL, PRIMARY KEY(number, key_id)) WITHOUT ROWID",
    "CREATE INDEX components_of_key ON components(key_id)",
    TABLE_ENTRIES, INDEX_BY_USE, INDEX_BY_SPACE,
    "CREATE TABLE lookups(seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, entry BLOB NOT NULL)",
};

#define SCHEMA_COUNT (sizeof schema / sizeof *schema)
#define JOURNAL_SCHEMA_COUNT (sizeof former_schema / sizeof *former_schema)
#define COMPONENTS_SCHEMA_COUNT (JOURNAL_SCHEMA_COUNT - 1)

/* What SQLite writes; the journal only on network file systems. */
static char const *const file_names[] = { "index.db", "index.db-wal", "index.db-shm", "index.db-journal" };

static char const *const statement_texts[] = {
#define X(name, sql) sql,
    GCI_STATEMENT_MAP(X)
#undef X
};

void
gci_index_init(gci_index *index, gci_dir dir, bool read_only, bool network, gci_index_owner owner)
{
    *index = (gci_index){ .dir = dir, .read_only = read_only, .network = network, .owner = owner, .lock = GCI_FILE_NONE };
    gci_turns_init(&index->turns);
}

void
gci_index_init_temporary(gci_index *index)
{
    gci_index_init(index, (gci_dir){ .fd = -1, .name = "temporary" }, false, false, (gci_index_owner){ 0 });
    index->temporary = true;
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
    gci_fork_guest_remove(&index->guest);
}

static void
disconnect_before_fork(void *state)
{
    disconnect(state);
}

/* A temporary one can't be opened again: it isn't on the list, and a child does without it. */
static void
list_connection(gci_index *index)
{
    index->guest = (gci_fork_guest){ .disconnect = disconnect_before_fork, .state = index };
    gci_fork_guest_add(&index->guest);
}

void
gci_index_close(gci_index *index)
{
    if (index->used && gci_fork_gate_enter()) {
        disconnect(index);
        gci_fork_gate_leave();
    }
    gci_file_close(&index->lock);
    gci_turns_clear(&index->turns);
}

void
gci_index_after_fork(gci_index *index)
{
    /* One that couldn't be closed before the fork stays as it is: SQLite's locks belong to the parent. */
    memset(index->statements, 0, sizeof index->statements);
    index->database = NULL;
    index->guest.listed = false;
    gci_file_close(&index->lock);
    gci_turns_init(&index->turns);
}

/* ---- trouble ---- */

static gcache_status
fail(gci_index *index, int code, gcache_error *error)
{
    char const *text = index->database != NULL ? sqlite3_errmsg(index->database) : sqlite3_errstr(code);

    return gci_fail(error, gci_sql_status(code), "%s/index.db: %s", index->dir.name, text);
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
    sqlite3_db_config(index->database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    sqlite3_wal_hook(index->database, note_wal, index);
    snprintf(limits, sizeof limits,
             "PRAGMA wal_autocheckpoint=0; PRAGMA journal_size_limit=%d; PRAGMA synchronous=NORMAL;"
             "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0; PRAGMA cache_size=-8192", WAL_BYTES_MAX);
    int code = execute(index, limits);
    /* The pragma removes the hook. */
    sqlite3_wal_hook(index->database, note_wal, index);
    return code;
}

static void
reset_statements(gci_index *index)
{
    for (size_t i = 0; i < GCI_SQL_COUNT; i++) {
        if (index->statements[i] != NULL)
            sqlite3_reset(index->statements[i]);
    }
}

/* Makes the tables, and fills them. Under the index lock. */
static int
make_tables(gci_index *index)
{
    char head[128];

    int code = execute(index, "BEGIN IMMEDIATE");
    if (code != SQLITE_OK)
        return code;
    for (size_t i = 0; code == SQLITE_OK && i < SCHEMA_COUNT; i++)
        code = execute(index, schema[i]);
    index->trouble = SQLITE_OK;
    if (code == SQLITE_OK && index->owner.fill != NULL)
        index->owner.fill(index->owner.state);
    if (code == SQLITE_OK)
        code = index->trouble;
    reset_statements(index);
    snprintf(head, sizeof head, "PRAGMA application_id=%d; PRAGMA user_version=%d", APPLICATION_ID, SCHEMA_VERSION);
    if (code == SQLITE_OK)
        code = execute(index, head);
    if (code == SQLITE_OK)
        code = execute(index, "COMMIT");
    if (code != SQLITE_OK)
        execute(index, "ROLLBACK");
    return code;
}

/* How many tables and indexes there are; -1 if they aren't those expected, in their order. */
static int
count_tables(gci_index *index, char const *const *expected, size_t expected_count)
{
    sqlite3_stmt *statement = NULL;
    size_t count = 0;
    bool ours = true;

    int code = sqlite3_prepare_v2(index->database, "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND "
                                                   "name <> 'sqlite_sequence' ORDER BY rowid", -1, &statement, NULL);
    while (code == SQLITE_OK && ours && sqlite3_step(statement) == SQLITE_ROW) {
        char const *text = (char const *)sqlite3_column_text(statement, 0);
        ours = text != NULL && count < expected_count && strcmp(text, expected[count]) == 0;
        count++;
    }
    bool done = sqlite3_finalize(statement) == SQLITE_OK;
    return done && ours ? (int)count : -1;
}

static bool
is_former(gci_index *index, int version)
{
    size_t count = version == JOURNAL_VERSION ? JOURNAL_SCHEMA_COUNT : COMPONENTS_SCHEMA_COUNT;

    return (version == JOURNAL_VERSION || version == COMPONENTS_VERSION) &&
           count_tables(index, former_schema, count) == (int)count;
}

static int
replace_former_tables(gci_index *index)
{
    char sql[512];

    snprintf(sql, sizeof sql,
             "BEGIN IMMEDIATE; DROP TABLE IF EXISTS lookups; DROP TABLE components; %s; "
             "INSERT OR REPLACE INTO meta(name, value) VALUES('" GCI_META_UNSKETCHED "', 1); PRAGMA user_version=%d; COMMIT",
             TABLE_SKETCHES, SCHEMA_VERSION);
    int code = execute(index, sql);
    if (code != SQLITE_OK)
        execute(index, "ROLLBACK");
    return code;
}

static gcache_status
check_schema(gci_index *index, gcache_error *error)
{
    int version = pragma_number(index, "PRAGMA user_version"), count = count_tables(index, schema, SCHEMA_COUNT);
    bool ours = pragma_number(index, "PRAGMA application_id") == APPLICATION_ID;
    char const *mode = index->network ? "PRAGMA journal_mode=DELETE" : "PRAGMA journal_mode=WAL";

    if (sqlite3_db_readonly(index->database, "main") != index->read_only)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s/index.db: can't be written to", index->dir.name);
    /* A cache may have been copied to a network file system, and back. */
    int code = index->read_only ? SQLITE_OK : execute(index, mode);
    if (code != SQLITE_OK)
        return fail(index, code, error);
    index->is_former = false;
    if (ours && version == SCHEMA_VERSION && count == SCHEMA_COUNT)
        return GCACHE_OK;
    if (ours && is_former(index, version)) {
        index->is_former = index->read_only;
        code = index->read_only ? SQLITE_OK : replace_former_tables(index);
        return code == SQLITE_OK ? GCACHE_OK : fail(index, code, error);
    }
    if (version != 0 || count != 0 || index->read_only)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s/index.db: not our tables", index->dir.name);
    code = make_tables(index);
    return code == SQLITE_OK ? GCACHE_OK : fail(index, code, error);
}

/* 0: it isn't there, or is no plain file. */
static uint64_t
inode_of_path(gci_index *index)
{
    struct stat facts;

    return gci_dir_stat(index->dir, file_names[0], &facts, NULL) == GCACHE_OK && S_ISREG(facts.st_mode) ? facts.st_ino : 0;
}

/* Why the file can't be opened: whose it is, or what it is, can be put right; that we have no descriptors left can't. */
static gcache_status
fail_to_open(gci_index *index, int code, gcache_error *error)
{
    int reason = index->database != NULL ? sqlite3_system_errno(index->database) : 0;
    gcache_status status = fail(index, code, error);

    return (code & 0xff) == SQLITE_CANTOPEN && (reason == EACCES || reason == EPERM) ? GCACHE_ERROR_CORRUPT : status;
}

/* SQLite opens by name what the directory, which is trusted, calls so. */
static gcache_status
check_trust(gci_index *index, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    for (size_t i = 0; status == GCACHE_OK && i < sizeof file_names / sizeof *file_names; i++)
        status = gci_trust_path(index->dir, file_names[i], error);
    return status;
}

static gcache_status
connect(gci_index *index, gcache_error *error)
{
    int flags = index->read_only ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
    gci_buf path;

    index->network |= gci_dir_network(index->dir) != NULL;
    /* SQLite goes by the name: it must lead where everything else goes. */
    if (!gci_dir_still_named(index->dir))
        return gci_fail(error, GCACHE_ERROR_IO, "%s: the directory was moved", index->dir.name);
    gcache_status status = check_trust(index, error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    gci_buf_format(&path, "%s/%s", index->dir.name, file_names[0]);
    gci_buf_append_char(&path, '\0');
    int code = path.failed ? SQLITE_NOMEM
                           : sqlite3_open_v2(path.data, &index->database, flags | SQLITE_OPEN_NOMUTEX, NULL);
    gci_buf_clear(&path);
    if (code == SQLITE_OK)
        code = configure(index);
    status = code == SQLITE_OK ? check_schema(index, error) : fail_to_open(index, code, error);
    if (status == GCACHE_OK)
        list_connection(index);
    else
        disconnect(index);
    index->inode = inode_of_path(index);
    return status;
}

static bool
is_there(gci_index *index, char const *name)
{
    struct stat facts;

    return gci_dir_stat(index->dir, name, &facts, NULL) == GCACHE_OK;
}

/* Under the index lock: everybody else who has it open notices by the inode. */
static void
put_aside(gci_index *index, char const *why)
{
    char text[300];

    disconnect(index);
    index->condemned = false;
    for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++) {
        if (is_there(index, file_names[i]))
            gci_layout_put_aside(index->dir, file_names[i], NULL, NULL);
    }
    snprintf(text, sizeof text, "%.200s; put aside, and made anew from the entries", why);
    if (index->owner.report != NULL)
        index->owner.report(index->owner.state, text);
}

/* What SQLite would wait for, or write to, isn't a file of its own. */
static bool
has_other_kinds(gci_index *index)
{
    struct stat facts;
    bool other = false;

    for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++)
        other |= gci_dir_stat(index->dir, file_names[i], &facts, NULL) == GCACHE_OK && !S_ISREG(facts.st_mode);
    return other;
}

/* A log whose database is gone is another's. */
static bool
has_strays(gci_index *index)
{
    bool stray = false;

    for (size_t i = 1; i < sizeof file_names / sizeof *file_names; i++)
        stray |= is_there(index, file_names[i]);
    return stray && !is_there(index, file_names[0]);
}

/*
 * SQLite would make it readable for all. Under the index lock nobody can have it open who isn't there yet, so closing it
 * again takes nobody's locks away.
 */
static gcache_status
make_and_connect(gci_index *index, gcache_error *error)
{
    gci_file file;

    gcache_status status = gci_file_open(index->dir, file_names[0], O_RDWR | O_CREAT | O_EXCL, &file, error);
    gci_file_close(&file);
    return status == GCACHE_OK ? connect(index, error) : status;
}

static bool
is_connected(gci_index *index)
{
    return index->database != NULL && !index->condemned && index->inode == inode_of_path(index);
}

/* Under the index lock. */
static gcache_status
connect_to_write(gci_index *index, gcache_error *error)
{
    gcache_error damage = { .message = "index.db: damaged" };

    if (index->condemned && index->inode == inode_of_path(index))
        put_aside(index, damage.message);
    disconnect(index);
    index->condemned = false;
    if (has_other_kinds(index))
        put_aside(index, "index.db: not a plain file");
    else if (has_strays(index))
        put_aside(index, "index.db-wal: without its database");
    gcache_status status = is_there(index, file_names[0]) ? connect(index, &damage) : make_and_connect(index, &damage);
    if (status == GCACHE_ERROR_CORRUPT) {
        put_aside(index, damage.message);
        status = make_and_connect(index, &damage);
    }
    if (status != GCACHE_OK && error != NULL)
        *error = damage;
    return status;
}

static gcache_status
connect_to_read(gci_index *index, gcache_error *error)
{
    disconnect(index);
    index->condemned = false;
    if (inode_of_path(index) == 0 || has_other_kinds(index))
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "%s/index.db: not there", index->dir.name);
    gcache_status status = connect(index, error);
    /* Read-only users do without what can't be read. */
    if (status == GCACHE_ERROR_CORRUPT && error != NULL)
        error->status = GCACHE_ERROR_NOT_FOUND;
    return status == GCACHE_ERROR_CORRUPT ? GCACHE_ERROR_NOT_FOUND : status;
}

/* SQLite keeps it in memory as long as it is small, else in a file without a name. */
static gcache_status
connect_temporary(gci_index *index, gcache_error *error)
{
    int code = sqlite3_open_v2("", &index->database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);

    for (size_t i = 0; code == SQLITE_OK && i < SCHEMA_COUNT; i++)
        code = execute(index, schema[i]);
    if (code == SQLITE_OK)
        return GCACHE_OK;
    gcache_status status = fail(index, code, error);
    disconnect(index);
    return status;
}

static gcache_status
ensure_connected(gci_index *index, gcache_error *error)
{
    index->used = true;
    if (index->temporary)
        return index->database != NULL ? GCACHE_OK : connect_temporary(index, error);
    if (is_connected(index))
        return GCACHE_OK;
    return index->read_only ? connect_to_read(index, error) : connect_to_write(index, error);
}

/* ---- transactions ---- */

static gcache_status
lock(gci_index *index, uint64_t wait_ns, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    if (index->lock.fd >= 0)
        status = gci_file_lock(&index->lock, GCI_LOCK_EXCLUSIVE, wait_ns, error);
    if (status != GCACHE_OK || (index->lock.fd >= 0 && gci_file_still_named(&index->lock)))
        return status;
    gci_file_close(&index->lock);
    return gci_lock_take(index->dir, "locks/index", GCI_LOCK_EXCLUSIVE, wait_ns, &index->lock, error);
}

/* What was read can't be used; what comes next is made anew, by whatever process. */
static void
condemn(gci_index *index, bool locked)
{
    index->condemned = true;
    if (!locked && lock(index, CONDEMN_WAIT_NS, NULL) != GCACHE_OK)
        return;
    if (index->inode == inode_of_path(index))
        put_aside(index, "index.db: damaged");
    if (!locked)
        gci_file_unlock(&index->lock);
}

/* What turns out damaged at once is made anew at once. */
static gcache_status
begin_transaction(gci_index *index, gci_access access, bool locked, gcache_error *error)
{
    gcache_status status = GCACHE_ERROR_CORRUPT;

    for (int attempt = 0; status == GCACHE_ERROR_CORRUPT && attempt < 2; attempt++) {
        status = ensure_connected(index, error);
        if (status != GCACHE_OK)
            return status;
        int code = execute(index, access == GCI_WRITE ? "BEGIN IMMEDIATE" : "BEGIN");
        if (code == SQLITE_OK)
            return status;
        status = fail(index, code, error);
        if (status == GCACHE_ERROR_CORRUPT && !index->read_only)
            condemn(index, locked);
        if (!locked)
            break;
    }
    return status;
}

bool
gci_index_is_out_of_reach(gcache_status status)
{
    return status == GCACHE_ERROR_NOT_FOUND || status == GCACHE_ERROR_CORRUPT || status == GCACHE_ERROR_NO_SPACE;
}

/* Through the gate, and with the index lock if it is needed. The lock comes first: a fork waits for whoever is inside. */
static gcache_status
enter(gci_index *index, gci_access access, uint64_t wait_ns, bool *out_locked, gcache_error *error)
{
    bool alone = index->read_only || index->temporary, entered = gci_fork_gate_enter();

    *out_locked = false;
    /* Connecting may create, recover or migrate: under the lock, unless nothing can be written anyway. */
    if (entered && !alone && (access == GCI_WRITE || !is_connected(index))) {
        gci_fork_gate_leave();
        gcache_status status = lock(index, wait_ns, error);
        if (status != GCACHE_OK)
            return status;
        entered = *out_locked = gci_fork_gate_enter();
        if (!entered)
            gci_file_unlock(&index->lock);
    }
    return entered ? GCACHE_OK : gci_fail(error, GCACHE_ERROR_BUSY, "%s/index.db: " GCI_FORK_GATE_SHUT, index->dir.name);
}

gcache_status
gci_index_begin(gci_index *index, gci_access access, uint64_t wait_ns, gcache_error *error)
{
    bool locked;

    if (access == GCI_WRITE && index->read_only)
        return gci_fail(error, GCACHE_ERROR_READ_ONLY, "%s: the cache is read-only", index->dir.name);
    if (!gci_turns_lock(&index->turns, wait_ns))
        return gci_fail(error, GCACHE_ERROR_BUSY, "%s/index.db: another thread uses it", index->dir.name);
    index->trouble = SQLITE_OK;
    gcache_status status = enter(index, access, wait_ns, &locked, error);
    if (status == GCACHE_OK) {
        status = begin_transaction(index, access, locked, error);
        if (status != GCACHE_OK)
            gci_fork_gate_leave();
    }
    if (locked && (access == GCI_READ || status != GCACHE_OK))
        gci_file_unlock(&index->lock);
    if (status != GCACHE_OK)
        gci_turns_unlock(&index->turns);
    return status;
}

/* Under the index lock, after a commit: nobody writes now, so this can't lose anything (invariant 3). */
static void
checkpoint(gci_index *index)
{
    if (!index->truncate && index->wal_frames <= CHECKPOINT_FRAMES)
        return;
    /* Readers in the way make it incomplete; it is tried again after the next commit. */
    sqlite3_busy_timeout(index->database, index->truncate ? TRUNCATE_MS : BUSY_MS);
    sqlite3_wal_checkpoint_v2(index->database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    sqlite3_busy_timeout(index->database, BUSY_MS);
    index->wal_frames = 0;
}

gcache_status
gci_index_end(gci_index *index, gci_access access, gcache_status status, gcache_error *error)
{
    reset_statements(index);
    if (status == GCACHE_OK && index->trouble != SQLITE_OK)
        status = gci_fail(error, gci_sql_status(index->trouble), "%s/index.db: %s", index->dir.name,
                          sqlite3_errstr(index->trouble));
    if (status == GCACHE_OK) {
        int code = execute(index, "COMMIT");
        if (code != SQLITE_OK)
            status = fail(index, code, error);
    }
    if (status != GCACHE_OK)
        execute(index, "ROLLBACK");
    bool shared = access == GCI_WRITE && !index->temporary;
    if (shared && status == GCACHE_OK && !index->network)
        checkpoint(index);
    index->truncate = false;
    if (status == GCACHE_ERROR_CORRUPT && !index->read_only && !index->temporary)
        condemn(index, access == GCI_WRITE);
    gci_fork_gate_leave();
    if (shared)
        gci_file_unlock(&index->lock);
    gci_turns_unlock(&index->turns);
    return status;
}

void
gci_index_truncate_wal(gci_index *index, uint64_t wait_ns)
{
    if (index->read_only || index->temporary || !is_there(index, file_names[1]) ||
        gci_index_begin(index, GCI_WRITE, wait_ns, NULL) != GCACHE_OK)
        return;
    index->truncate = true;
    gci_index_end(index, GCI_WRITE, GCACHE_OK, NULL);
}

void
gci_index_discard(gci_index *index, uint64_t wait_ns)
{
    bool locked;

    if (index->read_only || index->temporary || !gci_turns_lock(&index->turns, wait_ns))
        return;
    if (enter(index, GCI_WRITE, wait_ns, &locked, NULL) == GCACHE_OK) {
        disconnect(index);
        for (size_t i = 0; i < sizeof file_names / sizeof *file_names; i++)
            gci_dir_unlink(index->dir, file_names[i], NULL);
        gci_fork_gate_leave();
        gci_file_unlock(&index->lock);
    }
    gci_turns_unlock(&index->turns);
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

sqlite3_stmt *
gci_index_bind(gci_index *index, gci_statement which, gci_sql const *values, size_t count)
{
    sqlite3_stmt *statement = gci_index_use(index, which);
    int code = statement != NULL ? gci_sql_bind(statement, values, count) : SQLITE_OK;

    if (code != SQLITE_OK && index->trouble == SQLITE_OK)
        index->trouble = code;
    return statement;
}

static bool
has_negative(sqlite3_stmt *row)
{
    bool negative = false;

    for (int i = sqlite3_column_count(row); i-- > 0;)
        negative |= sqlite3_column_type(row, i) == SQLITE_INTEGER && sqlite3_column_int64(row, i) < 0;
    return negative;
}

bool
gci_index_step(gci_index *index, sqlite3_stmt *statement)
{
    if (index->trouble != SQLITE_OK || statement == NULL)
        return false;
    int code = sqlite3_step(statement);
    if (code == SQLITE_ROW && has_negative(statement))
        code = SQLITE_CORRUPT;
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
    sqlite3_stmt *get = GCI_QUERY(index, GCI_SQL_META_GET, gci_sql_text(gci_view_text(name)));

    return gci_index_step(index, get) ? (uint64_t)gci_column_number(get, 0) : 0;
}

void
gci_meta_set(gci_index *index, char const *name, uint64_t value)
{
    GCI_EXECUTE(index, GCI_SQL_META_SET, gci_sql_text(gci_view_text(name)), gci_sql_number((int64_t)value));
}

int64_t
gci_column_number(sqlite3_stmt *statement, int at)
{
    return sqlite3_column_int64(statement, at);
}

/* Appends what a query answers, line by line, but for "ok". */
static void
note_answers(gci_index *index, char const *sql, gci_buf *out_findings)
{
    sqlite3_stmt *statement = NULL;

    int code = sqlite3_prepare_v2(index->database, sql, -1, &statement, NULL);
    while (code == SQLITE_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        char const *line = (char const *)sqlite3_column_text(statement, 0);
        if (line != NULL && strcmp(line, "ok") != 0)
            gci_buf_format(out_findings, "%s\n", line);
        code = SQLITE_OK;
    }
    if (code != SQLITE_DONE)
        gci_buf_format(out_findings, "%s\n", sqlite3_errmsg(index->database));
    sqlite3_finalize(statement);
}

void
gci_index_check(gci_index *index, gci_buf *out_findings)
{
    /* quick_check leaves out whether a table and its indexes say the same: a flipped bit in one of them changes a row's key. */
    note_answers(index, "PRAGMA integrity_check(20)", out_findings);
    note_answers(index, "SELECT 'an entry with a negative size or time' FROM entries "
                        "WHERE bytes < 0 OR size < 0 OR created < 0 OR used < 0 OR hits < 0 LIMIT 1", out_findings);
    note_answers(index, "SELECT 'a key with a negative size' FROM keys WHERE bytes < 0 LIMIT 1", out_findings);
    note_answers(index, "SELECT 'entries without a key' FROM entries WHERE key_id NOT IN (SELECT id FROM keys) LIMIT 1",
                 out_findings);
}

gcache_status
gci_index_mend(gci_index *index, uint64_t wait_ns, bool *out_damaged, gcache_error *error)
{
    gci_buf findings;

    *out_damaged = false;
    gcache_status status = gci_index_begin(index, GCI_WRITE, wait_ns, error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&findings, (size_t)64 << 10);
    gci_index_check(index, &findings);
    *out_damaged = findings.size > 0;
    gci_buf_clear(&findings);
    status = gci_index_end(index, GCI_WRITE, *out_damaged ? GCACHE_ERROR_CORRUPT : GCACHE_OK, error);
    return *out_damaged ? GCACHE_OK : status;
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
