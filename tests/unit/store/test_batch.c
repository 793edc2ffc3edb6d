/*
 * Inserts committed together: they share the wait for the disk, and each has an outcome of its own.
 */
#include "fixture.h"

#include <dirent.h>

/* ---- watching ---- */

static struct {
    unsigned calls;       /* syncs and renames so far */
    unsigned syncs, last_sync, first_rename;
    unsigned failing_sync; /* the n-th fails; 0: none */
    char const *temporary; /* a folder; NULL: none */
    unsigned written;      /* what it had in it at the last sync */
} seen;

static unsigned
files_in(char const *path)
{
    DIR *stream = path != NULL ? opendir(path) : NULL;
    unsigned count = 0;

    for (struct dirent const *entry; stream != NULL && (entry = readdir(stream)) != NULL;)
        count += entry->d_name[0] != '.';
    if (stream != NULL)
        closedir(stream);
    return count;
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int
__wrap_fdatasync(int fd)
{
    seen.last_sync = ++seen.calls;
    seen.written = files_in(seen.temporary);
    if (++seen.syncs == seen.failing_sync) {
        errno = EIO;
        return -1;
    }
    return __real_fdatasync(fd);
}

int __real_renameat(int from_dir, char const *from, int to_dir, char const *to);
int __wrap_renameat(int from_dir, char const *from, int to_dir, char const *to);
int
__wrap_renameat(int from_dir, char const *from, int to_dir, char const *to)
{
    seen.calls++;
    if (seen.first_rename == 0)
        seen.first_rename = seen.calls;
    return __real_renameat(from_dir, from, to_dir, to);
}

static void
watch(unsigned failing_sync)
{
    memset(&seen, 0, sizeof seen);
    seen.failing_sync = failing_sync;
}

/* ---- batches ---- */

enum { COUNT = 24, SMALL = 700, MIDDLE = FIRST_IN_PACK, LARGE = OWN_FILE };

typedef struct batch {
    made_insert inserts[COUNT];
    gci_pending *pending[COUNT];
} batch;

static size_t
size_of(uint64_t key)
{
    return key % 3 == 0 ? LARGE : key % 3 == 1 ? MIDDLE : SMALL;
}

static batch *
batch_new(gci_store *store)
{
    batch *b = calloc(1, sizeof *b);

    assert_non_null(b);
    for (uint64_t key = 0; key < COUNT; key++) {
        prepare_insert(&b->inserts[key], store, key, 1, size_of(key));
        b->pending[key] = b->inserts[key].pending;
    }
    return b;
}

static void
batch_free(batch *b)
{
    for (int i = 0; i < COUNT; i++)
        made_insert_clear(&b->inserts[i]);
    free(b);
}

static gci_inserted
outcome_of(gci_pending const *pending, gcache_status expected)
{
    gcache_error error = { 0 };
    gci_inserted inserted;

    gcache_status status = gci_pending_outcome(pending, &inserted, &error);
    if (status != expected)
        fail_msg("%s: %s", gcache_status_name(status), error.message);
    return inserted;
}

static void
all_are_there(test_dir *fixture, gci_store *store)
{
    char path[512];

    for (uint64_t key = 0; key < COUNT; key++)
        assert_int_equal(look(store, key, 1, size_of(key)), GCI_FOUND);
    assert_int_equal(problems(store), 0);
    path_in(fixture, "tmp", path);
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* A sync each, but all of them before anything gets its name: they wait side by side. One after the other they don't. */
static void
test_the_wait_is_shared(void **state)
{
    gci_store *store = fixture_open_apart(*state);
    batch *b = batch_new(store);

    watch(0);
    gci_store_commit(store, b->pending, COUNT);
    assert_int_equal(seen.syncs, COUNT);
    assert_true(seen.last_sync < seen.first_rename);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(outcome_of(b->pending[i], GCACHE_OK).sequence, 1);
    batch_free(b);
    all_are_there(*state, store);

    watch(0);
    insert(store, 100, 1, SMALL);
    insert(store, 101, 1, SMALL);
    assert_int_equal(seen.syncs, 2);
    assert_true(seen.last_sync > seen.first_rename);
    gci_store_close(store);
}

static void
test_without_syncs_nothing_is_staged(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .durability = GCACHE_DURABILITY_NONE });
    batch *b = batch_new(store);

    assert_false(gci_store_waits_for_disk(store));
    watch(0);
    gci_store_commit(store, b->pending, COUNT);
    assert_int_equal(seen.syncs, 0);
    batch_free(b);
    all_are_there(*state, store);
    gci_store_close(store);
}

