#include "fixture.h"

#include <sys/wait.h>

static int counted_files;

static void
test_entry_comes_back(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_key key = key_of(1);
    gcache_error error = { 0 };
    gci_candidates *set;

    assert_int_equal(gci_store_candidates(store, &key, &set, &error), GCI_ABSENT);
    gci_inserted inserted = insert(store, 1, 7, 100);
    assert_false(inserted.existed);
    assert_int_equal(inserted.sequence, 1);
    assert_int_equal(strlen(inserted.id), 32);
    assert_int_equal(gci_store_candidates(store, &key, &set, &error), GCI_FOUND);
    assert_int_equal(set->count, 1);
    gci_record const *record = &set->items[0]->record;
    assert_string_equal(record->id, inserted.id);
    assert_memory_equal(record->key.bytes, key.bytes, 32);
    assert_true(gci_view_is(record->kind, "fx"));
    assert_int_equal(record->guard_count, 2);
    assert_true(gci_view_is(record->guards[1], "s1 == 7"));
    assert_string_equal(record->guards[1].data, "s1 == 7");
    assert_int_equal(record->program.size, 15);
    assert_true(gci_view_is(record->names[0].value, "s77"));
    assert_true(gci_view_is(record->requirements[0].name, "driver"));
    assert_true(gci_view_is(record->variant, "pgle"));
    assert_int_equal(record->priority, -3);
    assert_int_equal(record->equalities, 1);
    assert_int_equal(record->conjuncts, 2);
    assert_int_equal(record->compile_ns, 812000000);
    assert_true(record->created_ns > UINT64_C(1700000000000000000));
    assert_true(gci_view_is(record->label, "train.py:88"));
    assert_true(gci_view_is(record->metadata, "{\"a\": 1}"));
    assert_int_equal(record->payload_size, 100);
    gci_candidates_release(set);
    assert_int_equal(look(store, 1, 7, 100), GCI_FOUND);
    gci_store_close(store);
}

/* Sizes around every threshold: none, a byte, in the candidate index, a file (mapped where it isn't compressed). */
static void
test_all_sizes_and_levels(void **state)
{
    static size_t const sizes[] = { 0, 1, 7, 8, 4096, 8191, 8192, 8193, 65535, 65536, 131071, 131072, 131073, 300000, 5000000 };
    static int const levels[] = { -1, 1, 3 };

    for (size_t level = 0; level < 3; level++) {
        gci_store *store = fixture_open_with(*state, (gci_store_options){ .compression_level = levels[level] });
        for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            insert(store, 100 * level + i, 1, sizes[i]);
            assert_int_equal(look(store, 100 * level + i, 1, sizes[i]), GCI_FOUND);
            assert_int_equal(look(store, 100 * level + i, 1, sizes[i]), GCI_FOUND);
        }
        gci_store_close(store);
        store = fixture_open(*state);
        for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            assert_int_equal(look(store, 100 * level + i, 1, sizes[i]), GCI_FOUND);
        assert_int_equal(problems(store), 0);
        gci_store_close(store);
    }
}

static int
count_file(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)path, (void)facts, (void)place;
    counted_files += type == FTW_F;
    return 0;
}

/* A key takes one file however many small variants it has, and at least a block of the cap: so the cap bounds the files. */
static void
test_medium_entries_take_a_file_a_key(void **state)
{
    test_dir *fixture = *state;
    gcache_error error = { 0 };
    gci_store_stats stats;
    char path[512];

    gci_store *store = fixture_open(fixture);
    for (uint64_t i = 0; i < 200; i++)
        insert(store, i % 20, i, 300);
    path_in(fixture, "entries", path);
    counted_files = 0;
    assert_int_equal(nftw(path, count_file, 16, FTW_PHYS), 0);
    assert_int_equal(counted_files, 20);
    assert_int_equal(gci_store_stats_get(store, &stats, &error), GCACHE_OK);
    assert_int_equal(stats.entries, 200);
    assert_true(stats.bytes >= 20 * 4096);
    gci_store_close(store);
}

static void
test_equal_inserts_are_one(void **state)
{
    gci_store *store = fixture_open(*state), *other = fixture_open(*state);

    gci_inserted first = insert(store, 1, 1, 5000), second = insert(other, 1, 1, 5000);
    assert_true(second.existed);
    assert_string_equal(first.id, second.id);
    assert_int_equal(second.sequence, 1);
    gci_inserted third = insert(other, 1, 2, 5000);
    assert_false(third.existed);
    assert_int_equal(third.sequence, 2);
    assert_string_not_equal(first.id, third.id);
    gci_store_close(store);
    gci_store_close(other);
}

