/*
 * Blobs by content, and directories for a compiler's own caches.
 */
#include "fixture.h"

#include <fcntl.h>
#include <guardcache/artifacts.h>
#include <guardcache/blobs.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static gcache_blob
put(fixture *f, char const *text, char const *extension, gcache_blob_options const *options)
{
    gcache_blob blob = GCACHE_BLOB_INIT;

    if (gcache_blob_put(f->cache, text, strlen(text), extension, options, &blob, &f->error) != GCACHE_OK)
        fail_msg("%s", f->error.message);
    return blob;
}

static void
assert_file(char const *path, char const *content)
{
    char found[256];
    int file = open(path, O_RDONLY);

    assert_true(file >= 0);
    ssize_t size = read(file, found, sizeof found - 1);
    close(file);
    assert_true(size >= 0);
    found[size] = '\0';
    assert_string_equal(found, content);
}

static void
equal_bytes_are_one_file(void **state)
{
    fixture *f = *state;
    gcache_blob first = put(f, "int main;", "c", NULL), second = put(f, "int main;", "c", NULL);
    struct stat before, after;

    assert_false(first.existed);
    assert_true(second.existed);
    assert_string_equal(first.name, second.name);
    assert_string_equal(first.path, second.path);
    assert_int_equal(first.path[0], '/');
    assert_file(first.path, "int main;");
    assert_int_equal(stat(first.path, &before), 0);
    put(f, "int main;", "c", NULL);
    assert_int_equal(stat(first.path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_string_not_equal(put(f, "int Main;", "c", NULL).name, first.name);
    /* The same content for another tool is another file of the same name. */
    gcache_blob other = put(f, "int main;", "cpp", NULL);
    assert_string_equal(other.name, first.name);
    assert_string_not_equal(other.path, first.path);
}

static void
the_caller_says_what_counts_for_the_name(void **state)
{
    fixture *f = *state;
    gcache_blob_options text = GCACHE_BLOB_OPTIONS_INIT, extra = GCACHE_BLOB_OPTIONS_INIT, named = GCACHE_BLOB_OPTIONS_INIT;

    text.text = true;
    extra.extra = "avx2";
    named.name = "kernel_0";
    assert_string_equal(put(f, "\n  x = 1\n", "py", &text).name, put(f, "x = 1", "py2", &text).name);
    assert_string_not_equal(put(f, "\n  x = 1\n", "py", NULL).name, put(f, "x = 1", "py", NULL).name);
    assert_string_not_equal(put(f, "x = 1", "py", &extra).name, put(f, "x = 1", "py", NULL).name);
    assert_string_equal(put(f, "x = 1", "py", &named).name, "kernel_0");
    /* The length of extra counts: what is moved from one to the other is another name. */
    extra.extra = "ab";
    gcache_blob left = put(f, "c", NULL, &extra);
    extra.extra = "a";
    assert_string_not_equal(left.name, put(f, "bc", NULL, &extra).name);
}

static void
names_stay_inside(void **state)
{
    fixture *f = *state;
    char const *const bad[] = { "", "..", "../x", ".hidden", "a/b", "a b", "\n" };
    gcache_blob_options named = GCACHE_BLOB_OPTIONS_INIT;
    gcache_access access;
    gcache_blob blob = GCACHE_BLOB_INIT;
    char *path;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        named.name = bad[i];
        assert_int_equal(gcache_blob_put(f->cache, "x", 1, "", &named, &blob, &f->error), GCACHE_ERROR_ARGUMENT);
        assert_int_equal(gcache_blob_put(f->cache, "x", 1, bad[i][0] != '\0' ? bad[i] : "/", NULL, &blob, &f->error),
                         GCACHE_ERROR_ARGUMENT);
        assert_int_equal(gcache_subdirectory(f->cache, bad[i], GCACHE_ACCESS_UPDATE, &access, &path, &f->error),
                         GCACHE_ERROR_ARGUMENT);
    }
}

static void
damage_is_found_when_read_back(void **state)
{
    fixture *f = *state;
    gcache_blob blob = put(f, "int main;", "c", NULL);
    void *bytes;
    size_t size;

    assert_int_equal(gcache_blob_get(f->cache, blob.name, "c", NULL, &bytes, &size, &f->error), GCACHE_OK);
    assert_int_equal(size, 9);
    assert_memory_equal(bytes, "int main;", 9);
    gcache_free(bytes);
    int file = open(blob.path, O_WRONLY);
    assert_int_equal(pwrite(file, "I", 1, 0), 1);
    close(file);
    assert_int_equal(gcache_blob_get(f->cache, blob.name, "c", NULL, &bytes, &size, &f->error), GCACHE_ERROR_CORRUPT);
    assert_int_equal(gcache_blob_get(f->cache, blob.name, "c", NULL, &bytes, &size, &f->error), GCACHE_ERROR_NOT_FOUND);
    assert_false(put(f, "int main;", "c", NULL).existed);
    assert_file(blob.path, "int main;");
}

static void
a_shorter_file_is_written_again(void **state)
{
    fixture *f = *state;
    gcache_blob blob = put(f, "int main;", "c", NULL);

    assert_int_equal(truncate(blob.path, 3), 0);
    assert_false(put(f, "int main;", "c", NULL).existed);
    assert_file(blob.path, "int main;");
}

/* Under one name there are two contents, with white space and without, or that the caller gave the name: the first stays. */
static void
what_is_there_is_not_written_again(void **state)
{
    static char const *const contents[][2] = { { "  int x;\n", "int x;" }, { "aaa", "bbbb" }, { "bbbb", "aaaa" } };
    fixture *f = *state;
    gcache_blob_options options = GCACHE_BLOB_OPTIONS_INIT;
    struct stat before, after;

    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        options.text = i == 0;
        options.name = i == 0 ? NULL : i == 1 ? "named" : "other";
        gcache_blob first = put(f, contents[i][0], "c", &options);
        assert_false(first.existed);
        assert_int_equal(stat(first.path, &before), 0);
        assert_int_equal(gcache_artifacts_begin(f->cache, &f->error), GCACHE_OK);
        for (int k = 0; k < 4; k++) {
            gcache_blob again = put(f, contents[i][(k + 1) % 2], "c", &options);
            assert_true(again.existed);
            assert_string_equal(again.path, first.path);
        }
        assert_int_equal(stat(first.path, &after), 0);
        assert_int_equal(before.st_ino, after.st_ino);
        assert_file(first.path, contents[i][0]);
        /* Nor is it new work, so there is nothing to save. */
        assert_false(gcache_artifacts_dirty(f->cache));
        gcache_artifacts_end(f->cache);
    }
    /* Who may not write finds it all the same. */
    gcache_options reading = GCACHE_OPTIONS_INIT;
    reading.read_only = true;
    fixture_reopen(f, &reading);
    assert_true(put(f, "aaaa", "c", &options).existed);
}

