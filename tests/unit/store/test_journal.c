/* The journal's files: what an append wrote is read, newest first, whoever else appends, ends a file, damages it or dies. */
#include "effort.h"
#include "fixture.h"

#include "store/database/event.h"
#include "store/database/journal_file.h"
#include "store/evict/overhead.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

typedef struct journal_test {
    gci_dir dir;
    gci_journal journal;
} journal_test;

static void
begin(journal_test *test, test_dir *fixture)
{
    assert_int_equal(gci_dir_open_user(fixture->directory, &test->dir, NULL), GCACHE_OK);
    gci_journal_init(&test->journal, test->dir);
}

static void
end(journal_test *test)
{
    gci_journal_close(&test->journal);
    gci_dir_close(&test->dir);
}

/* ---- entries: a writer, its number, and a filling made from both ---- */

typedef struct mark {
    uint32_t writer, number;
} mark;

static char
filling_of(mark m)
{
    return (char)(m.writer * 31 + m.number * 7 + 1);
}

static gcache_status
append(gci_journal *journal, mark m, size_t size)
{
    char bytes[GCI_JOURNAL_BYTES_MAX];

    memset(bytes, filling_of(m), size);
    memcpy(bytes, &m, sizeof m);
    return gci_journal_append(journal, gci_view_of(bytes, size), NULL);
}

static mark
mark_of(gci_view entry)
{
    mark m = { 0, 0 };

    assert_true(entry.size >= sizeof m);
    memcpy(&m, entry.data, sizeof m);
    for (size_t i = sizeof m; i < entry.size; i++) {
        if (entry.data[i] != filling_of(m))
            fail_msg("entry %u of writer %u is torn", m.number, m.writer);
    }
    return m;
}

#define WRITERS 32

/* What was read of each writer: from the newest on, one number after the other. */
typedef struct reading {
    size_t count;
    struct {
        size_t count;
        uint32_t newest, oldest;
    } of[WRITERS];
} reading;

static int
take_in(void *state, uint64_t at_ns, gci_view entry)
{
    reading *read = state;
    mark m = mark_of(entry);

    assert_true(at_ns > 0 && m.writer < WRITERS);
    if (read->of[m.writer].count++ == 0)
        read->of[m.writer].newest = m.number;
    else
        assert_int_equal(m.number, read->of[m.writer].oldest - 1);
    read->of[m.writer].oldest = m.number;
    read->count++;
    return 0;
}

static reading
read_all(gci_dir dir)
{
    reading read = { 0 };

    assert_int_equal(gci_journal_each(dir, take_in, &read, NULL), GCACHE_OK);
    return read;
}

/* ---- the ends of files ---- */

#define LARGE ((size_t)60 << 10)

static void
test_old_ones_go_and_the_rest_is_read_newest_first(void **state)
{
    uint32_t count = 3 * (uint32_t)(GCI_JOURNAL_FILE_BYTES / LARGE);
    char newest[512], older[512];
    journal_test test;

    begin(&test, *state);
    path_in(*state, "journal", newest);
    path_in(*state, "journal.old", older);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(append(&test.journal, (mark){ 0, i }, LARGE), GCACHE_OK);
    reading read = read_all(test.dir);
    assert_int_equal(read.of[0].newest, count - 1);
    assert_true(read.count >= GCI_JOURNAL_FILE_BYTES / (LARGE + 4096) && read.count < count);
    assert_in_range(size_of_file(older), GCI_JOURNAL_FILE_BYTES, GCI_JOURNAL_FILE_BYTES + ((size_t)1 << 20));
    assert_in_range(size_of_file(newest), 1, GCI_JOURNAL_FILE_BYTES + ((size_t)1 << 20));
    end(&test);
}

static int
stop_at_third(void *state, uint64_t at_ns, gci_view entry)
{
    reading *read = state;

    take_in(read, at_ns, entry);
    return read->count == 3;
}

static void
test_reading_ends_when_it_is_told_to(void **state)
{
    reading read = { 0 };
    journal_test test;

    begin(&test, *state);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(append(&test.journal, (mark){ 0, i }, 100), GCACHE_OK);
    assert_int_equal(gci_journal_each(test.dir, stop_at_third, &read, NULL), GCACHE_OK);
    assert_int_equal(read.count, 3);
    assert_int_equal(read.of[0].oldest, 97);
    end(&test);
}

