/*
 * Processes die: at every call that insert, eviction and repair make, and at random moments among many. Afterwards every
 * acknowledged entry is there, nothing that is found is wrong, and verify finds nothing, without any repair.
 */
#include "effort.h"
#include "fixture.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

/* ---- dying at a call ---- */

static struct {
    bool armed;
    unsigned countdown, met;
    bool after; /* the call is made, and then death comes */
} plan;

static bool
dies_now(void)
{
    return plan.armed && ++plan.met == plan.countdown;
}

static void
die(void)
{
    raise(SIGKILL);
}

/* The calls that change something, and with them the points between which a crash makes a difference. */
#define WRAP(type, name, parameters, arguments)                                                       \
    type __real_##name parameters;                                                                    \
    type __wrap_##name parameters;                                                                    \
    type __wrap_##name parameters                                                                     \
    {                                                                                                 \
        bool now = dies_now();                                                                        \
        if (now && !plan.after)                                                                       \
            die();                                                                                    \
        type result = __real_##name arguments;                                                        \
        if (now)                                                                                      \
            die();                                                                                    \
        return result;                                                                                \
    }

WRAP(long, syscall, (long number, long a, long b, long c, long d), (number, a, b, c, d))
WRAP(int, mkdirat, (int at, char const *path, mode_t mode), (at, path, mode))
WRAP(int, renameat, (int a, char const *from, int b, char const *to), (a, from, b, to))
WRAP(int, linkat, (int a, char const *from, int b, char const *to, int flags), (a, from, b, to, flags))
WRAP(int, unlinkat, (int at, char const *path, int flags), (at, path, flags))
WRAP(int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(ssize_t, pwrite, (int fd, void const *from, size_t size, off_t at), (fd, from, size, at))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, flock, (int fd, int operation), (fd, operation))

/* A killed write may have got some of its bytes out. */
ssize_t __real_writev(int fd, struct iovec const *parts, int count);
ssize_t __wrap_writev(int fd, struct iovec const *parts, int count);
ssize_t
__wrap_writev(int fd, struct iovec const *parts, int count)
{
    if (dies_now()) {
        for (int i = 0; i < count; i++) {
            bool last = !plan.after && i == count - 1;
            struct iovec part = { parts[i].iov_base, last ? parts[i].iov_len / 2 : parts[i].iov_len };
            if (__real_writev(fd, &part, 1) < 0)
                break;
        }
        die();
    }
    return __real_writev(fd, parts, count);
}

enum { KEPT = 6, SMALL = 300, LARGE = 30000 };

static size_t
size_of_kept(uint64_t key)
{
    static size_t const sizes[] = { SMALL, FIRST_IN_PACK, OWN_FILE };

    return sizes[key % 3];
}

/* Keys nobody knows, committed together. */
static void
insert_together(gci_store *store, uint64_t round)
{
    made_insert small, middle, large;

    prepare_insert(&small, store, 2000000 + round, 1, SMALL);
    prepare_insert(&middle, store, 3000000 + round, 1, FIRST_IN_PACK);
    prepare_insert(&large, store, 4000000 + round, 1, OWN_FILE);
    gci_store_commit(store, (gci_pending *[]){ small.pending, middle.pending, large.pending }, 3);
    made_insert_clear(&small);
    made_insert_clear(&middle);
    made_insert_clear(&large);
}

/* In a child: one step of everything that changes the directory. */
static void
change_everything(test_dir *fixture, uint64_t round)
{
    gcache_maintenance_options options = { 0 };
    gcache_repaired repaired;

    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .durability = GCACHE_DURABILITY_FULL });
    plan.armed = true;
    insert_together(store, round);
    insert(store, 1000 + round, 1, SMALL);
    insert(store, 1000 + round, 2, LARGE);
    /* Beside many others of its key, but fewer than a key may have. */
    insert(store, 1 + round / 500, 1000 + round, SMALL);
    gcache_key key = key_of(1000 + round);
    gci_inserted gone = insert(store, 1000 + round, 3, LARGE);
    gci_store_evict(store, &key, gone.id, NULL);
    gci_store_repair(store, &options, &repaired, NULL);
    plan.armed = false;
    gci_store_close(store);
}

