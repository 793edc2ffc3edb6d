/* The memory tier: bounded, shared without locks, and right while others write. */
#include "fixture.h"

#include "store/state/state.h"

#include <pthread.h>
#include <sqlite3.h>

static uint64_t
memory_of(gci_store *store)
{
    gci_store_stats stats;

    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    return stats.memory_bytes;
}

static void
test_bound_holds(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .memory_bytes = 300000, .compression_level = -1,
                                                                      .durability = GCACHE_DURABILITY_NONE });

    look(store, 12345, 1, 1);
    for (uint64_t i = 0; i < 300; i++)
        insert(store, i, 1, i % 3 == 0 ? 20000 : 2000);
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t i = 0; i < 300; i++) {
            assert_int_equal(look(store, i, 1, i % 3 == 0 ? 20000 : 2000), GCI_FOUND);
            /* The last one read may stand above it, until the next comes in. */
            assert_true(memory_of(store) <= 300000 + 40000);
        }
    }
    assert_true(memory_of(store) > 100000);
    gci_store_close(store);
}

/* Inserts that no lookup comes before read what was appended, not the whole key each time. */
static void
test_inserts_remember_the_key(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .compression_level = -1,
                                                                      .durability = GCACHE_DURABILITY_NONE });
    gci_store_stats stats;

    for (uint64_t i = 0; i < 60; i++)
        insert(store, 1, i, 300);
    gci_store_stats_get(store, &stats, NULL);
    assert_int_equal(stats.memory_sets, 1);
    uint64_t read = stats.counters[GCI_COUNT_DISK_READS];
    for (uint64_t i = 60; i < 80; i++)
        insert(store, 1, i, 300);
    gci_store_stats_get(store, &stats, NULL);
    assert_int_equal(stats.counters[GCI_COUNT_DISK_READS], read + 20);
    assert_true(stats.memory_bytes < 80 * 2000);
    gci_store_close(store);
}

/* What is used again stays, what was read once goes. */
static void
test_used_sets_stay(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .memory_bytes = 400000, .compression_level = -1,
                                                                      .durability = GCACHE_DURABILITY_NONE });
    gci_store_stats before, after;

    look(store, 12345, 1, 1);
    for (uint64_t i = 0; i < 500; i++)
        insert(store, i, 1, 2000);
    for (uint64_t i = 0; i < 500; i++) {
        look(store, i, 1, 2000);
        look(store, 7, 1, 2000);
    }
    gci_store_stats_get(store, &before, NULL);
    look(store, 7, 1, 2000);
    gci_store_stats_get(store, &after, NULL);
    assert_int_equal(after.counters[GCI_COUNT_MEMORY_HITS], before.counters[GCI_COUNT_MEMORY_HITS] + 1);
    look(store, 8, 1, 2000);
    gci_store_stats_get(store, &after, NULL);
    assert_int_equal(after.counters[GCI_COUNT_DISK_READS], before.counters[GCI_COUNT_DISK_READS] + 1);
    gci_store_close(store);
}

/* ---- many threads ---- */

enum { THREADS = 4, KEYS = 40 };

struct crew {
    gci_store *store;
    _Atomic uint32_t next;
    _Atomic bool stop;
    _Atomic uint64_t looks, wrong;
};

/* One thread inserts variants of few keys; evictions of the memory tier go on all the while. */
static void *
write_entries(void *state)
{
    struct crew *crew = state;
    gci_inserted inserted;

    for (uint64_t i = 0; i < 400; i++) {
        if (try_insert(crew->store, i % KEYS, i, 500 + i % 3 * 9000, &inserted, NULL) != GCACHE_OK)
            atomic_fetch_add(&crew->wrong, 1);
        atomic_store(&crew->next, (uint32_t)i + 1);
    }
    atomic_store(&crew->stop, true);
    return NULL;
}

/* Whatever was inserted before a lookup began is found, with the right bytes. */
static void *
read_entries(void *state)
{
    struct crew *crew = state;
    uint64_t seed = (uint64_t)(uintptr_t)&seed;

    while (!atomic_load(&crew->stop)) {
        uint32_t done = atomic_load(&crew->next);
        if (done == 0)
            continue;
        seed = gci_hash64(&seed, sizeof seed, 0);
        uint64_t i = seed % done;
        if (look(crew->store, i % KEYS, i, 500 + i % 3 * 9000) != GCI_FOUND)
            atomic_fetch_add(&crew->wrong, 1);
        atomic_fetch_add(&crew->looks, 1);
    }
    return NULL;
}

