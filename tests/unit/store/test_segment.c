/* The segment under threads, processes that empty it, and damage: an event that was appended is read, once. */
#include "effort.h"
#include "fixture.h"

#include "store/database/event_log.h"

#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>

typedef struct segment_test {
    gci_dir dir;
    gci_segment segment;
} segment_test;

static void
begin(segment_test *test, test_dir *fixture)
{
    assert_int_equal(gci_dir_open_user(fixture->directory, &test->dir, NULL), GCACHE_OK);
    gci_segment_init(&test->segment, test->dir);
}

static void
end(segment_test *test)
{
    gci_segment_close(&test->segment);
    gci_dir_close(&test->dir);
}

static gcache_status
append_number(gci_segment *segment, uint64_t number)
{
    gcache_error error;
    gcache_status status = gci_segment_append(segment, GCI_EVENT_INSERTED, gci_view_of(&number, sizeof number), &error);

    if (status != GCACHE_OK)
        print_message("    %s\n", error.message);
    return status;
}

/* ---- reading ---- */

#define THREADS 8
#define EVENTS_MAX 100000

/* How often each event was read, and how far. */
typedef struct segment_reading {
    uint64_t nonce, offset;
    _Atomic bool over;
    uint8_t seen[THREADS * EVENTS_MAX];
} segment_reading;

static segment_reading *
new_reading(void)
{
    segment_reading *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(made != MAP_FAILED);
    return made;
}

static void
read_on(gci_segment *segment, segment_reading *reading)
{
    gci_segment_part part;
    gci_event event;
    uint64_t number;
    size_t at = 0;

    if (gci_segment_read(segment, reading->nonce, reading->offset, (size_t)64 << 20, &part, NULL) != GCACHE_OK)
        return;
    while (gci_event_next(gci_buf_view(&part.bytes), &at, &event)) {
        memcpy(&number, event.body.data, sizeof number);
        if (number < sizeof reading->seen)
            reading->seen[number]++;
    }
    reading->nonce = part.nonce;
    reading->offset = part.offset + at;
    gci_buf_clear(&part.bytes);
}

static size_t
count_seen(segment_reading const *reading, uint8_t times)
{
    size_t count = 0;

    for (size_t i = 0; i < sizeof reading->seen; i++)
        count += reading->seen[i] == times;
    return count;
}

/* ---- threads ---- */

typedef struct appender {
    gci_segment *segment;
    uint64_t from, count, failed;
} appender;

static void *
append_many(void *state)
{
    appender *one = state;

    for (uint64_t i = 0; i < one->count; i++)
        one->failed += append_number(one->segment, one->from + i) != GCACHE_OK;
    return NULL;
}

static pid_t
drain_in_child(segment_test *test, segment_reading *reading)
{
    pid_t child = fork();

    if (child != 0)
        return child;
    die_with_the_test();
    gci_segment_after_fork(&test->segment);
    while (!reading->over) {
        read_on(&test->segment, reading);
        gci_segment_reset(&test->segment, reading->offset);
    }
    _exit(0);
}

/* A flock belongs to the open file: one thread's unlock must not be another's. */
static void
test_threads_append_while_a_process_empties(void **state)
{
    uint64_t each = effort_is_thorough() ? EVENTS_MAX : 20000;
    appender appenders[THREADS];
    pthread_t threads[THREADS];
    segment_reading *reading = new_reading();
    segment_test test;

    begin(&test, *state);
    pid_t child = drain_in_child(&test, reading);
    for (size_t i = 0; i < THREADS; i++) {
        appenders[i] = (appender){ &test.segment, i * EVENTS_MAX, each, 0 };
        assert_int_equal(pthread_create(&threads[i], NULL, append_many, &appenders[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(appenders[i].failed, 0);
    }
    reading->over = true;
    assert_int_equal(waitpid(child, NULL, 0), child);
    read_on(&test.segment, reading);
    assert_int_equal(count_seen(reading, 1), THREADS * each);
    munmap(reading, sizeof *reading);
    end(&test);
}

/* ---- damage ---- */

/* Whether exactly the numbers from `from` to below `to` are in the file. */
static void
assert_holds(segment_test *test, uint64_t from, uint64_t to)
{
    segment_reading *reading = new_reading();

    read_on(&test->segment, reading);
    assert_int_equal(count_seen(reading, 1), to - from);
    for (uint64_t i = from; i < to; i++)
        assert_int_equal(reading->seen[i], 1);
    munmap(reading, sizeof *reading);
}

static void
test_removed_file_is_noticed(void **state)
{
    segment_test test;
    char path[512], aside[512];

    begin(&test, *state);
    path_in(*state, "segment", path);
    path_in(*state, "aside", aside);
    assert_int_equal(append_number(&test.segment, 0), GCACHE_OK);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(append_number(&test.segment, 1), GCACHE_OK);
    assert_holds(&test, 1, 2);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(append_number(&test.segment, 2), GCACHE_OK);
    assert_holds(&test, 2, 3);
    end(&test);
}

static void
make_directory(char const *path)
{
    assert_int_equal(mkdir(path, 0700), 0);
}

static void
make_link(char const *path)
{
    assert_int_equal(symlink("elsewhere", path), 0);
}

static void
make_pipe(char const *path)
{
    assert_int_equal(mkfifo(path, 0600), 0);
}

/* What isn't a file is put aside; nobody waits for somebody to write to a pipe. */
static void
test_other_kinds_are_put_aside(void **state)
{
    static void (*const make[])(char const *path) = { make_directory, make_link, make_pipe };
    segment_test test;
    char path[512];

    path_in(*state, "segment", path);
    for (size_t i = 0; i < sizeof make / sizeof *make; i++) {
        begin(&test, *state);
        make[i](path);
        alarm(20);
        gci_segment_reset(&test.segment, 16);
        assert_holds(&test, 0, 0);
        assert_int_equal(append_number(&test.segment, i), GCACHE_OK);
        assert_holds(&test, i, i + 1);
        alarm(0);
        end(&test);
        assert_int_equal(unlink(path), 0);
    }
}

static void
test_damaged_header_hides_nothing(void **state)
{
    segment_test test;
    char path[512];

    begin(&test, *state);
    path_in(*state, "segment", path);
    append_number(&test.segment, 0);
    flip_byte(path, 3);
    append_number(&test.segment, 1);
    assert_holds(&test, 0, 2);
    end(&test);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_threads_append_while_a_process_empties),
        STORE_TEST(test_removed_file_is_noticed),
        STORE_TEST(test_other_kinds_are_put_aside),
        STORE_TEST(test_damaged_header_hides_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