static void
check_after_death(test_dir *fixture, uint64_t round)
{
    gci_store *store = fixture_open(fixture);

    for (uint64_t key = 0; key < KEPT; key++)
        assert_int_equal(look(store, key, 1, size_of_kept(key)), GCI_FOUND);
    assert_int_not_equal(look(store, 1000 + round, 1, SMALL), GCI_CORRUPT);
    assert_int_not_equal(look(store, 1000 + round, 2, LARGE), GCI_CORRUPT);
    assert_int_not_equal(look(store, 2000000 + round, 1, SMALL), GCI_CORRUPT);
    assert_int_not_equal(look(store, 3000000 + round, 1, FIRST_IN_PACK), GCI_CORRUPT);
    assert_int_not_equal(look(store, 4000000 + round, 1, OWN_FILE), GCI_CORRUPT);
    assert_int_equal(problems(store), 0);
    /* The next one can do all that again. */
    insert(store, 1000 + round, 1, SMALL);
    insert(store, 1000 + round, 2, LARGE);
    assert_int_equal(look(store, 1000 + round, 2, LARGE), GCI_FOUND);
    gci_store_close(store);
}

static void
test_death_at_every_call(void **state)
{
    /* The last of it is a walk over all shards: each call of the walk comes up 256 times, thousands in all. Odd, so that
       some calls die before and some after what they do. */
    unsigned stride = effort_is_soak() ? 1 : 131;
    bool died = true;
    unsigned at = 1;

    gci_store *store = fixture_open(*state);
    for (uint64_t key = 0; key < KEPT; key++)
        insert(store, key, 1, size_of_kept(key));
    gci_store_close(store);
    for (effort work = effort_of(1); died && !effort_is_over(&work); at += at < 160 ? effort_step() : stride) {
        pid_t child = fork();
        int how;
        if (child == 0) {
            plan.countdown = at;
            plan.after = at % 2 == 0;
            change_everything(*state, at);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &how, 0), child);
        died = WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
        assert_true(died || how == 0);
        check_after_death(*state, at);
    }
    print_message("    died at calls up to %u\n", at);
    assert_true(at > 100);
}

/* ---- what the dead leave ---- */

static unsigned
entry_files(test_dir const *fixture)
{
    char command[600];
    unsigned count = 0;

    snprintf(command, sizeof command, "find '%s/entries' -name '*.entry' | wc -l", fixture->directory);
    FILE *output = popen(command, "r");
    assert_true(output != NULL && fscanf(output, "%u", &count) == 1);
    pclose(output);
    return count;
}

/* A file without a candidate index takes room as any other: what evicts all evicts it. */
static void
test_what_the_dead_leave_is_evicted(void **state)
{
    gcache_gc_options options = { .size = sizeof options, .target_bytes = 1 };
    unsigned left = 0;
    bool died = true;

    for (unsigned at = 1; died; at++) {
        gcache_collected collected = GCACHE_COLLECTED_INIT;
        pid_t child = fork();
        int how;
        if (child == 0) {
            gci_store *store = fixture_open(*state);
            plan.armed = true;
            plan.countdown = at;
            insert(store, 6000, 1, OWN_FILE);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &how, 0), child);
        died = WIFSIGNALED(how);
        left += entry_files(*state) != 0;
        gci_store *store = fixture_open(*state);
        assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
        assert_int_equal(entry_files(*state), 0);
        gci_store_close(store);
    }
    assert_true(left > 0);
}

/* ---- dying while an entry is renewed ---- */

enum { RENEWED = 5000 };

/* With a file of its own, and without; each under a key that is named after it. */
static size_t const versioned[] = { OWN_FILE, FIRST_IN_PACK };

/* Equal entries whose payloads differ: what stands for the payload is the same. */
static void
insert_version(gci_store *store, size_t size, int version)
{
    char *payload = payload_of((uint64_t)version, size), text[16];
    gci_inserted inserted;

    snprintf(text, sizeof text, "%d", version);
    gci_record record = { .key = key_of(size), .kind = gci_view_text("test"), .identity = gci_view_text("same"),
                          .metadata = gci_view_text(text) };
    assert_int_equal(gci_store_insert(store, &record, gci_view_of(payload, size), NULL, &inserted, NULL), GCACHE_OK);
    free(payload);
}

