/* Several handles, threads and processes on one directory: leases, fork, the journal, the nearest keys, signing. */
#include "fixture.h"

#include "store/state/state.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#define SECOND UINT64_C(1000000000)

/* ---- leases ---- */

static void
test_lease_excludes(void **state)
{
    gci_store *store = fixture_open(*state), *other = fixture_open(*state);
    gci_lease *lease, *second;
    gcache_error error = { 0 };
    bool waited;

    assert_int_equal(gci_lease_take(store, gci_view_text("a"), 0, &lease, &waited, &error), GCACHE_OK);
    assert_false(waited);
    assert_int_equal(gci_lease_take(other, gci_view_text("a"), SECOND / 20, &second, &waited, &error), GCACHE_ERROR_BUSY);
    assert_true(waited);
    assert_int_equal(gci_lease_take(store, gci_view_text("a"), SECOND, &second, &waited, &error),
                     GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gci_lease_take(store, gci_view_text("b"), 0, &second, &waited, &error), GCACHE_OK);
    gci_lease_release(second);
    gci_lease_release(lease);
    assert_int_equal(gci_lease_take(other, gci_view_text("a"), 0, &second, &waited, &error), GCACHE_OK);
    gci_lease_release(second);
    gci_store_close(store);
    gci_store_close(other);
}

/* Keys' locks and leases: files in one directory of the cache, nowhere beside what they protect. */
static void
test_locks_lie_in_their_directory(void **state)
{
    test_dir *dir = *state;
    gci_store *store = fixture_open(dir);
    char command[512];
    gci_lease *lease;
    bool waited;

    insert(store, 1, 1, 100);
    assert_int_equal(gci_lease_take(store, gci_view_text("a"), 0, &lease, &waited, NULL), GCACHE_OK);
    snprintf(command, sizeof command, "cd %s && test -n \"$(find locks -type f)\" && test -z \"$(find . -name '*lock*' "
             "-not -path './locks*')\"", dir->directory);
    assert_int_equal(system(command), 0);
    gci_lease_release(lease);
    gci_store_close(store);
}

/* A process that takes the lease and is killed with it, leaving a child of its own behind if `orphan`. */
static pid_t
hold_lease_and_die(test_dir *fixture, bool orphan)
{
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    pid_t holder = fork();
    if (holder == 0) {
        gci_store *store = fixture_open(fixture);
        gci_lease *lease;
        bool waited;
        if (gci_lease_take(store, gci_view_text("a"), 0, &lease, &waited, NULL) != GCACHE_OK)
            _exit(1);
        pid_t grandchild = orphan ? fork() : -1;
        if (grandchild == 0) {
            sleep(20);
            _exit(0);
        }
        if (write(ready[1], &grandchild, sizeof grandchild) != sizeof grandchild)
            _exit(1);
        pause();
    }
    pid_t grandchild = -1;
    assert_int_equal(read(ready[0], &grandchild, sizeof grandchild), sizeof grandchild);
    close(ready[0]);
    close(ready[1]);
    (void)byte;
    assert_int_equal(kill(holder, SIGKILL), 0);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    return grandchild;
}

static void
test_dead_holders_lease_is_taken_over(void **state)
{
    for (int orphan = 0; orphan < 2; orphan++) {
        pid_t left = hold_lease_and_die(*state, orphan != 0);
        gci_store *store = fixture_open(*state);
        gcache_error error = { 0 };
        gci_lease *lease;
        bool waited;
        uint64_t begin = now_ns();
        assert_int_equal(gci_lease_take(store, gci_view_text("a"), 10 * SECOND, &lease, &waited, &error), GCACHE_OK);
        assert_true(now_ns() - begin < SECOND / 2);
        assert_int_not_equal(gci_lease_former_holder(lease), 0);
        gci_lease_release(lease);
        assert_int_equal(gci_lease_take(store, gci_view_text("a"), 10 * SECOND, &lease, &waited, &error), GCACHE_OK);
        assert_int_equal(gci_lease_former_holder(lease), 0);
        gci_lease_release(lease);
        gci_store_close(store);
        if (left > 0)
            kill(left, SIGKILL);
    }
}

