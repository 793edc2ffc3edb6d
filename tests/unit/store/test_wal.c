/*
 * SQLite's WAL-reset defect: a checkpoint of a WAL that is back-filled already, with another connection committing
 * between its two looks at the WAL's index, marks that commit as back-filled, and the next reset loses it.
 *
 * A VFS of our own stops the checkpointer at the right moment. Without the cure a committed transaction is lost; through
 * the store's index nobody can commit at that moment, and nothing is.
 */
#include "fixture.h"

#include "store/database/index.h"

#include <sqlite3.h>

/* ---- a VFS that passes everything on, and calls us from inside a checkpoint ---- */

static sqlite3_vfs *base;
/* Called once: between the two looks, and when a checkpoint has just begun. */
static void (*inside_window)(void);
static void (*inside_checkpoint)(void);

struct shim {
    sqlite3_file file;
    sqlite3_file *real;
};

static sqlite3_file *
real_of(sqlite3_file *file)
{
    return ((struct shim *)file)->real;
}

#define PASS(name, parameters, arguments)                                                             \
    static int shim_##name parameters                                                                 \
    {                                                                                                 \
        return real_of(file)->pMethods->name arguments;                                               \
    }

PASS(xClose, (sqlite3_file * file), (real_of(file)))
PASS(xRead, (sqlite3_file * file, void *to, int size, sqlite3_int64 at), (real_of(file), to, size, at))
PASS(xWrite, (sqlite3_file * file, void const *from, int size, sqlite3_int64 at), (real_of(file), from, size, at))
PASS(xTruncate, (sqlite3_file * file, sqlite3_int64 size), (real_of(file), size))
PASS(xSync, (sqlite3_file * file, int flags), (real_of(file), flags))
PASS(xFileSize, (sqlite3_file * file, sqlite3_int64 *size), (real_of(file), size))
PASS(xLock, (sqlite3_file * file, int level), (real_of(file), level))
PASS(xUnlock, (sqlite3_file * file, int level), (real_of(file), level))
PASS(xCheckReservedLock, (sqlite3_file * file, int *out), (real_of(file), out))
PASS(xFileControl, (sqlite3_file * file, int what, void *argument), (real_of(file), what, argument))
PASS(xSectorSize, (sqlite3_file * file), (real_of(file)))
PASS(xDeviceCharacteristics, (sqlite3_file * file), (real_of(file)))
PASS(xShmMap, (sqlite3_file * file, int page, int size, int extend, void volatile **out),
     (real_of(file), page, size, extend, out))
PASS(xShmUnmap, (sqlite3_file * file, int remove_it), (real_of(file), remove_it))
PASS(xFetch, (sqlite3_file * file, sqlite3_int64 at, int size, void **out), (real_of(file), at, size, out))

static void
shim_xShmBarrier(sqlite3_file *file)
{
    real_of(file)->pMethods->xShmBarrier(real_of(file));
}

static void
call_once(void (**hook)(void))
{
    void (*call)(void) = *hook;

    *hook = NULL;
    if (call != NULL)
        call();
}

/* Byte 1 of SQLite's shared memory is the checkpointer's. */
static int
shim_xShmLock(sqlite3_file *file, int offset, int count, int flags)
{
    int code = real_of(file)->pMethods->xShmLock(real_of(file), offset, count, flags);

    if (code == SQLITE_OK && offset == 1 && flags == (SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE))
        call_once(&inside_checkpoint);
    return code;
}

/* The checkpointer lets go of its mapping (page NULL) between the two looks. */
static int
shim_xUnfetch(sqlite3_file *file, sqlite3_int64 at, void *page)
{
    if (page == NULL)
        call_once(&inside_window);
    return real_of(file)->pMethods->xUnfetch(real_of(file), at, page);
}

static sqlite3_io_methods const methods = {
    3, shim_xClose, shim_xRead, shim_xWrite, shim_xTruncate, shim_xSync, shim_xFileSize, shim_xLock, shim_xUnlock,
    shim_xCheckReservedLock, shim_xFileControl, shim_xSectorSize, shim_xDeviceCharacteristics, shim_xShmMap, shim_xShmLock,
    shim_xShmBarrier, shim_xShmUnmap, shim_xFetch, shim_xUnfetch,
};

