/* index.db under damage of every kind: no lookup and no insert fails, nothing is evicted for it, and all rows come back. */
#include "become.h"
#include "fixture.h"

#include "store/index/drain.h"
#include "store/evict/victims.h"
#include "store/index/sizes.h"

#include <sqlite3.h>
#include <sys/wait.h>

#define ENTRIES 5

/* ---- damage ---- */

static void
run_sql(char const *path, char const *sql)
{
    sqlite3 *database;
    char *message = NULL;

    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(database);
}

/* Brings everything into the one file. */
static void
checkpoint(char const *path)
{
    run_sql(path, "PRAGMA wal_checkpoint(TRUNCATE)");
}

static void
overwrite(char const *path, off_t at, char const *bytes, size_t size)
{
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, size, at), (ssize_t)size);
    close(fd);
}

static void
flip_version(char const *path)
{
    checkpoint(path);
    flip_byte(path, 63);
}

static void
flip_application(char const *path)
{
    checkpoint(path);
    flip_byte(path, 71);
}

static void
flip_write_version(char const *path)
{
    checkpoint(path);
    flip_byte(path, 18);
}

static void
drop_table(char const *path)
{
    run_sql(path, "DROP TABLE entries");
}

static void
drop_index(char const *path)
{
    run_sql(path, "DROP INDEX entries_by_use");
}

static void
add_trigger(char const *path)
{
    run_sql(path, "CREATE TRIGGER t AFTER INSERT ON keys BEGIN DELETE FROM entries; END");
}

static void
make_sizes_negative(char const *path)
{
    run_sql(path, "UPDATE entries SET bytes = -bytes - 1, size = -size; UPDATE keys SET bytes = -bytes");
}

static void
make_sizes_overflow(char const *path)
{
    run_sql(path, "UPDATE keys SET bytes = 9223372036854775807");
}

static void
empty_file(char const *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void
halve_file(char const *path)
{
    checkpoint(path);
    assert_int_equal(truncate(path, size_of_file(path) / 2), 0);
}

static void
zero_file(char const *path)
{
    char zeros[4096] = { 0 };

    checkpoint(path);
    for (off_t at = 0, size = size_of_file(path); at < size; at += (off_t)sizeof zeros)
        overwrite(path, at, zeros, sizeof zeros);
}

/* A page of a table, so that the database opens. */
static void
overwrite_pages(char const *path)
{
    char noise[4096];

    checkpoint(path);
    memset(noise, 0x5a, sizeof noise);
    for (off_t at = 4096, size = size_of_file(path); at < size; at += (off_t)sizeof noise)
        overwrite(path, at, noise, sizeof noise);
}

/* One of the places that have a key: its row, and the index by which rows are found. */
static void
flip_key(char const *path, unsigned which)
{
    gcache_key key = key_of(0);
    gci_view bytes = gci_view_of((char const *)key.bytes, sizeof key.bytes);

    checkpoint(path);
    assert_int_equal(place_in_file(path, bytes, 2), -1);
    flip_byte(path, place_in_file(path, bytes, which) + (off_t)sizeof key.bytes - 1);
}

static void
flip_key_once(char const *path)
{
    flip_key(path, 0);
}

static void
flip_key_elsewhere(char const *path)
{
    flip_key(path, 1);
}

static void
write_text(char const *path)
{
    overwrite(path, 0, "this is no database, and never was one", 38);
}

static void
beside(char const *path, char const *suffix, char out_path[600])
{
    snprintf(out_path, 600, "%s%s", path, suffix);
    remove(out_path);
}

static void
log_is_a_pipe(char const *path)
{
    char other[600];

    checkpoint(path);
    beside(path, "-wal", other);
    assert_int_equal(mkfifo(other, 0600), 0);
}

static void
memory_is_a_directory(char const *path)
{
    char other[600];

    checkpoint(path);
    beside(path, "-shm", other);
    assert_int_equal(mkdir(other, 0700), 0);
}

static void
log_without_database(char const *path)
{
    char other[600];

    delete_file(path);
    beside(path, "-wal", other);
    overwrite(other, 0, "a log", 5);
}

static void
log_is_damaged(char const *path)
{
    char other[600];

    beside(path, "-shm", other);
    snprintf(other, sizeof other, "%s-wal", path);
    overwrite(other, 40, "noise", 5);
}

#define DAMAGE_MAP(X)                                                                                 \
    X(flip_version) X(flip_application) X(flip_write_version) X(drop_table) X(drop_index) X(add_trigger) \
    X(make_sizes_negative) X(make_sizes_overflow) X(empty_file) X(halve_file) X(zero_file) X(overwrite_pages) \
    X(flip_key_once) X(flip_key_elsewhere) X(write_text) X(delete_file) X(become_directory) X(become_pipe) X(become_link) \
    X(log_is_a_pipe) X(memory_is_a_directory) X(log_without_database) X(log_is_damaged)

static struct {
    char const *name;
    void (*make)(char const *path);
} const damages[] = {
#define X(name) { #name, name },
    DAMAGE_MAP(X)
#undef X
};

/* ---- what must go on working ---- */

static gci_store *
open_quickly(test_dir *fixture)
{
    return fixture_open_with(fixture, (gci_store_options){ .durability = GCACHE_DURABILITY_NONE });
}

static int
stop(void *state, uint64_t at_ns, gci_view entry)
{
    (void)state;
    (void)at_ns;
    (void)entry;
    return 1;
}

static void
use_everything(gci_store *store)
{
    gcache_collected collected;
    gci_store_stats stats;

    insert(store, ENTRIES, 1, 100);
    for (uint64_t i = 0; i <= ENTRIES; i++)
        assert_int_equal(look(store, i, 1, 100), GCI_FOUND);
    gci_store_journal_append(store, gci_view_text("a lookup"));
    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    assert_int_equal(gci_store_journal_each(store, stop, NULL, NULL), GCACHE_OK);
    assert_int_equal(gci_store_gc(store, &(gcache_gc_options){ 0 }, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.entries, 0);
}

static void
mend_everything(gci_store *store)
{
    gcache_maintenance_options options = { 0 };
    gcache_repaired repaired;

    assert_int_equal(gci_store_repair(store, &options, &repaired, NULL), GCACHE_OK);
    assert_int_equal(repaired.entries, ENTRIES + 1);
    assert_int_equal(problems(store), 0);
}

static void
assert_rows(gci_store *store, uint64_t entries)
{
    gci_index_size totals;

    assert_int_equal(gci_index_sizes(store, &totals, NULL), GCACHE_OK);
    assert_int_equal(totals.entries, entries);
    assert_int_equal(totals.keys, entries);
}

static void
fill(gci_store *store)
{
    for (uint64_t i = 0; i < ENTRIES; i++)
        insert(store, i, 1, 100);
    assert_int_equal(problems(store), 0);
    assert_rows(store, ENTRIES);
}

static void
start_anew(test_dir *fixture)
{
    fixture_remove_tree(fixture->directory);
    assert_int_equal(mkdir(fixture->directory, 0700), 0);
    fixture->log[0] = '\0';
}

/* While nobody has it open; emptied, the segment can't give the rows back. */
static void
test_damage_between_runs(void **state)
{
    char path[512], segment[512];

    path_in(*state, "index.db", path);
    path_in(*state, "segment", segment);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        gci_store *store = open_quickly(*state);
        fill(store);
        gci_store_close(store);
        assert_int_equal(unlink(segment), 0);
        damages[i].make(path);
        alarm(20);
        store = open_quickly(*state);
        use_everything(store);
        mend_everything(store);
        assert_rows(store, ENTRIES + 1);
        gci_store_close(store);
        alarm(0);
        start_anew(*state);
    }
}

/* Under an open connection, which has read what was there before. */
static void
test_damage_while_open(void **state)
{
    char path[512];

    path_in(*state, "index.db", path);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        gci_store *store = open_quickly(*state), *other = open_quickly(*state);
        fill(store);
        assert_rows(other, ENTRIES);
        damages[i].make(path);
        alarm(20);
        use_everything(store);
        assert_int_equal(gci_drain(store, UINT64_C(5000000000), NULL), GCACHE_OK);
        assert_rows(store, ENTRIES + 1);
        gci_drain(other, UINT64_C(5000000000), NULL);
        assert_rows(other, ENTRIES + 1);
        gci_store_close(store);
        gci_store_close(other);
        alarm(0);
        start_anew(*state);
    }
}

