/*
 * The diff of canonical forms: alignment, hunks, bounds, and what is no form.
 */
#include "base/text/json.h"
#include "graph/diff/diff.h"
#include "graph/sequence/edits.h"
#include "graph/sequence/lcs.h"

#include <guardcache/graph.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static gcache_graph *
read_description(char const *components)
{
    gcache_graph *graph;
    gcache_error error;
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "{\"format\": \"guardcache-graph/1\", \"kind\": \"generic\", %s}", components);
    if (gcache_graph_read(text.data, text.size, "d", &graph, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    gci_buf_clear(&text);
    return graph;
}

static char *
diff_text(gcache_graph *a, gcache_graph *b, size_t max_items, gcache_diff_form form)
{
    void const *bytes[2];
    size_t size[2], count;
    char *text;

    assert_int_equal(gcache_graph_canonical(a, &bytes[0], &size[0], NULL), GCACHE_OK);
    assert_int_equal(gcache_graph_canonical(b, &bytes[1], &size[1], NULL), GCACHE_OK);
    assert_int_equal(gcache_diff(bytes[0], size[0], bytes[1], size[1], max_items, form, &text, &count, NULL), GCACHE_OK);
    return text;
}

static void
check_diff(char const *a, char const *b, char const *expected)
{
    gcache_graph *graphs[2] = { read_description(a), read_description(b) };
    char *text = diff_text(graphs[0], graphs[1], 50, GCACHE_DIFF_TEXT);

    assert_string_equal(text, expected);
    free(text);
    gcache_graph_free(graphs[0]);
    gcache_graph_free(graphs[1]);
}

/* ---- values ---- */

static void
test_values(void **state)
{
    (void)state;
    check_diff("\"a\": 1", "\"a\": 1", "");
    check_diff("\"a\": 1", "\"a\": 2", "a: 1 -> 2\n");
    check_diff("\"a\": 1", "\"b\": 1", "- a: 1\n+ b: 1\n");
    check_diff("\"a\": {\"x\": true, \"y\": null}", "\"a\": {\"x\": 1, \"y\": 1.0}", "a.x: true -> 1\na.y: null -> 1.0\n");
    check_diff("\"a\": [1, 2, 3]", "\"a\": [1, 9, 2, 3]", "+ a[1]: 9\n");
    check_diff("\"a\": [1, 2, 3]", "\"a\": [1, 3]", "- a[1]: 2\n");
    check_diff("\"a\": {\"$set\": [1, 2]}", "\"a\": {\"$set\": [2, 3, 4]}", "- a[0]: 1\n+ a[1]: 3\n+ a[2]: 4\n");
    check_diff("\"a\": {\"$set\": [1, 2, 3]}", "\"a\": {\"$set\": [2, 3, 8]}", "- a[0]: 1\n+ a[2]: 8\n");
    check_diff("\"a\": {\"$set\": [1, 2, 3]}", "\"a\": {\"$set\": [1, 2, 8]}", "a[2]: 3 -> 8\n");
    check_diff("\"a\": {\"$tuple\": [1]}", "\"a\": [1]", "a: (1,) -> [1]\n");
    check_diff("\"a\": {\"$enum\": \"torch.float32\"}", "\"a\": \"torch.float32\"", "a: torch.float32 -> \"torch.float32\"\n");
    check_diff("\"a\": {\"$bytes\": \"YWJj\"}", "\"a\": {\"$bytes\": \"YWJk\"}", "a: bytes 616263 -> bytes 616264\n");
    check_diff("\"a\": {\"$tensor\": {\"dtype\": \"f32\", \"shape\": [\"s0\", 4], \"device\": \"cpu\"}}", "\"a\": 1",
               "a: f32[s0, 4] on cpu -> 1\n");
}

/* What was asked for, typed: a symbol, a text of the same letters and a number are told apart in both forms. */
static void
check_typed(char const *asked, char const *plain, char const *typed)
{
    gcache_graph *graphs[2] = { read_description("\"a\": 2"), read_description(asked) };
    char *text = diff_text(graphs[0], graphs[1], 50, GCACHE_DIFF_TEXT);
    char *json = diff_text(graphs[0], graphs[1], 50, GCACHE_DIFF_JSON);

    if (strstr(text, plain) == NULL || strstr(json, typed) == NULL)
        fail_msg("no %s in %s, or no %s in %s", plain, text, typed, json);
    free(text);
    free(json);
    gcache_graph_free(graphs[0]);
    gcache_graph_free(graphs[1]);
}

static void
test_types_can_be_told(void **state)
{
    (void)state;
    check_typed("\"a\": \"s0\"", "a: 2 -> \"s0\"\n", "\"stored\": \"2\", \"asked\": \"\\\"s0\\\"\"");
    check_typed("\"a\": {\"$sym\": \"s9\"}", "a: 2 -> s0\n", "\"asked\": \"{\\\"$sym\\\": \\\"s0\\\"}\"");
    check_typed("\"a\": \"2\"", "a: 2 -> \"2\"\n", "\"asked\": \"\\\"2\\\"\"");
    check_typed("\"a\": {\"$enum\": \"x.y\"}", "a: 2 -> x.y\n", "\"asked\": \"{\\\"$enum\\\": \\\"x.y\\\"}\"");
    check_typed("\"a\": [{\"$sym\": \"s9\"}, \"s0\"]", "a: 2 -> [s0, \"s0\"]\n",
                "\"asked\": \"[{\\\"$sym\\\": \\\"s0\\\"}, \\\"s0\\\"]\"");
}

/* ---- graphs ---- */

#define NODE(name, op, args) "{\"name\": \"" name "\", \"op\": \"call_function\", \"target\": \"" op "\", \"args\": [" args "]}"
#define REF(name) "{\"$node\": \"" name "\"}"
#define HEAD_NODE "{\"name\": \"x\", \"op\": \"placeholder\", \"target\": \"x\"}"

static void
test_nodes(void **state)
{
    char const *plain = "\"graph\": {\"nodes\": [" HEAD_NODE ", " NODE("a", "sin", REF("x")) ", " NODE("b", "cos", REF("a")) ", "
                        NODE("c", "add", REF("a") ", " REF("b")) ", " NODE("d", "mul", REF("c") ", 2") "]}";

    (void)state;
    check_diff(plain,
               "\"graph\": {\"nodes\": [" HEAD_NODE ", " NODE("n", "neg", REF("x")) ", " NODE("a", "sin", REF("x")) ", "
               NODE("b", "cos", REF("a")) ", " NODE("c", "add", REF("a") ", " REF("b")) ", "
               NODE("d", "mul", REF("c") ", 2") "]}",
               "+ graph.nodes[1]: neg(nodes[0])\n");
    check_diff(plain,
               "\"graph\": {\"nodes\": [" HEAD_NODE ", " NODE("a", "sin", REF("x")) ", " NODE("b", "cos", REF("a")) ", "
               NODE("m", "mul", REF("b") ", 0.5") ", "
               NODE("c", "add", REF("a") ", " REF("m")) ", "
               NODE("d", "mul", REF("c") ", 2") "]}",
               "+ graph.nodes[3]: mul(nodes[2], 0.5)\nand so: 1 reference renumbered\n");
    check_diff(plain,
               "\"graph\": {\"nodes\": [" HEAD_NODE ", " NODE("a", "sin", REF("x")) ", "
               NODE("c", "add", REF("a") ", " REF("a")) ", "
               NODE("d", "mul", REF("c") ", 2") "]}",
               "- graph.nodes[2]: cos(nodes[1])\nand so: 1 reference renumbered\n");
    check_diff(plain,
               "\"graph\": {\"nodes\": [" HEAD_NODE ", " NODE("a", "sin", REF("x")) ", " NODE("b", "tan", REF("a")) ", "
               NODE("c", "add", REF("a") ", " REF("b")) ", "
               NODE("d", "mul", REF("c") ", 2") "]}",
               "graph.nodes[2].target: \"cos\" -> \"tan\"\n");
}

/* A chain: each node is applied to the one before and a number. */
#define CHAIN(a, b, c, d, e) "\"graph\": {\"nodes\": [" HEAD_NODE ", " a ", " b ", " c ", " d ", " e "]}"

/* Of alignments that are as likely, the one in which nodes stay where they are. */
static void
test_nodes_stay_in_place(void **state)
{
    char const *plain = CHAIN(NODE("a", "mul", REF("x") ", 0.5"), NODE("b", "mul", REF("a") ", 2"),
                              NODE("c", "add", REF("b") ", 3"), NODE("d", "mul", REF("c") ", 4"), NODE("e", "sub", REF("d") ", 5"));
    char const *same = CHAIN(NODE("a", "add", REF("x") ", 1"), NODE("b", "add", REF("a") ", 1"), NODE("c", "add", REF("b") ", 1"),
                             NODE("d", "add", REF("c") ", 1"), NODE("e", "add", REF("d") ", 1"));

    (void)state;
    check_diff(plain, CHAIN(NODE("a", "div", REF("x") ", 0.5"), NODE("b", "mul", REF("a") ", 2"), NODE("c", "sub", REF("b") ", 3"),
                            NODE("d", "mul", REF("c") ", 4"), NODE("e", "sub", REF("d") ", 5")),
               "graph.nodes[1].target: \"mul\" -> \"div\"\ngraph.nodes[3].target: \"add\" -> \"sub\"\n");
    /* The same beside a node that is new. */
    check_diff(plain, CHAIN(NODE("a", "div", REF("x") ", 0.5"), NODE("b", "mul", REF("a") ", 2"),
                            NODE("n", "neg", REF("b")) ", " NODE("c", "sub", REF("n") ", 3"),
                            NODE("d", "mul", REF("c") ", 4"), NODE("e", "sub", REF("d") ", 5")),
               "graph.nodes[1].target: \"mul\" -> \"div\"\n+ graph.nodes[3]: neg(nodes[2])\n"
               "graph.nodes[4] (was nodes[3]).target: \"add\" -> \"sub\"\nand so: 1 reference renumbered\n");
    check_diff(same, CHAIN(NODE("a", "add", REF("x") ", 2"), NODE("b", "add", REF("a") ", 1"), NODE("c", "add", REF("b") ", 1"),
                           NODE("d", "add", REF("c") ", 2"), NODE("e", "add", REF("d") ", 1")),
               "graph.nodes[1] add .args[1]: 1 -> 2\n  the same in 1 more node\n");
    /* It is still there, though it isn't a placeholder any more: what refers to it is the same. */
    check_diff("\"graph\": {\"nodes\": [" HEAD_NODE ", " NODE("a", "sin", REF("x")) "]}",
               "\"graph\": {\"nodes\": [{\"name\": \"x\", \"op\": \"get_attr\", \"target\": \"x\"}, "
               NODE("a", "sin", REF("x")) "]}",
               "graph.nodes[0] x .op: \"placeholder\" -> \"get_attr\"\n+ graph.nodes[0].target: \"x\"\n");
}

#define INPUT(name, dtype, shape, stride)                                                             \
    "{\"name\": \"" name "\", \"value\": {\"$tensor\": {\"dtype\": \"" dtype "\", \"shape\": [" shape "], " \
    "\"stride\": [" stride "]}}}"
#define PORT(name) "{\"name\": \"" name "\", \"op\": \"placeholder\", \"target\": \"" name "\"}"
#define IN(inputs) "\"inputs\": [" inputs "], "
#define GRAPH(nodes) "\"graph\": {\"nodes\": [" nodes "]}"

/* The placeholder of an input that is still there is no difference, whichever stands at its place now. */
static void
test_placeholders(void **state)
{
    char const *stored = IN(INPUT("x", "f", "8, 4", "4, 1") ", " INPUT("y", "f", "8, 4", "4, 1"))
        GRAPH(PORT("x") ", " PORT("y") ", " NODE("a", "sin", REF("x")) ", " NODE("b", "cos", REF("y")) ", "
              NODE("c", "add", REF("a") ", " REF("b")));

    (void)state;
    check_diff(stored, IN(INPUT("y", "f", "8, 4", "4, 1")) GRAPH(PORT("y") ", " NODE("b", "cos", REF("y")) ", "
                                                                  NODE("c", "add", REF("b"))),
               "- inputs[0]: f[8, 4]\n- graph.nodes[2]: sin(nodes[0])\n- graph.nodes[2] (was nodes[4]) add .args[0]: nodes[2]\n"
               "and so: 1 placeholder\n");
    check_diff(stored,
               IN(INPUT("w", "f", "8, 4", "4, 1") ", " INPUT("x", "f", "8, 4", "4, 1") ", " INPUT("y", "f", "8, 4", "4, 1"))
               GRAPH(PORT("w") ", " PORT("x") ", " PORT("y") ", " NODE("a", "sin", REF("x")) ", " NODE("b", "cos", REF("y")) ", "
                     NODE("m", "mul", REF("b") ", " REF("w")) ", " NODE("c", "add", REF("a") ", " REF("m"))),
               "+ inputs[0]: f[8, 4]\n+ graph.nodes[5]: mul(nodes[4], nodes[0])\n"
               "and so: 1 placeholder, 1 reference renumbered\n");
    /* The graph is the same, whatever its placeholders stand for now. */
    check_diff(IN(INPUT("x", "f", "8, 4", "4, 1") ", " INPUT("y", "i", "3", "1")) GRAPH(PORT("x") ", " PORT("y")),
               IN(INPUT("z", "b", "5, 2", "2, 1") ", " INPUT("x", "f", "8, 4", "4, 1")) GRAPH(PORT("z") ", " PORT("x")),
               "+ inputs[0]: b[5, 2]\n- inputs[1]: i[3]\n");
}

/* Both sides count by themselves: a row says which is meant where that would be read otherwise. */
static void
test_what_is_written_alike(void **state)
{
    char const *plain = GRAPH(PORT("x") ", " NODE("a", "sin", REF("x")) ", " NODE("b", "cos", REF("a")) ", "
                              NODE("c", "tan", REF("b")) ", " NODE("d", "add", REF("c") ", 2"));

    (void)state;
    check_diff(plain,
               GRAPH(PORT("x") ", " NODE("m", "neg", REF("x")) ", " NODE("n", "exp", REF("m")) ", " NODE("a", "sin", REF("x")) ", "
                     NODE("b", "cos", REF("a")) ", " NODE("c", "tan", REF("n")) ", " NODE("d", "add", REF("c") ", 2")),
               "+ graph.nodes[1]: neg(nodes[0])\n+ graph.nodes[2]: exp(nodes[1])\n"
               "graph.nodes[5] (was nodes[3]) tan .args[0]: nodes[2] (now nodes[4]) -> nodes[2] (new)\n");
#define THREE(x, y, z) IN(INPUT("x", "f", x, "1") ", " INPUT("y", "f", y, "1") ", " INPUT("z", "f", z, "1")) "\"a\": 1"
    check_diff(THREE("8", "\"s1\"", "\"s1\""), THREE("\"s1\"", "\"s2\"", "\"s1\""),
               "inputs[0].value.shape[0]: 8 -> s0\n"
               "inputs[2].value.shape[0]: s0 (now s1) -> s0\n");
    check_diff("\"a\": {\"$bytes\": \"MDEyMzQ1Njc4OWFiY2RlZkFY\"}", "\"a\": {\"$bytes\": \"MDEyMzQ1Njc4OWFiY2RlZkJY\"}",
               "a: bytes ...4158 (18 bytes) -> bytes ...4258 (18 bytes)\n");
}

/* Sizes and strides of another rank are set against each other as a whole. */
static void
test_other_rank(void **state)
{
    (void)state;
    check_diff(IN(INPUT("x", "f", "\"s0\", 128", "128, 1")) "\"a\": 1", IN(INPUT("x", "f", "1, 2, 3", "6, 3, 1")) "\"a\": 1",
               "inputs[0].value.shape: (s0, 128) -> (1, 2, 3)\nand so: 1 stride\n");
    check_diff(IN(INPUT("x", "f", "4, 8", "8, 1")) "\"a\": 1", IN(INPUT("x", "f", "4, 8, 2", "1, 4, 32")) "\"a\": 1",
               "inputs[0].value.shape: (4, 8) -> (4, 8, 2)\ninputs[0].value.stride: (8, 1) -> (1, 4, 32)\n");
}

/* What follows from another difference is folded into it. */
static void
test_consequences(void **state)
{
    char const *stored = IN(INPUT("x", "f", "2, 16, 4", "64, 4, 1")) GRAPH(
        PORT("x") ", " NODE("a", "view", REF("x") ", 2") ", " NODE("b", "view", REF("a") ", 2") ", "
        NODE("c", "sum", REF("b") ", 1"));

    (void)state;
    check_diff(stored, IN(INPUT("x", "f", "3, 16, 4", "64, 4, 1")) GRAPH(
                   PORT("x") ", " NODE("a", "view", REF("x") ", 3") ", " NODE("b", "view", REF("a") ", 3") ", "
                   NODE("c", "sum", REF("b") ", 1")),
               "inputs[0].value.shape[0]: 2 -> 3\n  and so: 2 more constants 2 -> 3\n");
    check_diff(IN(INPUT("x", "f", "4, \"s0\"", "\"s0\", 1")) "\"a\": 1", IN(INPUT("x", "f", "4, \"s0\"", "1, 4")) "\"a\": 1",
               "inputs[0].value.stride: (s0, 1) -> (1, 4)   it is transposed\n");
    check_diff(IN(INPUT("x", "f", "4, \"s0\"", "\"s0\", 1")) "\"a\": 1", IN(INPUT("x", "f", "4, 8", "8, 1")) "\"a\": 1",
               "inputs[0].value.shape[1]: s0 -> 8\nand so: 1 stride\n");
    check_diff("\"options\": {\"o\": 1}, \"a\": 1, " GRAPH(PORT("x")),
               "\"options\": {\"o\": 2}, \"a\": 2, " GRAPH(PORT("x") ", "
               NODE("a", "sin", REF("x"))), "options.o: 1 -> 2\na: 1 -> 2\n+ graph.nodes[1]: sin(nodes[0])\n");
}

#define LONG "a long text that goes on and on and on, for more than is shown of it at once, at "

static void
test_long_texts(void **state)
{
    (void)state;
    check_diff("\"a\": \"" LONG "level 1000000007 of it\"", "\"a\": \"" LONG "level 1000000009 of it\"",
               "a: ...\"t at once, at level 1000000007 of it\" (103 bytes) -> "
               "...\"t at once, at level 1000000009 of it\" (103 bytes)\n");
}

/* A thousand nodes behind an inserted one are no difference. */
static void
test_long_graph(void **state)
{
    gci_buf text[2];
    gcache_graph *graphs[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        gci_buf_init(&text[k], GCI_BUF_NO_LIMIT);
        gci_buf_append_text(&text[k], "\"graph\": {\"nodes\": [" HEAD_NODE);
        for (int i = 0; i < 3000; i++) {
            if (k == 1 && i == 1500)
                gci_buf_append_text(&text[k], ", " NODE("extra", "relu", REF("x")));
            gci_buf_format(&text[k], ", {\"name\": \"n%d\", \"op\": \"call_function\", \"target\": \"f%d\", \"args\": [",
                           i, i % 7);
            if (i != 0)
                gci_buf_format(&text[k], "{\"$node\": \"n%d\"}, ", i - 1);
            gci_buf_append_text(&text[k], REF("x") "]}");
        }
        gci_buf_append_text(&text[k], "]}");
        gci_buf_append_char(&text[k], '\0');
        graphs[k] = read_description(text[k].data);
        gci_buf_clear(&text[k]);
    }
    char *diff = diff_text(graphs[0], graphs[1], 50, GCACHE_DIFF_TEXT);
    assert_string_equal(diff, "+ graph.nodes[1501]: relu(nodes[0])\n");
    free(diff);
    gcache_graph_free(graphs[0]);
    gcache_graph_free(graphs[1]);
}

#define TENSOR(shape) \
    "\"inputs\": [{\"name\": \"x\", \"value\": {\"$tensor\": {\"dtype\": \"f\", \"shape\": [" shape "]}}}]"

/* A size that became symbolic shifts every canonical name behind it; that is one difference, not many. */
static void
test_symbols(void **state)
{
    (void)state;
    check_diff(TENSOR("8, \"s1\", \"s2\", \"s1*s2\""), TENSOR("\"s9\", \"s1\", \"s2\", \"s2*s1\""),
               "inputs[0].value.shape[0]: 8 -> s0\n");
}

/* ---- texts ---- */

static void
test_hunks(void **state)
{
    gci_buf a, b;

    (void)state;
    gci_buf_init(&a, GCI_BUF_NO_LIMIT);
    gci_buf_init(&b, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&a, "\"module\": \"");
    gci_buf_append_text(&b, "\"module\": \"");
    for (int i = 1; i <= 60; i++) {
        gci_buf_format(&a, "line %d of the text\\n", i);
        if (i == 30)
            gci_buf_append_text(&b, "another line\\n");
        else if (i != 50)
            gci_buf_format(&b, "line %d of the text\\n", i);
    }
    gci_buf_append_text(&a, "\"");
    gci_buf_append_text(&b, "\"");
    gci_buf_append_char(&a, '\0');
    gci_buf_append_char(&b, '\0');
    check_diff(a.data, b.data,
               "module:\n"
               "  @@ -28,5 +28,5 @@\n"
               "   line 28 of the text\n"
               "   line 29 of the text\n"
               "  -line 30 of the text\n"
               "  +another line\n"
               "   line 31 of the text\n"
               "   line 32 of the text\n"
               "  @@ -48,5 +48,4 @@\n"
               "   line 48 of the text\n"
               "   line 49 of the text\n"
               "  -line 50 of the text\n"
               "   line 51 of the text\n"
               "   line 52 of the text\n");
    gci_buf_clear(&a);
    gci_buf_clear(&b);
}

/* ---- bounds and forms ---- */

static void
test_bounds(void **state)
{
    gcache_graph *graphs[2] = { read_description("\"a\": [1, 2, 3, 4, 5]"), read_description("\"a\": [2, 3, 4, 5, 6]") };
    char *text = diff_text(graphs[0], graphs[1], 2, GCACHE_DIFF_TEXT);

    (void)state;
    assert_string_equal(text, "a[0]: 1 -> 2\na[1]: 2 -> 3\n... and 3 more\n");
    free(text);
    text = diff_text(graphs[0], graphs[1], 1, GCACHE_DIFF_JSON);
    assert_string_equal(text, "{\"equal\": false, \"differs\": [{\"path\": \"a[0]\", \"stored\": \"1\", \"asked\": \"2\"}], "
                              "\"left_out\": 4}");
    free(text);
    text = diff_text(graphs[0], graphs[0], 1, GCACHE_DIFF_JSON);
    assert_string_equal(text, "{\"equal\": true, \"differs\": [], \"left_out\": 0}");
    free(text);
    gcache_graph_free(graphs[0]);
    gcache_graph_free(graphs[1]);
}

static void
test_no_form(void **state)
{
    char *text = NULL;

    (void)state;
    assert_int_equal(gcache_diff("\x01", 1, "\x01", 1, 0, GCACHE_DIFF_TEXT, &text, NULL, NULL), GCACHE_ERROR_CORRUPT);
    assert_int_equal(gcache_diff("\xa1", 1, "\xa0", 1, 0, GCACHE_DIFF_TEXT, &text, NULL, NULL), GCACHE_ERROR_CORRUPT);
    assert_null(text);
}

/* ---- the alignment itself ---- */

static void
check_lcs(char const *a, char const *b, size_t expected)
{
    uint64_t x[64] = { 0 }, y[64] = { 0 };
    uint32_t match[64], n = (uint32_t)strlen(a), m = (uint32_t)strlen(b), last = 0;
    size_t length = 0;

    for (uint32_t i = 0; i < n; i++)
        x[i] = (uint8_t)a[i];
    for (uint32_t i = 0; i < m; i++)
        y[i] = (uint8_t)b[i];
    assert_true(gci_lcs(x, n, y, m, match));
    for (uint32_t i = 0; i < n; i++) {
        if (match[i] == GCI_LCS_NONE)
            continue;
        assert_true(match[i] < m && x[i] == y[match[i]]);
        assert_true(length == 0 || match[i] > last);
        last = match[i];
        length++;
    }
    assert_int_equal(length, expected);
}

static void
test_lcs(void **state)
{
    uint32_t n = 20000;
    uint64_t *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    uint32_t *match = malloc(n * sizeof *match);

    (void)state;
    check_lcs("", "", 0);
    check_lcs("abc", "", 0);
    check_lcs("abc", "abc", 3);
    check_lcs("abcabba", "cbabac", 4);
    check_lcs("xaxbxcx", "abc", 3);
    check_lcs("abcdefgh", "hgfedcba", 1);
    check_lcs("aaaa", "aa", 2);
    for (uint32_t i = 0; i < n; i++) { /* nothing in common, and too long for the exact way */
        a[i] = i;
        b[i] = n + i;
    }
    b[n / 2] = a[n / 2];
    assert_true(gci_lcs(a, n, b, n, match));
    free(a);
    free(b);
    free(match);
}

enum { EDITED = 12, OF_THREE = 3 };

static void
make_items(uint32_t count, uint64_t *items)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *item = items + (size_t)i * GCI_EDIT_HASHES;
        item[GCI_EDIT_OUTLINE] = (uint64_t)(rand() % OF_THREE);
        item[GCI_EDIT_REST] = (uint64_t)(rand() % OF_THREE);
        item[GCI_EDIT_WHOLE] = item[GCI_EDIT_OUTLINE] * OF_THREE + item[GCI_EDIT_REST];
    }
}

