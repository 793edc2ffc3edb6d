/*
 * Under a cap, and on a disk that is full: whatever is wrong with the figures that are only derived, with what dead processes
 * left, with the clock, or with one key, no entry goes that could stay, and an insert that can be made is made.
 */
#include "fixture.h"

#include "store/evict/evict.h"
#include "store/evict/recount.h"
#include "store/state/state.h"

#include <linux/openat2.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

enum { BLOCK = 4096 };

/* ---- calls that die, fail or are watched ---- */

static struct {
    bool die;                /* at the next sync: the temporary file is written, and nothing else */
    char const *stuck;       /* no file gets a name that contains this: the disk is full */
    bool nameless;           /* no new file in tmp/ */
    char const *watched;     /* at each sync, this directory is measured */
    uint64_t most;           /* and this was the most */
    bool stop;               /* at the next sync, until somebody kills this process */
    char const *removed;     /* this process stops when a file with such a name has gone */
    char const *placed;      /* death comes when a file has got a name that contains this */
    unsigned opens;          /* so many files and folders are opened, and then */
    pid_t victim;            /* this process is killed, and was waited for; 0: this one */
    long behind_s;           /* of the coarse clock: more than any machine's, to be seen whenever it is taken */
} plan;

static uint64_t found_bytes;
static size_t prefix_size;

static int
add_found(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    char const *name = path + prefix_size;

    (void)place;
    if (type == FTW_F && (strncmp(name, "/entries/", 9) == 0 || strncmp(name, "/attachments/", 13) == 0 ||
                          strncmp(name, "/tmp/", 5) == 0))
        found_bytes += (uint64_t)facts->st_blocks * 512;
    return 0;
}

/* What is on the disk, temporary files included. */
static uint64_t
on_disk(char const *directory)
{
    found_bytes = 0;
    prefix_size = strlen(directory);
    nftw(directory, add_found, 16, FTW_PHYS);
    return found_bytes;
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int
__wrap_fdatasync(int fd)
{
    if (plan.die)
        raise(SIGKILL);
    if (plan.stop)
        raise(SIGSTOP);
    int result = __real_fdatasync(fd);
    uint64_t now = plan.watched != NULL ? on_disk(plan.watched) : 0;
    plan.most = now > plan.most ? now : plan.most;
    return result;
}

int __real_renameat(int a, char const *from, int b, char const *to);
int __wrap_renameat(int a, char const *from, int b, char const *to);
int
__wrap_renameat(int a, char const *from, int b, char const *to)
{
    if (plan.stuck != NULL && strstr(to, plan.stuck) != NULL) {
        errno = ENOSPC;
        return -1;
    }
    int result = __real_renameat(a, from, b, to);
    if (plan.placed != NULL && strstr(to, plan.placed) != NULL)
        raise(SIGKILL);
    return result;
}

int __real_unlinkat(int at, char const *path, int flags);
int __wrap_unlinkat(int at, char const *path, int flags);
int
__wrap_unlinkat(int at, char const *path, int flags)
{
    int result = __real_unlinkat(at, path, flags);

    if (result == 0 && plan.removed != NULL && strstr(path, plan.removed) != NULL)
        raise(SIGSTOP);
    return result;
}

static void
kill_victim(void)
{
    if (plan.victim == 0)
        raise(SIGKILL);
    kill(plan.victim, SIGKILL);
    waitpid(plan.victim, NULL, 0);
}

long __real_syscall(long number, long a, long b, long c, long d);
long __wrap_syscall(long number, long a, long b, long c, long d);
long
__wrap_syscall(long number, long a, long b, long c, long d)
{
    if (plan.nameless && number == SYS_openat2 && strncmp((char const *)b, "tmp/", 4) == 0 &&
        (((struct open_how const *)c)->flags & O_CREAT) != 0) {
        errno = ENOSPC;
        return -1;
    }
    if (plan.opens > 0 && number == SYS_openat2 && --plan.opens == 0)
        kill_victim();
    return __real_syscall(number, a, b, c, d);
}

int __real_clock_gettime(clockid_t id, struct timespec *out);
int __wrap_clock_gettime(clockid_t id, struct timespec *out);
int
__wrap_clock_gettime(clockid_t id, struct timespec *out)
{
    int result = __real_clock_gettime(id, out);

    if (id == CLOCK_REALTIME_COARSE)
        out->tv_sec -= plan.behind_s;
    return result;
}

static int
setup(void **state)
{
    memset(&plan, 0, sizeof plan);
    return fixture_setup(state);
}

#define CAP_TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

/* ---- a cache with a cap ---- */

static gci_store *
open_capped(test_dir *fixture, uint64_t cap)
{
    return fixture_open_with(fixture, (gci_store_options){ .max_size = cap, .compression_level = -1,
                                                           .durability = GCACHE_DURABILITY_NONE });
}

static gci_store *
open_synced(test_dir *fixture, uint64_t cap)
{
    return fixture_open_with(fixture, (gci_store_options){ .max_size = cap, .compression_level = -1 });
}

static gci_store_stats
stats_of(gci_store *store)
{
    gci_store_stats stats;

    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    return stats;
}

static uint64_t
evictions(gci_store *store)
{
    return stats_of(store).counters[GCI_COUNT_EVICTIONS];
}

static void
all_there(gci_store *store, uint64_t from, uint64_t to, size_t size)
{
    for (uint64_t key = from; key < to; key++)
        assert_int_equal(look(store, key, 1, size), GCI_FOUND);
}

static uint64_t
count_found(gci_store *store, uint64_t from, uint64_t to, size_t size)
{
    uint64_t found = 0;

    for (uint64_t key = from; key < to; key++)
        found += look(store, key, 1, size) == GCI_FOUND;
    return found;
}

static void
execute(test_dir const *fixture, char const *sql)
{
    sqlite3 *database;
    char path[512];

    path_in(fixture, "index.db", path);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(database));
    sqlite3_close(database);
}

