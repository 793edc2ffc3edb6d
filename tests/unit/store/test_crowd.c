/*
 * Many processes with many threads on one directory: inserts under one key and under many, lookups beside them, eviction
 * and collection all the while. Every entry is found once, nothing fails, nobody waits long, and the cap holds.
 */
#include "effort.h"
#include "fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CROWD = 32, THREADS = 4, LEDGER = 1 << 20, BUCKETS = 4096, HOT = 1, COLD_KEYS = 500 };
/* A slow machine takes longer than was asked for, so that there is something to look at. */
enum { ENOUGH_INSERTS = 100 };

/* Shared by all processes. Latencies are counted in buckets of an eighth of a power of two. */
struct crowd {
    _Atomic bool stop;
    _Atomic uint32_t next;
    _Atomic uint32_t wrong;
    _Atomic uint32_t wrong_finds[GCI_UNREADABLE + 1]; /* of them, lookups by what they gave */
    _Atomic uint64_t looks, inserts;
    _Atomic uint32_t look_times[BUCKETS], insert_times[BUCKETS];
    _Atomic uint32_t own_times[BUCKETS]; /* of lookups: without what the scheduler gave to others */
    _Atomic uint8_t acknowledged[LEDGER];
};

struct crew {
    struct crowd *crowd;
    gci_store *store;
    bool evicting; /* what was promised may be gone */
};

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A lookup that never slept was only kept from running by others: what it cost itself is its processor time. */
struct stopwatch {
    uint64_t elapsed_ns, computed_ns;
    long slept; /* how often the thread gave the processor up by itself */
};

static struct stopwatch
read_stopwatch(void)
{
    struct rusage usage;
    struct timespec computed;

    getrusage(RUSAGE_THREAD, &usage);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &computed);
    return (struct stopwatch){ now_ns(), (uint64_t)computed.tv_sec * 1000000000u + (uint64_t)computed.tv_nsec,
                               usage.ru_nvcsw };
}

static unsigned
bucket_of(uint64_t ns)
{
    unsigned power = 63 - (unsigned)__builtin_clzll(ns | 8);

    return power * 8 + (unsigned)(ns >> (power - 3) & 7);
}

static double
quantile(_Atomic uint32_t const *times, double part)
{
    uint64_t total = 0, seen = 0;

    for (unsigned i = 0; i < BUCKETS; i++)
        total += atomic_load(&times[i]);
    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += atomic_load(&times[i]);
        if ((double)seen >= part * (double)total)
            return (double)(UINT64_C(1) << i / 8) * (1 + (double)(i % 8) / 8);
    }
    return 0;
}

/* Every third entry is one more candidate of a few hot keys. */
static uint64_t
key_of_variant(uint32_t variant)
{
    return variant % 3 == 0 ? HOT + variant / 3 % 4 : 1000 + variant % COLD_KEYS;
}

static size_t
size_of_variant(uint32_t variant)
{
    return 100 + variant * 7919 % 12000;
}

static void
insert_one(struct crew *crew)
{
    uint32_t variant = atomic_fetch_add(&crew->crowd->next, 1);
    gcache_error error = { 0 };
    gci_inserted inserted;

    if (variant >= LEDGER)
        return;
    uint64_t begin = now_ns();
    gcache_status status = try_insert(crew->store, key_of_variant(variant), variant, size_of_variant(variant), &inserted,
                                      &error);
    atomic_fetch_add(&crew->crowd->insert_times[bucket_of(now_ns() - begin)], 1);
    if (status == GCACHE_OK) {
        atomic_store(&crew->crowd->acknowledged[variant], 1);
        atomic_fetch_add(&crew->crowd->inserts, 1);
    } else {
        fprintf(stderr, "insert: %s\n", error.message);
        atomic_fetch_add(&crew->crowd->wrong, 1);
    }
}

/* A compile ends now and then; what is to be evicted comes in as fast as it can. */
static void *
insert_now_and_then(void *state)
{
    struct crew *crew = state;
    struct timespec pause = { .tv_nsec = crew->evicting ? 0 : 20000000 };

    while (!atomic_load(&crew->crowd->stop)) {
        insert_one(crew);
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
    }
    return NULL;
}

struct looked {
    uint64_t elapsed_ns, own_ns;
};

