/*
 * How two descriptions differ, from graphs and from what the cache keeps of their keys.
 */
#include "fixture.h"

static char *
compare(fixture *f, gcache_subject const *stored, gcache_subject const *asked, gcache_diff_form form, size_t count)
{
    char *text;
    size_t found;

    assert_int_equal(gcache_compare(f->cache, stored, asked, 0, form, &text, &found, &f->error), GCACHE_OK);
    assert_int_equal(found, count);
    return text;
}

static gcache_graph *
make_with_option(char const *option, bool value)
{
    gcache_graph *g = make_matmul("a", "b");
    gcache_value *on = gcache_value_bool(g, value);

    gcache_graph_component(g, "options", gcache_value_map(g, &option, &on, 1));
    return g;
}

static void
test_a_graph_against_a_stored_key(void **state)
{
    fixture *f = *state;
    gcache_subject was = { .size = sizeof was, .graph = make_with_option("fast", false) },
        is = { .size = sizeof is, .graph = make_with_option("fast", true) };
    gcache_subject stored = { .size = sizeof stored, .graph = NULL };

    assert_int_equal(gcache_compare(NULL, &stored, &is, 0, GCACHE_DIFF_TEXT, &(char *){ NULL }, NULL, &f->error),
                     GCACHE_ERROR_ARGUMENT);
    insert_text(f, was.graph, NULL, "a == 1", "payload");
    assert_int_equal(gcache_graph_key(was.graph, &stored.key, &f->error), GCACHE_OK);
    char *text = compare(f, &stored, &is, GCACHE_DIFF_TEXT, 1);
    assert_string_equal(text, "2 of 3 components equal: graph, inputs\n  options.fast: false -> true\n");
    gcache_free(text);
    text = compare(f, &stored, &was, GCACHE_DIFF_TEXT, 0);
    assert_string_equal(text, "");
    gcache_free(text);
    assert_int_equal(gcache_graph_key(is.graph, &stored.key, &f->error), GCACHE_OK);
    assert_int_equal(gcache_compare(f->cache, &stored, &is, 0, GCACHE_DIFF_TEXT, &text, NULL, &f->error),
                     GCACHE_ERROR_NOT_FOUND);
    assert_null(text);
    gcache_graph_free(was.graph);
    gcache_graph_free(is.graph);
}

/* A key that somebody else computed, with the lines it was computed from. */
static gcache_graph *
make_keyed(uint8_t number, char const *hash, char const *text)
{
    gcache_key key = { .bytes = { number } };
    gcache_graph *g = gcache_graph_new_keyed("fx", &key);

    gcache_graph_line(g, "inputs[0]", "00", "a tensor");
    gcache_graph_line(g, "options[level]", hash, text);
    return g;
}

static void
test_component_lines_of_foreign_keys(void **state)
{
    fixture *f = *state;
    gcache_subject was = { .size = sizeof was, .graph = make_keyed(1, "01", "2") },
        is = { .size = sizeof is, .graph = make_keyed(2, "02", "3") };
    gcache_subject ours = { .size = sizeof ours, .graph = make_matmul("a", "b") },
        stored = { .size = sizeof stored, .key = { .bytes = { 1 } } };

    insert_text(f, was.graph, NULL, "a == 1", "payload");
    char *text = compare(f, &stored, &is, GCACHE_DIFF_JSON, 1);
    assert_string_equal(text, "{\"equal\": false, \"components\": {\"inputs[0]\": \"equal\", \"options[level]\": "
                              "\"differs\"}, \"differs\": [{\"path\": \"options[level]\", \"stored\": \"2\", \"asked\": "
                              "\"3\"}], \"left_out\": 0}");
    gcache_free(text);
    assert_int_equal(gcache_compare(f->cache, &stored, &ours, 0, GCACHE_DIFF_TEXT, &text, NULL, &f->error),
                     GCACHE_ERROR_ARGUMENT);
    gcache_graph_free(was.graph);
    gcache_graph_free(is.graph);
    gcache_graph_free(ours.graph);
}

/* Lines of "option N = 0", one of which says something else. */
static void
write_options(char *out, size_t size, int other)
{
    size_t used = 0;

    for (int i = 0; i < 20; i++)
        used += (size_t)snprintf(out + used, size - used, "option %d = %d\n", i, i == other);
}

static void
test_long_texts_of_foreign_keys_are_hunks(void **state)
{
    fixture *f = *state;
    char texts[2][512];

    write_options(texts[0], sizeof texts[0], -1);
    write_options(texts[1], sizeof texts[1], 11);
    gcache_subject was = { .size = sizeof was, .graph = make_keyed(1, "01", texts[0]) },
        is = { .size = sizeof is, .graph = make_keyed(2, "02", texts[1]) };
    char *text = compare(f, &was, &is, GCACHE_DIFF_JSON, 1);
    assert_non_null(strstr(text, "\\n-option 11 = 0\\n+option 11 = 1\\n"));
    assert_null(strstr(text, "option 5 = 0\\n "));
    gcache_free(text);
    gcache_graph_free(was.graph);
    gcache_graph_free(is.graph);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_setup_teardown(test_a_graph_against_a_stored_key, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_component_lines_of_foreign_keys, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_long_texts_of_foreign_keys_are_hunks, fixture_open, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