/* Damage of the same size, none of it, too much of it, and what is no file: put writes it again. */
static void
a_damaged_one_is_written_again(void **state)
{
    static char const *const damages[] = { "int Main;", "", "int main; int main;", NULL };
    fixture *f = *state;
    gcache_blob_options named = GCACHE_BLOB_OPTIONS_INIT, text = GCACHE_BLOB_OPTIONS_INIT;

    named.name = "kernel";
    text.text = true;
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        gcache_blob_options const *const options[] = { NULL, &text, &named };
        for (size_t k = 0; k < 3; k++) {
            /* Nothing tells of other content under the caller's name that it isn't what was put. */
            if (k == 2 && damages[i] != NULL && damages[i][0] != '\0')
                continue;
            gcache_blob blob = put(f, "int main;", "c", options[k]);
            assert_int_equal(unlink(blob.path), 0);
            if (damages[i] == NULL) {
                assert_int_equal(mkdir(blob.path, 0700), 0);
            } else {
                int file = open(blob.path, O_WRONLY | O_CREAT, 0600);
                assert_int_equal(write(file, damages[i], strlen(damages[i])), strlen(damages[i]));
                close(file);
            }
            assert_false(put(f, "int main;", "c", options[k]).existed);
            assert_file(blob.path, "int main;");
            assert_true(put(f, "int main;", "c", options[k]).existed);
        }
    }
}