/* Whoever gets the lease looks first: of many that want the same thing one makes it. */
static void
compile_once(test_dir *fixture, int log)
{
    gci_store *store = fixture_open(fixture);
    gci_lease *lease;
    bool waited;

    if (look(store, 1, 1, 5000) == GCI_FOUND)
        _exit(0);
    if (gci_lease_take(store, gci_view_text("the key"), 30 * SECOND, &lease, &waited, NULL) != GCACHE_OK)
        _exit(1);
    if (look(store, 1, 1, 5000) != GCI_FOUND) {
        usleep(100000);
        insert(store, 1, 1, 5000);
        if (write(log, "x", 1) != 1)
            _exit(1);
    }
    gci_lease_release(lease);
    gci_store_close(store);
    _exit(0);
}

static void
test_sixteen_processes_compile_once(void **state)
{
    char compiled[32];
    int log[2], how;

    assert_int_equal(pipe(log), 0);
    gci_store_close(fixture_open(*state));
    for (int i = 0; i < 16; i++) {
        if (fork() == 0)
            compile_once(*state, log[1]);
    }
    for (int i = 0; i < 16; i++) {
        wait(&how);
        assert_int_equal(how, 0);
    }
    close(log[1]);
    assert_int_equal(read(log[0], compiled, sizeof compiled), 1);
    close(log[0]);
}

/* ---- fork ---- */

/* A child uses the handle it inherited, with everything of the parent's open at the time. */
/*
 * All who open a new directory at the same time must come to share one generation table: else one doesn't see what another
 * stores.
 */