/* X14: producers that differ in what the caller declares volatile make one entry. */
static void
test_identity_stands_for_the_payload(void **state)
{
    gci_store *store = fixture_open(*state);
    gci_inserted first, second;
    made_record made;

    record_of(&made, 1, 1);
    made.record.identity = gci_view_text("what counts");
    assert_int_equal(gci_store_insert(store, &made.record, gci_view_text("took 5 s"), NULL, &first, NULL), GCACHE_OK);
    assert_int_equal(gci_store_insert(store, &made.record, gci_view_text("took 6 s"), NULL, &second, NULL), GCACHE_OK);
    assert_true(second.existed);
    assert_string_equal(first.id, second.id);
    gci_store_close(store);
}

static void
test_shadowing_is_reported(void **state)
{
    gci_store *store = fixture_open(*state);
    gci_inserted first, second;
    made_record made;

    gci_record const *record = record_of(&made, 1, 1);
    assert_int_equal(gci_store_insert(store, record, gci_view_text("one"), NULL, &first, NULL), GCACHE_OK);
    assert_string_equal(first.shadows, "");
    assert_int_equal(gci_store_insert(store, record, gci_view_text("two"), NULL, &second, NULL), GCACHE_OK);
    assert_string_equal(second.shadows, first.id);
    gci_store_close(store);
}

/* Each evicts by rows that the other has outrun: that is no reason to refuse. */
static void
fill_one_key(test_dir *fixture, uint64_t which)
{
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .max_candidates = 3 });

    for (uint64_t i = 0; i < 400; i++)
        insert(store, 1, 2 * i + which, 10);
    gci_store_close(store);
}

static void
test_a_full_key_is_filled_by_two(void **state)
{
    int how;

    pid_t child = fork();
    if (child == 0) {
        fill_one_key(*state, 1);
        _exit(0);
    }
    fill_one_key(*state, 0);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
}

static void
test_candidates_are_capped(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .max_candidates = 3 });
    gcache_key key = key_of(1);
    gcache_error error = { 0 };
    gci_candidates *set;
    gci_tombstone tombstone;
    gci_store_stats stats;
    gci_inserted inserted;

    for (uint64_t i = 0; i < 3; i++)
        insert(store, 1, i, 10);
    /* The longest unused goes: not the first, if it is used. Recency is told by a coarse clock. */
    usleep(20000);
    assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
    gci_store_touch(store, set->items[0]);
    gci_candidates_release(set);
    assert_int_equal(try_insert(store, 1, 3, 10, &inserted, &error), GCACHE_OK);
    assert_int_equal(look(store, 1, 0, 10), GCI_FOUND);
    assert_int_equal(look(store, 1, 1, 10), GCI_ABSENT);
    assert_int_equal(look(store, 1, 2, 10), GCI_FOUND);
    assert_int_equal(look(store, 1, 3, 10), GCI_FOUND);
    assert_true(gci_store_tombstone(store, &key, &tombstone));
    assert_int_equal(tombstone.cause, GCI_EVICTED_KEY_FULL);
    assert_int_equal(tombstone.left, 2);
    assert_int_equal(try_insert(store, 1, 2, 10, &inserted, &error), GCACHE_OK);
    assert_true(inserted.existed);
    insert(store, 2, 3, 10);
    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    assert_int_equal(stats.entries, 4);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* Another process's insert is seen at once by who has the key in memory. */
static void
test_other_handles_notice(void **state)
{
    gci_store *store = fixture_open(*state), *other = fixture_open(*state);

    insert(store, 1, 1, 10);
    for (uint64_t i = 2; i < 200; i++) {
        assert_int_equal(look(other, 1, i - 1, 10), GCI_FOUND);
        assert_int_equal(look(other, 1, i, 10), GCI_ABSENT);
        insert(store, 1, i, 10);
    }
    gci_store_close(store);
    gci_store_close(other);
}

/* Sets and payloads outlive the entry, the memory tier and the store. */
static void
test_held_things_stay(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .compression_level = -1 });
    gcache_key keys[2] = { key_of(1), key_of(2) };
    gci_candidates *sets[2];
    gci_payload payloads[2];
    size_t const sizes[2] = { 50, 200000 };

    for (size_t i = 0; i < 2; i++) {
        insert(store, i + 1, 1, sizes[i]);
        assert_int_equal(gci_store_candidates(store, &keys[i], &sets[i], NULL), GCI_FOUND);
        assert_int_equal(gci_store_payload(store, sets[i]->items[0], &payloads[i], NULL), GCI_FOUND);
        assert_int_equal(gci_store_evict(store, &keys[i], sets[i]->items[0]->record.id, NULL), GCACHE_OK);
        assert_int_equal(look(store, i + 1, 1, sizes[i]), GCI_EVICTED);
    }
    gci_store_close(store);
    for (size_t i = 0; i < 2; i++) {
        char *expected = payload_of((i + 1) ^ UINT64_C(1) << 32, sizes[i]);
        assert_memory_equal(payloads[i].data, expected, sizes[i]);
        assert_true(gci_view_is(sets[i]->items[0]->record.guards[1], "s1 == 1"));
        free(expected);
        gci_payload_release(&payloads[i]);
        gci_candidates_release(sets[i]);
    }
}

static void
count_destroyed(void *value)
{
    ++*(int *)value;
}

