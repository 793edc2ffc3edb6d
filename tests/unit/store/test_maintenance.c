#include "effort.h"
#include "fixture.h"

#include "base/system/clock.h"
#include "store/state/state.h"
#include "store/evict/recount.h"
#include "store/publish/mend.h"

#include <sys/wait.h>

static gci_store_stats
stats_of(gci_store *store)
{
    gci_store_stats stats;

    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    return stats;
}

/* What the directory's entries and attachments really take, in blocks. */
static uint64_t real_bytes;

static int
add_real(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)place;
    if (type == FTW_F && (strstr(path, "/entries/") != NULL || strstr(path, "/attachments/") != NULL))
        real_bytes += ((uint64_t)facts->st_size + 4095) / 4096 * 4096;
    return 0;
}

static uint64_t
measure(test_dir const *fixture)
{
    real_bytes = 0;
    nftw(fixture->directory, add_real, 16, FTW_PHYS);
    return real_bytes;
}

static void
insert_described(gci_store *store, uint64_t key, uint64_t variant, size_t size, size_t canonical_size)
{
    gci_component components[1] = { { .name = GCI_VIEW("graph") } };
    char *payload = payload_of(key ^ variant << 32, size), *canonical = payload_of(key, canonical_size);
    gci_description description = { GCI_VIEW("fx"), components, 1, { canonical, canonical_size } };
    gci_inserted inserted;
    made_record made;

    memcpy(components[0].hash, &key, sizeof key);
    assert_int_equal(gci_store_insert(store, record_of(&made, key, variant), gci_view_of(payload, size), &description,
                                      &inserted, NULL), GCACHE_OK);
    free(payload);
    free(canonical);
}

static void
test_bytes_are_counted(void **state)
{
    gci_store *store = fixture_open(*state);

    for (uint64_t i = 0; i < 60; i++) {
        insert_described(store, i % 7, i, i * 9770 % OWN_FILE, (i % 7) * 50000);
        assert_int_equal(stats_of(store).bytes, measure(*state));
    }
    assert_int_equal(stats_of(store).entries, 60);
    assert_int_equal(stats_of(store).keys, 7);
    gci_recounted counted;
    assert_int_equal(gci_recount(store, &counted, NULL), GCACHE_OK);
    assert_int_equal(stats_of(store).bytes, measure(*state));
    assert_int_equal(stats_of(store).entries, 60);
    assert_int_equal(stats_of(store).keys, 7);
    gci_store_close(store);
}

static void
test_evicted_candidate_is_remembered(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_key key = key_of(1);
    gci_tombstone tombstone;
    gci_candidates *set;

    gci_inserted one = insert(store, 1, 1, 100), two = insert(store, 1, 2, 50000);
    assert_int_equal(gci_store_evict(store, &key, two.id, NULL), GCACHE_OK);
    assert_int_equal(gci_store_evict(store, &key, two.id, NULL), GCACHE_ERROR_NOT_FOUND);
    assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
    assert_int_equal(set->count, 1);
    assert_string_equal(set->items[0]->record.id, one.id);
    assert_int_equal(set->evicted_count, 1);
    assert_string_equal(set->evicted[0]->record.id, two.id);
    assert_true(gci_view_is(set->evicted[0]->record.guards[1], "s1 == 2"));
    assert_true(set->evicted[0]->evicted_ns > 0);
    assert_true(gci_store_tombstone(store, &key, &tombstone));
    assert_int_equal(tombstone.evicted_ns, set->evicted[0]->evicted_ns);
    assert_int_equal(tombstone.left, 1);
    assert_int_equal(tombstone.stored_ns, set->evicted[0]->record.created_ns);
    gci_candidates_release(set);
    /* It may come back. */
    assert_false(insert(store, 1, 2, 50000).existed);
    assert_int_equal(look(store, 1, 2, 50000), GCI_FOUND);
    assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
    assert_int_equal(set->evicted_count, 0);
    assert_int_equal(set->items[1]->record.sequence, 3);
    gci_candidates_release(set);
    assert_int_equal(problems(store), 0);
    assert_int_equal(stats_of(store).bytes, measure(*state));
    gci_store_close(store);
}