static void
add_time(struct looked *looked, struct stopwatch begin)
{
    struct stopwatch end = read_stopwatch();
    uint64_t elapsed = end.elapsed_ns - begin.elapsed_ns;

    looked->elapsed_ns += elapsed;
    looked->own_ns += end.slept == begin.slept ? end.computed_ns - begin.computed_ns : elapsed;
}

/* A lookup as the cache layer does it: the set, one candidate, its payload. To find the candidate among a thousand by
   its text takes this test longer than both, and isn't counted. */
static gci_found
look_up(gci_store *store, uint32_t variant, gci_candidates **out_set, gci_payload *out_payload, struct looked *out_looked)
{
    gcache_key key = key_of(key_of_variant(variant));
    gci_candidates *set;

    *out_set = NULL;
    *out_payload = (gci_payload){ 0 };
    *out_looked = (struct looked){ 0 };
    struct stopwatch begin = read_stopwatch();
    gci_found found = gci_store_candidates(store, &key, &set, NULL);
    add_time(out_looked, begin);
    if (found != GCI_FOUND)
        return found;
    gci_candidate *candidate = find_variant(set, variant);
    begin = read_stopwatch();
    found = candidate != NULL ? gci_store_payload(store, candidate, out_payload, NULL) : GCI_ABSENT;
    add_time(out_looked, begin);
    *out_set = set;
    if (found != GCI_RENEWED)
        return found;
    gci_candidates_release(set);
    return look_up(store, variant, out_set, out_payload, out_looked);
}

static bool
is_right(gci_payload const *payload, uint32_t variant)
{
    char *expected = payload_of(key_of_variant(variant) ^ (uint64_t)variant << 32, size_of_variant(variant));
    bool right = payload->size == size_of_variant(variant) && memcmp(payload->data, expected, payload->size) == 0;

    free(expected);
    return right;
}

static void
look_once(struct crew *crew, uint64_t *seed)
{
    uint32_t next = atomic_load(&crew->crowd->next);
    struct looked looked;
    gci_candidates *set;
    gci_payload payload;

    *seed = gci_hash64(seed, sizeof *seed, 0);
    if (next == 0)
        return;
    uint32_t variant = (uint32_t)(*seed % (next < LEDGER ? next : LEDGER));
    bool promised = atomic_load(&crew->crowd->acknowledged[variant]) != 0;
    gci_found found = look_up(crew->store, variant, &set, &payload, &looked);
    atomic_fetch_add(&crew->crowd->look_times[bucket_of(looked.elapsed_ns)], 1);
    atomic_fetch_add(&crew->crowd->own_times[bucket_of(looked.own_ns)], 1);
    bool good = found == GCI_FOUND ? is_right(&payload, variant)
                                   : found == GCI_ABSENT || (found == GCI_EVICTED && crew->evicting);
    if (!good || (promised && found != GCI_FOUND && !crew->evicting)) {
        atomic_fetch_add(&crew->crowd->wrong_finds[found], 1);
        atomic_fetch_add(&crew->crowd->wrong, 1);
    }
    gci_payload_release(&payload);
    gci_candidates_release(set);
    atomic_fetch_add(&crew->crowd->looks, 1);
}

static void *
look_all_the_time(void *state)
{
    struct crew *crew = state;
    uint64_t seed = (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)&seed;

    while (!atomic_load(&crew->crowd->stop))
        look_once(crew, &seed);
    return NULL;
}

static void
be_a_process(test_dir *fixture, struct crowd *crowd, gci_store_options options)
{
    struct crew crew = { .crowd = crowd, .evicting = options.max_size != UINT64_MAX };
    pthread_t threads[THREADS];

    die_with_the_test();
    crew.store = fixture_open_with(fixture, options);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, i == 0 ? insert_now_and_then : look_all_the_time, &crew);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    gci_store_close(crew.store);
    _exit(0);
}

/* What the entries take on disk at this moment, in blocks. */
static uint64_t disk_bytes;

static int
add_blocks(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)place;
    if (type == FTW_F && strstr(path, "/entries/") != NULL)
        disk_bytes += ((uint64_t)facts->st_size + 4095) / 4096 * 4096;
    return 0;
}

static uint64_t
measure(test_dir const *fixture)
{
    disk_bytes = 0;
    nftw(fixture->directory, add_blocks, 16, FTW_PHYS);
    return disk_bytes;
}