/* A second handle puts another content under the same name at the same time: one of them is there, whole, for both. */
static void
racing_writers_leave_one(void **state)
{
    fixture *f = *state;
    gcache_blob_options text = GCACHE_BLOB_OPTIONS_INIT;
    char content[64];
    int made = 0;

    text.text = true;
    for (int round = 0; round < 20; round++) {
        pid_t children[2];
        for (int k = 0; k < 2; k++) {
            snprintf(content, sizeof content, "%sround %d", k == 0 ? "" : "   ", round);
            children[k] = fork();
            if (children[k] == 0)
                _exit(put(f, content, "c", &text).existed ? 0 : 1);
        }
        for (int k = 0; k < 2; k++) {
            int status;
            assert_int_equal(waitpid(children[k], &status, 0), children[k]);
            assert_true(WIFEXITED(status));
            made += WEXITSTATUS(status);
        }
    }
    assert_int_equal(made, 20);
}

static void
what_is_read_is_exported(void **state)
{
    fixture *f = *state;
    gcache_blob read = put(f, "read", "txt", NULL);
    gcache_transfer written = GCACHE_TRANSFER_INIT;
    void *bytes;
    size_t size;

    put(f, "not read", "txt", NULL);
    assert_int_equal(gcache_artifacts_begin(f->cache, &f->error), GCACHE_OK);
    assert_int_equal(gcache_blob_get(f->cache, read.name, "txt", NULL, &bytes, &size, &f->error), GCACHE_OK);
    gcache_free(bytes);
    assert_false(gcache_artifacts_dirty(f->cache));
    assert_int_equal(gcache_artifacts_save(f->cache, f->file, &written, &f->error), GCACHE_OK);
    assert_int_equal(written.blobs, 1);
    gcache_artifacts_end(f->cache);
}

static void
what_is_unused_expires(void **state)
{
    fixture *f = *state;
    gcache_blob old = put(f, "old", "txt", NULL), used = put(f, "used", "txt", NULL);
    struct timespec const long_ago[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
    uint64_t removed;

    assert_int_equal(utimensat(AT_FDCWD, old.path, long_ago, 0), 0);
    assert_int_equal(utimensat(AT_FDCWD, used.path, long_ago, 0), 0);
    put(f, "used", "txt", NULL);
    assert_int_equal(gcache_blobs_expire(f->cache, UINT64_C(3600000000000), &removed, &f->error), GCACHE_OK);
    assert_int_equal(removed, 1);
    assert_int_not_equal(access(old.path, F_OK), 0);
    assert_int_equal(access(used.path, F_OK), 0);
}

static void
compilers_get_directories_of_their_own(void **state)
{
    fixture *f = *state;
    gcache_options reading = GCACHE_OPTIONS_INIT;
    gcache_access access;
    char *path, *again;

    assert_int_equal(gcache_subdirectory(f->cache, "xla-autotune", GCACHE_ACCESS_READ, &access, &path, &f->error),
                     GCACHE_ERROR_NOT_FOUND);
    assert_int_equal(gcache_subdirectory(f->cache, "xla-autotune", GCACHE_ACCESS_UPDATE, &access, &path, &f->error), GCACHE_OK);
    assert_int_equal(access, GCACHE_ACCESS_UPDATE);
    assert_int_equal(gcache_subdirectory(f->cache, "xla-autotune", GCACHE_ACCESS_READ, &access, &again, &f->error), GCACHE_OK);
    assert_int_equal(access, GCACHE_ACCESS_READ);
    assert_string_equal(path, again);
    gcache_free(again);
    reading.read_only = true;
    fixture_reopen(f, &reading);
    assert_int_equal(gcache_subdirectory(f->cache, "xla-autotune", GCACHE_ACCESS_UPDATE, &access, &again, &f->error), GCACHE_OK);
    assert_int_equal(access, GCACHE_ACCESS_READ);
    assert_string_equal(path, again);
    assert_int_equal(gcache_blob_put(f->cache, "x", 1, "", NULL, &(gcache_blob)GCACHE_BLOB_INIT, &f->error),
                     GCACHE_ERROR_READ_ONLY);
    gcache_free(path);
    gcache_free(again);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(equal_bytes_are_one_file),
        CASE(the_caller_says_what_counts_for_the_name),
        CASE(names_stay_inside),
        CASE(damage_is_found_when_read_back),
        CASE(a_shorter_file_is_written_again),
        CASE(what_is_there_is_not_written_again),
        CASE(a_damaged_one_is_written_again),
        CASE(racing_writers_leave_one),
        CASE(what_is_read_is_exported),
        CASE(what_is_unused_expires),
        CASE(compilers_get_directories_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