static void
test_all_share_one_table(void **state)
{
    enum { AT_ONCE = 16, ROUNDS = 30 };
    _Atomic int *ready = mmap(NULL, sizeof *ready, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test_dir *fixture = *state;
    char table[512];

    path_in(fixture, "generations", table);
    for (int round = 0; round < ROUNDS; round++) {
        gci_store_close(fixture_open(fixture));
        unlink(table);
        atomic_store(ready, 0);
        for (int i = 0; i < AT_ONCE; i++) {
            if (fork() != 0)
                continue;
            gci_store *store = fixture_open(fixture);
            atomic_fetch_add(ready, 1);
            while (atomic_load(ready) < AT_ONCE)
                sched_yield();
            look(store, 1, 1, 100);
            atomic_fetch_add(ready, 1);
            while (atomic_load(ready) < 2 * AT_ONCE)
                sched_yield();
            _exit(!store->shared.usable || !gci_file_still_named(&store->shared.file));
        }
        for (int i = 0; i < AT_ONCE; i++) {
            int how;
            wait(&how);
            assert_int_equal(how, 0);
        }
    }
    munmap((void *)ready, sizeof *ready);
}

static void
test_child_goes_on(void **state)
{
    gci_store *store = fixture_open(*state);
    gci_lease *lease;
    bool waited;
    int how;

    for (uint64_t i = 0; i < 20; i++)
        insert(store, i, 1, 10000);
    assert_int_equal(problems(store), 0);
    assert_int_equal(gci_lease_take(store, gci_view_text("parent's"), 0, &lease, &waited, NULL), GCACHE_OK);
    pid_t child = fork();
    if (child == 0) {
        gci_lease *mine;
        bool good = look(store, 3, 1, 10000) == GCI_FOUND;
        for (uint64_t i = 100; i < 120; i++)
            insert(store, i, 1, 10000);
        good = good && look(store, 110, 1, 10000) == GCI_FOUND && problems(store) == 0;
        good = good && gci_lease_take(store, gci_view_text("parent's"), 0, &mine, &waited, NULL) == GCACHE_ERROR_BUSY;
        gci_lease_release(lease);
        gci_store_close(store);
        _exit(good ? 0 : 1);
    }
    for (uint64_t i = 200; i < 220; i++)
        insert(store, i, 1, 10000);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    gci_store *other = fixture_open(*state);
    gci_lease *stolen;
    assert_int_equal(gci_lease_take(other, gci_view_text("parent's"), 0, &stolen, &waited, NULL), GCACHE_ERROR_BUSY);
    gci_lease_release(lease);
    assert_int_equal(look(store, 115, 1, 10000), GCI_FOUND);
    assert_int_equal(look(store, 215, 1, 10000), GCI_FOUND);
    assert_int_equal(problems(store), 0);
    gci_store_close(other);
    gci_store_close(store);
}

/* ---- journal ---- */

struct remembered {
    char lines[8][32];
    size_t count, limit;
};

static int
remember(void *state, uint64_t at_ns, gci_view entry)
{
    struct remembered *remembered = state;

    assert_true(at_ns > 0);
    if (remembered->count < 8)
        snprintf(remembered->lines[remembered->count], 32, "%.*s", (int)entry.size, entry.data);
    return ++remembered->count == remembered->limit;
}

static void
test_journal_remembers(void **state)
{
    gci_store *store = fixture_open(*state);
    struct remembered seen = { .limit = 3 };
    char line[32];

    for (int i = 0; i < 1500; i++) {
        snprintf(line, sizeof line, "lookup %d", i);
        gci_store_journal_append(store, gci_view_text(line));
    }
    assert_int_equal(gci_store_journal_each(store, remember, &seen, NULL), GCACHE_OK);
    assert_int_equal(seen.count, 3);
    assert_string_equal(seen.lines[0], "lookup 1499");
    assert_string_equal(seen.lines[2], "lookup 1497");
    gci_store_journal_append(store, gci_view_text("the last"));
    gci_store_close(store);
    /* Somebody who can't write sees what isn't in the database yet as well. */
    store = fixture_open_with(*state, (gci_store_options){ .read_only = true });
    seen = (struct remembered){ .limit = 100000 };
    assert_int_equal(gci_store_journal_each(store, remember, &seen, NULL), GCACHE_OK);
    assert_int_equal(seen.count, 1501);
    assert_string_equal(seen.lines[0], "the last");
    assert_string_equal(seen.lines[1], "lookup 1499");
    gci_store_close(store);
}

static void
test_journal_is_bounded(void **state)
{
    gci_store *store = fixture_open(*state);
    struct remembered seen = { .limit = 1000000 };

    for (int i = 0; i < GCI_JOURNAL_ENTRIES + 3000; i++)
        gci_store_journal_append(store, gci_view_text("x"));
    assert_int_equal(gci_store_journal_each(store, remember, &seen, NULL), GCACHE_OK);
    assert_int_equal(seen.count, GCI_JOURNAL_ENTRIES);
    gci_store_close(store);
}

/* ---- nearest ---- */

static void
insert_components(gci_store *store, uint64_t key, uint8_t graph, uint8_t config, uint8_t environment)
{
    gci_component components[3] = { { .name = GCI_VIEW("graph"), .hash = { graph } },
                                    { .name = GCI_VIEW("config"), .hash = { config } },
                                    { .name = GCI_VIEW("environment"), .hash = { environment } } };
    gci_description description = { GCI_VIEW("fx"), components, 3, { NULL, 0 } };
    gci_inserted inserted;
    made_record made;

    assert_int_equal(gci_store_insert(store, record_of(&made, key, 1), gci_view_text("x"), &description, &inserted, NULL),
                     GCACHE_OK);
}

/* A sketch is the first bytes of the hashes; its distance how many of them differ. */
static bool
sketch_hashes(gci_description const *description, uint8_t out[GCI_KEY_SKETCH_BYTES])
{
    memset(out, 0, GCI_KEY_SKETCH_BYTES);
    for (size_t i = 0; i < description->component_count; i++)
        out[i] = description->components[i].hash[0];
    return description->component_count != 0;
}

static unsigned
count_differing(uint8_t const *a, uint8_t const *b)
{
    unsigned count = 0;

    for (size_t i = 0; i < GCI_KEY_SKETCH_BYTES; i++)
        count += a[i] != b[i];
    return count;
}

static gci_sketching const sketching = { sketch_hashes, count_differing };

static void
check_nearest(gci_store *store)
{
    uint8_t const asked[GCI_KEY_SKETCH_BYTES] = { 1, 1, 1 };
    gci_near_query query = { .kind = gci_view_text("fx"), .is_keyed = true, .sketch = asked, .before_ns = UINT64_MAX };
    gcache_key best = key_of(3), second = key_of(2);
    gci_near near[2];
    size_t count;
    uint64_t of;

    assert_int_equal(gci_store_nearest(store, &query, near, 2, &count, &of, NULL), GCACHE_OK);
    assert_int_equal(count, 2);
    uint64_t all = of;
    assert_memory_equal(&near[0].key, &best, sizeof best);
    assert_int_equal(near[0].distance, 1);
    assert_memory_equal(&near[1].key, &second, sizeof second);
    assert_int_equal(near[1].distance, 2);
    /* As it was before the nearest was stored. */
    query.before_ns = near[0].created_ns;
    assert_int_equal(gci_store_nearest(store, &query, near, 2, &count, &of, NULL), GCACHE_OK);
    assert_int_equal(count, 2);
    assert_memory_equal(&near[0].key, &second, sizeof second);
    assert_true(of < all);
    query.before_ns = UINT64_MAX;
    /* Neither another kind nor a key of ours is near. */
    query.kind = gci_view_text("aot");
    assert_int_equal(gci_store_nearest(store, &query, near, 2, &count, &of, NULL), GCACHE_OK);
    assert_int_equal(count, 0);
    query = (gci_near_query){ .kind = gci_view_text("fx"), .sketch = asked, .before_ns = UINT64_MAX };
    assert_int_equal(gci_store_nearest(store, &query, near, 2, &count, &of, NULL), GCACHE_OK);
    assert_int_equal(count, 0);
}

/* Makes index.db what the version before sketches had. */
static void
make_former(char const *path)
{
    sqlite3 *database;

    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, FORMER_TABLES "PRAGMA user_version=2", NULL, NULL, NULL),
                     SQLITE_OK);
    sqlite3_close(database);
}