static void
test_evicted_key_is_remembered(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_key key = key_of(1);
    gci_tombstone tombstone;

    assert_false(gci_store_tombstone(store, &key, &tombstone));
    gci_inserted inserted = insert(store, 1, 1, 100);
    assert_int_equal(gci_store_evict(store, &key, inserted.id, NULL), GCACHE_OK);
    assert_int_equal(look(store, 1, 1, 100), GCI_EVICTED);
    assert_true(gci_store_tombstone(store, &key, &tombstone));
    assert_int_equal(tombstone.entries, 1);
    assert_int_equal(tombstone.cause, GCI_EVICTED_BY_HAND);
    assert_int_equal(tombstone.left, 0);
    assert_int_equal(tombstone.evicted_bytes, 0);
    assert_true(stats_of(store).counters[GCI_COUNT_EVICTED_BYTES] > 0);
    assert_int_equal(measure(*state), 0);
    assert_int_equal(stats_of(store).bytes, 0);
    assert_int_equal(stats_of(store).keys, 0);
    insert(store, 1, 1, 100);
    assert_int_equal(look(store, 1, 1, 100), GCI_FOUND);
    assert_false(gci_store_tombstone(store, &key, &tombstone));
    gci_store_close(store);
}

static uint64_t
asked_again(gci_store *store)
{
    return stats_of(store).counters[GCI_COUNT_ASKED_AGAIN];
}

/* Once after each eviction, however often and by whomever it is missed. */
static void
test_asking_again_is_counted_once(void **state)
{
    gcache_key key = key_of(1), other = key_of(2);
    gci_store *store = fixture_open(*state);
    gci_tombstone tombstone;

    gci_inserted inserted = insert(store, 1, 1, 100);
    gci_store_asked_again(store, &key);
    assert_int_equal(asked_again(store), 0);
    for (uint64_t times = 1; times <= 2; times++) {
        assert_int_equal(gci_store_evict(store, &key, inserted.id, NULL), GCACHE_OK);
        assert_true(gci_store_tombstone(store, &key, &tombstone));
        assert_false(tombstone.asked);
        gci_store_asked_again(store, &other);
        assert_int_equal(asked_again(store), times - 1);
        gci_store_asked_again(store, &key);
        gci_store_asked_again(store, &key);
        assert_int_equal(asked_again(store), times);
        assert_true(gci_store_tombstone(store, &key, &tombstone));
        assert_true(tombstone.asked);
        assert_int_equal(tombstone.entries, 1);
        gci_store_close(store);
        store = fixture_open(*state);
        gci_store_asked_again(store, &key);
        assert_int_equal(asked_again(store), times);
        insert(store, 1, 1, 100);
    }
    assert_int_equal(gci_store_fullness(store, false).evictions, 2);
    assert_int_equal(gci_store_fullness(store, false).asked_again, 2);
    gci_store_close(store);
}

static void
test_asking_a_read_only_cache_writes_nothing(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_key key = key_of(1);
    gci_tombstone tombstone;

    gci_inserted inserted = insert(store, 1, 1, 100);
    assert_int_equal(gci_store_evict(store, &key, inserted.id, NULL), GCACHE_OK);
    gci_store_close(store);
    store = fixture_open_with(*state, (gci_store_options){ .read_only = true });
    gci_store_asked_again(store, &key);
    assert_int_equal(asked_again(store), 0);
    assert_true(gci_store_tombstone(store, &key, &tombstone));
    assert_false(tombstone.asked);
    gci_store_close(store);
}

/* The cap holds at every moment, and the oldest go first. */
static void
test_cap_holds(void **state)
{
    uint64_t const cap = 4 << 20;
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .max_size = cap, .compression_level = -1,
                                                                      .durability = GCACHE_DURABILITY_NONE });
    uint64_t seen = 0;

    for (uint64_t i = 0; i < 600; i++) {
        insert(store, i, 1, 1000 + (i * 7919) % 40000);
        uint64_t now = measure(*state);
        assert_true(now <= cap);
        assert_int_equal(look(store, i, 1, 1000 + (i * 7919) % 40000), GCI_FOUND);
        seen = now > seen ? now : seen;
    }
    assert_true(seen > cap - cap / 8);
    assert_int_equal(look(store, 0, 1, 1000), GCI_EVICTED);
    assert_int_equal(problems(store), 0);
    assert_int_equal(stats_of(store).bytes, measure(*state));
    assert_true(stats_of(store).counters[GCI_COUNT_EVICTIONS] > 300);
    gci_store_close(store);
}

