/*
 * Features of canonical forms, their sketches, and how like two forms are.
 */
#include "graph/diff/likeness.h"
#include "graph/diff/sketch.h"
#include "base/buf.h"

#include <guardcache/graph.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static gcache_graph *
read_graph(char const *kind, char const *components)
{
    gcache_graph *graph;
    gcache_error error;
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "{\"format\": \"guardcache-graph/1\", \"kind\": \"%s\", %s}", kind, components);
    if (gcache_graph_read(text.data, text.size, "d", &graph, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    gci_buf_clear(&text);
    return graph;
}

static gci_view
form_of(gcache_graph *graph)
{
    void const *bytes;
    size_t size;

    assert_int_equal(gcache_graph_canonical(graph, &bytes, &size, NULL), GCACHE_OK);
    return gci_view_of(bytes, size);
}

static gci_likeness
compare(gcache_graph *stored, gcache_graph *asked)
{
    gci_feature_set *set = gci_feature_set_new();
    gci_likeness likeness;

    assert_non_null(set);
    assert_true(gci_features_each(form_of(asked), gci_feature_set_add, set));
    gci_feature_set_begin(set);
    assert_true(gci_features_each(form_of(stored), gci_feature_set_meet, set));
    assert_true(gci_feature_set_end(set, &likeness));
    gci_feature_set_free(set);
    return likeness;
}

static unsigned
sketch_distance(gcache_graph *stored, gcache_graph *asked)
{
    gci_sketch sketches[2] = { { { 0 } }, { { 0 } } };

    assert_true(gci_features_each(form_of(stored), gci_sketch_add, &sketches[0]));
    assert_true(gci_features_each(form_of(asked), gci_sketch_add, &sketches[1]));
    return gci_sketch_distance(&sketches[0], &sketches[1]);
}

/* ---- what differs, in features ---- */

#define NODE(name, target, args)                                                                      \
    "{\"name\": \"" name "\", \"op\": \"call_function\", \"target\": \"" target "\", \"args\": [" args "]}"
#define REF(name) "{\"$node\": \"" name "\"}"
#define TENSOR(factor)                                                                                \
    "{\"name\": \"i\", \"value\": {\"$tensor\": {\"dtype\": \"int8\", \"shape\": [\"s0\", \"" factor "*s0\"]}}}"
#define X "{\"name\": \"x\", \"op\": \"placeholder\", \"target\": \"x\"}"
#define GRAPH(nodes) "\"graph\": {\"nodes\": [" X ", " nodes "]}"

static struct {
    char const *stored, *asked;
    size_t exact, rough; /* features that differ, and those that differ in more than numbers */
} const cases[] = {
    { "\"options\": {\"a\": 1, \"b\": 2}", "\"options\": {\"b\": 2, \"a\": 1}", 0, 0 },
    { "\"options\": {\"a\": 1, \"b\": 2}", "\"options\": {\"a\": 1, \"b\": 3}", 1, 0 },
    { "\"options\": {\"a\": 1, \"b\": true}", "\"options\": {\"a\": 1, \"b\": false}", 1, 1 },
    { "\"options\": {\"a\": 1}", "\"options\": {\"a\": 1, \"b\": 3, \"c\": 4}", 2, 2 },
    { "\"options\": {\"a\": 1}", "\"config\": {\"a\": 1}", 1, 1 },
    /* In lists positions don't count. */
    { "\"options\": {\"a\": [\"x\", \"y\", \"z\"]}", "\"options\": {\"a\": [\"y\", \"z\"]}", 1, 1 },
    /* Neither names nor references. */
    { GRAPH(NODE("a", "mm", REF("x")) ", " NODE("b", "add", REF("a") ", 1")),
      GRAPH(NODE("c", "mm", REF("x")) ", " NODE("d", "add", REF("x") ", 1")), 0, 0 },
    /* One node more, which moves the references behind it. */
    { GRAPH(NODE("a", "mm", REF("x")) ", " NODE("b", "add", REF("a") ", 1")),
      GRAPH(NODE("n", "relu", REF("x")) ", " NODE("a", "mm", REF("n")) ", " NODE("b", "add", REF("a") ", 1")), 1, 1 },
    { GRAPH(NODE("a", "mm", REF("x")) ", " NODE("b", "add", REF("a") ", 1")),
      GRAPH(NODE("a", "mm", REF("x")) ", " NODE("b", "add", REF("a") ", 2")), 1, 0 },
    /* One symbol more, which renumbers others. */
    { "\"inputs\": [" TENSOR("8") "]",
      "\"inputs\": [{\"name\": \"j\", \"value\": {\"$sym\": \"s9\"}}, " TENSOR("8") "]", 1, 1 },
    { "\"inputs\": [" TENSOR("8") "]",
      "\"inputs\": [" TENSOR("9") "]", 1, 0 },
    /* Texts by lines; a number more or less in them is none. */
    { "\"module\": \"a\\nb f32\\nc\\n\"", "\"module\": \"a\\nb f16\\nc\\n\"", 1, 0 },
    { "\"module\": \"a\\nb\\nc\\n\"", "\"module\": \"a\\nx\\ny\\nc\\n\"", 2, 2 },
};

static void
test_features_that_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gcache_graph *stored = read_graph("generic", cases[i].stored), *asked = read_graph("generic", cases[i].asked);
        gci_likeness likeness = compare(stored, asked), back = compare(asked, stored);
        size_t exact = gci_likeness_differing(&likeness, GCI_EXACT), rough = gci_likeness_differing(&likeness, GCI_ROUGH);
        if (exact != cases[i].exact || rough != cases[i].rough)
            fail_msg("%s, %s: %zu, %zu", cases[i].stored, cases[i].asked, exact, rough);
        assert_int_equal(gci_likeness_differing(&back, GCI_EXACT), exact);
        /* A sketch is never farther than that, and of a few differences says as many. */
        unsigned distance = sketch_distance(stored, asked);
        assert_true(gci_sketch_least(distance) <= exact);
        assert_true((distance == 0) == (exact == 0));
        gcache_graph_free(stored);
        gcache_graph_free(asked);
    }
}

