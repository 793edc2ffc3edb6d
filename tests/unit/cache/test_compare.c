/*
 * How two descriptions differ, from graphs and from what the cache keeps of their keys.
 */
#include "fixture.h"

#include <inttypes.h>

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

/* ---- inputs of foreign keys ---- */

/* Lines of a key, each one NAME[i]; equal texts have equal hashes. */
static void
add_list(gcache_graph *g, char const *list, char const *lines)
{
    size_t i = 0;

    for (char const *end; *lines != '\0'; lines = end + 1, i++) {
        char name[32], text[64], hash[20];
        uint64_t number_of_text = 7;
        end = strchr(lines, '\n');
        snprintf(name, sizeof name, "%s[%zu]", list, i);
        snprintf(text, sizeof text, "%.*s", (int)(end - lines), lines);
        for (char const *c = text; *c != '\0'; c++)
            number_of_text = 1000003 * number_of_text + (uint8_t)*c;
        snprintf(hash, sizeof hash, "%016" PRIx64, number_of_text);
        gcache_graph_line(g, name, hash, text);
    }
}

/* A key with these inputs, one a line, and what they are called. */
static gcache_graph *
make_with_inputs(uint8_t number, char const *inputs, char const *names)
{
    gcache_key key = { .bytes = { number } };
    gcache_graph *g = gcache_graph_new_keyed("fx", &key);

    add_list(g, "arguments", names);
    add_list(g, "example_inputs", inputs);
    return g;
}

/* What was stored, what was asked, and the differences after their first line. */
static struct {
    char const *name, *stored, *asked, *said, *stored_names, *asked_names;
} const aligned[] = {
    { "a size became symbolic", "f32[12, 16]\nf32[16]\n", "('s45',)\nf32[s45, 16]\nf32[16]\n",
      "  example_inputs[1]: f32[12, 16] -> f32[s45, 16]\n  and so: 1 symbol input\n", "", "" },
    { "so did those of two", "f32[4, 5]\nf32[4, 5]\n", "('s3',)\nf32[s3, 5]\nf32[s3, 5]\n",
      "  example_inputs[1]: f32[4, 5] -> f32[s3, 5]\n  example_inputs[2]: f32[4, 5] -> f32[s3, 5]\n"
      "  and so: 1 symbol input\n", "", "" },
    { "a size is no symbol any more", "('s2',)\nf32[s2, 7]\n", "f32[1, 7]\n",
      "  example_inputs[0]: f32[s2, 7] -> f32[1, 7]\n  and so: 1 symbol input\n", "", "" },
    { "two symbols were one", "('s10',)\nf32[s10]\nf32[s10]\n", "('s10',)\nf32[s10]\n('s64',)\nf32[s64]\n",
      "  example_inputs[3]: f32[s10] -> f32[s64]\n  and so: 1 symbol input\n", "", "" },
    { "a layer is new", "f32[6, 6]\nf32[6]\nf32[2, 6]\nf32[2]\n",
      "f32[6, 6]\nf32[6]\nf32[6, 6]\nf32[6]\nf32[2, 6]\nf32[2]\n",
      "  + example_inputs[2]: f32[6, 6]\n  + example_inputs[3]: f32[6]\n", "", "" },
    { "which of two is new isn't known", "f32[6]\nf32[2, 6]\n", "f32[6]\nf32[7, 6]\nf32[3, 6]\n",
      "  + example_inputs[1]: f32[7, 6]\n  + example_inputs[2]: f32[3, 6]\n  - example_inputs[1]: f32[2, 6]\n", "", "" },
    { "a number was a symbol and is a tensor", "f32[5]\n('s34',)\n", "f32[5]\nf64[]\n",
      "  + example_inputs[1]: f64[]\n  - example_inputs[1]: ('s34',)\n", "", "" },
    { "the only one is quite another", "f32[5]\n", "i64[3, 3]\n", "  example_inputs[0]: f32[5] -> i64[3, 3]\n", "", "" },
    { "another element type", "f32[5]\nf32[4]\n", "bf16[5]\nf32[4]\n", "  example_inputs[0]: f32[5] -> bf16[5]\n", "", "" },
    { "names say which is which", "f32[6]\nf32[2, 6]\n", "f32[6]\nf32[7, 6]\nf32[3, 6]\n",
      "  + example_inputs[1]: f32[7, 6]\n  example_inputs[2]: f32[2, 6] -> f32[3, 6]\n  and so: 1 source\n", "x\nhead\n",
      "x\nbody\nhead\n" },
    { "names are paired as the inputs are", "f32[12]\nf32[16]\n", "('s45',)\nf32[s45]\nf32[16]\n",
      "  example_inputs[1]: f32[12] -> f32[s45]\n  and so: 1 symbol input, 1 source\n", "x\nw\n", "x.size(0)\nx\nw\n" },
    { "another name", "f32[12]\nf32[16]\n", "f32[12]\nf32[16]\n", "  arguments[1]: w -> v\n", "x\nw\n", "x\nv\n" },
};