/* ---- who dies ---- */

static void
die_inserting(test_dir *fixture, uint64_t cap, uint64_t key, size_t size)
{
    pid_t child = fork();
    gci_inserted inserted;
    int how;

    assert_true(child >= 0);
    if (child == 0) {
        die_with_the_test();
        gci_store *store = open_synced(fixture, cap);
        plan.die = true;
        try_insert(store, key, 1, size, &inserted, NULL);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

/* Ten that would fill the cache died while writing, which has room for one more: it evicts nothing, and clears up. */
static void
test_inserts_that_died_evict_nothing(void **state)
{
    enum { CAP = 4000000, KEPT = 160000, DIES = 400000 };
    test_dir *fixture = *state;
    gci_store *store = open_capped(fixture, CAP);

    for (uint64_t key = 0; key < 10; key++)
        insert(store, key, 1, KEPT);
    for (uint64_t key = 100; key < 110; key++) {
        die_inserting(fixture, CAP, key, DIES);
        assert_in_range(on_disk(fixture->directory), 0, CAP);
    }
    insert(store, 10, 1, DIES);
    all_there(store, 0, 10, KEPT);
    assert_int_equal(evictions(store), 0);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    /* The next process that inserts finds what the last one left. */
    store = open_capped(fixture, CAP);
    insert(store, 11, 1, 100);
    assert_int_equal(on_disk(fixture->directory), stats_of(store).bytes);
    gci_store_close(store);
}

/* Of what an insert does, the part before its file has a name, or before that file is counted. */
static pid_t
start_inserting(test_dir *fixture, uint64_t cap, uint64_t key, char const *placed)
{
    enum { SIZE = 40000 };
    pid_t child = fork();
    gci_inserted inserted;

    assert_true(child >= 0);
    if (child == 0) {
        die_with_the_test();
        gci_store *store = open_synced(fixture, cap);
        plan.stop = placed == NULL;
        plan.placed = placed;
        try_insert(store, key, 1, SIZE, &inserted, NULL);
        _exit(1);
    }
    return child;
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

/* Figures and reservations, as they are in the shared table. */
static void
bound_is_kept(test_dir const *fixture, gci_store *store)
{
    uint64_t bound;

    assert_true(gci_usage_bound(store, &bound));
    assert_in_range(on_disk(fixture->directory), 1, bound);
}

/* At the beginning of a count every call is different, then one folder is as the other. */
static unsigned
next_call(unsigned at)
{
    return at < 12 ? at + 1 : at + 41;
}

/* A writer dies at any moment of a count: whatever it left counts, or is still reserved. */
static void
test_who_dies_during_a_count_is_covered(void **state)
{
    enum { CAP = 1 << 20 };
    test_dir *fixture = *state;
    gci_store *store = open_capped(fixture, CAP);

    insert(store, 0, 1, 20000);
    for (unsigned at = 1; plan.opens == 0; at = next_call(at)) {
        pid_t writer = start_inserting(fixture, CAP, 100 + at, NULL);
        int how;
        assert_int_equal(waitpid(writer, &how, WUNTRACED), writer);
        assert_true(WIFSTOPPED(how));
        plan.victim = writer;
        plan.opens = at;
        count_anew(store);
        bound_is_kept(fixture, store);
        if (plan.opens > 0)
            kill_victim();
        else
            count_anew(store);
    }
    plan.opens = 0;
    count_anew(store);
    assert_int_equal(stats_of(store).bytes, on_disk(fixture->directory));
    gci_store_close(store);
}

/* Who counts dies at any moment of it, after a writer that had placed its file without counting it. */
static void
test_a_count_that_dies_loses_nothing(void **state)
{
    enum { CAP = 1 << 20 };
    test_dir *fixture = *state;
    gci_store *store = open_capped(fixture, CAP);
    bool died = true;
    int how;

    insert(store, 0, 1, 20000);
    for (unsigned at = 1; died; at = next_call(at)) {
        assert_true(waitpid(start_inserting(fixture, CAP, 100 + at, "entries/"), &how, 0) > 0);
        assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
        pid_t counter = fork();
        if (counter == 0) {
            die_with_the_test();
            gci_store *own = open_capped(fixture, CAP);
            gci_store_enter(own);
            plan.opens = at;
            count_anew(own);
            _exit(0);
        }
        assert_int_equal(waitpid(counter, &how, 0), counter);
        died = WIFSIGNALED(how);
        assert_true(died || how == 0);
        bound_is_kept(fixture, store);
    }
    assert_int_equal(stats_of(store).bytes, on_disk(fixture->directory));
    gci_store_close(store);
}

/* An entry's file has gone, and is subtracted when the files were counted without it. */
static void
test_what_goes_during_a_count_is_subtracted_once(void **state)
{
    test_dir *fixture = *state;
    gci_store *store = open_capped(fixture, 1 << 20);
    gcache_key key = key_of(1);
    int how;

    insert(store, 0, 1, 100000);
    gci_inserted gone = insert(store, 1, 1, 100000);
    pid_t evictor = fork();
    assert_true(evictor >= 0);
    if (evictor == 0) {
        die_with_the_test();
        gci_store *own = open_capped(fixture, 1 << 20);
        plan.removed = "entries/";
        _exit(gci_store_evict(own, &key, gone.id, NULL) != GCACHE_OK);
    }
    for (assert_int_equal(waitpid(evictor, &how, WUNTRACED), evictor); WIFSTOPPED(how);
         assert_int_equal(waitpid(evictor, &how, WUNTRACED), evictor)) {
        count_anew(store);
        kill(evictor, SIGCONT);
    }
    assert_true(WIFEXITED(how) && WEXITSTATUS(how) == 0);
    bound_is_kept(fixture, store);
    count_anew(store);
    assert_int_equal(stats_of(store).bytes, on_disk(fixture->directory));
    gci_store_close(store);
}

/* Temporary files of the living are left alone. */
static void
test_only_the_dead_are_swept(void **state)
{
    test_dir *fixture = *state;
    gci_store *store = open_capped(fixture, UINT64_MAX);
    gcache_gc_options options = { 0 };
    gcache_collected collected;
    char alive[512], dead[512];
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0)
        _exit(write(open("/dev/null", O_WRONLY), "", 0) != 0);
    gci_path ours = gci_path_temporary();
    path_in(fixture, ours.text, alive);
    waitpid(child, NULL, 0);
    /* The same name but for the process. */
    char number[32], *at = strchr(ours.text, '.');
    assert_non_null(at);
    snprintf(number, sizeof number, ".%x", (unsigned)child);
    char *rest = strchr(at + 1, '.');
    assert_non_null(rest);
    snprintf(dead, sizeof dead, "%s/tmp/0123456789abcdef%s%s", fixture->directory, number, rest);
    close(open(alive, O_CREAT | O_WRONLY, 0600));
    close(open(dead, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.stray, 1);
    assert_true(is_file(alive));
    assert_false(is_file(dead));
    unlink(alive);
    gci_store_close(store);
}

/* ---- figures that are wrong ---- */

static void
write_table(test_dir const *fixture, off_t at, uint64_t word)
{
    char path[512];

    path_in(fixture, "generations", path);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, &word, sizeof word, at), sizeof word);
    close(fd);
}

static uint64_t
read_table(test_dir const *fixture, off_t at)
{
    uint64_t word;
    char path[512];

    path_in(fixture, "generations", path);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &word, sizeof word, at), sizeof word);
    close(fd);
    return word;
}

