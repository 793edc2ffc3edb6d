#include "fixture.h"

#include "store/insert/attach.h"

static gci_attachment
attach(gci_store *store, char const *name, char const *content)
{
    gci_attachment attachment = { .name = gci_view_text(name), .mode = 0755 };
    gcache_error error = { 0 };

    if (gci_store_attach(store, gci_view_text(content), &attachment, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    return attachment;
}

/* With bytes that are there and whole: whatever goes wrong is the directory's fault. */
static gcache_status
place(gci_store *store, gci_attachment const *attachment, char const *target)
{
    gci_found found;

    gcache_status status = gci_store_place(store, attachment, target, &found, NULL);
    assert_int_equal(found, GCI_FOUND);
    return status;
}

static void
insert_with(gci_store *store, uint64_t key, gci_attachment const *attachments, size_t count)
{
    gci_inserted inserted;
    made_record made;

    record_of(&made, key, 1);
    made.record.attachments = attachments;
    made.record.attachment_count = count;
    assert_int_equal(gci_store_insert(store, &made.record, gci_view_text("x"), NULL, &inserted, NULL), GCACHE_OK);
}

static void
attachment_path(test_dir const *fixture, gci_attachment const *attachment, char out_path[512])
{
    char hex[65];

    gci_hex(attachment->sha256, 32, hex);
    snprintf(out_path, 512, "%s/attachments/%.2s/%s", fixture->directory, hex, hex);
}

static bool
file_holds(char const *path, char const *content)
{
    char bytes[256] = "";
    FILE *file = fopen(path, "r");

    if (file == NULL)
        return false;
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    return size == strlen(content) && memcmp(bytes, content, size) == 0;
}

static void
test_equal_content_is_stored_once(void **state)
{
    gci_store *store = fixture_open(*state);
    gci_store_stats before, after;

    gci_attachment one = attach(store, "a.so", "the same");
    gci_store_stats_get(store, &before, NULL);
    gci_attachment two = attach(store, "b.so", "the same");
    gci_store_stats_get(store, &after, NULL);
    assert_memory_equal(one.sha256, two.sha256, 32);
    assert_int_equal(one.size, 8);
    assert_int_equal(before.bytes, after.bytes);
    assert_true(before.bytes > 0);
    gci_store_close(store);
}

static void
test_put_in_place(void **state)
{
    gci_store *store = fixture_open(*state);
    gcache_key key = key_of(1);
    gci_candidates *set;
    struct stat facts;
    char target[512], path[600];

    gci_attachment attachments[2] = { attach(store, "lib/k.so", "kernel"), attach(store, "src.py", "source") };
    attachments[1].mode = 0644;
    insert_with(store, 1, attachments, 2);
    gci_store_close(store);
    store = fixture_open(*state);
    path_in(*state, "tmp/target", target);
    assert_int_equal(mkdir(target, 0700), 0);
    assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 2; i++)
            assert_int_equal(place(store, &set->items[0]->record.attachments[i], target), GCACHE_OK);
        snprintf(path, sizeof path, "%s/lib/k.so", target);
        assert_true(file_holds(path, "kernel"));
        assert_int_equal(stat(path, &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0755);
        assert_int_equal(facts.st_nlink, 1);
        snprintf(path, sizeof path, "%s/src.py", target);
        assert_true(file_holds(path, "source"));
        assert_int_equal(stat(path, &facts), 0);
        assert_int_equal(facts.st_mode & 0777, 0644);
        /* Another content there is replaced. */
        FILE *file = fopen(path, "w");
        fputs("xxxxxx", file);
        fclose(file);
    }
    gci_candidates_release(set);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

static void
test_names_that_lead_out_are_refused(void **state)
{
    static char const *const names[] = { "../x", "a/../../x", "/etc/x", "", "a//b", "./a", "..", "a/" };
    gci_store *store = fixture_open(*state);
    char target[512], outside[512];

    path_in(*state, "tmp/target", target);
    assert_int_equal(mkdir(target, 0700), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gci_attachment attachment = attach(store, "x", "content");
        attachment.name = gci_view_text(names[i]);
        assert_int_equal(place(store, &attachment, target), GCACHE_ERROR_ARGUMENT);
        assert_int_not_equal(gci_store_attach(store, gci_view_text("content"), &attachment, NULL), GCACHE_OK);
    }
    /* Nor through a link that lies there. */
    path_in(*state, "tmp/outside", outside);
    assert_int_equal(mkdir(outside, 0700), 0);
    char link[600];
    snprintf(link, sizeof link, "%s/lib", target);
    assert_int_equal(symlink(outside, link), 0);
    gci_attachment attachment = attach(store, "lib/x", "content");
    assert_int_equal(place(store, &attachment, target), GCACHE_ERROR_IO);
    snprintf(link, sizeof link, "%s/x", outside);
    assert_false(is_file(link));
    gci_store_close(store);
}

static void
test_damaged_attachment(void **state)
{
    gci_store *store = fixture_open(*state);
    char path[512];
    gci_buf bytes;

    gci_attachment attachment = attach(store, "a", "content");
    insert_with(store, 1, &attachment, 1);
    attachment_path(*state, &attachment, path);
    flip_byte(path, 2);
    assert_int_equal(problems(store), 1);
    gci_buf_init(&bytes, 1000);
    assert_int_equal(gci_store_attachment(store, &attachment, &bytes, NULL), GCI_CORRUPT);
    assert_false(is_file(path));
    assert_int_equal(gci_store_attachment(store, &attachment, &bytes, NULL), GCI_ABSENT);
    assert_int_equal(problems(store), 1);
    attach(store, "a", "content");
    assert_int_equal(gci_store_attachment(store, &attachment, &bytes, NULL), GCI_FOUND);
    assert_int_equal(problems(store), 0);
    gci_buf_clear(&bytes);
    gci_store_close(store);
}

/* Damage that leaves the size is found by whoever stores the same bytes: else their entry would never have its file. */
static void
test_storing_heals(void **state)
{
    gci_store *store = fixture_open(*state);
    gci_attachment attachment = attach(store, "a", "content");
    char path[512];

    attachment_path(*state, &attachment, path);
    flip_byte(path, 2);
    attach(store, "a", "content");
    assert_true(file_holds(path, "content"));
    assert_non_null(strstr(((test_dir *)*state)->log, "damaged attachment"));
    gci_store_close(store);
}

/* Unneeded and old goes, unneeded and young stays, needed stays whatever its age. */
static void
test_sweep(void **state)
{
    gci_store *store = fixture_open(*state);
    struct timespec long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    gcache_gc_options options = { .dry_run = true };
    gcache_collected collected;
    char paths[3][512];

    gci_attachment needed = attach(store, "a", "needed"), old = attach(store, "b", "old"),
                   young = attach(store, "c", "young");
    insert_with(store, 1, &needed, 1);
    attachment_path(*state, &needed, paths[0]);
    attachment_path(*state, &old, paths[1]);
    attachment_path(*state, &young, paths[2]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(utimensat(AT_FDCWD, paths[i], long_ago, 0), 0);
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.attachments, 1);
    assert_true(is_file(paths[1]));
    options.dry_run = false;
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.attachments, 1);
    assert_true(is_file(paths[0]));
    assert_false(is_file(paths[1]));
    assert_true(is_file(paths[2]));
    /* With its entry it becomes unneeded; stored again, it is young again. */
    gcache_key key = key_of(1);
    gci_candidates *set;
    assert_int_equal(gci_store_candidates(store, &key, &set, NULL), GCI_FOUND);
    assert_int_equal(gci_store_evict(store, &key, set->items[0]->record.id, NULL), GCACHE_OK);
    gci_candidates_release(set);
    attach(store, "a", "needed");
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.attachments, 0);
    assert_int_equal(utimensat(AT_FDCWD, paths[0], long_ago, 0), 0);
    assert_int_equal(gci_store_gc(store, &options, &collected, NULL), GCACHE_OK);
    assert_int_equal(collected.attachments, 1);
    assert_int_equal(collected.left_bytes, 4096);
    gci_store_close(store);
}

