/* Forks while other threads are in SQLite: what it has in memory of the process's locks mustn't keep a child waiting. */
#include "fixture.h"

#include "base/system/clock.h"
#include "store/index/drain.h"
#include "store/processes/fork_gate.h"
#include "store/index/tables.h"

#include <pthread.h>
#include <sys/wait.h>

enum { FORKS = 24 };
/* A child that has to wait for its parent's locks waits for 5 or 10 seconds, or for ever. */
#define CHILD_MOST_NS UINT64_C(2500000000)

typedef struct load {
    gci_store *store;
    int (*work)(gci_store *store, int number);
    _Atomic bool pause, stop;
    _Atomic int done;
} load;

static void *
go_on(void *state)
{
    load *l = state;

    for (int i = 0; !l->stop; i++) {
        l->done += l->work(l->store, i);
        while (l->pause)
            usleep(200);
    }
    return NULL;
}

static int
count_row(void *state, gci_row const *row)
{
    (void)row;
    ++*(int *)state;
    return 0;
}

static int
put_and_get(gci_store *store, int number)
{
    char name[16];
    int count = 0;

    snprintf(name, sizeof name, "%d", number % 50);
    gci_view text = gci_view_text(name), table = gci_view_text("timing");
    gci_row row = { .table = table, .namespace_ = gci_view_text(""), .name = text, .item = text, .value = text };
    gci_row_filter filter = { .table = table, .name = text };
    return gci_tables_put(store, &row, 1, NULL) == GCACHE_OK &&
           gci_tables_each(store, &filter, count_row, &count, NULL) == GCACHE_OK && count == 1;
}

static int
insert_and_drain(gci_store *store, int number)
{
    gci_record record = { .key = key_of((uint64_t)number), .kind = gci_view_text("test") };
    gci_inserted inserted;

    return gci_store_insert(store, &record, gci_view_text("payload"), NULL, &inserted, NULL) == GCACHE_OK &&
           gci_drain(store, CHILD_MOST_NS, NULL) == GCACHE_OK;
}

/* Exit status of the child: whether it could do the same, on the handle it has inherited and on one of its own. */
static void
be_a_child(test_dir *dir, load *l, int number)
{
    die_with_the_test();
    alarm(20);
    uint64_t begin = gci_clock_steady_ns();
    bool inherited = l->work(l->store, 1000000 + number) == 1;
    gci_store *own = fixture_open(dir);
    bool opened = l->work(own, 2000000 + number) == 1;
    gci_store_close(own);
    bool soon = gci_clock_steady_ns() - begin < CHILD_MOST_NS;
    _exit(!inherited ? 1 : !opened ? 2 : !soon ? 3 : 0);
}

/* GCC 12's libasan and libtsan don't guard their allocators over a fork: a child may wait for ever for one of their locks that
   another thread of the parent held. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { ALLOCATOR_SURVIVES_FORKS = false };
#else
enum { ALLOCATOR_SURVIVES_FORKS = true };
#endif

static void
fork_under_load(test_dir *dir, int (*work)(gci_store *store, int number))
{
    if (!ALLOCATOR_SURVIVES_FORKS)
        skip();
    load l = { .store = fixture_open(dir), .work = work };
    pthread_t threads[2];
    int how;

    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, go_on, &l);
    for (int i = 0; i < FORKS; i++) {
        usleep(1000 + 377 * (useconds_t)i);
        pid_t child = fork();
        if (child == 0)
            be_a_child(dir, &l, i);
        /* What others have locked just now isn't what the child is to be measured by. */
        l.pause = true;
        assert_int_equal(waitpid(child, &how, 0), child);
        l.pause = false;
        if (how != 0)
            fail_msg("child %d ended with %d", i, WIFEXITED(how) ? WEXITSTATUS(how) : -WTERMSIG(how));
    }
    l.stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_true(l.done > 0);
    gci_store_close(l.store);
}

static void
test_tables(void **state)
{
    fork_under_load(*state, put_and_get);
}

static void
test_index(void **state)
{
    fork_under_load(*state, insert_and_drain);
}