/* What an entry of this size takes with all that describes it: a sixteenth of a cap of a mebibyte. */
enum { SIXTEEN_BLOCKS = 64000 };

/* Every bit of the words that count and of the first process slot, in a cache that is half full; then zeros. */
static void
test_flipped_bits_evict_nothing(void **state)
{
    enum { CAP = 1 << 20, KEPT = 20000, WORDS = 6 + 7, EACH = 7 };
    off_t const slot = 4096 + 8 * 16384;
    test_dir *fixture = *state;
    gci_store *store = open_capped(fixture, CAP);
    uint64_t key = 100;

    for (uint64_t kept = 0; kept < 20; kept++)
        insert(store, kept, 1, KEPT);
    for (unsigned bit = 0; bit < WORDS * 64; bit += EACH) {
        off_t at = bit / 64 < 6 ? 16 + 8 * (off_t)(bit / 64) : slot + 8 * (off_t)(bit / 64 - 6);
        write_table(fixture, at, read_table(fixture, at) ^ UINT64_C(1) << bit % 64);
        gcache_key wanted = key_of(key);
        gci_inserted inserted = insert(store, key++, 1, 100);
        assert_int_equal(gci_store_evict(store, &wanted, inserted.id, NULL), GCACHE_OK);
    }
    for (int word = 0; word < 6; word++)
        write_table(fixture, 16 + 8 * word, 0);
    insert(store, key, 1, 100);
    all_there(store, 0, 20, KEPT);
    assert_int_equal(evictions(store), (WORDS * 64 + EACH - 1) / EACH);
    assert_int_equal(stats_of(store).bytes, on_disk(fixture->directory));
    gci_store_close(store);
}