static void
test_threads_share(void **state)
{
    struct crew crew = { 0 };
    pthread_t writer, readers[THREADS];

    crew.store = fixture_open_with(*state, (gci_store_options){ .memory_bytes = 200000,
                                                                .durability = GCACHE_DURABILITY_NONE });
    assert_int_equal(pthread_create(&writer, NULL, write_entries, &crew), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_entries, &crew), 0);
    pthread_join(writer, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(readers[i], NULL);
    assert_int_equal(atomic_load(&crew.wrong), 0);
    assert_true(atomic_load(&crew.looks) > 0);
    assert_int_equal(problems(crew.store), 0);
    gci_store_close(crew.store);
}

/* A writer that died in the middle leaves an odd generation: nothing is cached under it, everything is found. */
static void
test_odd_generation(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_key key = key_of(1);

    insert(store, 1, 1, 100);
    assert_int_equal(look(store, 1, 1, 100), GCI_FOUND);
    gci_generation_begin(&store->shared, &key);
    uint64_t odd = gci_generation(&store->shared, &key);
    assert_int_equal(odd & 1, 1);
    assert_int_equal(look(store, 1, 1, 100), GCI_FOUND);
    gci_generation_begin(&store->shared, &key);
    assert_int_equal(gci_generation(&store->shared, &key), odd + 2);
    insert(store, 1, 2, 100);
    assert_int_equal(gci_generation(&store->shared, &key) & 1, 0);
    assert_int_equal(look(store, 1, 2, 100), GCI_FOUND);
    gci_store_close(store);
}

/* ---- growth ---- */

/* The key's candidates as `store` has them now, and in how many runs they were read. */
static gci_candidates *
candidates_now(gci_store *store, uint64_t key, size_t expected, size_t runs)
{
    gcache_key wanted = key_of(key);
    gci_candidates *set;

    assert_int_equal(gci_store_candidates(store, &wanted, &set, NULL), GCI_FOUND);
    assert_int_equal(set->count, expected);
    assert_int_equal(set->run_count, runs);
    for (size_t i = 0; i < expected; i++) {
        assert_int_equal(set->items[i]->record.sequence, i + 1);
        assert_non_null(find_variant(set, i + 1));
    }
    return set;
}

static void
let_it_settle(void)
{
    usleep(50000);
}

/* Of a candidate index that another process has added to, what was read before is shared, and only the rest is read. */
static void
test_what_was_appended_is_read(void **state)
{
    gci_store *store = fixture_open(*state), *other = fixture_open(*state);

    look(other, 12345, 1, 1);
    for (uint64_t i = 1; i <= 8; i++)
        insert(store, 1, i, 10);
    let_it_settle();
    gci_candidates *first = candidates_now(other, 1, 8, 1);
    insert(store, 1, 9, 10);
    gci_candidates *second = candidates_now(other, 1, 9, 2);
    assert_ptr_equal(second->items[0], first->items[0]);
    assert_ptr_equal(second->items[7], first->items[7]);
    gci_candidates_release(first);
    insert(store, 1, 10, 10);
    gci_candidates *third = candidates_now(other, 1, 10, 2);
    assert_ptr_equal(third->items[7], second->items[7]);
    assert_ptr_not_equal(third->items[8], second->items[8]);
    gci_candidates_release(second);
    gci_candidates_release(third);
    insert(store, 1, 11, 50000);
    gci_candidates_release(candidates_now(other, 1, 11, 3));
    for (uint64_t i = 1; i <= 11; i++)
        assert_int_equal(look(other, 1, i, i == 11 ? 50000 : 10), GCI_FOUND);
    gci_store_close(other);
    gci_store_close(store);
}

/* A large payload that came first is read once, not again with each small one that is appended to it. */
static void
test_what_stands_behind_a_large_one_is_read(void **state)
{
    gci_store *store = fixture_open_apart(*state), *other = fixture_open_apart(*state);

    look(other, 12345, 1, 1);
    uint64_t empty = memory_of(other);
    insert(store, 1, 1, FIRST_IN_PACK);
    let_it_settle();
    gci_candidates *first = candidates_now(other, 1, 1, 1);
    insert(store, 1, 2, 10);
    gci_candidates *second = candidates_now(other, 1, 2, 2);
    assert_ptr_equal(second->items[0], first->items[0]);
    gci_candidates_release(first);
    gci_candidates_release(second);
    assert_int_equal(look(other, 1, 1, FIRST_IN_PACK), GCI_FOUND);
    assert_int_equal(look(other, 1, 2, 10), GCI_FOUND);
    /* As it is stored, as it was handed out, and what blocks of memory have to spare. */
    assert_in_range(memory_of(other) - empty, FIRST_IN_PACK, 3 * FIRST_IN_PACK);
    gci_store_close(other);
    gci_store_close(store);
}