/* The same while nothing moves: what is counted during changes was never there at one time. */
static uint64_t
measure_at_rest(test_dir const *fixture, pid_t const *pids, int count)
{
    for (int i = 0; i < count; i++) {
        assert_int_equal(kill(pids[i], SIGSTOP), 0);
        assert_int_equal(waitpid(pids[i], NULL, WUNTRACED), pids[i]);
    }
    uint64_t bytes = measure(fixture);
    for (int i = 0; i < count; i++)
        kill(pids[i], SIGCONT);
    return bytes;
}

static struct crowd *
run_crowd(test_dir *fixture, int processes, double seconds, gci_store_options options)
{
    struct crowd *crowd = mmap(NULL, sizeof *crowd, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    gcache_gc_options collect = { 0 };
    gcache_collected collected;
    pid_t pids[CROWD];

    assert_true(crowd != MAP_FAILED && processes <= CROWD);
    for (int i = 0; i < processes; i++) {
        pids[i] = fork();
        if (pids[i] == 0)
            be_a_process(fixture, crowd, options);
        assert_true(pids[i] > 0);
    }
    gci_store *store = fixture_open_with(fixture, options);
    uint64_t end = now_ns() + (uint64_t)(seconds * 1e9);
    while (now_ns() < end || atomic_load(&crowd->inserts) < ENOUGH_INSERTS) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){ .tv_nsec = 100000000 }, NULL);
        if (options.max_size != UINT64_MAX)
            assert_in_range(measure_at_rest(fixture, pids, processes), 0, options.max_size);
        else
            assert_int_equal(gci_store_gc(store, &collect, &collected, NULL), GCACHE_OK);
    }
    atomic_store(&crowd->stop, true);
    for (int i = 0; i < processes; i++) {
        int how;
        wait(&how);
        assert_int_equal(how, 0);
    }
    gci_store_close(store);
    print_message("    %llu inserts, %llu lookups; lookup median %.1f us, p99 %.1f us; insert median %.0f us, p99 %.0f us\n",
                  (unsigned long long)atomic_load(&crowd->inserts), (unsigned long long)atomic_load(&crowd->looks),
                  quantile(crowd->look_times, 0.5) / 1e3, quantile(crowd->look_times, 0.99) / 1e3,
                  quantile(crowd->insert_times, 0.5) / 1e3, quantile(crowd->insert_times, 0.99) / 1e3);
    print_message("    lookups without what other threads ran meanwhile: median %.1f us, p99 %.1f us\n",
                  quantile(crowd->own_times, 0.5) / 1e3, quantile(crowd->own_times, 0.99) / 1e3);
    for (int found = 0; atomic_load(&crowd->wrong) > 0 && found <= GCI_UNREADABLE; found++)
        print_message("    outcome %d of a lookup, wrongly: %u\n", found, atomic_load(&crowd->wrong_finds[found]));
    return crowd;
}

static size_t
count_of_variant(gci_candidates const *set, uint32_t variant)
{
    char guard[64];
    size_t count = 0;

    snprintf(guard, sizeof guard, "s1 == %u", variant);
    for (size_t i = 0; i < set->count; i++)
        count += gci_view_is(set->items[i]->record.guards[1], guard);
    return count;
}

/* Every inserted candidate is there once, and candidates of a key have ascending, different sequences. */
static void
check_all_there_once(test_dir *fixture, struct crowd *crowd)
{
    gci_store *store = fixture_open(fixture);
    uint32_t count = atomic_load(&crowd->next);
    uint64_t entries = 0;

    for (uint32_t variant = 0; variant < count && variant < LEDGER; variant++) {
        gcache_key key = key_of(key_of_variant(variant));
        gci_candidates *set;
        assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
        assert_int_equal(count_of_variant(set, variant), 1);
        for (size_t i = 1; i < set->count; i++)
            assert_true(set->items[i - 1]->record.sequence < set->items[i]->record.sequence);
        gci_candidates_release(set);
        entries++;
    }
    gcache_gc_options collect = { 0 };
    gcache_collected collected;
    gci_store_stats stats;
    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    assert_int_equal(stats.entries, entries);
    /* Bytes that came beside a count may have been counted twice; now nothing moves. */
    assert_int_equal(gci_store_gc(store, &collect, &collected, NULL), GCACHE_OK);
    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    assert_int_equal(stats.entries, entries);
    assert_int_equal(stats.bytes, measure(fixture));
    gci_store_close(store);
}

static bool
is_steady(_Atomic uint32_t const *times)
{
    return quantile(times, 0.99) <= 20 * quantile(times, 0.5);
}