/* The table is lost, or says that nothing is there: the cap holds all the same. */
static void
test_a_lost_table_exceeds_no_cap(void **state)
{
    enum { CAP = 1 << 20, SIZE = 40000 };
    test_dir *fixture = *state;
    char path[512];

    path_in(fixture, "generations", path);
    for (uint64_t key = 0; key < 40; key++) {
        gci_store *store = open_capped(fixture, CAP);
        insert(store, key, 1, SIZE);
        gci_store_close(store);
        unlink(path);
        assert_in_range(on_disk(fixture->directory), 0, CAP);
    }
}

/* Rows that lie about sizes: as many entries go as have to, the longest unused. */
static void
test_sizes_in_rows_decide_nothing(void **state)
{
    static char const *const lies[] = {
        "UPDATE entries SET bytes = -bytes, size = -size; UPDATE keys SET bytes = -1000000",
        "UPDATE entries SET bytes = 0, size = 0; UPDATE keys SET bytes = 0",
        "UPDATE entries SET bytes = 1 << 40, size = 1 << 40; UPDATE keys SET bytes = 1 << 40",
    };
    enum { CAP = 1 << 20, SIZE = SIXTEEN_BLOCKS, COUNT = 14 };
    test_dir *fixture = *state;

    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        gci_store *store = open_capped(fixture, CAP);
        for (uint64_t key = 0; key < COUNT; key++)
            insert(store, key, 1, SIZE);
        assert_int_equal(problems(store), 0);
        gci_store_close(store);
        execute(fixture, lies[i]);
        store = open_capped(fixture, CAP);
        uint64_t before = evictions(store);
        insert(store, 100, 1, SIZE);
        all_there(store, 0, COUNT, SIZE);
        assert_int_equal(evictions(store), before);
        /* The next one is too much. A tenth goes. */
        insert(store, 101, 1, SIZE);
        assert_in_range(evictions(store) - before, 1, 4);
        assert_int_equal(look(store, 0, 1, SIZE), GCI_EVICTED);
        all_there(store, 4, COUNT, SIZE);
        assert_in_range(on_disk(fixture->directory), 0, CAP);
        gci_store_close(store);
        fixture_remove_tree(fixture->directory);
    }
}