static void
insert_renewed(gci_store *store, gci_attachment const *attachment)
{
    gci_inserted inserted;
    made_record made;

    record_of(&made, 1, 1);
    made.record.identity = gci_view_text("same");
    made.record.attachments = attachment;
    made.record.attachment_count = 1;
    assert_int_equal(gci_store_insert(store, &made.record, gci_view_text("x"), NULL, &inserted, NULL), GCACHE_OK);
}

/* Who has read an entry before it was renewed misses its former files: that is no reason to put the new one aside. */
static void
test_renewed_meanwhile(void **state)
{
    gci_store *store = fixture_open_with(*state, (gci_store_options){ .renew = true });
    gcache_key key = key_of(1);
    gci_attachment before = attach(store, "a", "before");
    gci_candidates *then, *now;
    char path[512];

    insert_renewed(store, &before);
    assert_int_equal(gci_store_candidates(store, &key, &then, NULL), GCI_FOUND);
    gci_attachment after = attach(store, "a", "after");
    insert_renewed(store, &after);
    attachment_path(*state, &before, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(gci_store_complete(store, then->items[0], NULL), GCI_RENEWED);
    assert_int_equal(gci_store_candidates(store, &key, &now, NULL), GCI_FOUND);
    assert_int_equal(gci_store_complete(store, now->items[0], NULL), GCI_FOUND);
    gci_candidates_release(now);
    gci_candidates_release(then);
    gci_store_close(store);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_equal_content_is_stored_once),
        STORE_TEST(test_put_in_place),
        STORE_TEST(test_names_that_lead_out_are_refused),
        STORE_TEST(test_damaged_attachment),
        STORE_TEST(test_storing_heals),
        STORE_TEST(test_sweep),
        STORE_TEST(test_renewed_meanwhile),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
