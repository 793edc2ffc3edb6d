/*
 * Descriptions written back as text: of the same key as what was read or built.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <guardcache/guardcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gcache_key
key_of(gcache_graph *graph)
{
    gcache_key key;
    gcache_error error;

    if (gcache_graph_key(graph, &key, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    return key;
}

/* Written and read again, the key is the same; written once more, so is the text. */
static void
check_round_trip(gcache_graph *graph, char const *name)
{
    gcache_graph *again = NULL;
    gcache_error error;
    char *text = NULL, *second = NULL;
    size_t size;

    assert_int_equal(gcache_graph_write(graph, &text, &size, &error), GCACHE_OK);
    assert_int_equal(strlen(text), size);
    if (gcache_graph_read(text, size, "written", &again, &error) != GCACHE_OK)
        fail_msg("%s: %s", name, error.message);
    gcache_key before = key_of(graph), after = key_of(again);
    if (memcmp(&before, &after, sizeof before) != 0)
        fail_msg("%s has another key after writing", name);
    assert_int_equal(gcache_graph_write(again, &second, NULL, &error), GCACHE_OK);
    assert_string_equal(text, second);
    gcache_free(text);
    gcache_free(second);
    gcache_graph_free(again);
}

static char *
load(char const *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    char *text;

    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *out_size = (size_t)ftell(file);
    rewind(file);
    text = malloc(*out_size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, *out_size, file), *out_size);
    fclose(file);
    return text;
}

static void
captured_descriptions_keep_their_keys(void **state)
{
    char pattern[4096];
    glob_t found;

    (void)state;
    snprintf(pattern, sizeof pattern, "%s/fixtures/traces/*/graphs/*.json", getenv("GUARDCACHE_SOURCE"));
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 50);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        gcache_graph *graph = NULL;
        size_t size;
        char *text = load(found.gl_pathv[i], &size);
        assert_int_equal(gcache_graph_read(text, size, found.gl_pathv[i], &graph, NULL), GCACHE_OK);
        check_round_trip(graph, found.gl_pathv[i]);
        gcache_graph_free(graph);
        free(text);
    }
    globfree(&found);
}

static void
built_descriptions_keep_their_keys(void **state)
{
    gcache_graph *g = gcache_graph_new("fx");
    gcache_tensor x = { .size = sizeof x, .dtype = "float32", .shape = { "s0", "4*s0 + 1" }, .stride = { "4*s0 + 1", "1" },
                        .rank = 2 };
    gcache_node input = gcache_graph_input(g, "x", &x);
    gcache_node relu = gcache_graph_call(g, "relu", &input, 1);

    (void)state;
    gcache_graph_kwarg(g, relu, "huge", gcache_value_int_text(g, "2305843009213693952000"));
    gcache_graph_kwarg_float(g, relu, "scale", 1.0);
    gcache_graph_kwarg_text(g, relu, "text", "a \"quoted\" \xc3\xa4 line\n");
    gcache_graph_subgraph_begin(g, "body");
    gcache_node inner = gcache_graph_call(g, "inner", &relu, 1);
    gcache_graph_output(g, inner);
    gcache_graph_subgraph_end(g);
    gcache_graph_output(g, relu);
    gcache_value *items[] = { gcache_value_bytes(g, "\0\xff", 2), gcache_value_enum(g, "torch.float32"),
                              gcache_value_null(g), gcache_value_symbolic(g, "s0*2") };
    gcache_value *tuple = gcache_value_tuple(g, items, 4), *set = gcache_value_set(g, &items[1], 1);
    char const *names[] = { "tuple", "set" };
    gcache_value *values[] = { tuple, set };
    gcache_graph_component(g, "options", gcache_value_map(g, names, values, 2));
    check_round_trip(g, "built");
    gcache_graph_free(g);
}

static void
a_foreign_key_stays_apart(void **state)
{
    gcache_key a = { { 1 } }, b = { { 2 } };
    gcache_graph *keyed[] = { gcache_graph_new_keyed("fx", &a), gcache_graph_new_keyed("fx", &b) };
    gcache_key written[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        gcache_graph *again = NULL;
        char *text;
        size_t size;
        assert_int_equal(gcache_graph_write(keyed[i], &text, &size, NULL), GCACHE_OK);
        assert_int_equal(gcache_graph_read(text, size, "written", &again, NULL), GCACHE_OK);
        written[i] = key_of(again);
        gcache_graph_free(again);
        gcache_graph_free(keyed[i]);
        gcache_free(text);
    }
    assert_memory_not_equal(&written[0], &written[1], sizeof written[0]);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(captured_descriptions_keep_their_keys),
        cmocka_unit_test(built_descriptions_keep_their_keys),
        cmocka_unit_test(a_foreign_key_stays_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