/* What was stored once is renewed, time and again. */
static void
renew_all(test_dir *fixture)
{
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .durability = GCACHE_DURABILITY_FULL, .renew = true });

    plan.armed = true;
    insert(store, RENEWED, 1, SMALL);
    insert(store, RENEWED, 2, LARGE);
    insert(store, RENEWED, 3, SMALL);
    insert_version(store, OWN_FILE, 2);
    insert_version(store, FIRST_IN_PACK, 2);
    plan.armed = false;
    gci_store_close(store);
}

/* Of which version the metadata and the payload are: of the same. */
static int
version_of(gci_store *store, size_t size)
{
    gcache_key key = key_of(size);
    gci_found found = GCI_RENEWED;
    gci_candidates *set;
    gci_payload payload;
    int version = 0;

    while (found == GCI_RENEWED) {
        assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
        version = atoi(set->items[0]->record.metadata.data);
        found = gci_store_payload(store, set->items[0], &payload, NULL);
        if (found == GCI_RENEWED)
            gci_candidates_release(set);
    }
    assert_int_equal(found, GCI_FOUND);
    char *expected = payload_of((uint64_t)version, size);
    assert_int_equal(payload.size, size);
    assert_memory_equal(payload.data, expected, size);
    gci_payload_release(&payload);
    gci_candidates_release(set);
    free(expected);
    return version;
}

static void
check_renewed(test_dir *fixture)
{
    gci_store *store = fixture_open(fixture);

    for (uint64_t variant = 1; variant <= 3; variant++)
        assert_int_equal(look(store, RENEWED, variant, variant == 2 ? LARGE : SMALL), GCI_FOUND);
    for (size_t i = 0; i < sizeof versioned / sizeof *versioned; i++) {
        int version = version_of(store, versioned[i]);
        assert_int_equal(version_of(store, versioned[i]), version);
    }
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* Whatever is written, and whenever it ends: the entry was acknowledged long ago. */
static void
test_death_while_renewing(void **state)
{
    bool died = true;
    unsigned at = 1;

    gci_store *store = fixture_open(*state);
    for (uint64_t variant = 1; variant <= 3; variant++)
        insert(store, RENEWED, variant, variant == 2 ? LARGE : SMALL);
    gci_store_close(store);
    for (; died; at++) {
        gci_store *again = fixture_open_with(*state, (gci_store_options){ .renew = true });
        for (size_t i = 0; i < sizeof versioned / sizeof *versioned; i++) {
            insert_version(again, versioned[i], 1);
            assert_int_equal(version_of(again, versioned[i]), 1);
        }
        gci_store_close(again);
        pid_t child = fork();
        int how;
        if (child == 0) {
            plan.countdown = (at + 1) / 2;
            plan.after = at % 2 == 0;
            renew_all(*state);
            _exit(0);
        }
        assert_int_equal(waitpid(child, &how, 0), child);
        died = WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
        assert_true(died || how == 0);
        check_renewed(*state);
    }
    print_message("    died before and after calls up to %u\n", at / 2);
    assert_true(at > 30);
}

/* ---- dying at random ---- */

enum { WRITERS = 8, READERS = 8, KEYS = 300, LEDGER = 1 << 20, MOST_KEPT = 10000 };

/* What was promised: shared by all processes, and outlives them. */
struct ledger {
    _Atomic uint32_t next;
    _Atomic uint32_t wrong;
    _Atomic uint8_t acknowledged[LEDGER];
};

static size_t
size_of_variant(uint32_t variant)
{
    uint64_t random = gci_hash64(&variant, sizeof variant, 0);

    return random % 16 == 0 ? random % OWN_FILE : random % 4 == 0 ? 10000 + random % 20000 : random % 4000;
}

static void
write_until_killed(test_dir *fixture, struct ledger *ledger, gcache_durability durability)
{
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .max_size = UINT64_MAX, .durability = durability,
                                                                       .max_candidates = 100000 });
    for (;;) {
        uint32_t variant = atomic_fetch_add(&ledger->next, 1);
        gcache_error error = { 0 };
        gci_inserted inserted;
        if (variant >= LEDGER)
            pause();
        if (try_insert(store, variant % KEYS, variant, size_of_variant(variant), &inserted, &error) == GCACHE_OK)
            atomic_store(&ledger->acknowledged[variant], 1);
        else
            atomic_fetch_add(&ledger->wrong, 1);
    }
}