/* What is larger than the cap is refused, and nothing is evicted in vain. */
static void
test_larger_than_the_cap(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .max_size = 1 << 20, .compression_level = -1 });
    gcache_error error = { 0 };
    gci_inserted inserted;

    insert(store, 1, 1, 1000);
    assert_int_equal(try_insert(store, 2, 1, 2 << 20, &inserted, &error), GCACHE_ERROR_NO_SPACE);
    assert_non_null(strstr(error.message, "cap"));
    assert_int_equal(look(store, 1, 1, 1000), GCI_FOUND);
    gci_store_close(store);
}

/* Used entries outlive unused ones, whoever used them. */
static void
test_recency_counts(void **state)
{
    gci_store_options options = { .max_size = 2 << 20, .compression_level = -1, .durability = GCACHE_DURABILITY_NONE };
    gci_store *store = fixture_open_with(*state, options), *reader = fixture_open_with(*state, options);
    gci_candidates *set;

    for (uint64_t i = 0; i < 30; i++)
        insert(store, i, 1, 20000);
    usleep(20000);
    for (uint64_t i = 0; i < 5; i++) {
        gcache_key key = key_of(i);
        assert_int_equal(gci_store_candidates(reader, &key, &set, NULL), GCI_FOUND);
        gci_store_touch(reader, set->items[0]);
        gci_candidates_release(set);
    }
    gci_store_close(reader);
    /* Six blocks each: with these it is a fifth too much, and more than the nine that were longest unused go. */
    for (uint64_t i = 100; i < 180; i++)
        insert(store, i, 1, 20000);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(look(store, i, 1, 20000), GCI_FOUND);
    for (uint64_t i = 5; i < 14; i++)
        assert_int_equal(look(store, i, 1, 20000), GCI_EVICTED);
    gci_store_close(store);
}

struct named {
    size_t count;
    uint64_t bytes;
};

static void
name_victim(void *state, gcache_key const *key, char const *id, uint64_t bytes)
{
    struct named *named = state;

    assert_int_equal(strlen(id), 32);
    assert_non_null(key);
    named->count++;
    named->bytes += bytes;
}

static void
test_gc_by_target_age_and_namespace(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .namespace_ = "ours" });
    gci_store *other = fixture_open_with(*state, (gci_store_options){ .namespace_ = "theirs" });
    struct named named = { 0 };
    gcache_collected collected;

    for (uint64_t i = 0; i < 10; i++)
        insert(store, i, 1, 10000);
    for (uint64_t i = 10; i < 15; i++)
        insert(other, i, 1, 10000);
    gcache_gc_options options = { .dry_run = true, .namespace_ = "theirs", .victim = name_victim, .state = &named };
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(named.count, 5);
    assert_int_equal(collected.entries, 5);
    assert_int_equal(look(store, 12, 1, 10000), GCI_FOUND);
    options.dry_run = false;
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(named.count, 5 + 5);
    assert_int_equal(collected.entries, 5);
    assert_int_equal(look(store, 12, 1, 10000), GCI_EVICTED);
    assert_int_equal(look(store, 2, 1, 10000), GCI_FOUND);

    named = (struct named){ 0 };
    options = (gcache_gc_options){ .target_bytes = stats_of(store).bytes / 2, .victim = name_victim, .state = &named };
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(named.count, collected.entries);
    assert_true(named.bytes > 0);
    assert_true(collected.entries >= 5 && collected.entries < 10);
    assert_true(collected.left_bytes <= options.target_bytes);
    assert_int_equal(collected.left_bytes, measure(*state));

    usleep(1500000);
    insert(store, 50, 1, 100);
    options = (gcache_gc_options){ .max_age_ns = 1400000000 }; /* a loaded machine takes its time between two calls */
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(look(store, 50, 1, 100), GCI_FOUND);
    assert_int_equal(stats_of(store).entries, 1);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    gci_store_close(other);
}

static void
test_gc_removes_strays_only_when_old(void **state)
{
    gci_store *store = fixture_open(*state);
    struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    gcache_gc_options options = { 0 };
    gcache_collected collected;
    char young[512], old[512];

    path_in(*state, "tmp/young", young);
    path_in(*state, "tmp/old", old);
    close(open(young, O_CREAT | O_WRONLY, 0600));
    close(open(old, O_CREAT | O_WRONLY, 0600));
    assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.stray, 1);
    assert_true(is_file(young));
    assert_false(is_file(old));
    gci_store_close(store);
}