/* Two that found the same file long: the second must not end the one that the first has begun. */
static void
test_a_file_is_ended_once(void **state)
{
    uint32_t count = (uint32_t)(GCI_JOURNAL_FILE_BYTES / LARGE) + 1;
    journal_test first, second;

    begin(&first, *state);
    begin(&second, *state);
    append(&second.journal, (mark){ 1, 0 }, 100);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(append(&first.journal, (mark){ 0, i }, LARGE), GCACHE_OK);
    for (uint32_t i = 1; i < 10; i++) {
        first.journal.checked_ns = second.journal.checked_ns = 0;
        assert_int_equal(append(&first.journal, (mark){ 0, count++ }, LARGE), GCACHE_OK);
        assert_int_equal(append(&second.journal, (mark){ 1, i }, 100), GCACHE_OK);
    }
    reading read = read_all(first.dir);
    assert_int_equal(read.of[0].count, count);
    assert_int_equal(read.of[1].count, 10);
    end(&first);
    end(&second);
}

/* As a reader finds it that has opened the file before it was renamed, and then again under its other name. */
static void
test_a_file_with_both_names_is_read_once(void **state)
{
    char newest[512], older[512];
    journal_test test;

    begin(&test, *state);
    path_in(*state, "journal", newest);
    path_in(*state, "journal.old", older);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(append(&test.journal, (mark){ 0, i }, 100), GCACHE_OK);
    assert_int_equal(link(newest, older), 0);
    assert_int_equal(read_all(test.dir).count, 3);
    end(&test);
}

/* ---- damage ---- */

static void
wait_for_a_look(void)
{
    nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
}

static void
remove_it(char const *path)
{
    assert_int_equal(unlink(path), 0);
}

static void
put_it_aside(char const *path)
{
    char aside[600];

    snprintf(aside, sizeof aside, "%s-aside", path);
    assert_int_equal(rename(path, aside), 0);
}

static void
cut_it(char const *path)
{
    assert_int_equal(truncate(path, 0), 0);
}

static void
make_directory(char const *path)
{
    put_it_aside(path);
    assert_int_equal(mkdir(path, 0700), 0);
}

static void
make_link(char const *path)
{
    put_it_aside(path);
    assert_int_equal(symlink("elsewhere", path), 0);
}