/* Whatever had been acknowledged before the lookup began is there; whatever is found is right (look checks). */
static void
read_until_killed(test_dir *fixture, struct ledger *ledger)
{
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .memory_bytes = 2 << 20 });
    uint64_t seed = (uint64_t)getpid();

    for (;;) {
        uint32_t next = atomic_load(&ledger->next);
        seed = gci_hash64(&seed, sizeof seed, 0);
        if (next == 0)
            continue;
        uint32_t variant = (uint32_t)(seed % (next < LEDGER ? next : LEDGER));
        bool promised = atomic_load(&ledger->acknowledged[variant]) != 0;
        gci_found found = look(store, variant % KEYS, variant, size_of_variant(variant));
        if (found != GCI_FOUND && (promised || found != GCI_ABSENT))
            atomic_fetch_add(&ledger->wrong, 1);
    }
}

static void
start_and_kill(test_dir *fixture, struct ledger *ledger, uint64_t round)
{
    pid_t children[WRITERS + READERS];

    for (int i = 0; i < WRITERS + READERS; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            die_with_the_test();
            if (i < WRITERS)
                write_until_killed(fixture, ledger, round % 4 == 0 ? GCACHE_DURABILITY_ENTRY : GCACHE_DURABILITY_NONE);
            read_until_killed(fixture, ledger);
        }
    }
    uint64_t random = gci_hash64(&round, sizeof round, effort_seed());
    clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = (long)(10000000 + random % 40000000) }, NULL);
    /* One after the other: those that are left go on beside what the others leave behind. */
    for (int i = 0; i < WRITERS + READERS; i++)
        kill(children[i], SIGKILL);
    for (int i = 0; i < WRITERS + READERS; i++) {
        int how;
        assert_int_equal(waitpid(children[i], &how, 0), children[i]);
        assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    }
}

static void
check_promises(test_dir *fixture, struct ledger *ledger, uint32_t from)
{
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .max_candidates = 100000 });
    uint32_t next = atomic_load(&ledger->next);

    assert_int_equal(atomic_load(&ledger->wrong), 0);
    for (uint32_t variant = from; variant < next && variant < LEDGER; variant++) {
        gci_found found = look(store, variant % KEYS, variant, size_of_variant(variant));
        if (atomic_load(&ledger->acknowledged[variant]) != 0)
            assert_int_equal(found, GCI_FOUND);
        else
            assert_true(found == GCI_FOUND || found == GCI_ABSENT);
    }
    gci_store_close(store);
}

static void
test_death_at_random(void **state)
{
    effort work = effort_of(40);
    uint64_t inserts = 0;
    struct ledger *ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    assert_true(ledger != MAP_FAILED);
    while (effort_goes_on(&work)) {
        uint32_t from = atomic_load(&ledger->next);
        start_and_kill(*state, ledger, work.round);
        check_promises(*state, ledger, from);
        if (work.round % 20 == 19) {
            gci_store *store = fixture_open(*state);
            assert_int_equal(problems(store), 0);
            gci_store_close(store);
        }
        /* Checking a directory that only grows would take ever longer. */
        if (atomic_load(&ledger->next) > MOST_KEPT) {
            check_promises(*state, ledger, 0);
            inserts += atomic_load(&ledger->next);
            fixture_remove_tree(((test_dir *)*state)->directory);
            memset(ledger, 0, sizeof *ledger);
        }
    }
    check_promises(*state, ledger, 0);
    print_message("    seed %llu: %llu rounds, %llu inserts begun\n", (unsigned long long)effort_seed(),
                  (unsigned long long)work.begun, (unsigned long long)(inserts + atomic_load(&ledger->next)));
    munmap(ledger, sizeof *ledger);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_death_at_every_call),
        STORE_TEST(test_what_the_dead_leave_is_evicted),
        STORE_TEST(test_death_while_renewing),
        STORE_TEST(test_death_at_random),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
