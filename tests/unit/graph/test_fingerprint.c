/*
 * Fingerprints of trees, files and facts: what changes them, the index, and what is told of a change.
 */
#include "base/buf.h"

#include <guardcache/fingerprint.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct fixture {
    char root[64];
    gcache_fingerprint *print;
} fixture;

static void
write_file(fixture const *f, char const *path, char const *text)
{
    char full[256];

    snprintf(full, sizeof full, "%s/%s", f->root, path);
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static char const *
full_path(fixture const *f, char const *path)
{
    static char full[4][256];
    static unsigned next;
    char *text = full[next++ % 4];

    snprintf(text, sizeof full[0], "%s/%s", f->root, path);
    return text;
}

static int
setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);

    strcpy(f->root, "/tmp/guardcache-fingerprint-XXXXXX");
    assert_non_null(mkdtemp(f->root));
    mkdir(full_path(f, "t"), 0700);
    mkdir(full_path(f, "t/sub"), 0700);
    mkdir(full_path(f, "t/.git"), 0700);
    write_file(f, "t/a.py", "a = 1\n");
    write_file(f, "t/b.so", "b");
    write_file(f, "t/sub/c.py", "c = 3\n");
    write_file(f, "t/.git/HEAD", "x");
    f->print = gcache_fingerprint_new();
    *state = f;
    return 0;
}

static int
teardown(void **state)
{
    fixture *f = *state;
    char command[128];

    gcache_fingerprint_free(f->print);
    snprintf(command, sizeof command, "rm -r '%s'", f->root);
    assert_int_equal(system(command), 0);
    free(f);
    return 0;
}