/* Who is forked from inside must not wait for its parent's locks, nor touch its connections. */
static void
test_from_inside(void **state)
{
    gci_store *store = fixture_open(*state);
    int how;

    assert_int_equal(put_and_get(store, 1), 1);
    assert_true(gci_fork_gate_enter());
    pid_t child = fork();
    if (child == 0) {
        gcache_error error = { 0 };
        gci_row row = { .table = gci_view_text("timing") };
        die_with_the_test();
        gci_fork_gate_leave();
        _exit(gci_tables_put(store, &row, 1, &error) == GCACHE_ERROR_BUSY && strstr(error.message, "forked") ? 0 : 1);
    }
    gci_fork_gate_leave();
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    assert_int_equal(put_and_get(store, 2), 1);
    gci_store_close(store);
}

static int
collect(gci_store *store, int number)
{
    gcache_gc_options options = { .target_bytes = 0 };
    gcache_collected collected;

    (void)number;
    return gci_store_gc(store, &options, &collected, NULL) == GCACHE_OK;
}

enum { FIRST_USES = 200 };

typedef struct first_use {
    pthread_barrier_t together;
    unsigned after; /* turns of an empty loop */
} first_use;

static void *
use_the_gate(void *state)
{
    first_use *f = state;

    pthread_barrier_wait(&f->together);
    for (volatile unsigned i = 0; i < f->after; i++)
        continue;
    if (gci_fork_gate_enter())
        gci_fork_gate_leave();
    return NULL;
}

static int
status_of(pid_t child)
{
    int how = -1;

    return waitpid(child, &how, 0) == child && WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

/* Exit status of a process that forks while another thread uses the gate for the first time: whether its child can use it,
   and fork. */
static int
fork_during_first_use(unsigned number)
{
    static first_use f; /* the thread may outlive this call; TSan takes one to be joined for a leak of the child's */
    pthread_t thread;

    f.after = number * 8;
    pthread_barrier_init(&f.together, NULL, 2);
    if (pthread_create(&thread, NULL, use_the_gate, &f) != 0 || pthread_detach(thread) != 0)
        return 2;
    pthread_barrier_wait(&f.together);
    pid_t child = fork();
    if (child == 0) {
        alarm(5);
        if (!gci_fork_gate_enter())
            _exit(3);
        gci_fork_gate_leave();
        pid_t grandchild = fork();
        if (grandchild == 0)
            _exit(0);
        _exit(status_of(grandchild));
    }
    return status_of(child);
}

/* First of all: in this process nobody has used the gate, so in each child somebody does so for the first time. */
static void
test_first_use(void **state)
{
    (void)state;
    for (unsigned i = 0; i < FIRST_USES; i++) {
        pid_t child = fork();
        if (child == 0) {
            die_with_the_test();
            _exit(fork_during_first_use(i));
        }
        assert_int_equal(status_of(child), 0);
    }
}

/* Children that do nothing hold nothing: what their parent had locked when it forked is free when the parent gives it back. */
static void
test_idle_children(void **state)
{
    load l = { .store = fixture_open(*state), .work = collect };
    pid_t children[FORKS];
    pthread_t thread;

    pthread_create(&thread, NULL, go_on, &l);
    for (int i = 0; i < FORKS; i++) {
        usleep(1000 + 377 * (useconds_t)i);
        children[i] = fork();
        if (children[i] == 0) {
            die_with_the_test();
            pause();
        }
    }
    l.stop = true;
    pthread_join(thread, NULL);
    gci_store_close(l.store);
    gci_store *own = fixture_open(*state);
    uint64_t begin = gci_clock_steady_ns();
    assert_int_equal(collect(own, 0), 1);
    assert_true(gci_clock_steady_ns() - begin < CHILD_MOST_NS);
    gci_store_close(own);
    for (int i = 0; i < FORKS; i++) {
        kill(children[i], SIGKILL);
        assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
    }
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_first_use),
        STORE_TEST(test_tables),
        STORE_TEST(test_index),
        STORE_TEST(test_from_inside),
        STORE_TEST(test_idle_children),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
