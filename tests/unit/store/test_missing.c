/* Folders and lock files that somebody removes, or replaces by something else, under open handles: made again by whoever needs
   them, and no link is followed. */
#include "fixture.h"

#include "store/state/state.h"
#include "store/publish/side.h"

/* ---- what is taken away ---- */

static char const *const folders[] = {
    "tmp", "entries", "locks", "locks/leases", "quarantine", "attachments", "blobs",
};

#define FOLDERS (sizeof folders / sizeof *folders)

static void
remove_it(test_dir const *fixture, char const *path)
{
    (void)fixture;
    fixture_remove_tree(path);
}

static void
become_file(test_dir const *fixture, char const *path)
{
    remove_it(fixture, path);
    close(open(path, O_WRONLY | O_CREAT, 0600));
}

static void
become_pipe(test_dir const *fixture, char const *path)
{
    remove_it(fixture, path);
    assert_int_equal(mkfifo(path, 0600), 0);
}

/* To where the folder is now. */
static void
become_link(test_dir const *fixture, char const *path)
{
    char aside[512];

    path_in(fixture, "elsewhere", aside);
    remove_it(fixture, aside);
    if (rename(path, aside) != 0)
        assert_int_equal(mkdir(aside, 0700), 0);
    remove_it(fixture, path);
    assert_int_equal(symlink(aside, path), 0);
}

static void (*const losses[])(test_dir const *fixture, char const *path) = { remove_it, become_file, become_pipe, become_link };

#define LOSSES (sizeof losses / sizeof *losses)

/* ---- what must go on working ---- */

static void
use_everything(gci_store *store, uint64_t key)
{
    gci_attachment attachment = { .name = gci_view_text("kernel.so") };
    gcache_collected collected;
    gci_lease *lease;
    gci_buf bytes;
    bool waited, existed;
    char path[64];

    insert(store, key, 1, 100);
    insert(store, key, 2, 50000);
    assert_int_equal(look(store, key, 1, 100), GCI_FOUND);
    assert_int_equal(look(store, key, 2, 50000), GCI_FOUND);
    assert_int_equal(gci_lease_take(store, gci_view_text("a"), 0, &lease, &waited, NULL), GCACHE_OK);
    gci_lease_release(lease);
    assert_int_equal(gci_store_attach(store, gci_view_text("code"), &attachment, NULL), GCACHE_OK);
    gci_buf_init(&bytes, 100);
    assert_int_equal(gci_store_attachment(store, &attachment, &bytes, NULL), GCI_FOUND);
    gci_buf_clear(&bytes);
    snprintf(path, sizeof path, "blobs/ab/%llu", (unsigned long long)key);
    assert_int_equal(gci_side_write(store, path, gci_view_text("blob"), &existed, NULL), GCACHE_OK);
    assert_int_equal(gci_store_gc(store, &(gcache_gc_options){ 0 }, &collected, NULL), GCACHE_OK);
}

static void
damage_and_look(gci_store *store, test_dir const *fixture, uint64_t key)
{
    char path[512];

    insert(store, key, 3, 100);
    pack_path(fixture, key, path);
    flip_byte(path, size_of_file(path) / 2);
    look(store, key, 3, 100);
}

/* Every folder, lost in every way, with the handle that had used it. */
static void
test_folders_are_made_again(void **state)
{
    test_dir *fixture = *state;
    gci_store *store = fixture_open_apart(fixture);
    struct stat facts;
    char path[512];
    uint64_t key = 0;

    alarm(100);
    use_everything(store, key++);
    for (size_t i = 0; i < FOLDERS; i++) {
        for (size_t j = 0; j < LOSSES; j++) {
            path_in(fixture, folders[i], path);
            losses[j](fixture, path);
            use_everything(store, key++);
            damage_and_look(store, fixture, key++);
            if (lstat(path, &facts) != 0 || !S_ISDIR(facts.st_mode))
                fail_msg("%s, lost in way %zu, isn't a folder again", folders[i], j);
        }
    }
    alarm(0);
    gci_store_close(store);
}

/* A shard of entries/ alone. */
static void
test_shards_are_made_again(void **state)
{
    test_dir *fixture = *state;
    gci_store *store = fixture_open(fixture);
    struct stat facts;
    char path[512];

    for (size_t j = 0; j < LOSSES; j++) {
        insert(store, 1, j, 100);
        pack_path(fixture, 1, path);
        *strrchr(path, '/') = '\0';
        losses[j](fixture, path);
        insert(store, 1, 100 + j, 100);
        assert_int_equal(look(store, 1, 100 + j, 100), GCI_FOUND);
        assert_int_equal(lstat(path, &facts), 0);
        assert_true(S_ISDIR(facts.st_mode));
    }
    gci_store_close(store);
}

/* What makes a directory a cache. */
static void
test_emptied_directory_is_a_cache_again(void **state)
{
    test_dir *fixture = *state;
    gci_store *store = fixture_open(fixture);
    char path[512];

    use_everything(store, 1);
    fixture_remove_tree(fixture->directory);
    /* The directory itself goes last, so it is another one now: this handle has lost it. */
    gci_store_close(store);
    assert_int_equal(mkdir(fixture->directory, 0700), 0);
    store = fixture_open(fixture);
    use_everything(store, 1);
    path_in(fixture, "CACHEDIR.TAG", path);
    assert_int_equal(unlink(path), 0);
    gci_store_close(store);
    store = fixture_open(fixture);
    use_everything(store, 1);
    gci_store_close(store);
    assert_true(is_file(path));
}

/* ---- locks ---- */

static void
take_key_lock(gci_store *store, gcache_status expected)
{
    gcache_key key = key_of(1);

    assert_int_equal(gci_key_lock(&store->locks, &key, 0, NULL), expected);
}

static void
give_key_lock(gci_store *store)
{
    gcache_key key = key_of(1);

    gci_key_unlock(&store->locks, &key);
}

static void
take_index(gci_store *store, gcache_status expected)
{
    assert_int_equal(gci_index_begin(&store->index, GCI_WRITE, 0, NULL), expected);
}

static void
give_index(gci_store *store)
{
    assert_int_equal(gci_index_end(&store->index, GCI_WRITE, GCACHE_OK, NULL), GCACHE_OK);
}

/* A lock file that was removed between two uses: all agree on the new one, whichever handle comes first. */
static void
test_removed_locks_still_exclude(void **state)
{
    static struct {
        void (*take)(gci_store *store, gcache_status expected);
        void (*give)(gci_store *store);
    } const locks[] = { { take_key_lock, give_key_lock }, { take_index, give_index } };
    test_dir *fixture = *state;
    gci_store *one = fixture_open(fixture), *other = fixture_open(fixture);
    char path[512];

    path_in(fixture, "locks", path);
    for (size_t i = 0; i < sizeof locks / sizeof *locks; i++) {
        locks[i].take(one, GCACHE_OK);
        locks[i].take(other, GCACHE_ERROR_BUSY);
        locks[i].give(one);
        locks[i].take(other, GCACHE_OK);
        locks[i].give(other);
        fixture_remove_tree(path);
        locks[i].take(one, GCACHE_OK);
        locks[i].take(other, GCACHE_ERROR_BUSY);
        locks[i].give(one);
        locks[i].take(other, GCACHE_OK);
        locks[i].take(one, GCACHE_ERROR_BUSY);
        locks[i].give(other);
    }
    gci_store_close(one);
    gci_store_close(other);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_folders_are_made_again),
        STORE_TEST(test_shards_are_made_again),
        STORE_TEST(test_emptied_directory_is_a_cache_again),
        STORE_TEST(test_removed_locks_still_exclude),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