/* Who may not write reads the entries, and does without the rows. */
static void
test_damage_seen_by_readers(void **state)
{
    gci_store_stats stats;
    char path[512];

    path_in(*state, "index.db", path);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        gci_store *store = open_quickly(*state);
        fill(store);
        gci_store_close(store);
        damages[i].make(path);
        alarm(20);
        store = fixture_open_with(*state, (gci_store_options){ .read_only = true });
        for (uint64_t k = 0; k < ENTRIES; k++)
            assert_int_equal(look(store, k, 1, 100), GCI_FOUND);
        assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
        assert_int_equal(gci_store_journal_each(store, stop, NULL, NULL), GCACHE_OK);
        gci_store_close(store);
        alarm(0);
        start_anew(*state);
    }
}

/* ---- the version before ---- */

static int64_t
number_of(char const *path, char const *sql)
{
    sqlite3 *database = NULL;
    sqlite3_stmt *statement = NULL;

    assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return number;
}

/* Which had the journal as a table: that goes, and what else was known stays, also for those who may not write. */
static void
test_former_version_is_taken_over(void **state)
{
    char path[512], segment[512];

    path_in(*state, "index.db", path);
    path_in(*state, "segment", segment);
    gci_store *store = open_quickly(*state);
    fill(store);
    gci_store_close(store);
    assert_int_equal(unlink(segment), 0);
    run_sql(path, FORMER_TABLES
                  "CREATE TABLE lookups(seq INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, entry BLOB NOT NULL);"
                  "INSERT INTO lookups(at, entry) VALUES(1, 'x'); UPDATE entries SET hits = 77; PRAGMA user_version=1");
    store = fixture_open_with(*state, (gci_store_options){ .read_only = true });
    assert_rows(store, ENTRIES);
    gci_store_close(store);
    assert_int_equal(number_of(path, "PRAGMA user_version"), 1);
    store = open_quickly(*state);
    assert_rows(store, ENTRIES);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    assert_int_equal(number_of(path, "PRAGMA user_version"), 3);
    assert_int_equal(number_of(path, "SELECT count(*) FROM sqlite_master WHERE name = 'lookups'"), 0);
    assert_int_equal(number_of(path, "SELECT min(hits) FROM entries"), 77);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_damage_between_runs),
        STORE_TEST(test_damage_while_open),
        STORE_TEST(test_damage_seen_by_readers),
        STORE_TEST(test_former_version_is_taken_over),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