/* Without rows, what they don't know of can go nevertheless; and a full key makes room for one more. */
static void
test_lost_rows_keep_nothing(void **state)
{
    enum { CAP = 1 << 20, SIZE = SIXTEEN_BLOCKS };
    test_dir *fixture = *state;
    char path[512];

    gci_store *store = open_capped(fixture, CAP);
    for (uint64_t key = 0; key < 15; key++)
        insert(store, key, 1, SIZE);
    gci_store_close(store);
    for (int i = 0; i < 3; i++) {
        path_in(fixture, (char const *const[]){ "index.db", "index.db-wal", "segment" }[i], path);
        unlink(path);
    }
    store = open_capped(fixture, CAP);
    for (uint64_t key = 100; key < 110; key++)
        insert(store, key, 1, SIZE);
    all_there(store, 104, 110, SIZE);
    assert_true(evictions(store) > 0);
    gci_store_close(store);

    store = fixture_open_with(fixture, (gci_store_options){ .max_candidates = 8 });
    for (uint64_t variant = 0; variant < 8; variant++)
        insert(store, 200, variant, 100);
    gci_store_close(store);
    for (int i = 0; i < 3; i++) {
        path_in(fixture, (char const *const[]){ "index.db", "index.db-wal", "segment" }[i], path);
        unlink(path);
    }
    store = fixture_open_with(fixture, (gci_store_options){ .max_candidates = 8 });
    insert(store, 200, 8, 100);
    assert_int_equal(look(store, 200, 0, 100), GCI_ABSENT);
    assert_int_equal(look(store, 200, 7, 100), GCI_FOUND);
    gci_store_close(store);
}

/* A file of 200 GiB that isn't there takes what it takes. */
static void
test_absurd_files_evict_nothing(void **state)
{
    static char const *const names[] = {
        "attachments/ab/abababababababababababababababababababababababababababababababab",
        "entries/cd/cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd.01234567890123456789012345678901.entry",
        "entries/ef/efefefefefefefefefefefefefefefefefefefefefefefefefefefefefefefef.pack",
        "entries/00/0000000000000000000000000000000000000000000000000000000000000000.description",
    };
    enum { CAP = 1 << 20, SIZE = SIXTEEN_BLOCKS };
    test_dir *fixture = *state;
    gcache_gc_options options = { 0 };
    gcache_collected collected;

    gci_store *store = open_capped(fixture, CAP);
    for (uint64_t key = 0; key < 12; key++)
        insert(store, key, 1, SIZE);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        path_in(fixture, names[i], path);
        *strrchr(path, '/') = '\0';
        mkdir(path, 0700);
        path_in(fixture, names[i], path);
        int fd = open(path, O_CREAT | O_WRONLY, 0600);
        assert_int_equal(ftruncate(fd, (off_t)200 << 30), 0);
        close(fd);
    }
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.entries, 0);
    insert(store, 100, 1, SIZE);
    gci_store_close(store);
    store = open_capped(fixture, CAP);
    insert(store, 101, 1, SIZE);
    all_there(store, 0, 12, SIZE);
    assert_int_equal(evictions(store), 0);
    gci_store_close(store);
}

/* The clock was wrong, and went back: what was used in the future ages from now on. */
static void
test_the_future_is_now(void **state)
{
    enum { CAP = 1 << 20, SIZE = SIXTEEN_BLOCKS };
    test_dir *fixture = *state;
    gci_store *store = open_capped(fixture, CAP);

    for (uint64_t key = 0; key < 5; key++)
        insert(store, key, 1, SIZE);
    assert_int_equal(problems(store), 0);
    execute(fixture, "UPDATE entries SET used = used + 31536000000000000");
    for (uint64_t key = 10; key < 60; key++)
        insert(store, key, 1, SIZE);
    assert_int_equal(count_found(store, 0, 5, SIZE), 0);
    all_there(store, 50, 60, SIZE);
    gci_store_close(store);
}

