/*
 * What counts and what doesn't: fixtures/canon/pairs.jsonl, a named pair of descriptions a line, `same` or `different`,
 * the latter with a path that the diff must name.
 */
#include "base/text/json.h"
#include "graph/cbor/cbor_read.h"
#include "graph/diff/diff.h"

#include <guardcache/graph.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static gcache_graph *
read_graph(gci_value const *description, char const *name)
{
    gci_buf text;
    gcache_graph *graph;
    gcache_error error;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_json_write(&text, description);
    assert_false(text.failed);
    if (gcache_graph_read(text.data, text.size, name, &graph, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    gci_buf_clear(&text);
    return graph;
}

static gci_view
canonical_of(gcache_graph *graph)
{
    void const *bytes;
    size_t size;
    gcache_error error;

    if (gcache_graph_canonical(graph, &bytes, &size, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    return gci_view_of(bytes, size);
}

static void
check_path(char const *name, gcache_graph *a, gcache_graph *b, gci_view path)
{
    gci_diff *diff;
    gci_buf text;
    bool found = false;

    assert_int_equal(gci_diff_make(canonical_of(a), canonical_of(b), 50, &diff, NULL), GCACHE_OK);
    for (size_t i = 0; i < diff->count; i++)
        found = found || gci_view_equal(diff->items[i].path, path);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_diff_write_text(diff, "  ", &text);
    gci_buf_append_char(&text, '\0');
    if (!found)
        fail_msg("%s: the diff doesn't name %.*s but\n%s", name, (int)path.size, path.data, text.data);
    if (diff->count > 3)
        fail_msg("%s: one change makes many differences\n%s", name, text.data);
    gci_buf_clear(&text);
    gci_diff_free(diff);
}

static void
check_equal(char const *name, gcache_graph *a, gcache_graph *b)
{
    gci_diff *diff;

    if (!gci_view_equal(canonical_of(a), canonical_of(b)))
        fail_msg("%s: one key but two forms", name);
    assert_int_equal(gci_diff_make(canonical_of(a), canonical_of(b), 50, &diff, NULL), GCACHE_OK);
    assert_int_equal(diff->count, 0);
    gci_diff_free(diff);
}

static void
check_pair(gci_value const *pair)
{
    char name[128];
    gci_value const *path = gci_map_find(pair, "path");
    gcache_graph *graphs[2];
    gcache_key keys[2];
    gcache_error error;

    snprintf(name, sizeof name, "%.*s", (int)gci_map_find(pair, "name")->text.size, gci_map_find(pair, "name")->text.data);
    for (size_t i = 0; i < 2; i++) {
        graphs[i] = read_graph(gci_map_find(pair, i == 0 ? "a" : "b"), name);
        if (gcache_graph_key(graphs[i], &keys[i], &error) != GCACHE_OK)
            fail_msg("%s: %s", name, error.message);
    }
    bool same = memcmp(keys[0].bytes, keys[1].bytes, sizeof keys[0].bytes) == 0;
    if (same != gci_view_is(gci_map_find(pair, "label")->text, "same"))
        fail_msg("%s: the keys are %s", name, same ? "equal" : "not equal");
    if (same)
        check_equal(name, graphs[0], graphs[1]);
    else
        check_path(name, graphs[0], graphs[1], path->text);
    gcache_graph_free(graphs[0]);
    gcache_graph_free(graphs[1]);
}

static void
test_pairs(void **state)
{
    char path[512], *line = NULL;
    size_t room = 0, count = 0;
    ssize_t size;

    (void)state;
    snprintf(path, sizeof path, "%s/fixtures/canon/pairs.jsonl", getenv("GUARDCACHE_SOURCE"));
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while ((size = getline(&line, &room, file)) > 0) {
        gci_arena arena;
        gci_value pair;
        gcache_error error;
        gci_arena_init(&arena, (size_t)1 << 28);
        if (gci_json_read(gci_view_of(line, (size_t)size), path, &arena, &pair, &error) != GCACHE_OK)
            fail_msg("%s", error.message);
        check_pair(&pair);
        gci_arena_clear(&arena);
        count++;
    }
    assert_true(count >= 100);
    free(line);
    fclose(file);
}

/* ---- descriptions that are refused ---- */

#define HEAD "{\"format\": \"guardcache-graph/1\", \"kind\": \"fx\", "

static void
check_error(char const *text, gcache_status status, char const *message)
{
    gcache_graph *graph = NULL;
    gcache_error error;

    assert_int_equal(gcache_graph_read(text, strlen(text), "d", &graph, &error), status);
    assert_null(graph);
    assert_string_equal(error.message, message);
}

static void
test_errors(void **state)
{
    gcache_status const bad = GCACHE_ERROR_DESCRIPTION;

    (void)state;
    check_error("[]", bad, "d:1:1: a description must be a map");
    check_error("{\"kind\": \"fx\"}", bad, "d:1:1: \"format\" is missing");
    check_error("{\"format\": \"guardcache-graph/2\", \"kind\": \"fx\"}", bad,
                "d:1:12: format: format must be \"guardcache-graph/1\"");
    check_error("{\"format\": \"guardcache-graph/1\", \"kind\": \"fx\", \"A\\u0000x\": 1}", bad,
                "d:1:60: A: a component's name must not contain a zero character");
    check_error("{\"format\": \"guardcache-graph/1\", \"kind\": 3}", bad, "d:1:42: kind: kind must be a string");
    check_error(HEAD "\"graph\": []}", bad, "d:1:57: graph: a graph must be a map");
    check_error(HEAD "\"graph\": {}}", bad, "d:1:57: graph: \"nodes\" is missing");
    check_error(HEAD "\"graph\": {\"nodes\": {}}}", bad, "d:1:67: graph.nodes: nodes must be a list");
    check_error(HEAD "\"graph\": {\"nodes\": [{\"name\": \"a\", \"op\": \"x\", \"args\": 1}]}}", bad,
                "d:1:101: graph.nodes[0].args: args must be a list");
    check_error(HEAD "\"graph\": {\"nodes\": [{\"name\": \"a\", \"op\": 3}]}}", bad,
                "d:1:88: graph.nodes[0].op: op must be a string");
    check_error(HEAD "\"graph\": {\"nodes\": [{\"name\": \"a\"}]}}", bad, "d:1:68: graph.nodes[0]: \"op\" is missing");
    check_error(HEAD "\"graph\": {\"nodes\": [{\"name\": \"a\", \"op\": \"x\"},\n {\"name\": \"a\", \"op\": \"y\"}]}}", bad,
                "d:2:2: graph.nodes[1]: a second node \"a\"");
    check_error(HEAD "\"graph\": {\"nodes\": [{\"name\": \"a\", \"op\": \"x\", \"kwargs\": {\"k\": {\"$node\": \"b\"}}}]}}", bad,
                "d:1:109: graph.nodes[0].kwargs.k: there is no node \"b\" here");
    check_error(HEAD "\"inputs\": [{\"value\": 1}]}", bad, "d:1:59: inputs[0]: \"name\" is missing");
    check_error(HEAD "\"inputs\": [{\"name\": \"x\"}]}", bad, "d:1:59: inputs[0]: \"value\" is missing");
    check_error(HEAD "\"module\": 3}", bad, "d:1:58: module: module must be a string");
    check_error(HEAD "\"options\": []}", bad, "d:1:59: options: options must be a map");
    check_error(HEAD "\"x\": {\"$unknown\": 1}}", bad, "d:1:53: x: \"$unknown\" is not a known type");
    check_error(HEAD "\"x\": [0, {\"$int\": \"1x\"}]}", bad,
                "d:1:57: x[1]: $int must be a string of decimal digits, at most 4300");
    check_error(HEAD "\"x\": {\"$float\": \"1.5\"}}", bad, "d:1:53: x: $float must be \"nan\", \"inf\" or \"-inf\"");
    check_error(HEAD "\"x\": {\"$bytes\": \"YWJ\"}}", bad, "d:1:53: x: $bytes must be padded base64");
    check_error(HEAD "\"x\": {\"$set\": 1}}", bad, "d:1:53: x: $set must be a list");
    check_error(HEAD "\"x\": {\"$sym\": 1}}", bad, "d:1:53: x: $sym must be a string");
    check_error(HEAD "\"x\": {\"$tensor\": {\"shape\": []}}}", bad, "d:1:53: x: a tensor needs dtype");
    check_error(HEAD "\"x\": {\"$tensor\": {\"dtype\": \"f\", \"shape\": [1.5]}}}", bad,
                "d:1:90: x.shape[0]: a size must be an integer or an expression");
    check_error(HEAD "\"x\": 1, \"x\": 2}", GCACHE_ERROR_SYNTAX, "d:1:56: x: a second member of this name");
    check_error(HEAD "\"x\": tru}", GCACHE_ERROR_SYNTAX, "d:1:53: x: expected a value");
}

/* ---- long expressions ---- */

/* A sum or product of parts in one order or the other, under one set of names or the other. */
static gcache_key
key_of_long(char const *part, char const *joint, size_t count, bool turned, gcache_status wanted)
{
    gci_buf text;
    gcache_graph *graph;
    gcache_key key = { .bytes = { 0 } };

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&text, "{\"format\": \"guardcache-graph/1\", \"kind\": \"generic\", \"sizes\": {\"$sym\": \"");
    for (size_t i = 0; i < count; i++) {
        size_t number = turned ? 9 * count - i : i;
        gci_buf_append_text(&text, i != 0 ? joint : "");
        for (char const *c = part; *c != '\0'; c++) {
            if (*c == '#')
                gci_buf_format(&text, "%zu", number);
            else
                gci_buf_append(&text, c, 1);
        }
    }
    gci_buf_append_text(&text, "\"}}");
    assert_int_equal(gcache_graph_read(text.data, text.size, "long", &graph, NULL), GCACHE_OK);
    assert_int_equal(gcache_graph_key(graph, &key, NULL), wanted);
    gcache_graph_free(graph);
    gci_buf_clear(&text);
    return key;
}

static void
check_long(char const *part, char const *joint, size_t count)
{
    gcache_key a = key_of_long(part, joint, count, false, GCACHE_OK), b = key_of_long(part, joint, count, true, GCACHE_OK);
    gcache_key other = key_of_long(part, joint, count - 1, false, GCACHE_OK);

    assert_memory_equal(a.bytes, b.bytes, sizeof a.bytes);
    assert_memory_not_equal(a.bytes, other.bytes, sizeof a.bytes);
}

/* What is long has a key like any other: names and order don't count. tests/complexity says what it may take. */
static void
test_long_expressions(void **state)
{
    (void)state;
    check_long("s#", " + ", 3000);
    check_long("s#", "*", 3000);
    check_long("3*s#*u#", " + ", 1000);
    check_long("(s# + 1)", "*", 28);
    check_long("(s# + u# + v#)**9", "*", 12);
    check_long("Max(s#, 7)", " + ", 500);
    /* Each of these few bytes would make a hundred thousand. */
    key_of_long("((((7**32)**32)**5)*s# + (((5**32)**32)**5)*u#)", " + ", 6000, false, GCACHE_ERROR_LIMIT);
}

/* ---- many members ---- */

/* The key of a map of count members, `step` apart in the order they are given in; the canonical form has them in its own. */
static gcache_key
key_of_members(unsigned count, unsigned step, unsigned sizes)
{
    gci_buf text;
    gci_arena arena;
    gci_value form;
    gcache_graph *graph;
    gcache_key key;

    gci_arena_init(&arena, (size_t)1 << 24);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&text, "{\"format\": \"guardcache-graph/1\", \"kind\": \"generic\", \"options\": {");
    for (unsigned i = 0; i < count; i++) {
        unsigned number = i * step % count;
        gci_buf_format(&text, "%s\"%0*u\": %u", i != 0 ? ", " : "", 4 + (int)(number * 37 % sizes), number, number);
    }
    gci_buf_append_text(&text, "}}");
    assert_int_equal(gcache_graph_read(text.data, text.size, "members", &graph, NULL), GCACHE_OK);
    assert_int_equal(gci_cbor_read(canonical_of(graph), &arena, &form, NULL), GCACHE_OK);
    assert_int_equal(gci_map_find(gci_map_find(&form, "components"), "options")->count, count);
    assert_int_equal(gcache_graph_key(graph, &key, NULL), GCACHE_OK);
    gcache_graph_free(graph);
    gci_buf_clear(&text);
    gci_arena_clear(&arena);
    return key;
}

/* Members of one size and of many, in order, backwards and mixed; the counts have no divisor with the steps. */
static void
test_many_members(void **state)
{
    static unsigned const counts[] = { 1, 23, 25, 26, 64, 301 }, sizes[] = { 1, 3, 60, 90 };

    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
            gcache_key straight = key_of_members(counts[i], 1, sizes[k]);
            gcache_key back = key_of_members(counts[i], counts[i] * 4 - 1, sizes[k]);
            gcache_key mixed = key_of_members(counts[i], 17, sizes[k]);
            assert_memory_equal(straight.bytes, back.bytes, sizeof back.bytes);
            assert_memory_equal(straight.bytes, mixed.bytes, sizeof mixed.bytes);
        }
    }
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_long_expressions),
        cmocka_unit_test(test_many_members),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