/* 0: they are equal; 1: in part; 2: not at all. */
static uint32_t
edits_between(uint64_t const *a, uint64_t const *b)
{
    bool whole = a[GCI_EDIT_WHOLE] == b[GCI_EDIT_WHOLE];

    return whole ? 0 : a[GCI_EDIT_OUTLINE] == b[GCI_EDIT_OUTLINE] || a[GCI_EDIT_REST] == b[GCI_EDIT_REST] ? 1 : 2;
}

/* The plain way: the fewest edits between all beginnings. */
static uint32_t
count_edits(uint64_t const *a, uint32_t n, uint64_t const *b, uint32_t m)
{
    uint32_t fewest[EDITED + 1][EDITED + 1];

    for (uint32_t i = 0; i <= n; i++) {
        for (uint32_t k = 0; k <= m; k++) {
            fewest[i][k] = i + k;
            if (i == 0 || k == 0)
                continue;
            uint32_t pair = fewest[i - 1][k - 1] + edits_between(a + (i - 1) * GCI_EDIT_HASHES, b + (k - 1) * GCI_EDIT_HASHES);
            uint32_t alone = 1 + (fewest[i - 1][k] < fewest[i][k - 1] ? fewest[i - 1][k] : fewest[i][k - 1]);
            fewest[i][k] = pair < alone ? pair : alone;
        }
    }
    return fewest[n][m];
}