/* The hash of the tree alone, by so many threads. */
static gcache_key
tree_hash(fixture *f, unsigned threads)
{
    gcache_tree_options options = GCACHE_TREE_OPTIONS_INIT;
    gcache_key hash;
    gcache_error error;

    options.threads = threads;
    gcache_fingerprint_clear(f->print);
    if (gcache_fingerprint_tree(f->print, "t", full_path(f, "t"), &options, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(gcache_fingerprint_hash(f->print, &hash, NULL), GCACHE_OK);
    return hash;
}

static void
check_tree(fixture *f, gcache_key const *before, bool same)
{
    gcache_key after = tree_hash(f, 3);

    assert_int_equal(memcmp(before->bytes, after.bytes, sizeof after.bytes) == 0, same);
}

/* ---- what counts ---- */

static void
test_tree(void **state)
{
    fixture *f = *state;
    gcache_key hash = tree_hash(f, 0);

    check_tree(f, &hash, true);
    write_file(f, "t/.git/HEAD", "y");
    check_tree(f, &hash, true);
    assert_int_equal(chmod(full_path(f, "t/a.py"), 0755), 0);
    check_tree(f, &hash, true);
    write_file(f, "t/sub/c.py", "c = 4\n");
    check_tree(f, &hash, false);
    write_file(f, "t/sub/c.py", "c = 3\n");
    check_tree(f, &hash, true);
    write_file(f, "t/new", "");
    check_tree(f, &hash, false);
    assert_int_equal(unlink(full_path(f, "t/new")), 0);
    assert_int_equal(rename(full_path(f, "t/a.py"), full_path(f, "t/z.py")), 0);
    check_tree(f, &hash, false);
}

static void
test_links(void **state)
{
    fixture *f = *state;

    write_file(f, "outside", "1");
    assert_int_equal(symlink("../outside", full_path(f, "t/link")), 0);
    assert_int_equal(symlink("..", full_path(f, "t/loop")), 0);
    gcache_key hash = tree_hash(f, 0);
    check_tree(f, &hash, true);
    write_file(f, "outside", "2"); /* a link to a file counts as the file */
    check_tree(f, &hash, false);
    write_file(f, "outside", "1");
    assert_int_equal(unlink(full_path(f, "t/loop")), 0);
    assert_int_equal(symlink("../..", full_path(f, "t/loop")), 0); /* one to a directory by where it points */
    check_tree(f, &hash, false);
}

static void
test_suffixes(void **state)
{
    fixture *f = *state;
    gcache_tree_options options = GCACHE_TREE_OPTIONS_INIT;
    char const *suffixes[] = { ".py" }, *skip[] = { "sub" };
    gcache_key hashes[3];

    for (int i = 0; i < 3; i++) {
        if (i == 1)
            write_file(f, "t/b.so", "other");
        if (i == 2)
            write_file(f, "t/a.py", "other");
        write_file(f, "t/sub/c.py", i == 0 ? "x" : "y");
        options.suffixes = suffixes;
        options.suffix_count = options.skip_count = 1;
        options.skip = skip;
        gcache_fingerprint_clear(f->print);
        assert_int_equal(gcache_fingerprint_tree(f->print, "t", full_path(f, "t"), &options, NULL), GCACHE_OK);
        gcache_fingerprint_hash(f->print, &hashes[i], NULL);
    }
    assert_memory_equal(hashes[0].bytes, hashes[1].bytes, sizeof hashes[0].bytes);
    assert_memory_not_equal(hashes[0].bytes, hashes[2].bytes, sizeof hashes[0].bytes);
}

static void
test_parts(void **state)
{
    fixture *f = *state;
    gcache_key one, other;
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_fingerprint_fact(f->print, "version", "2.13", NULL);
    gcache_fingerprint_file(f->print, "lib", full_path(f, "t/b.so"), NULL);
    gcache_fingerprint_hash(f->print, &one, NULL);
    gcache_fingerprint_clear(f->print);
    /* The order doesn't count, and a hash that is known stands for the file. */
    gcache_fingerprint_preset(f->print, "lib", "3E23E8160039594A33894F6564E1B1348BBD7A0088D42C4ACB73EEAED59C009D", NULL);
    gcache_fingerprint_fact(f->print, "version", "2.13", NULL);
    gcache_fingerprint_hash(f->print, &other, NULL);
    assert_memory_equal(one.bytes, other.bytes, sizeof one.bytes);
    gcache_fingerprint_fact(f->print, "more", "", NULL);
    gcache_fingerprint_hash(f->print, &other, NULL);
    assert_memory_not_equal(one.bytes, other.bytes, sizeof one.bytes);
    gcache_key_to_hex(&one, hex);
    gcache_graph *graph = gcache_graph_new("fx");
    gcache_graph_component(graph, "environment", gcache_fingerprint_value(f->print, graph));
    assert_int_equal(gcache_graph_key(graph, &one, NULL), GCACHE_OK);
    gcache_graph_free(graph);
}

/* A machine without an accelerator has no facts to tell: the same everywhere, and another than any with one. */
static void
test_nothing_has_a_hash(void **state)
{
    fixture *f = *state;
    gcache_key none, again, some;

    assert_int_equal(gcache_fingerprint_hash(f->print, &none, NULL), GCACHE_OK);
    gcache_fingerprint_fact(f->print, "device", "A100", NULL);
    assert_int_equal(gcache_fingerprint_hash(f->print, &some, NULL), GCACHE_OK);
    gcache_fingerprint_clear(f->print);
    assert_int_equal(gcache_fingerprint_hash(f->print, &again, NULL), GCACHE_OK);
    assert_memory_equal(none.bytes, again.bytes, sizeof none.bytes);
    assert_memory_not_equal(none.bytes, some.bytes, sizeof none.bytes);
}

/* ---- the index ---- */

static void
count_read(void *state, gcache_fingerprint_line const *line)
{
    *(int *)state += line->read;
}

/* Sets the time of a file, so that the index trusts it. */
static void
make_old(fixture const *f, char const *path)
{
    struct timespec times[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

    assert_int_equal(utimensat(AT_FDCWD, full_path(f, path), times, 0), 0);
}

static void
test_index(void **state)
{
    fixture *f = *state;
    int read = 0;

    make_old(f, "t/a.py");
    gcache_key hash = tree_hash(f, 0);
    gcache_fingerprint_each(f->print, count_read, &read);
    assert_int_equal(read, 3);
    assert_int_equal(gcache_fingerprint_index_save(f->print, full_path(f, "index"), NULL), GCACHE_OK);

    /* The change times are now, so nothing is trusted: every file is read again, and the hash is the same. */
    gcache_fingerprint *again = gcache_fingerprint_new();
    assert_int_equal(gcache_fingerprint_index_open(again, full_path(f, "index"), NULL), GCACHE_OK);
    assert_int_equal(gcache_fingerprint_tree(again, "t", full_path(f, "t"), NULL, NULL), GCACHE_OK);
    read = 0;
    gcache_fingerprint_each(again, count_read, &read);
    assert_int_equal(read, 3);
    gcache_fingerprint_free(again);

    /* As if it had been saved an hour later. */
    FILE *file = fopen(full_path(f, "index"), "r+");
    assert_non_null(file);
    fseek(file, 8 + 7, SEEK_SET); /* the time's highest byte */
    fputc(0x70, file);
    fclose(file);
    again = gcache_fingerprint_new();
    assert_int_equal(gcache_fingerprint_index_open(again, full_path(f, "index"), NULL), GCACHE_OK);
    write_file(f, "t/b.so", "bb"); /* of another size */
    assert_int_equal(gcache_fingerprint_tree(again, "t", full_path(f, "t"), NULL, NULL), GCACHE_OK);
    read = 0;
    gcache_fingerprint_each(again, count_read, &read);
    assert_int_equal(read, 1);
    gcache_key now;
    gcache_fingerprint_hash(again, &now, NULL);
    assert_memory_not_equal(now.bytes, hash.bytes, sizeof now.bytes);
    hash = tree_hash(f, 0);
    assert_memory_equal(now.bytes, hash.bytes, sizeof now.bytes);
    gcache_fingerprint_free(again);
}

static void
test_bad_index(void **state)
{
    fixture *f = *state;
    gcache_key hash = tree_hash(f, 0);
    char const *texts[] = { "", "GC", "GCFPIDX\3" "12345678", "GCFPIDX\2" "1234", "GCFPIDX\2" "12345678 and something else" };

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        write_file(f, "index", texts[i]);
        assert_int_equal(gcache_fingerprint_index_open(f->print, full_path(f, "index"), NULL), GCACHE_OK);
        check_tree(f, &hash, true);
    }
    assert_int_equal(gcache_fingerprint_index_open(f->print, full_path(f, "none"), NULL), GCACHE_OK);
    write_file(f, "index", "somebody's notes");
    assert_int_equal(gcache_fingerprint_index_open(f->print, full_path(f, "index"), NULL), GCACHE_ERROR_FORMAT);
}

/* ---- what changed ---- */

static void
join_changes(void *state, gcache_fingerprint_change const *change)
{
    gci_buf_format(state, "%s/%s %c%c\n", change->part, change->path, change->before != NULL ? '-' : ' ',
                   change->after != NULL ? '+' : ' ');
}

static void
test_changes(void **state)
{
    fixture *f = *state;
    char *before;
    gci_buf changes;

    gci_buf_init(&changes, GCI_BUF_NO_LIMIT);
    gcache_fingerprint_fact(f->print, "version", "1", NULL);
    gcache_fingerprint_fact(f->print, "device", "x", NULL);
    gcache_fingerprint_tree(f->print, "t", full_path(f, "t"), NULL, NULL);
    assert_int_equal(gcache_fingerprint_write(f->print, &before, NULL), GCACHE_OK);
    gcache_fingerprint_compare(f->print, before, strlen(before), join_changes, &changes, NULL);
    assert_int_equal(changes.size, 0);

    write_file(f, "t/a.py", "other");
    write_file(f, "t/new", "");
    unlink(full_path(f, "t/sub/c.py"));
    gcache_fingerprint_clear(f->print);
    gcache_fingerprint_fact(f->print, "version", "2", NULL);
    gcache_fingerprint_tree(f->print, "t", full_path(f, "t"), NULL, NULL);
    assert_int_equal(gcache_fingerprint_compare(f->print, before, strlen(before), join_changes, &changes, NULL),
                     GCACHE_OK);
    gci_buf_append_char(&changes, '\0');
    assert_string_equal(changes.data, "device/ - \nt/a.py -+\nt/new  +\nt/sub/c.py - \nversion/ -+\n");
    assert_int_equal(gcache_fingerprint_compare(f->print, "[]", 2, join_changes, &changes, NULL), GCACHE_ERROR_DESCRIPTION);
    gci_buf_clear(&changes);
    free(before);
}

/* Names of files are any bytes: two that JSON would write alike are told apart, and one that is as it was is no change. */
static void
test_changes_of_odd_names(void **state)
{
    fixture *f = *state;
    char *before;
    gci_buf changes;

    gci_buf_init(&changes, GCI_BUF_NO_LIMIT);
    write_file(f, "t/odd\xfe", "one");
    write_file(f, "t/odd\xff", "two");
    gcache_fingerprint_tree(f->print, "t", full_path(f, "t"), NULL, NULL);
    assert_int_equal(gcache_fingerprint_write(f->print, &before, NULL), GCACHE_OK);
    assert_int_equal(gcache_fingerprint_compare(f->print, before, strlen(before), join_changes, &changes, NULL), GCACHE_OK);
    assert_int_equal(changes.size, 0);

    write_file(f, "t/odd\xff", "three");
    gcache_fingerprint_clear(f->print);
    gcache_fingerprint_tree(f->print, "t", full_path(f, "t"), NULL, NULL);
    assert_int_equal(gcache_fingerprint_compare(f->print, before, strlen(before), join_changes, &changes, NULL), GCACHE_OK);
    gci_buf_append_char(&changes, '\0');
    assert_string_equal(changes.data, "t/odd\xff -+\n");
    char const odd[] = "{\"part\": \"t\", \"path\": \"\", \"path_hex\": \"f\", \"value\": \"\"}";
    assert_int_equal(gcache_fingerprint_compare(f->print, odd, strlen(odd), join_changes, &changes, NULL),
                     GCACHE_ERROR_DESCRIPTION);
    gci_buf_clear(&changes);
    free(before);
}

/* ---- errors ---- */

static void
test_errors(void **state)
{
    fixture *f = *state;
    gcache_error error;

    assert_int_equal(gcache_fingerprint_tree(f->print, "t", full_path(f, "none"), NULL, &error), GCACHE_ERROR_NOT_FOUND);
    assert_int_equal(gcache_fingerprint_file(f->print, "t", full_path(f, "none"), &error), GCACHE_ERROR_NOT_FOUND);
    assert_int_equal(gcache_fingerprint_file(f->print, "t", full_path(f, "t"), &error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gcache_fingerprint_preset(f->print, "t", "12", &error), GCACHE_ERROR_SYNTAX);
    assert_int_equal(gcache_fingerprint_fact(f->print, "t", "\xff", &error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gcache_fingerprint_fact(f->print, "t", "x", &error), GCACHE_OK);
    assert_int_equal(gcache_fingerprint_fact(f->print, "t", "x", &error), GCACHE_ERROR_ARGUMENT);
    assert_string_equal(error.message, "part \"t\" is given twice");
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_setup_teardown(test_tree, setup, teardown),
        cmocka_unit_test_setup_teardown(test_links, setup, teardown),
        cmocka_unit_test_setup_teardown(test_suffixes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(test_nothing_has_a_hash, setup, teardown),
        cmocka_unit_test_setup_teardown(test_index, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_index, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_changes_of_odd_names, setup, teardown),
        cmocka_unit_test_setup_teardown(test_errors, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
