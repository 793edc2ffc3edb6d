/* A directory as it was written once, in today's format: it opens, and what is in it is found. */
#include "fixture.h"

static void
copy_frozen(test_dir *fixture, char const *version)
{
    char command[1024];

    snprintf(command, sizeof command, "cp -R '%s/fixtures/store/%s/.' '%s/' && chmod 0700 '%s'",
             getenv("GUARDCACHE_SOURCE"), version, fixture->directory, fixture->directory);
    assert_int_equal(system(command), 0);
}

static int
count_name(void *state, char const *name)
{
    (void)name;
    ++*(size_t *)state;
    return 0;
}

static void
test_version_2(void **state)
{
    gcache_key one = key_of(1), two = key_of(2);
    gci_stored_description *description;
    gci_candidates *set;
    gci_buf bytes;
    size_t aside = 0;

    copy_frozen(*state, "v2");
    gci_store *store = fixture_open(*state);
    assert_int_equal(look(store, 1, 1, 300), GCI_FOUND);
    assert_int_equal(look(store, 1, 2, 20000), GCI_FOUND);
    assert_int_equal(look(store, 2, 1, 40000), GCI_FOUND);
    assert_int_equal(look(store, 2, 2, 100), GCI_ABSENT);
    assert_int_equal(look(store, 3, 1, 500), GCI_FOUND);

    assert_int_equal(gci_store_candidates(store, &one, &set, NULL), GCI_FOUND);
    gci_record const *record = &set->items[0]->record;
    assert_true(gci_view_is(record->kind, "fx"));
    assert_true(gci_view_is(record->namespace_, "team"));
    assert_true(gci_view_is(record->guards[0], "s0 % 8 == 0"));
    assert_true(gci_view_is(record->names[0].name, "s0"));
    assert_true(gci_view_is(record->requirements[0].value, "535.1"));
    assert_true(gci_view_is(record->variant, "pgle"));
    assert_true(gci_view_is(record->label, "train.py:88"));
    assert_true(gci_view_is(record->metadata, "{\"a\": 1}"));
    assert_int_equal(record->priority, -3);
    assert_int_equal(record->sequence, 1);
    assert_int_equal(record->created_ns, UINT64_C(1700000000000000000));
    assert_int_equal(record->compile_ns, 812000000);
    assert_int_equal(record->equalities, 1);
    assert_int_equal(record->conjuncts, 2);
    gci_candidates_release(set);

    assert_int_equal(gci_store_description(store, &one, &description, NULL), GCI_FOUND);
    assert_true(gci_view_is(gci_stored_description_get(description)->canonical, "the canonical form"));
    assert_true(gci_view_is(gci_stored_description_get(description)->components[1].text, "a line"));
    gci_stored_description_free(description);

    assert_int_equal(gci_store_candidates(store, &two, &set, NULL), GCI_FOUND);
    assert_int_equal(set->evicted_count, 1);
    assert_true(gci_view_is(set->evicted[0]->record.guards[1], "s1 == 2"));
    gci_attachment const *attachment = &set->items[0]->record.attachments[0];
    assert_true(gci_view_is(attachment->name, "lib/kernel.so"));
    gci_buf_init(&bytes, 1000);
    assert_int_equal(gci_store_attachment(store, attachment, &bytes, NULL), GCI_FOUND);
    assert_memory_equal(bytes.data, "\x7f" "ELF and so on", bytes.size);
    gci_buf_clear(&bytes);
    gci_candidates_release(set);

    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    /* index.db, too, is taken as it was. */
    gci_dir dir;
    assert_int_equal(gci_dir_open_user(((test_dir *)*state)->directory, &dir, NULL), GCACHE_OK);
    assert_int_equal(gci_dir_each(dir, "quarantine", count_name, &aside, NULL), GCACHE_OK);
    assert_int_equal(aside, 0);
    gci_dir_close(&dir);
}

static void
test_version_2_signature(void **state)
{
    gci_signing_key ours = { .id = "release", .secret = GCI_VIEW("a secret for tests") };

    copy_frozen(*state, "v2");
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .signing = &ours, .signing_count = 1,
                                                                      .require_signature = true });
    assert_int_equal(look(store, 3, 1, 500), GCI_FOUND);
    assert_int_equal(look(store, 1, 1, 300), GCI_UNREADABLE);
    gci_store_close(store);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_version_2),
        STORE_TEST(test_version_2_signature),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