static void
test_inputs_of_foreign_keys_are_aligned(void **state)
{
    fixture *f = *state;

    for (size_t i = 0; i < sizeof aligned / sizeof *aligned; i++) {
        gcache_subject was = { .size = sizeof was, .graph = make_with_inputs(1, aligned[i].stored, aligned[i].stored_names) },
            is = { .size = sizeof is, .graph = make_with_inputs(2, aligned[i].asked, aligned[i].asked_names) };
        char *text = NULL;
        assert_int_equal(gcache_compare(f->cache, &was, &is, 0, GCACHE_DIFF_TEXT, &text, NULL, &f->error), GCACHE_OK);
        char const *rows = strchr(text, '\n');
        if (rows == NULL || strcmp(rows + 1, aligned[i].said) != 0)
            fail_msg("%s: %s", aligned[i].name, text);
        gcache_free(text);
        gcache_graph_free(was.graph);
        gcache_graph_free(is.graph);
    }
}

/* The numbers of two inputs that don't stand for one another are told of once each. */
static void
test_a_number_may_be_of_two_inputs(void **state)
{
    fixture *f = *state;
    gcache_subject was = { .size = sizeof was, .graph = make_with_inputs(1, "f32[5]\n('s34',)\n", "") },
        is = { .size = sizeof is, .graph = make_with_inputs(2, "f32[5]\nf64[]\n", "") };
    char *text = compare(f, &was, &is, GCACHE_DIFF_JSON, 2);

    assert_non_null(strstr(text, "\"components\": {\"example_inputs[0]\": \"equal\", \"example_inputs[1]\": \"differs\"}"));
    gcache_free(text);
    gcache_graph_free(was.graph);
    gcache_graph_free(is.graph);
}

/* A forward and its backward look alike, and neither was made from the other. */
static gcache_graph *
make_part(uint8_t number, char const *backward, char const *size)
{
    gcache_key key = { .bytes = { number } };
    gcache_graph *g = gcache_graph_new_keyed("fx", &key);

    add_list(g, "example_inputs", size);
    add_list(g, "fx_kwargs", "1\n2\n3\n");
    gcache_graph_line(g, "fx_kwargs[is_backward]", strcmp(backward, "True") == 0 ? "01" : "02", backward);
    return g;
}

static void
test_a_backward_is_no_forward(void **state)
{
    fixture *f = *state;
    gcache_graph *forward = make_part(1, "False", "f32[5]\n"), *backward = make_part(2, "True", "f32[6]\n"),
                 *asked = make_part(3, "True", "f32[5]\n");
    char *text = NULL;

    insert_text(f, forward, NULL, NULL, "forward");
    assert_int_equal(gcache_explain(f->cache, asked, NULL, NULL, GCACHE_EXPLAIN_TEXT, &text, &f->error), GCACHE_MISS);
    assert_null(strstr(text, "nearest of"));
    gcache_free(text);
    insert_text(f, backward, NULL, NULL, "backward");
    assert_int_equal(gcache_explain(f->cache, asked, NULL, NULL, GCACHE_EXPLAIN_TEXT, &text, &f->error), GCACHE_MISS);
    assert_non_null(strstr(text, "f32[6]"));
    assert_null(strstr(text, "is_backward"));
    gcache_free(text);
    gcache_graph_free(forward);
    gcache_graph_free(backward);
    gcache_graph_free(asked);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_setup_teardown(test_a_graph_against_a_stored_key, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_component_lines_of_foreign_keys, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_long_texts_of_foreign_keys_are_hunks, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_inputs_of_foreign_keys_are_aligned, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_a_backward_is_no_forward, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_a_number_may_be_of_two_inputs, fixture_open, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