static void
test_nearest_keys(void **state)
{
    gci_store_options writing = { .sketching = &sketching }, reading = { .sketching = &sketching, .read_only = true };
    gci_store *store = fixture_open_with(*state, writing);
    char path[512];

    insert_components(store, 1, 9, 9, 9);
    insert_components(store, 2, 1, 9, 9);
    insert_components(store, 3, 1, 9, 1);
    check_nearest(store);
    gci_store_close(store);
    /* Rows of the version before have no sketches: for a reader descriptions stand in, a writer makes them. */
    path_in(*state, "index.db", path);
    make_former(path);
    store = fixture_open_with(*state, reading);
    check_nearest(store);
    gci_store_close(store);
    store = fixture_open_with(*state, writing);
    check_nearest(store);
    check_nearest(store);
    gci_store_close(store);
    /* Without rows the descriptions themselves are read. */
    unlink(path);
    store = fixture_open_with(*state, reading);
    check_nearest(store);
    gci_store_close(store);
    /* And made anew they have sketches. */
    store = fixture_open_with(*state, writing);
    assert_int_equal(problems(store), 0);
    check_nearest(store);
    gci_store_close(store);
}

static int
collect_key(void *state, gcache_key const *key)
{
    gcache_key *last = state;

    assert_true(memcmp(last, key, sizeof *key) < 0);
    *last = *key;
    return 0;
}