static int
shim_open(sqlite3_vfs *vfs, char const *name, sqlite3_file *file, int flags, int *out_flags)
{
    struct shim *shim = (struct shim *)file;

    (void)vfs;
    shim->real = (sqlite3_file *)(shim + 1);
    int code = base->xOpen(base, name, shim->real, flags, out_flags);
    shim->file.pMethods = shim->real->pMethods != NULL ? &methods : NULL;
    return code;
}

static void
register_shim(void)
{
    static sqlite3_vfs shim;

    base = sqlite3_vfs_find(NULL);
    shim = *base;
    shim.zName = "shim";
    shim.szOsFile = (int)sizeof(struct shim) + base->szOsFile;
    shim.xOpen = shim_open;
    shim.pNext = NULL;
    sqlite3_vfs_register(&shim, 1);
}

/* ---- without the cure ---- */

static sqlite3 *other;

static void
run(sqlite3 *database, char const *sql)
{
    char *message = NULL;

    if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

static void
commit_meanwhile(void)
{
    run(other, "BEGIN IMMEDIATE; UPDATE t SET v = 'meanwhile' WHERE id <= 3; COMMIT");
}

static int
count_rows(char const *path, char const *value)
{
    sqlite3_stmt *statement;
    sqlite3 *database;

    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, "SELECT count(*) FROM t WHERE v = ?", -1, &statement, NULL), SQLITE_OK);
    sqlite3_bind_text(statement, 1, value, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int count = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return count;
}

