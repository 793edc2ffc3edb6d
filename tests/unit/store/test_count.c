/*
 * The files are counted beside writers: whatever of their work a count has seen, afterwards the figures say what there is.
 */
#include "fixture.h"

#include "store/evict/evict.h"
#include "store/evict/recount.h"
#include "store/state/state.h"

#include <linux/openat2.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { SIZE = 20000 };

static struct {
    bool stop;          /* this process stops at each sync, and when a file of an entry has got its name */
    char const *opened; /* when this is opened, once, these keys are inserted by others first */
    gci_store *others;
    uint64_t first, last;
} plan;

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int
__wrap_fdatasync(int fd)
{
    if (plan.stop)
        raise(SIGSTOP);
    return __real_fdatasync(fd);
}

int __real_renameat(int a, char const *from, int b, char const *to);
int __wrap_renameat(int a, char const *from, int b, char const *to);
int
__wrap_renameat(int a, char const *from, int b, char const *to)
{
    int result = __real_renameat(a, from, b, to);

    if (plan.stop && strstr(to, "entries/") != NULL)
        raise(SIGSTOP);
    return result;
}

static void
insert_by_others(void)
{
    plan.opened = NULL;
    for (uint64_t key = plan.first; key <= plan.last; key++)
        insert(plan.others, key, 1, SIZE);
}

long __real_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, long a, long b, long c, long d);
long
__wrap_syscall(long number, long a, long b, long c, long d)
{
    if (plan.opened != NULL && number == SYS_openat2 && strcmp((char const *)b, plan.opened) == 0)
        insert_by_others();
    return __real_syscall(number, a, b, c, d);
}

static void
count_anew(gci_store *store)
{
    gci_recounted counted;
    gci_file lock;

    assert_int_equal(gci_evictor_lock(store, UINT64_MAX, &lock, NULL), GCACHE_OK);
    assert_int_equal(gci_recount(store, &counted, NULL), GCACHE_OK);
    gci_file_unlock_and_close(&lock);
}

static void
figures_are(gci_store *store, uint64_t entries)
{
    gci_store_stats stats;

    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    assert_int_equal(stats.entries, entries);
    assert_int_equal(stats.keys, entries);
}

/* Now that nobody writes, the figures are what a count gives. */
static void
figures_stay(gci_store *store, uint64_t entries)
{
    figures_are(store, entries);
    count_anew(store);
    figures_are(store, entries);
}

/* A writer stops with its file written, and placed and not counted yet; the files are counted each time. */
static void
test_a_count_beside_a_writer_counts_nothing_twice(void **state)
{
    gci_store *store = fixture_open(*state);
    int how, stops = 0;

    insert(store, 0, 1, SIZE);
    pid_t writer = fork();
    assert_true(writer >= 0);
    if (writer == 0) {
        die_with_the_test();
        gci_store *own = fixture_open(*state);
        gci_inserted inserted;
        plan.stop = true;
        _exit(try_insert(own, 1, 1, SIZE, &inserted, NULL) != GCACHE_OK);
    }
    for (assert_int_equal(waitpid(writer, &how, WUNTRACED), writer); WIFSTOPPED(how);
         assert_int_equal(waitpid(writer, &how, WUNTRACED), writer)) {
        count_anew(store);
        kill(writer, SIGCONT);
        stops++;
    }
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0 && stops >= 2);
    figures_stay(store, 2);
    gci_store_close(store);
}

/* When half of the folders have been looked through, others insert into both halves. */
static void
test_what_comes_during_a_count_is_counted(void **state)
{
    gci_store *store = fixture_open(*state);

    insert(store, 0, 1, SIZE);
    plan.others = fixture_open(*state);
    plan.first = 1;
    plan.last = 16;
    plan.opened = "entries/80";
    count_anew(store);
    assert_null(plan.opened);
    figures_stay(store, 17);
    gci_store_close(plan.others);
    gci_store_close(store);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_a_count_beside_a_writer_counts_nothing_twice),
        STORE_TEST(test_what_comes_during_a_count_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
