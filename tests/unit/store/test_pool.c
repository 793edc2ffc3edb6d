/* Pools: small keys share files, and nobody notices. */
#include "fixture.h"

#include "store/format/candidate_index.h"
#include "store/pool/pool.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum { FOLDER = 0x42, SIZE = 100, GROWN = 3000 };

/* The number of the nth key in one folder of entries/. */
static uint64_t
nth(unsigned n)
{
    static uint64_t numbers[1024];
    static unsigned known;

    for (uint64_t next = known == 0 ? 1 : numbers[known - 1] + 1; known <= n; next++) {
        if (key_of(next).bytes[0] == FOLDER)
            numbers[known++] = next;
    }
    return numbers[n];
}

static void
pool_path(test_dir const *fixture, char out_path[512])
{
    gcache_key key = { { FOLDER } };

    path_in(fixture, gci_path_pool(&key, 0).text, out_path);
}

static int files;

static int
count_file(char const *path, struct stat const *facts, int kind, struct FTW *place)
{
    (void)path;
    (void)facts;
    (void)place;
    files += kind == FTW_F;
    return 0;
}

static int
files_below(test_dir const *fixture, char const *name)
{
    char path[512];

    path_in(fixture, name, path);
    files = 0;
    nftw(path, count_file, 8, FTW_PHYS);
    return files;
}

static gci_store *
fill(test_dir *fixture, unsigned count)
{
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .durability = GCACHE_DURABILITY_NONE });

    for (unsigned i = 0; i < count; i++)
        insert(store, nth(i), 1, SIZE);
    return store;
}

static unsigned
count_found(gci_store *store, unsigned count)
{
    unsigned found = 0;

    for (unsigned i = 0; i < count; i++)
        found += look(store, nth(i), 1, SIZE) == GCI_FOUND;
    return found;
}

static void
evict_key(gci_store *store, uint64_t number)
{
    gcache_key key = key_of(number);
    gcache_error error = { 0 };
    gci_candidates *set;

    assert_int_equal(gci_store_candidates(store, &key, &set, &error), GCI_FOUND);
    for (size_t i = 0; i < set->count; i++)
        assert_int_equal(gci_store_evict(store, &key, set->items[i]->record.id, &error), GCACHE_OK);
    gci_candidates_release(set);
}

/* ---- sharing ---- */

static void
test_small_keys_share_files(void **state)
{
    enum { COUNT = 300 };
    gcache_key key = key_of(nth(0));
    char path[512];

    gci_store *store = fill(*state, COUNT);
    gci_store_close(store);
    store = fixture_open(*state);
    assert_int_equal(count_found(store, COUNT), COUNT);
    /* One for the folder until that is full, then one for each digit more. */
    assert_in_range(files_below(*state, "entries"), 2, 17);
    pool_path(*state, path);
    assert_in_range(size_of_file(path), GCI_POOL_MAX / 2, GCI_POOL_MAX);
    assert_int_equal(problems(store), 0);
    insert(store, nth(0), 2, GROWN);
    path_in(*state, gci_path_pack(&key).text, path);
    assert_true(is_file(path));
    assert_int_equal(look(store, nth(0), 1, SIZE), GCI_FOUND);
    assert_int_equal(look(store, nth(0), 2, GROWN), GCI_FOUND);
    assert_int_equal(count_found(store, COUNT), COUNT);
    gci_store_close(store);
}

