/* tables.db under damage of every kind: what was in it is put aside and said, what is put afterwards is there. */
#include "become.h"
#include "effort.h"
#include "fixture.h"

#include "store/index/tables.h"

#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- damage ---- */

static void
write_text(char const *path)
{
    int fd = open(path, O_WRONLY);

    assert_int_equal(write(fd, "this is no database, and never was one", 38), 38);
    close(fd);
}

static void
halve_file(char const *path)
{
    assert_int_equal(truncate(path, size_of_file(path) / 2), 0);
}

static void
empty_file(char const *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void
change_columns(char const *path)
{
    sqlite3 *database;

    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, "DROP TABLE rows; CREATE TABLE rows(a)", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(database);
}

/* Something else than a file under a name that SQLite makes of the database's. */
static void
make_beside(char const *path, char const *suffix, bool pipe)
{
    char name[600];

    snprintf(name, sizeof name, "%s%s", path, suffix);
    assert_int_equal(pipe ? mkfifo(name, 0600) : mkdir(name, 0700), 0);
}

static void
journal_is_a_pipe(char const *path)
{
    make_beside(path, "-journal", true);
}

static void
journal_is_a_directory(char const *path)
{
    make_beside(path, "-journal", false);
}

/* Of a database with another kind of journal; but SQLite opens what is there. */
static void
log_is_a_pipe(char const *path)
{
    make_beside(path, "-wal", true);
}

static void
log_is_a_directory(char const *path)
{
    make_beside(path, "-wal", false);
}

static struct {
    void (*make)(char const *path);
    bool said, kept;
} const damages[] = {
    { write_text, .said = true },       { halve_file, .said = true },  { empty_file, .said = false },
    { change_columns, .said = true },   { delete_file, .said = false },               { become_directory, .said = true },
    { become_pipe, .said = true },      { become_link, .said = true }, { journal_is_a_pipe, .said = true, .kept = true },
    { journal_is_a_directory, .said = true, .kept = true }, { log_is_a_pipe, .said = true, .kept = true },
    { log_is_a_directory, .said = true, .kept = true },
};

/* ---- rows ---- */

static gcache_status
put(gci_store *store, char const *name)
{
    gci_row row = { .table = gci_view_text("t"), .namespace_ = gci_view_text(""), .name = gci_view_text(name),
                    .item = gci_view_text("i"), .value = gci_view_text("v") };

    return gci_tables_put(store, &row, 1, NULL);
}

static int
count_row(void *state, gci_row const *row)
{
    (void)row;
    ++*(size_t *)state;
    return 0;
}

static size_t
count(gci_store *store)
{
    size_t found = 0;

    assert_int_equal(gci_tables_each(store, &(gci_row_filter){ .table = gci_view_text("t") }, count_row, &found, NULL),
                     GCACHE_OK);
    return found;
}

static void
test_damaged_tables(void **state)
{
    test_dir *fixture = *state;
    char path[512];

    path_in(fixture, "tables.db", path);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        for (int writer = 0; writer < 2; writer++) {
            gci_store *store = fixture_open(fixture);
            assert_int_equal(put(store, "a"), GCACHE_OK);
            damages[i].make(path);
            alarm(20);
            fixture->log[0] = '\0';
            if (writer == 0)
                assert_int_equal(count(store), damages[i].kept ? 1 : 0);
            assert_int_equal(put(store, "b"), GCACHE_OK);
            assert_int_equal(count(store), damages[i].kept ? 2 : 1);
            assert_int_equal(strstr(fixture->log, "tables.db") != NULL, damages[i].said);
            alarm(0);
            gci_store_close(store);
            fixture_remove_tree(fixture->directory);
            assert_int_equal(mkdir(fixture->directory, 0700), 0);
        }
    }
}

static void
test_readers_do_without(void **state)
{
    test_dir *fixture = *state;
    char path[512];

    path_in(fixture, "tables.db", path);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        gci_store *store = fixture_open(fixture);
        assert_int_equal(put(store, "a"), GCACHE_OK);
        gci_store_close(store);
        damages[i].make(path);
        alarm(20);
        store = fixture_open_with(fixture, (gci_store_options){ .read_only = true });
        count(store);
        gci_store_close(store);
        alarm(0);
        fixture_remove_tree(fixture->directory);
        assert_int_equal(mkdir(fixture->directory, 0700), 0);
    }
}

/* Many find the damage at once: none puts aside what another has made in the place, so no row that was put is lost. */
static void
test_one_puts_aside(void **state)
{
    enum { PROCESSES = 6 };
    char path[512], name[16];
    int how;

    path_in(*state, "tables.db", path);
    for (effort work = effort_of(30); effort_goes_on(&work);) {
        gci_store *store = fixture_open(*state);
        assert_int_equal(put(store, "a"), GCACHE_OK);
        write_text(path);
        for (int i = 0; i < PROCESSES; i++) {
            if (fork() != 0)
                continue;
            die_with_the_test();
            snprintf(name, sizeof name, "%d", i);
            _exit(put(store, name) == GCACHE_OK ? 0 : 1);
        }
        for (int i = 0; i < PROCESSES; i++) {
            wait(&how);
            assert_int_equal(how, 0);
        }
        assert_int_equal(count(store), PROCESSES);
        gci_store_close(store);
        delete_file(path);
    }
}

/* Who finds the damage waits for its turn: until then the files may be those of whoever makes the next database. */
static void
test_puts_aside_in_turn(void **state)
{
    struct stat damaged, now;
    char path[512], lock[512];
    int how;

    path_in(*state, "tables.db", path);
    path_in(*state, "locks/tables", lock);
    gci_store *store = fixture_open(*state);
    assert_int_equal(put(store, "a"), GCACHE_OK);
    gci_store_close(store);
    write_text(path);
    assert_int_equal(stat(path, &damaged), 0);
    int turn = open(lock, O_RDWR);
    assert_true(turn >= 0 && flock(turn, LOCK_EX) == 0);
    pid_t child = fork();
    if (child == 0) {
        die_with_the_test();
        close(turn);
        store = fixture_open(*state);
        _exit(count(store) == 0 ? 0 : 1);
    }
    usleep(300000);
    assert_true(stat(path, &now) == 0 && now.st_ino == damaged.st_ino);
    close(turn);
    assert_true(waitpid(child, &how, 0) == child && how == 0);
    assert_int_equal(access(path, F_OK), -1);
}

/* Whose name was changed in the file is found no more, and nobody hears of it but by looking. */
static void
test_row_out_of_order(void **state)
{
    char const *names[] = { "name 1", "name 2", "name 3" };
    char path[512];

    path_in(*state, "tables.db", path);
    gci_store *store = fixture_open(*state);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(put(store, names[i]), GCACHE_OK);
    assert_true(gci_tables_are_whole(store));
    assert_false(gci_tables_mend(store));
    flip_byte(path, place_in_file(path, gci_view_text("name 2"), 0));
    assert_false(gci_tables_are_whole(store));
    assert_true(gci_tables_mend(store));
    assert_true(gci_tables_are_whole(store));
    assert_int_equal(count(store), 0);
    gci_store_close(store);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_damaged_tables),
        STORE_TEST(test_readers_do_without),
        STORE_TEST(test_one_puts_aside),
        STORE_TEST(test_puts_aside_in_turn),
        STORE_TEST(test_row_out_of_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