static void
test_loss_without_the_cure(void **state)
{
    sqlite3 *checkpointer;
    bool defect;
    char path[512];

    path_in(*state, "plain.db", path);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    run(other, "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=NORMAL;"
               "CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT, filling BLOB)");
    assert_int_equal(sqlite3_open(path, &checkpointer), SQLITE_OK);
    run(checkpointer, "PRAGMA wal_autocheckpoint=0; SELECT count(*) FROM t");
    run(other, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)"
               "INSERT INTO t SELECT i, 'old', zeroblob(3000) FROM n");
    sqlite3_wal_checkpoint_v2(other, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    inside_window = commit_meanwhile;
    sqlite3_wal_checkpoint_v2(checkpointer, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    assert_null(inside_window);
    run(other, "BEGIN IMMEDIATE; UPDATE t SET v = 'afterwards' WHERE id BETWEEN 10 AND 40; COMMIT");
    sqlite3_wal_checkpoint_v2(other, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    int afterwards = count_rows(path, "afterwards");
    gci_index_library(&defect);
    assert_int_equal(afterwards, defect ? 0 : 31);
    sqlite3_close(checkpointer);
    sqlite3_close(other);
}

/* ---- with it ---- */

enum { BIG = 4000 };

static gci_index first, second;
static gcache_status meanwhile;

/* Each of as many bytes as the round it belongs to. */
static gcache_status
put_keys(gci_index *index, int64_t round, size_t count, uint64_t wait_ns)
{
    static char const filling[BIG];

    gcache_status status = gci_index_begin(index, GCI_WRITE, wait_ns, NULL);
    if (status != GCACHE_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        int64_t key[] = { round, (int64_t)i };
        GCI_EXECUTE(index, GCI_SQL_KEY_PUT, gci_sql_bytes(key, sizeof key),
                    gci_sql_text(gci_view_of(filling, sizeof filling)), gci_sql_number(round));
    }
    return gci_index_end(index, GCI_WRITE, GCACHE_OK, NULL);
}

static void
insert_meanwhile(void)
{
    meanwhile = put_keys(&second, 2, 3, 0);
}

static size_t
count_keys(gci_index *index, int64_t round)
{
    size_t count = 0;

    assert_int_equal(gci_index_begin(index, GCI_READ, 0, NULL), GCACHE_OK);
    sqlite3_stmt *rows = GCI_QUERY(index, GCI_SQL_ENTRIES_BETWEEN, gci_sql_bytes("", 0), gci_sql_bytes("\xff", 1));
    while (gci_index_step(index, rows))
        count += gci_column_number(rows, 3) == round;
    assert_int_equal(gci_index_end(index, GCI_READ, GCACHE_OK, NULL), GCACHE_OK);
    return count;
}

static void
test_no_loss_with_it(void **state)
{
    test_dir *fixture = *state;
    gcache_error error;
    gci_buf findings;
    gci_dir dir;
    char path[512];

    gci_store_close(fixture_open(fixture));
    assert_int_equal(gci_dir_open_user(fixture->directory, &dir, &error), GCACHE_OK);
    gci_index_init(&first, dir, false, false, (gci_index_owner){ 0 });
    gci_index_init(&second, dir, false, false, (gci_index_owner){ 0 });
    assert_int_equal(put_keys(&second, 1, 1, 0), GCACHE_OK);
    /* So many pages that the commit is followed by a checkpoint, again and again. */
    for (int64_t round = 10; round < 14; round++) {
        meanwhile = GCACHE_OK;
        inside_checkpoint = insert_meanwhile;
        assert_int_equal(put_keys(&first, round, 1100, 0), GCACHE_OK);
        assert_null(inside_checkpoint);
        assert_int_equal(meanwhile, GCACHE_ERROR_BUSY);
        assert_int_equal(put_keys(&second, round + 100, 40, 0), GCACHE_OK);
    }
    for (int64_t round = 10; round < 14; round++) {
        assert_int_equal(count_keys(&first, round), 1100);
        assert_int_equal(count_keys(&second, round + 100), 40);
    }
    assert_int_equal(count_keys(&first, 1), 1);
    assert_int_equal(count_keys(&first, 2), 0);
    path_in(fixture, "index.db-wal", path);
    assert_true(size_of_file(path) < 16 << 20);
    gci_buf_init(&findings, 100000);
    assert_int_equal(gci_index_begin(&first, GCI_READ, 0, NULL), GCACHE_OK);
    gci_index_check(&first, &findings);
    assert_int_equal(gci_index_end(&first, GCI_READ, GCACHE_OK, NULL), GCACHE_OK);
    assert_int_equal(findings.size, 0);
    gci_index_close(&first);
    gci_index_close(&second);
    gci_dir_close(&dir);
}

/* A connection that is the only one begins by reading the whole WAL, as long as it wasn't truncated. */
static void
test_the_wal_of_short_connections_stays_small(void **state)
{
    test_dir *fixture = *state;
    gci_dir dir;
    char path[512];

    gci_store_close(fixture_open(fixture));
    assert_int_equal(gci_dir_open_user(fixture->directory, &dir, NULL), GCACHE_OK);
    path_in(fixture, "index.db-wal", path);
    for (int round = 0; round < 40; round++) {
        gci_index_init(&first, dir, false, false, (gci_index_owner){ 0 });
        assert_int_equal(put_keys(&first, round, 100, 0), GCACHE_OK);
        gci_index_close(&first);
        assert_true(size_of_file(path) < 8 << 20);
    }
    gci_dir_close(&dir);
}

/* The directory's format stands for the tables' version: another one is damage. What was there is kept aside. */
static void
test_other_tables_are_put_aside(void **state)
{
    test_dir *fixture = *state;
    gcache_error error = { 0 };
    sqlite3 *database;
    gci_dir dir;
    char path[512];

    gci_store_close(fixture_open(fixture));
    path_in(fixture, "index.db", path);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    run(database, "PRAGMA user_version=9; CREATE TABLE t(a)");
    sqlite3_close(database);
    assert_int_equal(gci_dir_open_user(fixture->directory, &dir, &error), GCACHE_OK);
    gci_index_init(&first, dir, false, false, (gci_index_owner){ 0 });
    assert_int_equal(gci_index_begin(&first, GCI_WRITE, 0, &error), GCACHE_OK);
    assert_int_equal(gci_index_end(&first, GCI_WRITE, GCACHE_OK, &error), GCACHE_OK);
    gci_index_close(&first);
    gci_dir_close(&dir);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    run(database, "SELECT * FROM entries");
    sqlite3_close(database);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_loss_without_the_cure),
        STORE_TEST(test_no_loss_with_it),
        STORE_TEST(test_the_wal_of_short_connections_stays_small),
        STORE_TEST(test_other_tables_are_put_aside),
    };

    register_shim();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