/* A large payload in the candidate index counts once, is freed when it goes, and leaves what stands behind it. */
static void
test_a_large_first_one_goes_and_leaves_the_others(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .compression_level = -1 });
    gci_store *reader = fixture_open_with(*state, (gci_store_options){ .compression_level = -1 });
    gcache_key key = key_of(1);
    char path[512];

    gci_inserted first = insert(store, 1, 1, FIRST_IN_PACK);
    entry_path(*state, 1, first.id, path);
    assert_false(is_file(path));
    for (uint64_t variant = 2; variant < 8; variant++) {
        insert(store, 1, variant, variant % 2 == 0 ? 300 : 20000);
        assert_int_equal(look(reader, 1, variant, variant % 2 == 0 ? 300 : 20000), GCI_FOUND);
        assert_int_equal(look(reader, 1, 1, FIRST_IN_PACK), GCI_FOUND);
        assert_int_equal(stats_of(store).bytes, measure(*state));
    }
    uint64_t before = stats_of(store).bytes;
    assert_int_equal(gci_store_evict(store, &key, first.id, NULL), GCACHE_OK);
    assert_in_range(stats_of(store).bytes, 1, before - FIRST_IN_PACK + 4096);
    assert_int_equal(stats_of(store).bytes, measure(*state));
    assert_in_range(stats_of(store).counters[GCI_COUNT_EVICTED_BYTES], FIRST_IN_PACK - 4096, FIRST_IN_PACK + 4096);
    assert_int_equal(look(reader, 1, 1, FIRST_IN_PACK), GCI_ABSENT);
    for (uint64_t variant = 2; variant < 8; variant++)
        assert_int_equal(look(reader, 1, variant, variant % 2 == 0 ? 300 : 20000), GCI_FOUND);
    assert_int_equal(problems(store), 0);
    gci_store_close(reader);
    gci_store_close(store);
}

/* What is renewed lies where it would lie if it were stored now: the only one of its key in the candidate index. */
static void
test_a_large_first_one_is_renewed_in_its_place(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .compression_level = -1, .renew = true });
    char path[512];

    gci_inserted first = insert(store, 1, 1, FIRST_IN_PACK), again = insert(store, 1, 1, FIRST_IN_PACK);
    assert_string_equal(again.id, first.id);
    assert_true(again.sequence > first.sequence);
    entry_path(*state, 1, first.id, path);
    assert_false(is_file(path));
    insert(store, 1, 2, 100);
    insert(store, 1, 1, FIRST_IN_PACK);
    assert_true(is_file(path));
    assert_int_equal(look(store, 1, 1, FIRST_IN_PACK), GCI_FOUND);
    assert_int_equal(look(store, 1, 2, 100), GCI_FOUND);
    assert_int_equal(stats_of(store).bytes, measure(*state));
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* ---- repair ---- */

static void
test_repair_rebuilds_from_entries(void **state)
{
    gci_store *store = fixture_open(*state);
    char path[512];

    for (uint64_t i = 0; i < 20; i++)
        insert_described(store, i % 4, i, i % 2 == 0 ? 100 : OWN_FILE, 4000);
    uint64_t bytes = stats_of(store).bytes;
    gci_store_close(store);
    /* Everything that can be rebuilt goes. */
    path_in(*state, "index.db", path);
    unlink(path);
    path_in(*state, "segment", path);
    unlink(path);
    path_in(*state, "generations", path);
    unlink(path);
    store = fixture_open(*state);
    assert_int_equal(problems(store), 0);
    gcache_repaired repaired = repair_store(store);
    assert_int_equal(repaired.entries, 20);
    assert_int_equal(repaired.keys, 4);
    assert_int_equal(repaired.quarantined, 0);
    assert_int_equal(problems(store), 0);
    assert_int_equal(stats_of(store).bytes, bytes);
    assert_int_equal(stats_of(store).entries, 20);
    /* A candidate index that is gone comes back from the entry files; what lay in it does not. */
    pack_path(*state, 1, path);
    assert_int_equal(unlink(path), 0);
    repaired = repair_store(store);
    assert_int_equal(repaired.recovered, 5);
    assert_int_equal(repaired.entries, 20);
    for (uint64_t i = 1; i < 20; i += 4)
        assert_int_equal(look(store, 1, i, OWN_FILE), GCI_FOUND);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

static void
test_repair_puts_aside(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .compression_level = -1 });
    char path[512];

    insert(store, 1, 1, 100);
    gci_inserted inserted = insert(store, 1, 2, 50000);
    entry_path(*state, 1, inserted.id, path);
    flip_byte(path, 30000);
    gcache_repaired repaired = repair_store(store);
    assert_int_equal(repaired.quarantined, 1);
    assert_false(is_file(path));
    assert_int_equal(look(store, 1, 1, 100), GCI_FOUND);
    assert_int_equal(look(store, 1, 2, 50000), GCI_ABSENT);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* A damaged index.db is put aside and starts anew; entries are found without it all the while. */