static void
test_walking(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_key last;

    memset(&last, 0, sizeof last);
    for (uint64_t i = 0; i < 300; i++)
        insert(store, i, 1, 10);
    assert_int_equal(gci_store_each_key(store, collect_key, &last, NULL), GCACHE_OK);
    gci_store_close(store);
}

/* ---- signing ---- */

static void
test_signing(void **state)
{
    gci_signing_key ours = { .id = "k1", .secret = GCI_VIEW("our secret") };
    gci_signing_key theirs = { .id = "k1", .secret = GCI_VIEW("their secret") };
    gci_signing_key both[2] = { { .id = "k2", .secret = GCI_VIEW("newer") }, { .id = "k1", .secret = GCI_VIEW("our secret") } };
    gci_store_options required = { .signing = &ours, .signing_count = 1, .require_signature = true };
    size_t const sizes[] = { 100, FIRST_IN_PACK, OWN_FILE };

    gci_store *unsigned_store = fixture_open(*state);
    insert(unsigned_store, 9, 1, 100);
    gci_store *store = fixture_open_with(*state, required);
    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        insert(store, i, 1, sizes[i]);
    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        assert_int_equal(look(store, i, 1, sizes[i]), GCI_FOUND);
        assert_int_equal(look(unsigned_store, i, 1, sizes[i]), GCI_FOUND);
    }
    assert_int_equal(look(store, 9, 1, 100), GCI_UNREADABLE);
    gci_store_close(store);
    gci_store_close(unsigned_store);
    required.signing = &theirs;
    store = fixture_open_with(*state, required);
    assert_int_equal(look(store, 0, 1, 100), GCI_UNREADABLE);
    gci_store_close(store);
    required.signing = both;
    required.signing_count = 2;
    store = fixture_open_with(*state, required);
    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        assert_int_equal(look(store, i, 1, sizes[i]), GCI_FOUND);
    gci_store_close(store);
}

/* ---- on a network file system ---- */

static void
test_as_on_a_network(void **state)
{
    gci_store_options network = { .network = true, .max_size = 4 << 20 };
    gci_store *store = fixture_open_with(*state, network), *other = fixture_open_with(*state, network);
    char path[512];

    for (uint64_t i = 1; i < 50; i++) {
        insert(store, 1, i, 10);
        assert_int_equal(look(other, 1, i, 10), GCI_FOUND);
        assert_int_equal(look(other, 1, i, 10), GCI_FOUND);
    }
    insert(other, 2, 1, OWN_FILE);
    assert_int_equal(look(store, 2, 1, OWN_FILE), GCI_FOUND);
    assert_int_equal(problems(store), 0);
    for (uint64_t i = 100; i < 400; i++)
        insert(i % 2 == 0 ? store : other, i, 1, 30000);
    gci_store_stats stats;
    assert_int_equal(gci_store_stats_get(other, &stats, NULL), GCACHE_OK);
    assert_true(stats.entries < 250);
    assert_int_equal(problems(other), 0);
    path_in(*state, "index.db-wal", path);
    assert_false(is_file(path));
    path_in(*state, "generations", path);
    assert_false(is_file(path));
    gci_store_close(store);
    gci_store_close(other);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_lease_excludes),
        STORE_TEST(test_locks_lie_in_their_directory),
        STORE_TEST(test_dead_holders_lease_is_taken_over),
        STORE_TEST(test_sixteen_processes_compile_once),
        STORE_TEST(test_all_share_one_table),
        STORE_TEST(test_child_goes_on),
        STORE_TEST(test_journal_remembers),
        STORE_TEST(test_journal_is_bounded),
        STORE_TEST(test_nearest_keys),
        STORE_TEST(test_walking),
        STORE_TEST(test_signing),
        STORE_TEST(test_as_on_a_network),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