/* ---- many nodes ---- */

/* `nodes` nodes of which `changed` have another constant, of a vocabulary of its own. */
static gcache_graph *
make_graph(char const *vocabulary, int nodes, int changed)
{
    gcache_graph *g = gcache_graph_new("bench/1");
    gcache_node last = gcache_graph_input(g, "x", &(gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = "float32" });
    char target[64];

    for (int i = 0; i < nodes; i++) {
        snprintf(target, sizeof target, "%s.op%c", vocabulary, 'a' + i % 17);
        last = gcache_graph_call(g, target, &last, 1);
        gcache_graph_kwarg_int(g, last, "size", i < changed ? 100000 + i : i);
    }
    gcache_graph_output(g, last);
    return g;
}

/* One of 3,000 is told from two and three, whatever else there is. */
static void
test_sketches_count(void **state)
{
    gcache_graph *base = make_graph("aten", 3000, 0);

    (void)state;
    for (int changed = 1; changed <= 12; changed++) {
        gcache_graph *other = make_graph("aten", 3000, changed);
        unsigned distance = sketch_distance(base, other);
        /* Each takes a hash away and adds one, four a piece; a few may meet in a bucket and cancel. */
        assert_in_range(distance / 4096, changed <= 3 ? 8 * (unsigned)changed : 5 * (unsigned)changed, 8 * (unsigned)changed);
        gcache_graph_free(other);
    }
    for (int changed = 100; changed <= 1600; changed *= 2) {
        gcache_graph *other = make_graph("aten", 3000, changed);
        unsigned about = gci_sketch_estimate(sketch_distance(base, other));
        assert_in_range(about, (unsigned)changed / 2, (unsigned)changed * 2);
        gcache_graph_free(other);
    }
    gcache_graph_free(base);
}

static void
check_kin(gcache_graph *stored, gcache_graph *asked, bool kin, size_t differ, size_t of)
{
    gci_likeness likeness = compare(stored, asked);
    size_t all;

    assert_int_equal(gci_likeness_units(&likeness, &all), differ);
    assert_int_equal(all, of);
    assert_int_equal(gci_likeness_is_kin(&likeness), kin);
    gcache_graph_free(asked);
}

static void
test_kin(void **state)
{
    gcache_graph *base = make_graph("aten", 300, 0), *small = make_graph("aten", 3, 0);

    (void)state;
    check_kin(base, make_graph("aten", 300, 5), true, 5, 301);
    /* Most with other sizes: still the same graph. */
    check_kin(base, make_graph("aten", 300, 200), true, 200, 301);
    check_kin(base, make_graph("aten", 300, 299), false, 299, 301);
    /* Shares the output and the kind. */
    check_kin(base, make_graph("prims", 300, 0), false, 301, 301);
    check_kin(base, make_graph("aten", 100, 0), false, 201, 301);
    check_kin(small, make_graph("aten", 3, 3), true, 3, 4);
    gcache_graph *options = read_graph("generic", "\"options\": {\"a\": true, \"b\": \"x\"}");
    check_kin(options, read_graph("generic", "\"options\": {\"a\": false, \"b\": \"y\"}"), true, 2, 2);
    check_kin(options, read_graph("generic", "\"options\": {\"c\": true, \"d\": \"x\"}"), false, 2, 2);
    gcache_graph_free(options);
    check_kin(small, make_graph("prims", 3, 0), false, 4, 4);
    gcache_graph_free(base);
    gcache_graph_free(small);
}

/* Whatever its bytes are, a form is read to its end or not at all. */
static void
test_what_is_no_form(void **state)
{
    gcache_graph *graph = make_graph("aten", 20, 0);
    gci_view form = form_of(graph);
    gci_sketch sketch = { { 0 } };
    char *bytes = malloc(form.size);

    (void)state;
    assert_non_null(bytes);
    assert_false(gci_features_each(gci_view_of(NULL, 0), gci_sketch_add, &sketch));
    for (size_t size = 0; size < form.size; size++) {
        memcpy(bytes, form.data, size);
        assert_false(gci_features_each(gci_view_of(bytes, size), gci_sketch_add, &sketch));
    }
    for (size_t i = 0; i < form.size * 8; i++) {
        memcpy(bytes, form.data, form.size);
        bytes[i / 8] = (char)(bytes[i / 8] ^ 1 << i % 8);
        gci_features_each(gci_view_of(bytes, form.size), gci_sketch_add, &sketch);
    }
    free(bytes);
    gcache_graph_free(graph);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_features_that_differ),
        cmocka_unit_test(test_sketches_count),
        cmocka_unit_test(test_kin),
        cmocka_unit_test(test_what_is_no_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