/* What was staged and may not have reached the disk is thrown away and written again. */
static void
test_a_failed_sync_costs_the_head_start(void **state)
{
    gci_store *store = fixture_open(*state);
    batch *b = batch_new(store);

    watch(7);
    gci_store_commit(store, b->pending, COUNT);
    assert_int_equal(seen.syncs, COUNT + 1);
    for (int i = 0; i < COUNT; i++)
        outcome_of(b->pending[i], GCACHE_OK);
    batch_free(b);
    all_are_there(*state, store);
    gci_store_close(store);
}

/* What a fresh key needs beside the payload's file is written while the disk works on that. */
static void
test_the_candidate_index_is_written_meanwhile(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_error error = { 0 };
    gci_inserted inserted;
    char path[512];

    path_in(*state, "tmp", path);
    watch(0);
    seen.temporary = path;
    insert(store, 1, 1, LARGE);
    assert_int_equal(seen.syncs, 1);
    assert_int_equal(seen.written, 2);
    /* The key has one by now. */
    insert(store, 1, 2, LARGE);
    assert_int_equal(seen.syncs, 2);
    assert_int_equal(seen.written, 1);
    /* Where the payload lies in it, it is all that is written. */
    watch(0);
    seen.temporary = path;
    insert(store, 3, 1, MIDDLE);
    assert_int_equal(seen.syncs, 1);
    assert_int_equal(seen.written, 1);
    /* And nothing stays of it if the payload can't be synced. */
    watch(1);
    assert_int_equal(try_insert(store, 2, 1, LARGE, &inserted, &error), GCACHE_ERROR_IO);
    assert_int_equal(files_in(path), 0);
    assert_int_equal(look(store, 2, 1, LARGE), GCI_ABSENT);
    assert_int_equal(look(store, 1, 2, LARGE), GCI_FOUND);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* Equal ones, more under one key than it may have, one that nobody commits; and somebody else was quicker meanwhile. */
static void
test_each_has_an_outcome_of_its_own(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .max_candidates = 3 }), *other = fixture_open(*state);
    gcache_key crowded = key_of(1);
    gci_candidates *set;
    made_insert inserts[8];
    gci_pending *pending[8];
    static struct {
        uint64_t key, variant;
    } const wanted[8] = { { 1, 1 }, { 1, 1 }, { 1, 2 }, { 2, 1 }, { 3, 1 }, { 1, 3 }, { 1, 4 }, { 4, 1 } };

    for (int i = 0; i < 8; i++) {
        prepare_insert(&inserts[i], store, wanted[i].key, wanted[i].variant, i % 2 == 0 ? SMALL : LARGE);
        pending[i] = inserts[i].pending;
    }
    insert(other, 2, 1, LARGE);
    insert(other, 3, 9, SMALL);
    gci_store_commit(store, pending, 7);
    assert_false(outcome_of(pending[0], GCACHE_OK).existed);
    assert_false(outcome_of(pending[1], GCACHE_OK).existed); /* another payload */
    assert_int_equal(outcome_of(pending[2], GCACHE_OK).sequence, 3);
    assert_true(outcome_of(pending[3], GCACHE_OK).existed);
    assert_int_equal(outcome_of(pending[4], GCACHE_OK).sequence, 2);
    assert_int_equal(outcome_of(pending[5], GCACHE_OK).sequence, 4);
    assert_int_equal(outcome_of(pending[6], GCACHE_OK).sequence, 5);
    assert_int_equal(gci_store_candidates(store, &crowded, &set, NULL), GCI_FOUND);
    assert_int_equal(set->count, 3);
    assert_int_equal(set->evicted_count, 2);
    gci_candidates_release(set);
    for (int i = 0; i < 8; i++)
        made_insert_clear(&inserts[i]);
    assert_int_equal(look(store, 2, 1, LARGE), GCI_FOUND);
    assert_int_equal(look(store, 3, 1, SMALL), GCI_FOUND);
    assert_int_equal(look(store, 3, 9, SMALL), GCI_FOUND);
    assert_int_equal(look(store, 4, 1, LARGE), GCI_ABSENT);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    gci_store_close(other);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_the_wait_is_shared),
        STORE_TEST(test_without_syncs_nothing_is_staged),
        STORE_TEST(test_a_failed_sync_costs_the_head_start),
        STORE_TEST(test_the_candidate_index_is_written_meanwhile),
        STORE_TEST(test_each_has_an_outcome_of_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