/* Runs are few, and nothing is charged twice or for ever. */
static void
test_runs_stay_few(void **state)
{
    gci_store *store = fixture_open_apart(*state), *other = fixture_open_apart(*state);
    gcache_key key = key_of(1);
    size_t most = 0, whole = 0;

    look(other, 12345, 1, 1);
    uint64_t empty = memory_of(other);
    insert(store, 1, 1, 10);
    let_it_settle();
    for (uint64_t i = 1; i <= 200; i++) {
        gci_candidates *set;
        assert_int_equal(gci_store_candidates(other, &key, &set, NULL), GCI_FOUND);
        assert_int_equal(set->count, i);
        most = set->run_count > most ? set->run_count : most;
        whole += set->run_count == 1;
        gci_candidates_release(set);
        insert(store, 1, i + 1, 10);
    }
    assert_in_range(most, 5, 8);
    assert_in_range(whole, 5, 10);
    assert_true(memory_of(other) < 1000000);
    gci_memory_drop(&other->memory, &key, NULL, NULL);
    assert_int_equal(memory_of(other), empty);
    gci_store_close(other);
    gci_store_close(store);
}

static int64_t
hits_in_index(test_dir const *fixture)
{
    sqlite3_stmt *sum;
    char path[512];
    sqlite3 *index;

    path_in(fixture, "index.db", path);
    assert_int_equal(sqlite3_open_v2(path, &index, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(index, "SELECT sum(hits) FROM entries", -1, &sum, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(sum), SQLITE_ROW);
    int64_t hits = sqlite3_column_int64(sum, 0);
    sqlite3_finalize(sum);
    sqlite3_close(index);
    return hits;
}

/* Hits on what two sets share are written out once, however often one takes the other's place. */
static void
test_shared_hits_are_counted(void **state)
{
    gci_store *store = fixture_open(*state), *other = fixture_open(*state);
    gcache_key key = key_of(1);
    gcache_collected collected;
    gci_candidates *set;

    look(other, 12345, 1, 1);
    for (uint64_t i = 1; i <= 8; i++)
        insert(store, 1, i, 10);
    let_it_settle();
    for (uint64_t i = 9; i <= 40; i++) {
        assert_int_equal(gci_store_candidates(other, &key, &set, NULL), GCI_FOUND);
        gci_store_touch(other, find_variant(set, 3));
        gci_candidates_release(set);
        insert(store, 1, i, 10);
    }
    gci_store_close(other);
    assert_int_equal(gci_store_gc(store, &(gcache_gc_options){ 0 }, &collected, NULL), GCACHE_OK);
    gci_store_close(store);
    assert_int_equal(hits_in_index(*state), 32);
}

/* What is evicted is written anew, in another file: all of it is read. What comes back isn't evicted any more. */
static void
test_rewritten_is_read_anew(void **state)
{
    gci_store *store = fixture_open(*state), *other = fixture_open(*state);
    gcache_key key = key_of(1);
    gci_candidates *set;

    look(other, 12345, 1, 1);
    for (uint64_t i = 1; i <= 3; i++)
        insert(store, 1, i, 50000);
    let_it_settle();
    set = candidates_now(other, 1, 3, 1);
    assert_int_equal(gci_store_evict(store, &key, set->items[1]->record.id, NULL), GCACHE_OK);
    gci_candidates_release(set);
    assert_int_equal(look(other, 1, 2, 50000), GCI_ABSENT);
    let_it_settle();
    insert(store, 7, 1, 10);
    assert_int_equal(gci_store_candidates(other, &key, &set, NULL), GCI_FOUND);
    assert_int_equal(set->run_count, 1);
    assert_int_equal(set->evicted_count, 1);
    gci_candidates_release(set);
    insert(store, 1, 2, 50000);
    assert_int_equal(gci_store_candidates(other, &key, &set, NULL), GCI_FOUND);
    assert_int_equal(set->evicted_count, 0);
    assert_int_equal(set->count, 3);
    gci_candidates_release(set);
    for (uint64_t i = 1; i <= 3; i++)
        assert_int_equal(look(other, 1, i, 50000), GCI_FOUND);
    gci_store_close(other);
    gci_store_close(store);
}

/* Damage in what was appended is met as in a first reading: put aside, the others are served. */
static void
test_damaged_growth(void **state)
{
    gci_store *store = fixture_open_apart(*state), *other = fixture_open_apart(*state);
    char path[512];

    pack_path(*state, 1, path);
    look(other, 12345, 1, 1);
    insert(store, 1, 1, 10);
    let_it_settle();
    gci_candidates_release(candidates_now(other, 1, 1, 1));
    insert(store, 1, 2, 10);
    flip_byte(path, size_of_file(path) - 100);
    assert_int_equal(look(other, 1, 1, 10), GCI_FOUND);
    assert_int_equal(look(other, 1, 2, 10), GCI_ABSENT);
    insert(store, 1, 3, 10);
    assert_int_equal(look(other, 1, 3, 10), GCI_FOUND);
    assert_int_equal(problems(store), 0);
    gci_store_close(other);
    gci_store_close(store);
}

/* An outsider cut the file, and it has grown beyond its former end since: it isn't what it was and more. */
static void
test_cut_index_is_read_anew(void **state)
{
    gci_store *store = fixture_open(*state), *other = fixture_open(*state);
    char path[512];

    pack_path(*state, 1, path);
    look(other, 12345, 1, 1);
    for (uint64_t i = 1; i <= 7; i++)
        insert(store, 1, i, 10);
    off_t before = size_of_file(path);
    insert(store, 1, 8, 10);
    off_t end = size_of_file(path);
    let_it_settle();
    gci_candidates_release(candidates_now(other, 1, 8, 1));
    assert_int_equal(truncate(path, before), 0);
    insert(store, 1, 9, 10);
    assert_int_equal(size_of_file(path), end);
    insert(store, 1, 7000, 10);
    assert_int_equal(look(other, 1, 8, 10), GCI_ABSENT);
    assert_int_equal(look(other, 1, 9, 10), GCI_FOUND);
    assert_int_equal(look(other, 1, 7000, 10), GCI_FOUND);
    gci_store_close(other);
    gci_store_close(store);
}

/* ---- asking how things are while others work ---- */

static void
ignore_fact(void *state, char const *name, char const *value, char const *warning)
{
    (void)state, (void)name, (void)value, (void)warning;
}

typedef struct observed {
    gci_store *store;
    atomic_bool done;
} observed;

static void *
ask_for_facts(void *state)
{
    observed *o = state;
    gci_store_stats stats;

    do {
        gci_store_facts(o->store, ignore_fact, NULL);
        gci_store_stats_get(o->store, &stats, NULL);
        assert_true(stats.memory_sets <= 40);
    } while (!atomic_load(&o->done));
    return NULL;
}

/* What doctor and stats ask for, beside lookups that change it: for a build with the thread sanitizer. */
static void
test_facts_beside_lookups(void **state)
{
    observed o = { .store = fixture_open_with(*state, (gci_store_options){ .durability = GCACHE_DURABILITY_NONE }) };
    pthread_t thread;

    look(o.store, 12345, 1, 1);
    for (uint64_t i = 0; i < 40; i++)
        insert(o.store, i, 1, 100);
    assert_int_equal(pthread_create(&thread, NULL, ask_for_facts, &o), 0);
    for (uint64_t i = 0; i < 400; i++)
        assert_int_equal(look(o.store, i % 40, 1, 100), GCI_FOUND);
    atomic_store(&o.done, true);
    pthread_join(thread, NULL);
    gci_store_close(o.store);
}

/* A handle is often closed after one answer: what many answers need is asked for and made when the second comes. */
static void
test_first_answer_does_without(void **state)
{
    gci_store *store = fixture_open(*state);

    insert(store, 1, 1, 20000);
    gci_store_close(store);
    store = fixture_open(*state);
    assert_int_equal(look(store, 1, 1, 20000), GCI_FOUND);
    assert_false(atomic_load(&store->warm));
    assert_null(atomic_load(&store->network));
    assert_int_equal(store->memory.mask, 0);
    assert_int_equal(look(store, 1, 1, 20000), GCI_FOUND);
    assert_non_null(atomic_load(&store->network));
    assert_int_equal(store->memory.mask, GCI_MEMORY_BUCKETS - 1);
    gci_store_close(store);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_bound_holds),
        STORE_TEST(test_inserts_remember_the_key),
        STORE_TEST(test_used_sets_stay),
        STORE_TEST(test_threads_share),
        STORE_TEST(test_odd_generation),
        STORE_TEST(test_what_was_appended_is_read),
        STORE_TEST(test_what_stands_behind_a_large_one_is_read),
        STORE_TEST(test_runs_stay_few),
        STORE_TEST(test_shared_hits_are_counted),
        STORE_TEST(test_rewritten_is_read_anew),
        STORE_TEST(test_damaged_growth),
        STORE_TEST(test_cut_index_is_read_anew),
        STORE_TEST(test_facts_beside_lookups),
        STORE_TEST(test_first_answer_does_without),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