/* A hit a moment after two stores counts as later than they do, though the coarse clock ticks but every few milliseconds. */
static void
test_a_hit_is_later_than_the_stores_before_it(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .max_candidates = 3 });
    gci_candidates *set;
    gcache_key key = key_of(1);

    plan.behind_s = 1;
    for (uint64_t variant = 1; variant <= 3; variant++)
        insert(store, 1, variant, 100);
    assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
    gci_store_touch(store, find_variant(set, 1));
    gci_candidates_release(set);
    insert(store, 1, 4, 100);
    assert_int_equal(look(store, 1, 1, 100), GCI_FOUND);
    assert_int_not_equal(look(store, 1, 2, 100), GCI_FOUND);
    gci_store_close(store);
}

/* Rows that say of everything that it was unused for years, or of another namespace's entries that they are this one's. */
static void
test_rows_choose_nothing_alone(void **state)
{
    test_dir *fixture = *state;
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .namespace_ = "theirs", .compression_level = -1 });
    gcache_collected collected;

    insert(store, 1, 1, 100);
    insert(store, 2, 1, 60000);
    assert_int_equal(problems(store), 0);
    execute(fixture, "UPDATE entries SET used = 5, space = 'ours'");
    gcache_gc_options aged = { .max_age_ns = UINT64_C(3600000000000) }, ours = { .namespace_ = "ours" };
    assert_int_equal(gci_store_gc(store, &aged, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.entries, 0);
    assert_int_equal(gci_store_gc(store, &ours, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.entries, 0);
    assert_int_equal(look(store, 1, 1, 100), GCI_FOUND);
    assert_int_equal(look(store, 2, 1, 60000), GCI_FOUND);
    gci_store_close(store);
}

/* ---- one key that is in the way ---- */

static void
test_a_busy_key_is_passed_over(void **state)
{
    enum { CAP = 1 << 20, SIZE = SIXTEEN_BLOCKS };
    gci_store *store = open_capped(*state, CAP), *other = open_capped(*state, CAP);
    gcache_key busy = key_of(0);

    for (uint64_t key = 0; key < 15; key++)
        insert(store, key, 1, SIZE);
    assert_int_equal(gci_key_lock(&other->locks, &busy, 0, NULL), GCACHE_OK);
    for (uint64_t key = 100; key < 110; key++)
        insert(store, key, 1, SIZE);
    gci_key_unlock(&other->locks, &busy);
    assert_int_equal(look(store, 0, 1, SIZE), GCI_FOUND);
    assert_int_equal(look(store, 1, 1, SIZE), GCI_EVICTED);
    all_there(store, 100, 110, SIZE);
    gci_store_close(other);
    gci_store_close(store);
}

static void
test_a_key_that_cannot_be_rewritten_is_passed_over(void **state)
{
    enum { CAP = 1 << 20, SIZE = 120000 };
    gci_store *store = open_capped(*state, CAP);
    gcache_key stuck = key_of(0);
    char hex[65];

    /* The first key keeps a candidate that is used, so that its candidate index would be written anew. */
    insert(store, 0, 1, SIZE);
    for (uint64_t key = 1; key < 6; key++)
        insert(store, key, 1, SIZE);
    insert(store, 0, 2, SIZE);
    gci_hex(stuck.bytes, sizeof stuck.bytes, hex);
    plan.stuck = hex;
    for (uint64_t key = 100; key < 105; key++)
        insert(store, key, 1, SIZE);
    assert_int_equal(look(store, 1, 1, SIZE), GCI_EVICTED);
    all_there(store, 100, 105, SIZE);
    gci_store_close(store);
}

/* ---- more than one file at a time ---- */

/* What is staged for many at once lies on the disk before any of it is committed. */
static void
test_a_batch_stays_below_the_cap(void **state)
{
    enum { CAP = 1 << 20, SIZE = 100000, COUNT = 20 };
    test_dir *fixture = *state;
    gci_store *store = open_synced(fixture, CAP);
    gci_pending *pending[COUNT];
    made_insert made[COUNT];

    for (uint64_t key = 0; key < COUNT; key++) {
        prepare_insert(&made[key], store, key, 1, SIZE);
        pending[key] = made[key].pending;
    }
    plan.watched = fixture->directory;
    gci_store_commit(store, pending, COUNT);
    plan.watched = NULL;
    assert_in_range(plan.most, SIZE, CAP);
    for (uint64_t key = 0; key < COUNT; key++) {
        gci_inserted inserted;
        assert_int_equal(gci_pending_outcome(pending[key], &inserted, NULL), GCACHE_OK);
        made_insert_clear(&made[key]);
    }
    all_there(store, COUNT - 5, COUNT, SIZE);
    gci_store_close(store);
}

static void
insert_attached(gci_store *store, uint64_t key, uint64_t content, size_t size)
{
    char *bytes = payload_of(content, size);
    gci_attachment attachment = { .name = GCI_VIEW("code.so"), .mode = 0755 };
    gcache_error error = { 0 };
    gci_inserted inserted;
    made_record made;

    if (gci_store_attach(store, gci_view_of(bytes, size), &attachment, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    record_of(&made, key, 1);
    made.record.attachments = &attachment;
    made.record.attachment_count = 1;
    if (gci_store_insert(store, &made.record, gci_view_text("x"), NULL, &inserted, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    free(bytes);
}

static bool
is_attached(gci_store *store, uint64_t key)
{
    gcache_key wanted = key_of(key);
    gci_candidates *set;
    gci_buf bytes;

    if (gci_store_candidates(store, &wanted, &set, NULL) != GCI_FOUND)
        return false;
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    assert_int_equal(gci_store_attachment(store, &set->items[0]->record.attachments[0], &bytes, NULL), GCI_FOUND);
    gci_buf_clear(&bytes);
    gci_candidates_release(set);
    return true;
}

/* Entries that are nearly all attachment: few of them go, and their attachments with them, but not one that is shared. */
static void
test_attachments_go_with_their_entries(void **state)
{
    enum { CAP = 2 << 20, SIZE = 100000, COUNT = 60 };
    test_dir *fixture = *state;
    gci_store *store = open_capped(fixture, CAP);

    insert_attached(store, 1000, 1000, SIZE);
    for (uint64_t key = 0; key < COUNT; key++) {
        insert_attached(store, key, key, SIZE);
        insert_attached(store, 2000 + key, 1000, SIZE);
        assert_in_range(on_disk(fixture->directory), 0, CAP);
        assert_true(is_attached(store, key));
        assert_true(is_attached(store, 2000 + key));
    }
    uint64_t kept = 0;
    for (uint64_t key = 0; key < COUNT; key++)
        kept += is_attached(store, key);
    assert_true(kept >= CAP * 7 / 10 / SIZE);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* ---- a disk without inodes ---- */

static void
test_without_inodes_little_goes(void **state)
{
    enum { SIZE = 100, COUNT = 60 };
    gci_store *store = fixture_open_apart(*state);
    gcache_error error = { 0 };
    gci_inserted inserted;

    for (uint64_t key = 0; key < COUNT; key++)
        insert(store, key, 1, SIZE);
    plan.nameless = true;
    for (uint64_t key = 100; key < 110; key++)
        assert_int_equal(try_insert(store, key, 1, SIZE, &inserted, &error), GCACHE_ERROR_NO_SPACE);
    plan.nameless = false;
    assert_non_null(strstr(error.message, "No space"));
    assert_true(count_found(store, 0, COUNT, SIZE) >= COUNT - 17);
    insert(store, 200, 1, SIZE);
    gci_store_close(store);
}

/* false, and it says so: it can't be done here. */
static bool
mount_small(test_dir *fixture, char const *options)
{
    if (geteuid() == 0 && mount("none", fixture->directory, "tmpfs", 0, options) == 0)
        return true;
    print_message("    no tmpfs can be mounted here: skipped\n");
    return false;
}

/* Others take every inode that is left. */
static void
take_inodes(test_dir *fixture)
{
    char path[512];

    for (int i = 0, fd = 0; fd >= 0; i++) {
        snprintf(path, sizeof path, "%.200s/filler-%d", fixture->directory, i);
        fd = open(path, O_CREAT | O_WRONLY, 0600);
        close(fd);
    }
}

/* What is written about evictions takes as much as a small entry gives back. */
static void
test_a_full_disk_of_small_entries(void **state)
{
    enum { COUNT = 2500, SIZE = 2000 };
    test_dir *fixture = *state;

    if (!mount_small(fixture, "size=4m,mode=700"))
        skip();
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .compression_level = -1 });
    for (uint64_t key = 0; key < COUNT; key++)
        insert(store, key, 1, 10 + (size_t)(key * 7919 % SIZE));
    assert_int_equal(look(store, COUNT - 1, 1, 10 + (size_t)((COUNT - 1) * 7919 % SIZE)), GCI_FOUND);
    gci_store_close(store);
    store = fixture_open_with(fixture, (gci_store_options){ .read_only = true });
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    assert_int_equal(umount(fixture->directory), 0);
}

static void
test_a_disk_without_inodes(void **state)
{
    enum { SIZE = OWN_FILE, COUNT = 40 };
    test_dir *fixture = *state;

    if (!mount_small(fixture, "size=64m,nr_inodes=400,mode=700"))
        skip();
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .compression_level = -1 });
    for (uint64_t key = 0; key < COUNT; key++)
        insert(store, key, 1, SIZE);
    take_inodes(fixture);
    for (uint64_t key = 100; key < 105; key++)
        insert(store, key, 1, SIZE);
    all_there(store, 100, 105, SIZE);
    /* An entry has two files; one that is stored needs a third while it is written. */
    assert_true(count_found(store, 0, COUNT, SIZE) >= COUNT - 15);
    gci_store_close(store);
    assert_int_equal(umount(fixture->directory), 0);
}

/* The folder of an entry that went is an inode too: each that goes makes room for the next. */
static void
test_few_inodes_are_enough_for_a_few_entries(void **state)
{
    enum { SIZE = 60000, COUNT = 40 };
    test_dir *fixture = *state;

    if (!mount_small(fixture, "size=64m,nr_inodes=30,mode=700"))
        skip();
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .compression_level = -1 });
    for (uint64_t key = 0; key < COUNT; key++) {
        insert(store, key, 1, SIZE);
        assert_true(count_found(store, 0, key + 1, SIZE) >= (key < 2 ? key + 1 : 2));
        assert_int_equal(look(store, key, 1, SIZE), GCI_FOUND);
    }
    gci_store_close(store);
    assert_int_equal(umount(fixture->directory), 0);
}

