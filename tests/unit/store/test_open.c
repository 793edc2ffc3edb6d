#include "fixture.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

static gcache_status
try_open(test_dir *fixture, gci_store_options options, gcache_error *error)
{
    gci_store *store;

    gcache_status status = gci_store_open(fixture->directory, &options, &store, error);
    gci_store_close(store);
    return status;
}

static void
write_file(test_dir const *fixture, char const *name, char const *text)
{
    char path[512];

    path_in(fixture, name, path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void
test_directory_is_made(void **state)
{
    test_dir *fixture = *state;
    struct stat facts;
    char path[512];

    snprintf(fixture->log, sizeof fixture->log, "%s", fixture->directory);
    snprintf(fixture->directory, sizeof fixture->directory, "%.100s/a/b", fixture->log);
    fixture->log[0] = '\0';
    gci_store *store = fixture_open(fixture);
    insert(store, 1, 1, 10);
    gci_store_close(store);
    assert_int_equal(stat(fixture->directory, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0700);
    path_in(fixture, "CACHEDIR.TAG", path);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    path_in(fixture, "generations", path);
    assert_int_equal(stat(path, &facts), 0);
    /* All its blocks are there: a hole on a full disk would be SIGBUS. */
    assert_true(facts.st_blocks * 512 >= facts.st_size);
    fixture->directory[strlen(fixture->directory) - strlen("/a/b")] = '\0';
}

static void
write_format(test_dir *fixture, int version)
{
    char line[64];

    int size = snprintf(line, sizeof line, "guardcache-store %d", version);
    snprintf(line + size, sizeof line - (size_t)size, " %016llx\n", (unsigned long long)gci_hash64(line, (size_t)size, 0));
    write_file(fixture, "format", line);
}

static void
test_other_formats_are_refused(void **state)
{
    test_dir *fixture = *state;
    gcache_error error = { 0 };

    gci_store_close(fixture_open(fixture));
    for (int version = 1; version <= 3; version += 2) {
        write_format(fixture, version);
        assert_int_equal(try_open(fixture, (gci_store_options){ 0 }, &error), GCACHE_ERROR_FORMAT);
        assert_non_null(strstr(error.message, version == 1 ? "format 1" : "format 3"));
    }
    write_format(fixture, 2);
    assert_int_equal(try_open(fixture, (gci_store_options){ 0 }, &error), GCACHE_OK);
}

/* Nothing that somebody may have needed was in it: what is stored counts. */
static void
test_damaged_format_is_made_anew(void **state)
{
    static char const *const damaged[] = { "", "something else\n", "guardcache-store 2", "guardcache-store 02\n",
                                           "guardcache-store 3\n", "guardcache-store 3 0123456789abcdef\n", NULL };
    test_dir *fixture = *state;
    char path[512];

    path_in(fixture, "format", path);
    gci_store *store = fixture_open(fixture);
    insert(store, 1, 1, 10);
    gci_store_close(store);
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        if (damaged[i] != NULL)
            write_file(fixture, "format", damaged[i]);
        else
            assert_int_equal(unlink(path), 0);
        for (int turn = 0; turn < 3; turn++) {
            fixture->log[0] = '\0';
            store = fixture_open_with(fixture, (gci_store_options){ .read_only = turn == 0 });
            assert_int_equal(look(store, 1, 1, 10), GCI_FOUND);
            assert_int_equal(strstr(fixture->log, "format") != NULL, turn < 2);
            gci_store_close(store);
        }
    }
}

/* A format file that is none, in a newer cache: the candidate indexes tell. */
static void
test_damaged_format_of_a_newer_cache(void **state)
{
    test_dir *fixture = *state;
    gcache_error error = { 0 };
    char path[512];
    uint32_t version = 2;

    gci_store *store = fixture_open_apart(fixture);
    insert(store, 1, 1, 10);
    gci_store_close(store);
    pack_path(fixture, 1, path);
    char header[64];
    int fd = open(path, O_RDWR);
    assert_int_equal(pread(fd, header, sizeof header, 0), sizeof header);
    memcpy(header + 8, &version, sizeof version);
    gci_checksum sum = gci_checksum_of(header, 48);
    memcpy(header + 48, &sum.low, 8);
    memcpy(header + 56, &sum.high, 8);
    assert_int_equal(pwrite(fd, header, sizeof header, 0), sizeof header);
    close(fd);
    write_file(fixture, "format", "");
    assert_int_equal(try_open(fixture, (gci_store_options){ 0 }, &error), GCACHE_ERROR_FORMAT);
    path_in(fixture, "format", path);
    assert_int_equal(size_of_file(path), 0);
}

/* What is called as ours is ours. */
static void
test_own_names_are_no_strangers(void **state)
{
    static char const *const names[] = { "index.db-wal", "index.db-shm", "tables.db", "tables.db-journal", "config.json" };
    static char const *const folders[] = { "blobs", "shared", "sub" };
    test_dir *fixture = *state;
    char path[512];

    for (size_t i = 0; i < sizeof names / sizeof *names + sizeof folders / sizeof *folders; i++) {
        bool folder = i >= sizeof names / sizeof *names;
        assert_int_equal(mkdir(fixture->directory, 0700) != 0 && errno != EEXIST, 0);
        path_in(fixture, folder ? folders[i - sizeof names / sizeof *names] : names[i], path);
        if (folder)
            assert_int_equal(mkdir(path, 0700), 0);
        else
            write_file(fixture, names[i], "{}");
        gci_store *store = fixture_open(fixture);
        insert(store, 1, 1, 10);
        assert_int_equal(look(store, 1, 1, 10), GCI_FOUND);
        gci_store_close(store);
        fixture_remove_tree(fixture->directory);
    }
    assert_int_equal(mkdir(fixture->directory, 0700), 0);
}

static void
test_other_directories_are_left_alone(void **state)
{
    test_dir *fixture = *state;
    gcache_error error = { 0 };
    char path[512];

    write_file(fixture, "thesis.tex", "");
    assert_int_equal(try_open(fixture, (gci_store_options){ 0 }, &error), GCACHE_ERROR_ARGUMENT);
    path_in(fixture, "CACHEDIR.TAG", path);
    assert_false(is_file(path));
}

/* One whose making was interrupted is finished. */
static void
test_half_made_directory_is_finished(void **state)
{
    test_dir *fixture = *state;
    char path[512];

    path_in(fixture, "entries", path);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(fixture, "CACHEDIR.TAG", "");
    gci_store *store = fixture_open(fixture);
    insert(store, 1, 1, 10);
    gci_store_close(store);
}

static void
test_directory_that_others_may_write_is_refused(void **state)
{
    test_dir *fixture = *state;
    gcache_error error = { 0 };

    gci_store_close(fixture_open(fixture));
    assert_int_equal(chmod(fixture->directory, 0777), 0);
    assert_int_equal(try_open(fixture, (gci_store_options){ 0 }, &error), GCACHE_ERROR_UNTRUSTED);
    assert_non_null(strstr(error.message, "777"));
    assert_int_equal(chmod(fixture->directory, 0700), 0);
    if (geteuid() != 0)
        return;
    assert_int_equal(chown(fixture->directory, 12345, 12345), 0);
    assert_int_equal(try_open(fixture, (gci_store_options){ 0 }, &error), GCACHE_ERROR_UNTRUSTED);
    assert_int_equal(chown(fixture->directory, 0, 0), 0);
}

static void
test_read_only_reads_and_writes_nothing(void **state)
{
    test_dir *fixture = *state;
    gcache_error error = { 0 };
    gci_inserted inserted;
    gci_lease *lease;
    bool waited;

    assert_int_equal(try_open(fixture, (gci_store_options){ .read_only = true }, &error), GCACHE_ERROR_NOT_FOUND);
    gci_store *store = fixture_open(fixture);
    insert(store, 1, 1, 100000);
    gci_store_close(store);
    store = fixture_open_with(fixture, (gci_store_options){ .read_only = true });
    assert_true(gci_store_is_read_only(store));
    assert_int_equal(look(store, 1, 1, 100000), GCI_FOUND);
    assert_int_equal(try_insert(store, 2, 1, 10, &inserted, &error), GCACHE_ERROR_READ_ONLY);
    assert_int_equal(gci_lease_take(store, gci_view_text("x"), 0, &lease, &waited, &error), GCACHE_ERROR_READ_ONLY);
    gci_store_journal_append(store, gci_view_text("a lookup"));
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

/* A mount, where this test is run by root; in a user's hands a directory without permissions. */
static void
test_read_only_place(void **state)
{
    test_dir *fixture = *state;
    gcache_error error = { 0 };
    gci_inserted inserted;
    bool root = geteuid() == 0;

    gci_store *store = fixture_open(fixture);
    insert(store, 1, 1, 100);
    gci_store_close(store);
    if (root && (mount(fixture->directory, fixture->directory, NULL, MS_BIND, NULL) != 0 ||
                 mount(NULL, fixture->directory, NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL) != 0))
        skip();
    if (!root)
        assert_int_equal(chmod(fixture->directory, 0500), 0);
    store = fixture_open(fixture);
    assert_true(gci_store_is_read_only(store));
    assert_non_null(strstr(fixture->log, "read-only"));
    assert_int_equal(look(store, 1, 1, 100), GCI_FOUND);
    assert_int_equal(try_insert(store, 2, 1, 10, &inserted, &error), GCACHE_ERROR_READ_ONLY);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    if (root)
        assert_int_equal(umount(fixture->directory), 0);
    else
        assert_int_equal(chmod(fixture->directory, 0700), 0);
}

/* A file system of one megabyte. What was there is evicted to make room: the limit is met by one payload alone. */
static void
test_full_disk(void **state)
{
    test_dir *fixture = *state;

    if (geteuid() != 0 || mount("none", fixture->directory, "tmpfs", 0, "size=1m,mode=700") != 0)
        skip();
    gci_store *store = fixture_open_with(fixture, (gci_store_options){ .compression_level = -1 });
    gcache_error error = { 0 };
    gci_inserted inserted;
    for (uint64_t i = 0; i < 40; i++)
        assert_int_equal(try_insert(store, i, 1, 60000, &inserted, &error), GCACHE_OK);
    assert_int_equal(look(store, 39, 1, 60000), GCI_FOUND);
    assert_int_equal(look(store, 0, 1, 60000), GCI_EVICTED);
    assert_int_equal(try_insert(store, 100, 1, 1200000, &inserted, &error), GCACHE_ERROR_NO_SPACE);
    assert_non_null(strstr(error.message, "No space"));
    /* Nothing went for what could never have fitted. A collection makes room although index.db can't be written. */
    assert_int_equal(look(store, 39, 1, 60000), GCI_FOUND);
    gcache_gc_options collect = { .target_bytes = 200000 };
    gcache_collected collected;
    assert_int_equal(gci_store_gc(store, &collect, &collected, NULL), GCACHE_OK);
    assert_true(collected.entries > 0);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    assert_int_equal(umount(fixture->directory), 0);
}

/* A disk that is full already: a cache can't be made there, and says why. */
static void
test_full_disk_at_open(void **state)
{
    test_dir *fixture = *state;
    gcache_error error = { 0 };
    char path[512];

    if (geteuid() != 0 || mount("none", fixture->directory, "tmpfs", 0, "size=4k,nr_inodes=4,mode=700") != 0)
        skip();
    path_in(fixture, "locks", path);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(try_open(fixture, (gci_store_options){ 0 }, &error), GCACHE_ERROR_NO_SPACE);
    assert_non_null(strstr(error.message, "No space"));
    assert_int_equal(umount(fixture->directory), 0);
}

/* Without root: files may not grow beyond a limit. */
static void
test_file_size_limit(void **state)
{
    pid_t child = fork();

    if (child == 0) {
        struct rlimit limit = { 100000, 100000 };
        gci_inserted inserted;
        gci_store *store = fixture_open_with(*state, (gci_store_options){ .compression_level = -1 });
        gcache_error error = { 0 };
        signal(SIGXFSZ, SIG_IGN);
        insert(store, 1, 1, 1000);
        setrlimit(RLIMIT_FSIZE, &limit);
        bool refused = try_insert(store, 2, 1, 200000, &inserted, &error) == GCACHE_ERROR_NO_SPACE;
        refused = refused && look(store, 2, 1, 200000) == GCI_ABSENT && look(store, 1, 1, 1000) != GCI_CORRUPT;
        gci_store_close(store);
        _exit(refused ? 0 : 1);
    }
    int how;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_int_equal(how, 0);
    gci_store *store = fixture_open(*state);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
}

static void
test_links_inside_are_not_followed(void **state)
{
    test_dir *fixture = *state;
    char path[512], aside[512], shard[512];

    gci_store *store = fixture_open_apart(fixture);
    insert(store, 1, 1, 10);
    gci_store_close(store);
    pack_path(fixture, 1, path);
    path_in(fixture, "tmp/aside", aside);
    assert_int_equal(rename(path, aside), 0);
    assert_int_equal(symlink(aside, path), 0);
    store = fixture_open_with(fixture, (gci_store_options){ .read_only = true });
    assert_int_equal(look(store, 1, 1, 10), GCI_CORRUPT);
    gci_store_close(store);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rename(aside, path), 0);
    /* The directory in between as well, where the kernel can refuse that. */
    snprintf(shard, sizeof shard, "%.*s", (int)(strrchr(path, '/') - path), path);
    assert_int_equal(rename(shard, aside), 0);
    assert_int_equal(symlink(aside, shard), 0);
    store = fixture_open_with(fixture, (gci_store_options){ .read_only = true });
    assert_int_equal(look(store, 1, 1, 10), GCI_CORRUPT);
    gci_store_close(store);
}

/* The working directory may change while a cache is open. */
static void
test_relative_path(void **state)
{
    test_dir *fixture = *state;
    char here[512], absolute[128];

    assert_non_null(getcwd(here, sizeof here));
    snprintf(absolute, sizeof absolute, "%s", fixture->directory);
    assert_int_equal(chdir(absolute), 0);
    snprintf(fixture->directory, sizeof fixture->directory, "cache");
    gci_store *store = fixture_open(fixture);
    assert_int_equal(chdir("/"), 0);
    insert(store, 1, 1, 10);
    assert_int_equal(problems(store), 0);
    gci_store_close(store);
    assert_int_equal(chdir(here), 0);
    snprintf(fixture->directory, sizeof fixture->directory, "%.120s", absolute);
}

static void
test_facts_are_told(void **state)
{
    gci_store *store = fixture_open(*state);
    gci_store_stats stats;

    insert(store, 1, 1, 10);
    insert(store, 2, 1, 100000);
    assert_int_equal(gci_store_stats_get(store, &stats, NULL), GCACHE_OK);
    assert_int_equal(stats.entries, 2);
    assert_int_equal(stats.keys, 2);
    assert_int_equal(stats.counters[GCI_COUNT_INSERTS], 2);
    assert_true(stats.bytes >= 12288 && stats.bytes < 200000);
    gci_store_close(store);
}

/* ---- a directory that goes away ---- */

static void
assert_not_acknowledged(gci_store *store, uint64_t key)
{
    gcache_error error = { 0 };
    gci_inserted inserted;

    assert_int_equal(try_insert(store, key, 1, 100, &inserted, &error), GCACHE_ERROR_IO);
    assert_non_null(strstr(error.message, "moved or removed"));
}

/* A handle of a directory that was moved away acknowledges nothing, whatever lies in its place; lookups go on. */
static void
test_moved_directory(void **state)
{
    test_dir *dir = *state;
    gci_store *store = fixture_open(dir), *anew;
    char away[160];

    snprintf(away, sizeof away, "%s.away", dir->directory);
    insert(store, 1, 1, 100);
    assert_int_equal(rename(dir->directory, away), 0);
    assert_not_acknowledged(store, 2);
    assert_not_acknowledged(store, 1); /* it is there already, but where nobody will look */
    anew = fixture_open(dir);
    assert_not_acknowledged(store, 3);
    assert_int_equal(look(store, 1, 1, 100), GCI_FOUND);
    insert(anew, 3, 1, 100);
    assert_int_equal(look(anew, 3, 1, 100), GCI_FOUND);
    assert_int_equal(look(anew, 1, 1, 100), GCI_ABSENT);
    gci_store_close(anew);
    fixture_remove_tree(dir->directory);
    assert_int_equal(rename(away, dir->directory), 0);
    insert(store, 4, 1, 100);
    gci_store_close(store);
}

/* Whether it has been used before or not, and whatever is to be stored. */
static void
test_removed_directory(void **state)
{
    test_dir *dir = *state;
    gci_store *store = fixture_open(dir), *unused = fixture_open(dir), *anew;
    gci_attachment attachment = { .name = GCI_VIEW("a.bin") };
    gcache_error error = { 0 };

    insert(store, 1, 1, 100);
    fixture_remove_tree(dir->directory);
    assert_not_acknowledged(store, 2);
    assert_not_acknowledged(unused, 2);
    assert_int_equal(gci_store_attach(store, gci_view_text("bytes"), &attachment, &error), GCACHE_ERROR_IO);
    assert_non_null(strstr(error.message, "moved or removed"));
    anew = fixture_open(dir);
    assert_not_acknowledged(store, 2);
    insert(anew, 2, 1, 100);
    gci_store_close(store);
    gci_store_close(unused);
    assert_int_equal(look(anew, 2, 1, 100), GCI_FOUND);
    gci_store_close(anew);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        STORE_TEST(test_directory_is_made),
        STORE_TEST(test_other_formats_are_refused),
        STORE_TEST(test_damaged_format_is_made_anew),
        STORE_TEST(test_damaged_format_of_a_newer_cache),
        STORE_TEST(test_own_names_are_no_strangers),
        STORE_TEST(test_other_directories_are_left_alone),
        STORE_TEST(test_half_made_directory_is_finished),
        STORE_TEST(test_directory_that_others_may_write_is_refused),
        STORE_TEST(test_read_only_reads_and_writes_nothing),
        STORE_TEST(test_read_only_place),
        STORE_TEST(test_full_disk),
        STORE_TEST(test_full_disk_at_open),
        STORE_TEST(test_file_size_limit),
        STORE_TEST(test_links_inside_are_not_followed),
        STORE_TEST(test_relative_path),
        STORE_TEST(test_facts_are_told),
        STORE_TEST(test_moved_directory),
        STORE_TEST(test_removed_directory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