static void
test_extras_are_set_once_and_destroyed(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_key key = key_of(1);
    gci_candidates *set;
    int first = 0, second = 0;

    insert(store, 1, 1, 10);
    assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
    assert_null(gci_extra_get(&set->extra));
    assert_ptr_equal(gci_extra_set(&set->extra, set->account, &first, 100, count_destroyed), &first);
    assert_ptr_equal(gci_extra_set(&set->extra, set->account, &second, 100, count_destroyed), &first);
    assert_int_equal(second, 1);
    assert_ptr_equal(gci_extra_get(&set->extra), &first);
    gci_candidates_release(set);
    assert_int_equal(first, 0);
    gci_store_close(store);
    assert_int_equal(first, 1);
}

static void
test_description_is_kept_once(void **state)
{
    static size_t const sizes[] = { 0, 300, FIRST_IN_PACK, OWN_FILE };
    gci_store *store = fixture_open(*state);
    gci_stored_description *stored;
    gci_inserted inserted;
    made_record made;

    for (uint64_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gci_component components[2] = { { .name = GCI_VIEW("graph"), .hash = { 1, 2, 3 } },
                                        { .name = GCI_VIEW("config"), .hash = { 4 }, .text = GCI_VIEW("a line") } };
        char *canonical = payload_of(i, sizes[i]);
        gci_description description = { GCI_VIEW("fx"), components, 2, { canonical, sizes[i] } };
        gcache_key key = key_of(i);
        record_of(&made, i, 1);
        assert_int_equal(gci_store_insert(store, &made.record, gci_view_text("x"), &description, &inserted, NULL),
                         GCACHE_OK);
        record_of(&made, i, 2);
        assert_int_equal(gci_store_insert(store, &made.record, gci_view_text("x"), &description, &inserted, NULL),
                         GCACHE_OK);
        assert_int_equal(gci_store_description(store, &key, &stored, NULL), GCI_FOUND);
        gci_description const *got = gci_stored_description_get(stored);
        assert_true(gci_view_is(got->kind, "fx"));
        assert_int_equal(got->component_count, 2);
        assert_true(gci_view_is(got->components[1].name, "config"));
        assert_true(gci_view_is(got->components[1].text, "a line"));
        assert_int_equal(got->components[0].hash[2], 3);
        assert_int_equal(got->canonical.size, sizes[i]);
        assert_memory_equal(got->canonical.data, canonical, sizes[i]);
        gci_stored_description_free(stored);
        free(canonical);
    }
    gcache_key other = key_of(99);
    assert_int_equal(gci_store_description(store, &other, &stored, NULL), GCI_ABSENT);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* Whole entries and candidate indexes under names that a writer uses on its way, or that nobody uses, are nobody's. */
static void
test_temporary_names_are_no_candidates(void **state)
{
    test_dir *dir = *state;
    gci_store *store = fixture_open_apart(dir);
    gcache_maintenance_options options = { 0 };
    gcache_repaired repaired;
    gci_store_stats stats;
    char from[512], to[600], command[4096];

    insert(store, 1, 1, 100);
    gci_inserted large = insert(store, 2, 1, OWN_FILE);
    gci_store_close(store);
    for (uint64_t key = 1; key <= 2; key++) {
        static char const *const endings[] = { ".tmp", "~", ".1234.tmp" };
        if (key == 1)
            pack_path(dir, key, from);
        else
            entry_path(dir, key, large.id, from);
        for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
            snprintf(to, sizeof to, "%s%s", from, endings[i]);
            snprintf(command, sizeof command, "cp '%s' '%s'; cp '%s' '%s/tmp/%zu%llu'", from, to, from, dir->directory, i,
                     (unsigned long long)key);
            assert_int_equal(system(command), 0);
        }
    }
    store = fixture_open_apart(dir);
    assert_int_equal(gci_store_repair(store, &options, &repaired, NULL), GCACHE_OK);
    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    assert_int_equal(stats.entries, 2);
    assert_int_equal(stats.keys, 2);
    assert_int_equal(look(store, 1, 1, 100), GCI_FOUND);
    assert_int_equal(look(store, 2, 1, OWN_FILE), GCI_FOUND);
    gci_store_close(store);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_entry_comes_back),
        STORE_TEST(test_all_sizes_and_levels),
        STORE_TEST(test_medium_entries_take_a_file_a_key),
        STORE_TEST(test_equal_inserts_are_one),
        STORE_TEST(test_identity_stands_for_the_payload),
        STORE_TEST(test_shadowing_is_reported),
        STORE_TEST(test_candidates_are_capped),
        STORE_TEST(test_a_full_key_is_filled_by_two),
        STORE_TEST(test_other_handles_notice),
        STORE_TEST(test_held_things_stay),
        STORE_TEST(test_extras_are_set_once_and_destroyed),
        STORE_TEST(test_description_is_kept_once),
        STORE_TEST(test_temporary_names_are_no_candidates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