static void
test_crowd(void **state)
{
    bool thorough = effort_is_soak();
    /* Where times count, the memory that users have; else so little that sets come and go. */
    gci_store_options options = { .max_size = UINT64_MAX, .max_candidates = 1000000,
                                  .memory_bytes = thorough ? 0 : 8 << 20,
                                  .durability = GCACHE_DURABILITY_NONE };

    struct crowd *crowd = run_crowd(*state, thorough ? CROWD : 6, effort_seconds(2), options);
    assert_int_equal(atomic_load(&crowd->wrong), 0);
    check_all_there_once(*state, crowd);
    if (thorough)
        assert_true(is_steady(crowd->own_times));
    /* With fewer processors than threads the elapsed time is the scheduler's. */
    if (thorough && sysconf(_SC_NPROCESSORS_ONLN) >= CROWD * THREADS)
        assert_true(is_steady(crowd->look_times));
    gci_store *store = fixture_open(*state);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    munmap(crowd, sizeof *crowd);
}

static void
test_crowd_under_a_cap(void **state)
{
    bool thorough = effort_is_soak();
    gci_store_options options = { .max_size = thorough ? 4 << 20 : 256 << 10, .max_candidates = 1000000,
                                  .durability = GCACHE_DURABILITY_NONE };

    struct crowd *crowd = run_crowd(*state, thorough ? 16 : 6, effort_seconds(3), options);
    assert_int_equal(atomic_load(&crowd->wrong), 0);
    gci_store *store = fixture_open_with(*state, options);
    gcache_gc_options collect = { .target_bytes = options.max_size };
    gcache_collected collected;
    gci_store_stats stats;
    assert_int_equal(gci_store_gc(store, &collect, &collected, NULL), GCACHE_OK);
    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    assert_int_equal(stats.bytes, measure(*state));
    print_message("    %llu evictions\n", (unsigned long long)stats.counters[GCI_COUNT_EVICTIONS]);
    assert_true(stats.counters[GCI_COUNT_EVICTIONS] > 0);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    munmap(crowd, sizeof *crowd);
}

/* ---- the first ones ---- */

enum { FIRST_PROCESSES = 4, FIRST_KEYS = 12 };

/* What every process does in a new cache, at the same time as the others. */
static void
be_one_of_the_first(test_dir *fixture, _Atomic uint32_t *ready, uint64_t cap)
{
    gci_inserted inserted;

    die_with_the_test();
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .max_size = cap });
    atomic_fetch_add(ready, 1);
    while (atomic_load(ready) < FIRST_PROCESSES)
        sched_yield();
    for (uint64_t key = 0; key < FIRST_KEYS; key++) {
        if (try_insert(store, key, 1, 100 + 3000 * (key % 3), &inserted, NULL) != GCACHE_OK)
            _exit(1);
    }
    gci_store_close(store);
    _exit(0);
}

/* Nobody has counted anything when they begin. */
static void
first_ones(test_dir *fixture, _Atomic uint32_t *ready, uint64_t cap)
{
    gci_store_stats stats;
    int how;

    atomic_store(ready, 0);
    for (int i = 0; i < FIRST_PROCESSES; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
            be_one_of_the_first(fixture, ready, cap);
    }
    for (int i = 0; i < FIRST_PROCESSES; i++) {
        assert_true(wait(&how) > 0);
        assert_int_equal(how, 0);
    }
    gci_store *store = fixture_open(fixture);
    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    assert_int_equal(stats.entries, FIRST_KEYS);
    assert_int_equal(stats.keys, FIRST_KEYS);
    assert_int_equal(stats.bytes, measure(fixture));
    gci_store_close(store);
}

/* Each of many new caches, with a cap and without. */
static void
test_the_first_are_counted_once(void **state)
{
    _Atomic uint32_t *ready = mmap(NULL, sizeof *ready, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    test_dir *fixture = *state;

    assert_true(ready != MAP_FAILED);
    for (effort work = effort_of(20); effort_goes_on(&work);) {
        first_ones(fixture, ready, work.round % 2 == 0 ? 0 : UINT64_MAX);
        fixture_remove_tree(fixture->directory);
        assert_int_equal(mkdir(fixture->directory, 0700), 0);
    }
    munmap(ready, sizeof *ready);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_the_first_are_counted_once),
        STORE_TEST(test_crowd),
        STORE_TEST(test_crowd_under_a_cap),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