static void
test_damaged_index(void **state)
{
    gci_store *store = fixture_open(*state);
    char path[512];

    for (uint64_t i = 0; i < 5; i++)
        insert(store, i, 1, 100);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    path_in(*state, "index.db", path);
    FILE *file = fopen(path, "r+");
    fputs("this is no database, and never was one", file);
    fclose(file);
    store = fixture_open(*state);
    for (uint64_t i = 0; i < 5; i++)
        assert_int_equal(look(store, i, 1, 100), GCI_FOUND);
    /* The segment still had it all. */
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* Verify with many threads sees the same as with one. */
static void
test_parallel_verify(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_maintenance_options one = { 0 }, many = { .threads = 4 };
    gcache_verified a = GCACHE_VERIFIED_INIT, b = GCACHE_VERIFIED_INIT;

    for (uint64_t i = 0; i < 100; i++)
        insert(store, i, 1, 100 + 200 * i);
    assert_int_equal(gci_store_verify(store, &one, &a, NULL), GCACHE_OK);
    assert_int_equal(gci_store_verify(store, &many, &b, NULL), GCACHE_OK);
    assert_int_equal(a.entries, 100);
    assert_memory_equal(&a, &b, sizeof a);
    assert_int_equal(a.problems, 0);
    gci_store_close(store);
}

static size_t files_seen;

static int
count_file(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)path, (void)place;
    files_seen += type == FTW_F && S_ISREG(facts->st_mode);
    return 0;
}

/* Each key takes a file, a file at least a block: so the cap bounds how many files there are, however small entries are. */
static void
test_small_entries_take_no_more_files_than_the_cap_has_blocks(void **state)
{
    enum { CAP = 2 << 20, KEYS = 1500, OTHERS = 40 };
    test_dir *dir = *state;
    gci_store *store = fixture_open_with(dir, (gci_store_options){ .max_size = CAP, .durability = GCACHE_DURABILITY_NONE });
    char entries[512];
    size_t found = 0;

    for (uint64_t i = 0; i < KEYS; i++)
        insert(store, i, 1, 64);
    for (uint64_t i = KEYS - 100; i < KEYS; i++)
        found += look(store, i, 1, 64) == GCI_FOUND;
    assert_true(found >= 95);
    gci_store_close(store);
    path_in(dir, "entries", entries);
    files_seen = 0;
    assert_int_equal(nftw(entries, count_file, 16, FTW_PHYS), 0);
    print_message("    %zu files\n", files_seen);
    assert_in_range(files_seen, 100, CAP / 4096);
    path_in(dir, ".", entries);
    files_seen = 0;
    assert_int_equal(nftw(entries, count_file, 16, FTW_PHYS), 0);
    assert_in_range(files_seen, 100, CAP / 4096 + OTHERS);
}

/* Inserts and takes out again, under keys that others use as well. */
static void
come_and_go(test_dir *fixture, uint64_t seed, double seconds)
{
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .durability = GCACHE_DURABILITY_NONE });
    uint64_t end = gci_clock_steady_ns() + (uint64_t)(seconds * 1e9);
    gci_inserted inserted;

    for (uint64_t round = 0; gci_clock_steady_ns() < end; round++) {
        uint64_t number = (round * 7 + seed) % 12;
        gcache_key key = key_of(number);
        if (try_insert(store, number, seed * 1000000 + round, round % 5 == 0 ? 20000 : 200, &inserted, NULL) == GCACHE_OK &&
            round % 3 != 0)
            gci_store_evict(store, &key, inserted.id, NULL);
    }
    gci_store_close(store);
}

