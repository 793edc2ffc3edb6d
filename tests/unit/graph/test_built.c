/*
 * Built call by call and read from JSON, a description has one canonical form: over everything that was captured.
 *
 * The data is fixtures/canon/corpus, or all of what GUARDCACHE_CORPUS names. Keyword arguments come right behind their node, as
 * a compiler's adapter gives them, and once more behind all nodes, when packed nodes must be turned into trees.
 */
#include "by_calls.h"

#include "base/system/file.h"
#include "base/text/json.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

typedef struct tally {
    size_t built, unsayable;
} tally;

static void
check_equal(gcache_graph *read, gcache_graph *built, char const *path)
{
    void const *bytes[2];
    size_t sizes[2];
    gcache_key keys[2];
    gcache_error error;
    gcache_graph *graphs[] = { read, built };

    for (size_t i = 0; i < 2; i++) {
        if (gcache_graph_key(graphs[i], &keys[i], &error) != GCACHE_OK ||
            gcache_graph_canonical(graphs[i], &bytes[i], &sizes[i], &error) != GCACHE_OK)
            fail_msg("%s: %s", path, error.message);
    }
    if (sizes[0] != sizes[1] || memcmp(bytes[0], bytes[1], sizes[0]) != 0) {
        char *text;
        assert_int_equal(gcache_diff(bytes[0], sizes[0], bytes[1], sizes[1], 5, GCACHE_DIFF_TEXT, &text, NULL, &error),
                         GCACHE_OK);
        fail_msg("%s: built, it is another\n%s", path, text);
    }
    assert_memory_equal(keys[0].bytes, keys[1].bytes, sizeof keys[0].bytes);
}

static void
check_file(char const *path, tally *t)
{
    gci_buf text;
    gcache_graph *read;
    gcache_error error;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (gci_file_read_user(path, GCI_JSON_MAX_BYTES, &text, &error) != GCACHE_OK ||
        gcache_graph_read(text.data, text.size, path, &read, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    for (int late = 0; late < 2; late++) {
        gcache_graph *built = build_by_calls(text.data, text.size, late);
        if (built != NULL)
            check_equal(read, built, path);
        t->built += built != NULL;
        t->unsayable += built == NULL;
        gcache_graph_free(built);
    }
    gcache_graph_free(read);
    gci_buf_clear(&text);
}

static void
test_the_same_by_calls(void **state)
{
    static char const *const patterns[] = { "torch/*/graphs/*.json", "torch-pairs/*.json", "jax/graphs/*.json",
                                            "llvm/graphs/*.json" };
    char const *corpus = getenv("GUARDCACHE_CORPUS");
    char root[512], pattern[600];
    tally t = { 0 };

    (void)state;
    if (corpus != NULL)
        snprintf(root, sizeof root, "%s", corpus);
    else
        snprintf(root, sizeof root, "%s/fixtures/canon/corpus", getenv("GUARDCACHE_SOURCE"));
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        glob_t files;
        snprintf(pattern, sizeof pattern, "%s/%s", root, patterns[i]);
        assert_int_equal(glob(pattern, 0, NULL, &files), 0);
        for (size_t k = 0; k < files.gl_pathc; k++)
            check_file(files.gl_pathv[k], &t);
        globfree(&files);
    }
    print_message("%zu built, %zu have members that only JSON has\n", t.built / 2, t.unsayable / 2);
    assert_true(t.built >= 200 && t.unsayable * 10 <= t.built);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_the_same_by_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