/* Until it is too large. */
static void
test_a_key_grows_in_its_pool(void **state)
{
    gcache_key key = key_of(nth(1));
    gci_store *store = fill(*state, 3);
    char path[512];

    insert(store, nth(1), 2, SIZE);
    path_in(*state, gci_path_pack(&key).text, path);
    assert_false(is_file(path));
    for (uint64_t variant = 3; variant <= 6; variant++)
        insert(store, nth(1), variant, SIZE);
    assert_true(is_file(path));
    gci_store_close(store);
    store = fixture_open(*state);
    for (uint64_t variant = 1; variant <= 6; variant++)
        assert_int_equal(look(store, nth(1), variant, SIZE), GCI_FOUND);
    assert_int_equal(count_found(store, 3), 3);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

static void
test_large_keys_have_files(void **state)
{
    gci_store *store = fixture_open(*state);
    char path[512];

    insert(store, nth(0), 1, 5000);
    pool_path(*state, path);
    assert_false(is_file(path));
    assert_int_equal(files_below(*state, "entries"), 1);
    gci_store_close(store);
}

static int
count_key(void *state, gcache_key const *key)
{
    (void)key;
    ++*(unsigned *)state;
    return 0;
}

static void
test_all_keys_are_walked_over(void **state)
{
    gci_store *store = fill(*state, 50);
    unsigned count = 0;

    insert(store, nth(3), 2, GROWN);
    insert(store, nth(60), 1, 50000);
    assert_int_equal(gci_store_each_key(store, count_key, &count, NULL), GCACHE_OK);
    assert_int_equal(count, 51);
    gci_store_close(store);
}

/* A lookup remembers for a while which pools aren't there, but not beyond the first key that somebody puts into one. */
static void
test_a_new_pool_is_seen_at_once(void **state)
{
    gci_store *reader = fixture_open(*state), *writer = fixture_open(*state);

    for (unsigned i = 0; i < 40; i++) {
        for (int again = 0; again < 3; again++)
            assert_int_equal(look(reader, nth(i), 1, SIZE), GCI_ABSENT);
        insert(writer, nth(i), 1, SIZE);
        assert_int_equal(look(reader, nth(i), 1, SIZE), GCI_FOUND);
        if (i % 4 == 3) {
            for (unsigned j = i - 3; j <= i; j++)
                evict_key(writer, nth(j));
        }
    }
    assert_int_equal(problems(reader), 0);
    gci_store_close(writer);
    gci_store_close(reader);
}

/* ---- going ---- */

static void
test_what_goes_leaves_room(void **state)
{
    enum { COUNT = 50, KEPT = 10 };
    gci_store *store = fill(*state, COUNT);
    char path[512];

    pool_path(*state, path);
    off_t before = size_of_file(path);
    for (unsigned i = KEPT; i < COUNT; i++)
        evict_key(store, nth(i));
    assert_in_range(size_of_file(path), before / 6, 2 * GCI_DISK_BLOCK);
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(look(store, nth(i), 1, SIZE), i < KEPT ? GCI_FOUND : GCI_EVICTED);
    assert_int_equal(problems(store), 0);
    insert(store, nth(KEPT), 1, SIZE);
    for (unsigned i = 0; i <= KEPT; i++)
        evict_key(store, nth(i));
    assert_false(is_file(path));
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

static void
copy_file(char const *from, char const *to)
{
    char command[1200];

    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    assert_int_equal(system(command), 0);
}

/* A writer that dies between a key's own file and its leaving the pool. */
static void
test_what_a_pool_still_says_does_not_count(void **state)
{
    gci_store *store = fill(*state, 5);
    char path[512], aside[512];

    pool_path(*state, path);
    path_in(*state, "tmp/aside", aside);
    copy_file(path, aside);
    insert(store, nth(0), 2, GROWN);
    copy_file(aside, path);
    gci_store_close(store);
    store = fixture_open(*state);
    assert_int_equal(look(store, nth(0), 1, SIZE), GCI_FOUND);
    assert_int_equal(look(store, nth(0), 2, GROWN), GCI_FOUND);
    evict_key(store, nth(0));
    gci_store_close(store);
    store = fixture_open(*state);
    assert_int_equal(look(store, nth(0), 1, SIZE), GCI_EVICTED);
    assert_int_equal(count_found(store, 5), 4);
    gci_store_close(store);
}

/* What is counted against the cap is what the files take, so nothing goes before that is reached. */
static void
test_nothing_goes_below_the_cap(void **state)
{
    enum { CAP = 2 << 20, COUNT = 2000 };
    gci_store_options options = { .max_size = CAP, .durability = GCACHE_DURABILITY_NONE };
    gci_store *store = fixture_open_with(*state, options);
    unsigned found = 0;

    for (unsigned i = 0; i < COUNT; i++)
        insert(store, i, 1, SIZE);
    for (unsigned i = 0; i < COUNT; i++)
        found += look(store, i, 1, SIZE) == GCI_FOUND;
    assert_int_equal(found, COUNT);
    for (unsigned i = COUNT; i < 6 * COUNT; i++)
        insert(store, i, 1, SIZE);
    found = 0;
    for (unsigned i = 0; i < 6 * COUNT; i++)
        found += look(store, i, 1, SIZE) == GCI_FOUND;
    assert_in_range(found, COUNT, 6 * COUNT - 1);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* What goes must not need room first. */
static void
test_a_full_disk_keeps_nobody_from_going(void **state)
{
    gci_store *store = fill(*state, 20);
    char path[512];
    int how;

    gci_store_close(store);
    pool_path(*state, path);
    pid_t child = fork();
    if (child == 0) {
        struct rlimit limit = { (rlim_t)size_of_file(path), (rlim_t)size_of_file(path) };
        gcache_key key = key_of(nth(3));
        gci_candidates *set;
        store = fixture_open(*state);
        signal(SIGXFSZ, SIG_IGN);
        bool there = gci_store_candidates(store, &key, &set, NULL) == GCI_FOUND;
        setrlimit(RLIMIT_FSIZE, &limit);
        bool gone = there && gci_store_evict(store, &key, set->items[0]->record.id, NULL) == GCACHE_OK;
        _exit(gone ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    store = fixture_open(*state);
    assert_int_not_equal(look(store, nth(3), 1, SIZE), GCI_FOUND);
    assert_int_equal(count_found(store, 20), 19);
    /* Nor did its tombstone find room. */
    assert_true(gci_word_value(&store->shared.head->unnoted_s) > 0);
    insert(store, nth(3), 1, SIZE);
    assert_int_equal(count_found(store, 20), 20);
    assert_int_equal(files_below(*state, "quarantine"), 0);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* ---- damage ---- */

static void
test_damage_costs_little(void **state)
{
    enum { COUNT = 12 };
    char path[512], aside[512];
    gci_store *store = fill(*state, COUNT);

    gci_store_close(store);
    pool_path(*state, path);
    path_in(*state, "whole", aside);
    copy_file(path, aside);
    for (off_t at = 0; at < size_of_file(aside); at += 41) {
        copy_file(aside, path);
        flip_byte(path, at);
        store = fixture_open(*state);
        /* Of what is asked for while it is damaged nothing else is lost, whoever mends it. */
        assert_true(count_found(store, COUNT) >= COUNT - 1);
        gcache_repaired repaired;
        gcache_maintenance_options options = { .problem = NULL };
        assert_int_equal(gci_store_repair(store, &options, &repaired, NULL), GCACHE_OK);
        assert_int_equal(problems(store), 0);
        assert_true(count_found(store, COUNT) >= COUNT - 1);
        for (unsigned i = 0; i < COUNT; i++)
            insert(store, nth(i), 1, SIZE);
        assert_int_equal(count_found(store, COUNT), COUNT);
        gci_store_close(store);
    }
}

/* Not even where it makes the pool larger than one may be. */
static void
test_what_is_appended_costs_nothing(void **state)
{
    enum { COUNT = 12, MORE = 200000 };
    static char zeros[MORE];
    char path[512];

    pool_path(*state, path);
    for (int filler = 0; filler < 2; filler++) {
        gci_store *store = fill(*state, COUNT);
        gci_store_close(store);
        memset(zeros, filler * 0xa5, sizeof zeros);
        FILE *file = fopen(path, "ab");
        assert_non_null(file);
        assert_int_equal(fwrite(zeros, 1, MORE, file), MORE);
        fclose(file);
        store = fixture_open(*state);
        assert_int_equal(count_found(store, COUNT), COUNT);
        insert(store, nth(COUNT), 1, SIZE);
        assert_int_equal(count_found(store, COUNT + 1), COUNT + 1);
        repair_store(store);
        assert_int_equal(problems(store), 0);
        assert_int_equal(count_found(store, COUNT + 1), COUNT + 1);
        gci_store_close(store);
    }
}

static void
test_a_torn_end_is_cut_off(void **state)
{
    char path[512];
    gci_store *store = fill(*state, 5);

    gci_store_close(store);
    pool_path(*state, path);
    assert_int_equal(truncate(path, size_of_file(path) - 60), 0);
    store = fixture_open(*state);
    assert_int_equal(count_found(store, 5), 4);
    assert_int_equal(problems(store), 1); /* its row says that it is lost */
    insert(store, nth(5), 1, SIZE);
    insert(store, nth(4), 1, SIZE);
    assert_int_equal(count_found(store, 6), 6);
    assert_int_equal(files_below(*state, "quarantine"), 0);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

static void
become_newer(char const *path)
{
    uint32_t version = 9;
    char header[GCI_PACK_HEADER];
    int fd = open(path, O_RDWR);

    assert_int_equal(pread(fd, header, sizeof header, 0), sizeof header);
    memcpy(header + 8, &version, sizeof version);
    gci_checksum sum = gci_checksum_of(header, 48);
    memcpy(header + 48, &sum.low, 8);
    memcpy(header + 56, &sum.high, 8);
    assert_int_equal(pwrite(fd, header, sizeof header, 0), sizeof header);
    close(fd);
}

static void
test_a_newer_pool_is_left_alone(void **state)
{
    char path[512];
    gcache_maintenance_options options = { .problem = NULL };
    gcache_repaired repaired;
    gci_store *store = fill(*state, 5);

    gci_store_close(store);
    pool_path(*state, path);
    become_newer(path);
    off_t size = size_of_file(path);
    store = fixture_open(*state);
    insert(store, 1, 1, SIZE);
    assert_int_equal(look(store, 1, 1, SIZE), GCI_FOUND);
    assert_true(problems(store) > 0);
    assert_int_equal(gci_store_repair(store, &options, &repaired, NULL), GCACHE_OK);
    assert_int_equal(size_of_file(path), size);
    gci_store_close(store);
}

/* Its first frame becomes one of a newer version, and what follows its last is no frame. */
static void
become_newer_and_damaged(char const *path)
{
    static char const nothing[64] = { 1 };
    char bytes[GCI_FRAME_PROLOGUE + 4096 + 16];
    uint32_t head_size;
    int fd = open(path, O_RDWR);

    assert_true(pread(fd, bytes, sizeof bytes, GCI_PACK_HEADER) > GCI_FRAME_OVERHEAD);
    memcpy(&head_size, bytes + 12, sizeof head_size);
    bytes[8] = 9;
    gci_checksum sum = gci_checksum_of(bytes, GCI_FRAME_PROLOGUE + head_size);
    memcpy(bytes + GCI_FRAME_PROLOGUE + head_size, &sum.low, 8);
    memcpy(bytes + GCI_FRAME_PROLOGUE + head_size + 8, &sum.high, 8);
    assert_true(pwrite(fd, bytes, GCI_FRAME_OVERHEAD + head_size, GCI_PACK_HEADER) > 0);
    flip_byte(path, size_of_file(path) - 1);
    assert_true(pwrite(fd, nothing, sizeof nothing, size_of_file(path)) > 0);
    close(fd);
}

static void
note_newer(void *state, char const *path, char const *what)
{
    (void)path;
    *(bool *)state |= strstr(what, "of a newer version") != NULL;
}

static void
test_a_damaged_newer_pool_is_named(void **state)
{
    char path[512];
    bool named = false;
    gcache_maintenance_options options = { .problem = note_newer, .state = &named };
    gcache_repaired repaired;
    gci_store *store = fill(*state, 5);

    gci_store_close(store);
    pool_path(*state, path);
    become_newer_and_damaged(path);
    off_t size = size_of_file(path);
    store = fixture_open(*state);
    assert_true(problems(store) > 0);
    assert_int_equal(gci_store_repair(store, &options, &repaired, NULL), GCACHE_OK);
    assert_true(named);
    assert_int_equal(repaired.quarantined, 0);
    assert_int_equal(size_of_file(path), size);
    gci_store_close(store);
}

/* Whoever may write to it says what it holds. */
static void
test_an_untrusted_pool_hands_out_nothing(void **state)
{
    char path[512];
    gci_store *store = fill(*state, 5);

    gci_store_close(store);
    pool_path(*state, path);
    assert_int_equal(chmod(path, 0622), 0);
    store = fixture_open(*state);
    assert_int_equal(look(store, nth(0), 1, SIZE), GCI_UNREADABLE);
    assert_int_equal(chmod(path, 0600), 0);
    assert_int_equal(count_found(store, 5), 5);
    gci_store_close(store);
}

static void
test_what_is_no_pool_makes_way(void **state)
{
    char path[512];
    gci_store *store = fill(*state, 1);

    gci_store_close(store);
    pool_path(*state, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    store = fixture_open(*state);
    assert_int_not_equal(look(store, nth(0), 1, SIZE), GCI_FOUND);
    insert(store, nth(0), 1, SIZE);
    insert(store, nth(1), 1, SIZE);
    assert_int_equal(count_found(store, 2), 2);
    gci_store_close(store);
}

/* ---- beside each other ---- */

struct reading {
    test_dir *fixture;
    _Atomic bool over;
    _Atomic unsigned missed, looks;
};

/* Keys that are there all the time, whatever happens to their neighbours and to where they lie. */
static void *
read_on(void *state)
{
    struct reading *reading = state;
    gci_store *store = fixture_open(reading->fixture);

    while (!atomic_load(&reading->over)) {
        for (unsigned i = 0; i < 20; i++)
            reading->missed += look(store, nth(i), 1, SIZE) != GCI_FOUND;
        atomic_fetch_add(&reading->looks, 20);
        gci_store_close(store);
        store = fixture_open(reading->fixture);
    }
    gci_store_close(store);
    return NULL;
}

static void
test_readers_miss_nothing(void **state)
{
    struct reading reading = { .fixture = *state };
    gci_store *store = fill(*state, 60);
    pthread_t readers[2];

    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&readers[i], NULL, read_on, &reading), 0);
    for (unsigned i = 0; i < 60; i++) {
        insert(store, nth(i), 2, GROWN); /* grows out of the pool */
        insert(store, nth(100 + i), 1, SIZE);
        if (i >= 20)
            evict_key(store, nth(i));
        usleep(1000);
    }
    atomic_store(&reading.over, true);
    for (size_t i = 0; i < 2; i++)
        pthread_join(readers[i], NULL);
    assert_true(reading.looks > 0);
    assert_int_equal(reading.missed, 0);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_small_keys_share_files),
        STORE_TEST(test_a_key_grows_in_its_pool),
        STORE_TEST(test_large_keys_have_files),
        STORE_TEST(test_all_keys_are_walked_over),
        STORE_TEST(test_a_new_pool_is_seen_at_once),
        STORE_TEST(test_what_goes_leaves_room),
        STORE_TEST(test_what_a_pool_still_says_does_not_count),
        STORE_TEST(test_nothing_goes_below_the_cap),
        STORE_TEST(test_a_full_disk_keeps_nobody_from_going),
        STORE_TEST(test_damage_costs_little),
        STORE_TEST(test_what_is_appended_costs_nothing),
        STORE_TEST(test_a_torn_end_is_cut_off),
        STORE_TEST(test_a_newer_pool_is_left_alone),
        STORE_TEST(test_a_damaged_newer_pool_is_named),
        STORE_TEST(test_an_untrusted_pool_hands_out_nothing),
        STORE_TEST(test_what_is_no_pool_makes_way),
        STORE_TEST(test_readers_miss_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