/* All that could go has a file and a folder, and an insert may need three names. */
static void
test_no_entry_goes_for_inodes_it_has_not(void **state)
{
    enum { SIZE = 100 };
    test_dir *fixture = *state;
    gcache_error error = { 0 };
    gci_inserted inserted;

    if (!mount_small(fixture, "size=64m,nr_inodes=60,mode=700"))
        skip();
    gci_store *store = fixture_open(fixture);
    insert(store, 1, 1, SIZE);
    take_inodes(fixture);
    for (uint64_t key = 100; key < 103; key++)
        assert_int_equal(try_insert(store, key, 1, SIZE, &inserted, &error), GCACHE_ERROR_NO_SPACE);
    assert_int_equal(look(store, 1, 1, SIZE), GCI_FOUND);
    gci_store_close(store);
    assert_int_equal(umount(fixture->directory), 0);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        CAP_TEST(test_inserts_that_died_evict_nothing),
        CAP_TEST(test_who_dies_during_a_count_is_covered),
        CAP_TEST(test_a_count_that_dies_loses_nothing),
        CAP_TEST(test_what_goes_during_a_count_is_subtracted_once),
        CAP_TEST(test_only_the_dead_are_swept),
        CAP_TEST(test_flipped_bits_evict_nothing),
        CAP_TEST(test_a_lost_table_exceeds_no_cap),
        CAP_TEST(test_sizes_in_rows_decide_nothing),
        CAP_TEST(test_lost_rows_keep_nothing),
        CAP_TEST(test_absurd_files_evict_nothing),
        CAP_TEST(test_the_future_is_now),
        CAP_TEST(test_a_hit_is_later_than_the_stores_before_it),
        CAP_TEST(test_rows_choose_nothing_alone),
        CAP_TEST(test_a_busy_key_is_passed_over),
        CAP_TEST(test_a_key_that_cannot_be_rewritten_is_passed_over),
        CAP_TEST(test_a_batch_stays_below_the_cap),
        CAP_TEST(test_attachments_go_with_their_entries),
        CAP_TEST(test_without_inodes_little_goes),
        CAP_TEST(test_a_full_disk_of_small_entries),
        CAP_TEST(test_a_disk_without_inodes),
        CAP_TEST(test_few_inodes_are_enough_for_a_few_entries),
        CAP_TEST(test_no_entry_goes_for_inodes_it_has_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