static void
make_pipe(char const *path)
{
    put_it_aside(path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void (*const harms[])(char const *path) = { remove_it, put_it_aside, cut_it, make_directory, make_link, make_pipe };

static void
test_a_file_that_is_gone_is_noticed(void **state)
{
    test_dir *fixture = *state;
    char path[512];

    path_in(fixture, "journal", path);
    for (size_t i = 0; i < sizeof harms / sizeof *harms; i++) {
        journal_test test;
        begin(&test, fixture);
        alarm(20);
        assert_int_equal(append(&test.journal, (mark){ 0, 0 }, 100), GCACHE_OK);
        harms[i](path);
        assert_int_equal(read_all(test.dir).count, 0);
        wait_for_a_look();
        assert_int_equal(append(&test.journal, (mark){ 0, 1 }, 100), GCACHE_OK);
        reading read = read_all(test.dir);
        assert_int_equal(read.count, 1);
        assert_int_equal(read.of[0].newest, 1);
        alarm(0);
        end(&test);
        fixture_remove_tree(fixture->directory);
        assert_int_equal(mkdir(fixture->directory, 0700), 0);
    }
}

/* However fast it appends: within so many bytes. */
static void
test_a_fast_writer_notices_too(void **state)
{
    uint32_t count = 0;
    journal_test test;
    char path[512];

    begin(&test, *state);
    path_in(*state, "journal", path);
    append(&test.journal, (mark){ 0, count++ }, LARGE);
    remove_it(path);
    while (access(path, F_OK) != 0 && count < 8)
        assert_int_equal(append(&test.journal, (mark){ 0, count++ }, LARGE), GCACHE_OK);
    assert_true(count < 8);
    end(&test);
}

static void
test_what_has_the_older_place_is_put_aside(void **state)
{
    uint32_t count = (uint32_t)(GCI_JOURNAL_FILE_BYTES / LARGE) + 20;
    journal_test test;
    char path[512];

    begin(&test, *state);
    path_in(*state, "journal.old", path);
    assert_int_equal(mkdir(path, 0700), 0);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(append(&test.journal, (mark){ 0, i }, LARGE), GCACHE_OK);
    assert_int_equal(read_all(test.dir).count, count);
    assert_in_range(size_of_file(path), GCI_JOURNAL_FILE_BYTES, 2 * GCI_JOURNAL_FILE_BYTES);
    end(&test);
}

static void
write_torn(char const *path, mark m, size_t size)
{
    char bytes[GCI_EVENT_HEADER + 1000];
    gci_event event = { GCI_EVENT_LOOKUP, 1, gci_view_of(bytes + GCI_EVENT_HEADER, 1000) };
    int fd = open(path, O_WRONLY | O_APPEND);

    memset(bytes, filling_of(m), sizeof bytes);
    gci_event_seal(&event, bytes);
    assert_true(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
    close(fd);
}

static void
test_torn_entries_are_stepped_over(void **state)
{
    journal_test test;
    char path[512];

    begin(&test, *state);
    path_in(*state, "journal", path);
    for (uint32_t i = 0; i < 1000; i++) {
        assert_int_equal(append(&test.journal, (mark){ 0, i }, 2000), GCACHE_OK);
        write_torn(path, (mark){ 1, i }, 1 + i % (GCI_EVENT_HEADER + 999));
    }
    reading read = read_all(test.dir);
    assert_int_equal(read.of[0].count, 1000);
    assert_int_equal(read.count, 1000);
    end(&test);
}

/* Larger than what it holds. */
static int
expect_outer(void *state, uint64_t at_ns, gci_view entry)
{
    uint32_t *left = state;
    mark m;

    assert_true(at_ns > 1 && *left > 0);
    memcpy(&m, entry.data, sizeof m);
    assert_int_equal(m.number, --*left);
    return 0;
}

/* The file is read in blocks, each of which begins anywhere: also inside an entry that holds what looks like others. */
static void
test_an_entry_inside_another_is_none(void **state)
{
    enum { INSIDE = 100, WHOLE = GCI_EVENT_HEADER + INSIDE, FAKES = 400 };
    static char bytes[sizeof(mark) + FAKES * WHOLE];
    uint32_t left = 200;
    journal_test test;

    begin(&test, *state);
    for (size_t i = 0; i < FAKES; i++) {
        char *fake = bytes + sizeof(mark) + i * WHOLE;
        gci_event_seal(&(gci_event){ GCI_EVENT_LOOKUP, 1, gci_view_of(fake + GCI_EVENT_HEADER, INSIDE) }, fake);
    }
    for (uint32_t i = 0; i < left; i++) {
        memcpy(bytes, &(mark){ 0, i }, sizeof(mark));
        assert_int_equal(gci_journal_append(&test.journal, gci_view_of(bytes, sizeof bytes - i * 8), NULL), GCACHE_OK);
    }
    assert_int_equal(gci_journal_each(test.dir, expect_outer, &left, NULL), GCACHE_OK);
    assert_int_equal(left, 0);
    end(&test);
}

/* ---- many at once ---- */

enum { PROCESSES = 8, THREADS = 4 };
_Static_assert(PROCESSES * THREADS == WRITERS, "a writer a thread");

/* 42 MB of all: two files are ended, and fewer are left than are read at most. */
#define CROWD_EACH 320
#define CROWD_SIZE 4096

typedef struct appender {
    gci_journal *journal;
    uint32_t writer;
    bool failed;
} appender;

/* On a machine that does much else other threads may have the file for too long: then nothing was written, and it can be again. */
static void *
append_many(void *state)
{
    appender *one = state;

    for (uint32_t i = 0; i < CROWD_EACH && !one->failed; i++) {
        gcache_status status = GCACHE_ERROR_BUSY;
        while (status == GCACHE_ERROR_BUSY)
            status = append(one->journal, (mark){ one->writer, i }, CROWD_SIZE);
        one->failed = status != GCACHE_OK;
    }
    return NULL;
}

static void
be_a_process(test_dir *fixture, uint32_t process)
{
    appender appenders[THREADS];
    pthread_t threads[THREADS];
    bool failed = false;
    journal_test test;

    die_with_the_test();
    begin(&test, fixture);
    for (uint32_t i = 0; i < THREADS; i++) {
        appenders[i] = (appender){ &test.journal, process * THREADS + i, false };
        failed |= pthread_create(&threads[i], NULL, append_many, &appenders[i]) != 0;
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        failed |= appenders[i].failed;
    }
    _exit(failed);
}

static bool
is_over(pid_t const children[PROCESSES], bool over[PROCESSES])
{
    bool all = true;
    int status;

    for (size_t i = 0; i < PROCESSES; i++) {
        if (!over[i] && waitpid(children[i], &status, WNOHANG) == children[i]) {
            assert_int_equal(status, 0);
            over[i] = true;
        }
        all &= over[i];
    }
    return all;
}

/* Whenever it is read nothing is missing between the oldest and the newest of each writer, and nothing is torn. */
static void
test_many_append_while_others_end_files_and_read(void **state)
{
    bool over[PROCESSES] = { false };
    pid_t children[PROCESSES];
    size_t readings = 0;
    journal_test test;

    begin(&test, *state);
    for (uint32_t i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0)
            be_a_process(*state, i);
    }
    for (; !is_over(children, over); readings++)
        read_all(test.dir);
    reading read = read_all(test.dir);
    assert_true(readings > 0);
    assert_true(read.count >= GCI_JOURNAL_FILE_BYTES / (CROWD_SIZE + GCI_EVENT_HEADER));
    for (size_t i = 0; i < WRITERS; i++) {
        if (read.of[i].count != 0)
            assert_int_equal(read.of[i].newest, CROWD_EACH - 1);
    }
    end(&test);
}

/* ---- killed ---- */

static void
append_until_killed(test_dir *fixture, uint32_t writer, _Atomic uint32_t *written)
{
    journal_test test;

    die_with_the_test();
    begin(&test, fixture);
    for (uint32_t i = 0; append(&test.journal, (mark){ writer, i }, LARGE) == GCACHE_OK; i++)
        *written = i + 1;
    _exit(1);
}

/* At any moment, also while a file is ended. */
static void
test_what_the_killed_wrote_is_there(void **state)
{
    _Atomic uint32_t *written = mmap(NULL, sizeof *written, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    journal_test test;

    assert_true(written != MAP_FAILED);
    begin(&test, *state);
    for (uint32_t round = 0; round < WRITERS; round++) {
        *written = 0;
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            append_until_killed(*state, round, written);
        while (*written == 0)
            usleep(100);
        usleep(500 * round);
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        reading read = read_all(test.dir);
        /* The last write may have ended before it was counted. */
        assert_in_range(read.of[round].newest + 1, *written, *written + 1);
    }
    munmap((void *)written, sizeof *written);
    end(&test);
}

/* ---- a full disk ---- */

static int
count_entry(void *state, uint64_t at_ns, gci_view entry)
{
    (void)at_ns;
    (void)entry;
    ++*(size_t *)state;
    return 0;
}

/* Beside few entries the journal goes first, and what is known of them stays. */
static void
test_a_full_disk_takes_the_journal_first(void **state)
{
    static char const large[LARGE];
    gci_store *store = fixture_open(*state);
    char path[512], index[512];
    size_t count = 0;

    path_in(*state, "journal", path);
    path_in(*state, "index.db", index);
    insert(store, 1, 1, 100);
    for (int i = 0; i < 20; i++)
        assert_true(gci_store_journal_append(store, gci_view_of(large, sizeof large)));
    gci_overhead_shrink(store);
    assert_false(is_file(path));
    assert_true(is_file(index));
    wait_for_a_look();
    assert_true(gci_store_journal_append(store, gci_view_text("after it")));
    assert_int_equal(gci_store_journal_each(store, count_entry, &count, NULL), GCACHE_OK);
    assert_int_equal(count, 1);
    for (int i = 0; i < 3; i++)
        assert_true(gci_store_journal_append(store, gci_view_of(large, sizeof large)));
    gci_overhead_shrink(store);
    assert_true(is_file(path));
    gci_store_close(store);
}

/* ---- forked ---- */

static void
test_a_child_appends_beside_its_parent(void **state)
{
    journal_test test;
    int status;

    begin(&test, *state);
    assert_int_equal(append(&test.journal, (mark){ 0, 0 }, 100), GCACHE_OK);
    assert_true(gci_turns_lock(&test.journal.appending, 0));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        gci_journal_after_fork(&test.journal);
        _exit(append(&test.journal, (mark){ 1, 0 }, 100) != GCACHE_OK);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    gci_turns_unlock(&test.journal.appending);
    assert_int_equal(append(&test.journal, (mark){ 0, 1 }, 100), GCACHE_OK);
    assert_int_equal(read_all(test.dir).count, 3);
    end(&test);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_old_ones_go_and_the_rest_is_read_newest_first),
        STORE_TEST(test_reading_ends_when_it_is_told_to),
        STORE_TEST(test_a_file_is_ended_once),
        STORE_TEST(test_a_file_with_both_names_is_read_once),
        STORE_TEST(test_a_file_that_is_gone_is_noticed),
        STORE_TEST(test_a_fast_writer_notices_too),
        STORE_TEST(test_what_has_the_older_place_is_put_aside),
        STORE_TEST(test_torn_entries_are_stepped_over),
        STORE_TEST(test_an_entry_inside_another_is_none),
        STORE_TEST(test_many_append_while_others_end_files_and_read),
        STORE_TEST(test_what_the_killed_wrote_is_there),
        STORE_TEST(test_a_full_disk_takes_the_journal_first),
        STORE_TEST(test_a_child_appends_beside_its_parent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
