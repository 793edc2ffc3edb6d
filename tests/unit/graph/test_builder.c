/*
 * The builder: the same key as the JSON form, sticky errors, and everything it hands out.
 */
#include "graph/graph.h"

#include "base/text/json.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void
key_of(gcache_graph *graph, gcache_key *out_key)
{
    gcache_error error;

    if (gcache_graph_key(graph, out_key, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
}

static void
check_same(gcache_graph *built, char const *json)
{
    gcache_graph *read;
    gcache_error error;
    gcache_key a, b;

    if (gcache_graph_read(json, strlen(json), "json", &read, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    key_of(built, &a);
    key_of(read, &b);
    assert_memory_equal(a.bytes, b.bytes, sizeof a.bytes);
    gcache_graph_free(read);
}

/* ---- many keyword arguments ---- */

/* The last of two nodes with `count` of them, of which number `early` is a map: from it on the nodes are trees. */
static void
check_kwargs(int early, int count)
{
    gcache_graph *g = gcache_graph_new("fx");
    gci_buf json;

    gci_buf_init(&json, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&json, "{\"format\": \"guardcache-graph/1\", \"kind\": \"fx\", \"inputs\": [], \"graph\": {\"nodes\": ["
                               "{\"name\": \"a\", \"op\": \"call_function\", \"target\": \"f\", \"args\": [], \"kwargs\": {}}, "
                               "{\"name\": \"b\", \"op\": \"call_function\", \"target\": \"g\", \"args\": [], \"kwargs\": {");
    gcache_graph_call(g, "f", NULL, 0);
    gcache_node b = gcache_graph_call(g, "g", NULL, 0);
    for (int i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "k%d", i);
        if (i == early)
            gcache_graph_kwarg(g, b, name, gcache_value_json(g, "{\"x\": 1}", 8));
        else
            gcache_graph_kwarg_int(g, b, name, i);
        gci_buf_format(&json, i == early ? "%s\"%s\": {\"x\": 1}" : "%s\"%s\": %d", i == 0 ? "" : ", ", name, i);
    }
    gci_buf_append_text(&json, "}}]}}");
    gci_buf_append(&json, "", 1);
    check_same(g, json.data);
    gci_buf_clear(&json);
    gcache_graph_free(g);
}

/* However many there are, and whenever nodes become trees: room for them is where they are. */
static void
test_many_kwargs(void **state)
{
    (void)state;
    for (int count = 0; count < 40; count++)
        for (int early = 0; early <= count; early++)
            check_kwargs(early, count);
}

/* ---- built and read ---- */

static void
test_same_as_json(void **state)
{
    gcache_graph *g = gcache_graph_new("fx");

    (void)state;
    gcache_tensor x = { .size = sizeof x, .dtype = "float32", .shape = { "s0", "16" }, .stride = { "16", "1" }, .rank = 2,
                        .device = "cpu",
                        .layout = "strided" };
    gcache_node a = gcache_graph_input(g, "x", &x);
    gcache_node n = gcache_graph_input_value(g, "n", gcache_value_symbolic(g, "s0"));
    gcache_node mm = gcache_graph_call(g, "aten.mm.default", (gcache_node[]){ a, a }, 2);
    gcache_graph_kwarg_bool(g, mm, "keepdim", true);
    gcache_graph_kwarg_int(g, mm, "dim", -1);
    gcache_graph_kwarg_float(g, mm, "p", 0.5);
    gcache_graph_kwarg_text(g, mm, "mode", "mean");
    gcache_graph_kwarg(g, mm, "dtype", gcache_value_enum(g, "torch.float32"));
    gcache_graph_subgraph_begin(g, "body");
    gcache_node inner = gcache_graph_node(g, "call_method", "sin", (gcache_value *[]){ gcache_value_node(g, mm) }, 1);
    gcache_graph_output(g, inner);
    gcache_graph_subgraph_end(g);
    gcache_value *pair[] = { gcache_value_node(g, mm), gcache_value_node(g, n) };
    gcache_graph_outputs(g, gcache_value_tuple(g, pair, 2));
    gcache_value *set[] = { gcache_value_int(g, 2), gcache_value_int(g, 1) };
    gcache_value *values[] = { gcache_value_set(g, set, 2), gcache_value_null(g),
                               gcache_value_int_text(g, "1180591620717411303424"), gcache_value_bytes(g, "abc", 3),
                               gcache_value_float(g, (double)NAN), gcache_value_bool(g, false),
                               gcache_value_list(g, set, 2), gcache_value_text(g, "t", 1) };
    char const *names[] = { "set", "null", "big", "bytes", "nan", "no", "list", "text" };
    gcache_graph_component(g, "options", gcache_value_map(g, names, values, 8));
    char const *tensor = "{\"dtype\": \"int64\", \"shape\": [], \"stride\": [], \"values\": 3}";
    gcache_value *map = gcache_value_json(g, tensor, strlen(tensor));
    gcache_graph_component(g, "constants", gcache_value_map(g, (char const *[]){ "c" },
                                                            (gcache_value *[]){ gcache_value_tensor(g, map) }, 1));
    gcache_graph_component(g, "volatile", gcache_value_int(g, 77));
    check_same(g, "{\"format\": \"guardcache-graph/1\", \"kind\": \"fx\", \"graph\": {\"nodes\": ["
                  "{\"name\": \"x\", \"op\": \"placeholder\", \"target\": \"x\", \"args\": [], \"kwargs\": {}},"
                  "{\"name\": \"n\", \"op\": \"placeholder\", \"target\": \"n\"},"
                  "{\"name\": \"mm\", \"op\": \"call_function\", \"target\": \"aten.mm.default\", \"args\": [{\"$node\": \"x\"}, "
                  "{\"$node\": \"x\"}], \"kwargs\": {\"mode\": \"mean\", \"p\": 0.5, \"keepdim\": true, \"dim\": -1, \"dtype\": "
                  "{\"$enum\": \"torch.float32\"}}, \"meta\": {\"v\": 1}},"
                  "{\"name\": \"output\", \"op\": \"output\", \"target\": \"output\", \"args\": [{\"$tuple\": [{\"$node\": "
                  "\"mm\"}, "
                  "{\"$node\": \"n\"}]}]}], \"subgraphs\": {\"body\": {\"nodes\": [{\"name\": \"sin\", \"op\": \"call_method\", "
                  "\"target\": \"sin\", \"args\": [{\"$node\": \"mm\"}]}, {\"name\": \"out\", \"op\": \"output\", \"target\": "
                  "\"output\", \"args\": [{\"$node\": \"sin\"}]}]}}}, "
                  "\"inputs\": [{\"name\": \"a\", \"value\": {\"$tensor\": {\"dtype\": \"float32\", \"shape\": [\"s5\", 16], "
                  "\"stride\": [16, 1], \"device\": \"cpu\", \"layout\": \"strided\", \"requires_grad\": false}}}, "
                  "{\"name\": \"b\", \"value\": {\"$sym\": \"s5\"}}], "
                  "\"options\": {\"set\": {\"$set\": [1, 2]}, \"null\": null, \"big\": 1180591620717411303424, \"bytes\": "
                  "{\"$bytes\": \"YWJj\"}, \"nan\": {\"$float\": \"nan\"}, \"no\": false, \"list\": [2, 1], \"text\": \"t\"}, "
                  "\"constants\": {\"c\": {\"$tensor\": {\"dtype\": \"int64\", \"shape\": [], \"stride\": [], \"values\": 3}}}}");
    gcache_graph_free(g);
}

/* ---- what comes out ---- */

static void
test_symbols(void **state)
{
    gcache_graph *g = gcache_graph_new("fx");
    gcache_symbol const *symbols;
    size_t count;

    (void)state;
    gcache_tensor t = { .size = sizeof t, .dtype = "f", .shape = { "s77", "u3", "s27 + s77" }, .rank = 3 };
    gcache_graph_input(g, "x", &t);
    assert_int_equal(gcache_graph_symbols(g, &symbols, &count, NULL), GCACHE_OK);
    assert_int_equal(count, 3);
    assert_string_equal(symbols[0].name, "s77");
    assert_string_equal(symbols[0].canonical, "s0");
    assert_string_equal(symbols[1].name, "u3");
    assert_string_equal(symbols[1].canonical, "u0");
    assert_string_equal(symbols[2].name, "s27");
    assert_string_equal(symbols[2].canonical, "s1");
    assert_true(gci_view_is(gci_graph_canonical_symbol(g, (gci_view)GCI_VIEW("s27")), "$s1"));
    assert_true(gci_view_is(gci_graph_canonical_symbol(g, (gci_view)GCI_VIEW("s1")), "s1"));
    assert_true(gci_view_is(gci_graph_canonical_symbol(g, (gci_view)GCI_VIEW("t0")), "t0"));
    gcache_graph_free(g);
}

static void
test_salt_and_components(void **state)
{
    gcache_graph *g = gcache_graph_new("generic");
    gcache_component const *components;
    gcache_key plain, again, salted, other;
    size_t count;

    (void)state;
    gcache_graph_component(g, "b", gcache_value_int(g, 1));
    gcache_graph_component(g, "a", gcache_value_int(g, 2));
    gcache_graph_component(g, "volatile", gcache_value_int(g, 3));
    key_of(g, &plain);
    assert_int_equal(gci_graph_key(g, (gci_view)GCI_VIEW("team"), &salted, NULL), GCACHE_OK);
    assert_int_equal(gci_graph_key(g, (gci_view)GCI_VIEW("teal"), &other, NULL), GCACHE_OK);
    assert_memory_not_equal(plain.bytes, salted.bytes, sizeof plain.bytes);
    assert_memory_not_equal(other.bytes, salted.bytes, sizeof plain.bytes);
    assert_int_equal(gcache_graph_components(g, &components, &count, NULL), GCACHE_OK);
    assert_int_equal(count, 2);
    assert_string_equal(components[0].name, "a");
    assert_string_equal(components[1].name, "b");
    gcache_graph_component(g, "c", gcache_value_int(g, 4)); /* a graph may go on after its key was asked for */
    key_of(g, &again);
    assert_memory_not_equal(plain.bytes, again.bytes, sizeof plain.bytes);
    gcache_graph_free(g);
}

static void
test_keyed(void **state)
{
    gcache_key own = { { 1, 2, 3 } }, key, salted;
    gcache_graph *g = gcache_graph_new_keyed("fx", &own);
    void const *bytes;
    size_t size;

    (void)state;
    gcache_graph_line(g, "gm", "ab12", "GraphModule()");
    key_of(g, &key);
    assert_memory_equal(key.bytes, own.bytes, sizeof key.bytes);
    assert_int_equal(gci_graph_key(g, (gci_view)GCI_VIEW("x"), &salted, NULL), GCACHE_OK);
    assert_memory_not_equal(salted.bytes, own.bytes, sizeof key.bytes);
    assert_int_equal(gcache_graph_canonical(g, &bytes, &size, NULL), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gci_graph_line_count(g), 1);
    assert_true(gci_view_is(gci_graph_line_at(g, 0).text, "GraphModule()"));
    gcache_graph_component(g, "options", gcache_value_int(g, 1));
    assert_int_equal(gcache_graph_key(g, &key, NULL), GCACHE_ERROR_ARGUMENT);
    gcache_graph_free(g);
}

/* ---- errors ---- */

static void
check_error(gcache_graph *g, gcache_status status, char const *message)
{
    gcache_key key;
    gcache_error error;

    gcache_graph_kwarg_int(g, 1, "later", 1); /* does nothing any more */
    assert_int_equal(gcache_graph_key(g, &key, &error), status);
    assert_string_equal(error.message, message);
    gcache_graph_free(g);
}

static void
test_errors(void **state)
{
    gcache_tensor t = { .size = sizeof t, .dtype = "f", .rank = 0 };
    gcache_graph *g = gcache_graph_new("fx");

    (void)state;
    gcache_graph_kwarg_int(g, 5, "a", 1);
    check_error(g, GCACHE_ERROR_ARGUMENT, "node 5 isn't one of this graph");
    g = gcache_graph_new("fx");
    gcache_node n = gcache_graph_input(g, "x", &t);
    gcache_graph_kwarg_int(g, n, "a", 1);
    gcache_graph_kwarg_int(g, n, "a", 1);
    check_error(g, GCACHE_ERROR_ARGUMENT, "\"a\" is given twice");
    g = gcache_graph_new("fx");
    gcache_graph_component(g, "a", gcache_value_text(g, "\xff", 1));
    check_error(g, GCACHE_ERROR_ARGUMENT, "a text that isn't valid UTF-8");
    g = gcache_graph_new("fx");
    gcache_graph_component(g, "a", gcache_value_int(g, 1));
    gcache_graph_component(g, "a", gcache_value_int(g, 1));
    check_error(g, GCACHE_ERROR_ARGUMENT, "component \"a\" is given twice");
    g = gcache_graph_new("fx");
    gcache_graph_component(g, "a", NULL);
    check_error(g, GCACHE_ERROR_ARGUMENT, "component \"a\" has no value (NULL)");
    g = gcache_graph_new("fx");
    gcache_graph_component(g, "options", gcache_value_int(g, 1));
    check_error(g, GCACHE_ERROR_DESCRIPTION, "options must be a map");
    g = gcache_graph_new("fx");
    gcache_graph_component(g, "graph", gcache_value_int(g, 1));
    check_error(g, GCACHE_ERROR_ARGUMENT, "component \"graph\" is described by its nodes and inputs");
    g = gcache_graph_new("fx");
    gcache_graph_subgraph_end(g);
    check_error(g, GCACHE_ERROR_ARGUMENT, "no subgraph is open");
    g = gcache_graph_new("fx");
    gcache_value_json(g, "{\"a\": }", 7);
    check_error(g, GCACHE_ERROR_SYNTAX, "1:7: a: expected a value");
    g = gcache_graph_new("fx");
    t.rank = 17;
    gcache_graph_input(g, "x", &t);
    check_error(g, GCACHE_ERROR_ARGUMENT, "a tensor's rank must be 0 to 16");
    g = gcache_graph_new("fx");
    gcache_graph_subgraph_begin(g, "s");
    n = gcache_graph_call(g, "f", NULL, 0);
    gcache_graph_subgraph_end(g);
    gcache_graph_output(g, n);
    check_error(g, GCACHE_ERROR_DESCRIPTION,
                "graph.nodes[0].args[0]: a reference to a node of a graph that doesn't enclose it");
}

static void
test_depth(void **state)
{
    gcache_graph *g = gcache_graph_new("fx");
    gcache_value *value = gcache_value_int(g, 1);
    gcache_key key;

    (void)state;
    for (int i = 0; i < 100000; i++)
        value = gcache_value_list(g, &value, 1);
    gcache_graph_component(g, "x", value);
    assert_int_equal(gcache_graph_key(g, &key, NULL), GCACHE_ERROR_LIMIT);
    gcache_graph_free(g);
}

/* ---- lines, texts, traces ---- */

static void
join_lines(void *state, gcache_line const *line)
{
    gci_buf *out = state;

    assert_int_equal(strlen(line->hash), 64);
    gci_buf_format(out, "%s: %s\n", line->name, line->text);
}

static void
join_changes(void *state, gcache_change const *change)
{
    gci_buf *out = state;

    gci_buf_format(out, "%s [%s] %s -> %s\n", change->path, change->rule != NULL ? change->rule : "-", change->from,
                   change->to != NULL ? change->to : "");
}

static void
check_text(gci_buf *out, char const *expected)
{
    gci_buf_append_char(out, '\0');
    assert_string_equal(out->data, expected);
    gci_buf_clear(out);
}

static char const description[] =
    "{\"format\": \"guardcache-graph/1\", \"kind\": \"fx\", \"graph\": {\"nodes\": [{\"name\": \"x\", \"op\": \"placeholder\", "
    "\"target\": \"x\"}, {\"name\": \"a\", \"op\": \"call_function\", \"target\": \"sin\", \"args\": [{\"$node\": \"x\"}], "
    "\"meta\": {\"m\": 1}}]}, \"inputs\": [{\"name\": \"x\", \"value\": {\"$tensor\": {\"dtype\": \"f32\", \"shape\": [\"s7\"], "
    "\"storage_offset\": 4}}}], \"options\": {\"graph_id\": 3, \"b\": true}, \"code\": \"f(kernel_idx = 3)\", \"volatile\": [7]}";

static void
test_lines(void **state)
{
    gcache_graph *g;
    gci_buf out;

    (void)state;
    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    assert_int_equal(gcache_graph_read(description, sizeof description - 1, "d", &g, NULL), GCACHE_OK);
    assert_int_equal(gcache_graph_lines(g, join_lines, &out, NULL), GCACHE_OK);
    check_text(&out, "code: \"f()\"\ngraph.nodes[0]: placeholder()\ngraph.nodes[1]: sin(nodes[0])\n"
                     "inputs[0]: {\"value\": f32[s0]}\noptions[b]: true\n");
    char *text;
    size_t size;
    assert_int_equal(gcache_graph_text(g, "code", &text, &size, NULL), GCACHE_OK);
    assert_string_equal(text, "f()");
    assert_int_equal(size, 3);
    free(text);
    assert_int_equal(gcache_graph_text(g, "options", &text, &size, NULL), GCACHE_ERROR_NOT_FOUND);
    gcache_graph_free(g);
}

static void
test_trace(void **state)
{
    gcache_graph *g;
    gci_buf out;

    (void)state;
    gci_buf_init(&out, GCI_BUF_NO_LIMIT);
    assert_int_equal(gcache_graph_read(description, sizeof description - 1, "d", &g, NULL), GCACHE_OK);
    assert_int_equal(gcache_graph_trace(g, join_changes, &out, NULL), GCACHE_OK);
    check_text(&out, "volatile [-] [7] -> \n"
                     "inputs[0].name [-] \"x\" -> \n"
                     "inputs[0].value.storage_offset [-] 4 -> \n"
                     "code [code] kernel_idx = 3 -> \n"
                     "graph.nodes[0].name [-] \"x\" -> \n"
                     "graph.nodes[0].target [-] \"x\" -> \n"
                     "graph.nodes[1].name [-] \"a\" -> \n"
                     "graph.nodes[1].meta [-] {\"m\": 1} -> \n"
                     "options.graph_id [options.graph_id] 3 -> \n");
    gcache_graph_free(g);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_same_as_json),
        cmocka_unit_test(test_many_kwargs), cmocka_unit_test(test_symbols), cmocka_unit_test(test_salt_and_components),
        cmocka_unit_test(test_keyed),        cmocka_unit_test(test_errors),  cmocka_unit_test(test_depth),
        cmocka_unit_test(test_lines),        cmocka_unit_test(test_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