static void
test_edits(void **state)
{
    uint64_t a[EDITED * GCI_EDIT_HASHES], b[EDITED * GCI_EDIT_HASHES];
    uint32_t match[EDITED];

    (void)state;
    srand(17);
    for (int round = 0; round < 5000; round++) {
        uint32_t n = (uint32_t)(rand() % (EDITED + 1)), m = (uint32_t)(rand() % (EDITED + 1)), edits = n + m, next = 0;
        make_items(n, a);
        make_items(m, b);
        for (uint32_t i = 0; i < n; i++)
            match[i] = GCI_LCS_NONE;
        assert_true(gci_edits(a, n, b, m, match));
        for (uint32_t i = 0; i < n; i++) {
            if (match[i] == GCI_LCS_NONE)
                continue;
            assert_true(match[i] >= next && match[i] < m);
            next = match[i] + 1;
            uint32_t between = edits_between(a + i * GCI_EDIT_HASHES, b + match[i] * GCI_EDIT_HASHES);
            assert_true(between < 2);
            edits = edits - 2 + between;
        }
        assert_int_equal(edits, count_edits(a, n, b, m));
    }
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_values), cmocka_unit_test(test_types_can_be_told),
        cmocka_unit_test(test_nodes), cmocka_unit_test(test_nodes_stay_in_place), cmocka_unit_test(test_long_graph),
        cmocka_unit_test(test_placeholders), cmocka_unit_test(test_what_is_written_alike), cmocka_unit_test(test_other_rank),
        cmocka_unit_test(test_consequences), cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_symbols), cmocka_unit_test(test_hunks), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_no_form), cmocka_unit_test(test_lcs), cmocka_unit_test(test_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