/* What is being stored or taken out is no problem, whoever looks. */
static void
test_verify_beside_writers(void **state)
{
    enum { WRITERS = 3 };
    double seconds = effort_seconds(1.5);
    uint64_t end = gci_clock_steady_ns() + (uint64_t)(seconds * 1e9);
    pid_t writers[WRITERS];
    int outcome, looks = 0;

    gci_store_close(fixture_open(*state));
    for (uint64_t i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        assert_true(writers[i] >= 0);
        if (writers[i] == 0) {
            come_and_go(*state, i + 1, seconds);
            _exit(0);
        }
    }
    for (; gci_clock_steady_ns() < end; looks++) {
        gci_store *store = fixture_open_with(*state, (gci_store_options){ .read_only = looks % 2 == 0 });
        assert_int_equal(problems(store), 0);
        gci_store_close(store);
    }
    for (size_t i = 0; i < WRITERS; i++) {
        assert_int_equal(waitpid(writers[i], &outcome, 0), writers[i]);
        assert_int_equal(outcome, 0);
    }
    gci_store *store = fixture_open(*state);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    print_message("    %d looks\n", looks);
}

/* A candidate index that is gone says nothing about what was in it: the rows do, until repair. */
static void
test_lost_candidate_index(void **state)
{
    gci_store *store = fixture_open_apart(*state);
    char path[512];

    for (uint64_t variant = 1; variant <= 3; variant++)
        insert(store, 1, variant, 100);
    insert(store, 2, 1, 100);
    gci_store_close(store);
    pack_path(*state, 1, path);
    unlink(path);
    for (int read_only = 1; read_only >= 0; read_only--) {
        store = fixture_open_with(*state, (gci_store_options){ .read_only = read_only != 0 });
        assert_int_equal(problems(store), 3);
        gci_store_close(store);
    }
    store = fixture_open(*state);
    gcache_repaired repaired = repair_store(store);
    assert_int_equal(repaired.lost, 3);
    assert_int_equal(repaired.entries, 1);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* What an eviction on a full disk couldn't note anywhere isn't called a loss; what is lost after a repair is. */
static void
test_unnoted_evictions_are_no_losses(void **state)
{
    gci_store *store = fixture_open_apart(*state);
    char path[512];

    insert(store, 1, 1, 100);
    insert(store, 2, 1, 100);
    gci_store_close(store);
    pack_path(*state, 1, path);
    unlink(path);
    store = fixture_open(*state);
    assert_int_equal(problems(store), 1);
    gci_word_set(&store->shared.head->unnoted_s, gci_clock_wall_ns() / GCI_SECOND_NS);
    assert_int_equal(problems(store), 0);
    assert_int_equal(repair_store(store).lost, 0);
    pack_path(*state, 2, path);
    unlink(path);
    assert_int_equal(problems(store), 1);
    gci_store_close(store);
}

/* An entry may go between the listing of a folder and the look at it. */
static void
test_what_goes_while_repairing(void **state)
{
    gci_store *store = fixture_open_apart(*state);
    gci_shard_file file = { .key = key_of(1), .kind = GCI_NAME_ENTRY, .id = "0123456789abcdef0123456789abcdef" };
    gci_shard_key listed = { .key = file.key, .files = &file, .count = 1 };
    gcache_error error = { 0 };
    gci_mended mended;

    insert(store, 1, 1, 100);
    if (gci_mend_key(store, &file.key, &listed, &mended, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(mended.entries, 1);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_bytes_are_counted),
        STORE_TEST(test_evicted_candidate_is_remembered),
        STORE_TEST(test_evicted_key_is_remembered),
        STORE_TEST(test_asking_again_is_counted_once),
        STORE_TEST(test_asking_a_read_only_cache_writes_nothing),
        STORE_TEST(test_cap_holds),
        STORE_TEST(test_larger_than_the_cap),
        STORE_TEST(test_recency_counts),
        STORE_TEST(test_gc_by_target_age_and_namespace),
        STORE_TEST(test_gc_removes_strays_only_when_old),
        STORE_TEST(test_a_large_first_one_goes_and_leaves_the_others),
        STORE_TEST(test_a_large_first_one_is_renewed_in_its_place),
        STORE_TEST(test_repair_rebuilds_from_entries),
        STORE_TEST(test_repair_puts_aside),
        STORE_TEST(test_damaged_index),
        STORE_TEST(test_parallel_verify),
        STORE_TEST(test_small_entries_take_no_more_files_than_the_cap_has_blocks),
        STORE_TEST(test_verify_beside_writers),
        STORE_TEST(test_lost_candidate_index),
        STORE_TEST(test_unnoted_evictions_are_no_losses),
        STORE_TEST(test_what_goes_while_repairing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
