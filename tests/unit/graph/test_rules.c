/*
 * Rule sets: the examples of the shipped ones, paths, texts, limits, and what is no rule set.
 */
#include "base/buf.h"

#include <guardcache/graph.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static gcache_rules *
read_rules(char const *rules)
{
    gcache_rules *set;
    gcache_error error;
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "{\"format\": \"guardcache-rules/1\", \"name\": \"test\", %s}", rules);
    if (gcache_rules_read(text.data, text.size, "r", &set, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    gci_buf_clear(&text);
    return set;
}

static gcache_status
key_under(gcache_rules const *rules, char const *components, gcache_key *out_key, gcache_error *error)
{
    gcache_graph *graph;
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "{\"format\": \"guardcache-graph/1\", \"kind\": \"generic\", %s}", components);
    if (gcache_graph_read(text.data, text.size, "d", &graph, error) != GCACHE_OK)
        fail_msg("%s", error->message);
    gcache_graph_use_rules(graph, rules);
    gcache_status status = gcache_graph_key(graph, out_key, error);
    gcache_graph_free(graph);
    gci_buf_clear(&text);
    return status;
}

static bool
same_under(gcache_rules const *rules, char const *a, char const *b)
{
    gcache_key keys[2];
    gcache_error error;

    if (key_under(rules, a, &keys[0], &error) != GCACHE_OK || key_under(rules, b, &keys[1], &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    return memcmp(keys[0].bytes, keys[1].bytes, sizeof keys[0].bytes) == 0;
}

/* ---- the shipped sets ---- */

static void
report(void *state, size_t rule, char const *problem)
{
    print_error("%s: rule %zu: %s\n", (char const *)state, rule, problem);
}

static void
test_shipped(void **state)
{
    size_t kinds = 0;

    (void)state;
    for (char const *kind; (kind = gcache_rules_kind(kinds)) != NULL; kinds++) {
        size_t size, examples, problems, rules = 0;
        char const *text = gcache_rules_shipped(kind, &size);
        gcache_rules *set;
        gcache_rule rule = GCACHE_RULE_INIT;
        char name[64];
        snprintf(name, sizeof name, "%s", kind);
        assert_int_equal(gcache_rules_read(text, size, kind, &set, NULL), GCACHE_OK);
        assert_int_equal(gcache_rules_test(set, report, name, &examples, &problems, NULL), GCACHE_OK);
        assert_int_equal(problems, 0);
        for (; gcache_rules_at(set, rules, &rule); rules++) {
            assert_non_null(rule.why);
            assert_true(rule.examples >= 2);
        }
        assert_true(examples >= 2 * rules);
        gcache_rules_free(set);
    }
    assert_true(kinds >= 6);
}

/* The set a kind uses on its own is the one a user can read: one hash, so one key. */
static void
test_shipped_as_used(void **state)
{
    static char const text[] = "{\"format\": \"guardcache-graph/1\", \"kind\": \"llvm-ir\", \"module\": \"; c\\nx\\n\"}";
    gcache_graph *graph;
    gcache_rules *set;
    gcache_key implicit, explicit;
    size_t size;

    (void)state;
    assert_int_equal(gcache_graph_read(text, sizeof text - 1, "d", &graph, NULL), GCACHE_OK);
    assert_int_equal(gcache_graph_key(graph, &implicit, NULL), GCACHE_OK);
    char const *shipped = gcache_rules_shipped("llvm-ir", &size);
    assert_int_equal(gcache_rules_read(shipped, size, NULL, &set, NULL), GCACHE_OK);
    gcache_graph_use_rules(graph, set);
    assert_int_equal(gcache_graph_key(graph, &explicit, NULL), GCACHE_OK);
    assert_memory_equal(implicit.bytes, explicit.bytes, sizeof implicit.bytes);
    gcache_graph_free(graph);
    gcache_rules_free(set);
}

/* A set that fails its own examples says so. */
static void
test_failing_examples(void **state)
{
    size_t examples, problems;

    (void)state;
    gcache_rules *set = read_rules("\"text\": [{\"path\": \"t\", \"kind\": \"const\", \"pattern\": \"a\", \"with\": \"aa\", "
                                   "\"same\": [[\"b\", \"c\"]], \"different\": [[\"x\", \"x\"]]}]");
    assert_int_equal(gcache_rules_test(set, NULL, NULL, &examples, &problems, NULL), GCACHE_OK);
    assert_int_equal(examples, 2);
    assert_int_equal(problems, 2);
    gcache_rules_free(set);
    set = read_rules("\"text\": [{\"path\": \"t\", \"kind\": \"const\", \"pattern\": \"a\", \"with\": \"aa\", "
                     "\"same\": [[\"a\", \"a\"]]}]");
    assert_int_equal(gcache_rules_test(set, NULL, NULL, NULL, &problems, NULL), GCACHE_OK);
    assert_int_equal(problems, 2); /* not idempotent, for both of the pair */
    gcache_rules_free(set);
}

/* ---- paths ---- */

static void
check_drop(char const *path, char const *a, char const *b, bool same)
{
    char rules[256];

    snprintf(rules, sizeof rules, "\"drop\": [{\"path\": \"%s\"}]", path);
    gcache_rules *set = read_rules(rules);
    if (same_under(set, a, b) != same)
        fail_msg("%s: %s and %s should be %s", path, a, b, same ? "the same" : "different");
    gcache_rules_free(set);
}

static void
test_paths(void **state)
{
    (void)state;
    check_drop("a.b", "\"a\": {\"b\": 1, \"c\": 1}", "\"a\": {\"b\": 2, \"c\": 1}", true);
    check_drop("a.b", "\"a\": {\"b\": 1, \"c\": 1}", "\"a\": {\"b\": 1, \"c\": 2}", false);
    check_drop("a.b", "\"a\": {\"b\": 1}", "\"a\": {}", true);
    check_drop("a", "\"a\": 1", "\"b\": 1", false);
    check_drop("a", "\"a\": 1, \"b\": 1", "\"b\": 1", true);
    check_drop("*", "\"a\": 1, \"b\": 1", "\"c\": 1", true);
    check_drop("a.*", "\"a\": {\"x\": 1}", "\"a\": {\"y\": [2]}", true);
    check_drop("a[1]", "\"a\": [1, 2, 3]", "\"a\": [1, 9, 3]", true);
    check_drop("a[1]", "\"a\": [1, 2, 3]", "\"a\": [1, 2, 9]", false);
    check_drop("a[*].t", "\"a\": [{\"t\": 1}, {\"t\": 2}]", "\"a\": [{}, {\"t\": 3}]", true);
    check_drop("a[\\\"x.y\\\"]", "\"a\": {\"x.y\": 1}", "\"a\": {\"x.y\": 2}", true);
    check_drop("**.t", "\"a\": {\"b\": [{\"t\": 1}]}, \"t\": 1", "\"a\": {\"b\": [{\"t\": 2}]}, \"t\": 2", true);
    check_drop("**.t", "\"a\": {\"b\": [{\"u\": 1}]}", "\"a\": {\"b\": [{\"u\": 2}]}", false);
    check_drop("a.**.t", "\"a\": {\"t\": 1}, \"t\": 1", "\"a\": {\"t\": 2}, \"t\": 1", true);
    check_drop("a.**.t", "\"a\": {\"t\": 1}, \"t\": 1", "\"a\": {\"t\": 1}, \"t\": 2", false);
    check_drop("**.t.u", "\"a\": {\"t\": {\"t\": {\"u\": 1}}}", "\"a\": {\"t\": {\"t\": {\"u\": 2}}}", true);
    check_drop("a.x", "\"a\": {\"$tuple\": [1]}", "\"a\": {\"$tuple\": [2]}", false);
    check_drop("a[0]", "\"a\": {\"$tuple\": [1, 3]}", "\"a\": {\"$tuple\": [2, 3]}", true);
    check_drop("inputs[*].value.device",
               "\"inputs\": [{\"name\": \"x\", \"value\": {\"$tensor\": {\"dtype\": \"f\", \"shape\": [], \"device\": \"a\"}}}]",
               "\"inputs\": [{\"name\": \"x\", \"value\": {\"$tensor\": {\"dtype\": \"f\", \"shape\": [], \"device\": \"b\"}}}]",
               true);
    check_drop("graph.nodes[*].kwargs.id", "\"graph\": {\"nodes\": [{\"name\": \"x\", \"op\": \"c\", \"kwargs\": {\"id\": 1}}]}",
               "\"graph\": {\"nodes\": [{\"name\": \"x\", \"op\": \"c\", \"kwargs\": {\"id\": 2}}]}", true);
    check_drop("graph.nodes[*].kwargs.id", "\"graph\": {\"nodes\": [{\"name\": \"x\", \"op\": \"c\", \"kwargs\": {\"ie\": 1}}]}",
               "\"graph\": {\"nodes\": [{\"name\": \"x\", \"op\": \"c\", \"kwargs\": {\"ie\": 2}}]}", false);
    check_drop("graph.nodes[*].type", "\"graph\": {\"nodes\": [{\"name\": \"x\", \"op\": \"c\", \"type\": 1}]}",
               "\"graph\": {\"nodes\": [{\"name\": \"x\", \"op\": \"c\", \"type\": 2}]}", true);
}

/* ---- texts ---- */

static void
check_text_rule(char const *rule, char const *a, char const *b, bool same)
{
    char rules[512], components[2][512];

    snprintf(rules, sizeof rules, "\"text\": [{\"path\": \"t\", %s}]", rule);
    snprintf(components[0], sizeof components[0], "\"t\": \"%s\"", a);
    snprintf(components[1], sizeof components[1], "\"t\": \"%s\"", b);
    gcache_rules *set = read_rules(rules);
    if (same_under(set, components[0], components[1]) != same)
        fail_msg("%s: %s and %s should be %s", rule, a, b, same ? "the same" : "different");
    gcache_rules_free(set);
}

static void
test_texts(void **state)
{
    char const *ordinal = "\"kind\": \"ordinal\", \"pattern\": \"v\\\\d+\", \"with\": \"v\"";
    char const *among = "\"kind\": \"ordinal\", \"pattern\": \"\\\\w+\", \"among\": \"def (\\\\w+)\", \"with\": \"!\"";
    char const *part = "\"kind\": \"ordinal\", \"pattern\": \"v\\\\d+\", \"part\": \"fn\", \"with\": \"!\"";
    char const *unless = "\"kind\": \"ordinal\", \"pattern\": \"v\\\\d+\", \"unless\": \"&v\\\\d\", \"with\": \"!\"";

    (void)state;
    check_text_rule("\"kind\": \"drop\", \"pattern\": \"\\\\d\"", "a1b22", "ab", true);
    check_text_rule("\"kind\": \"drop\", \"pattern\": \"x*\"", "axxb", "ab", true); /* empty matches are passed over */
    check_text_rule("\"kind\": \"drop\", \"pattern\": \"a(\\\\d)b\"", "a1b a2", "ab a2", true); /* the group alone goes */
    /* However many there are, and with a pattern that only PCRE2 can match. */
    check_text_rule("\"kind\": \"drop\", \"pattern\": \"a(\\\\d)(?:(b)(c)(d))*+\"", "a1bcd", "abcd", true);
    check_text_rule("\"kind\": \"const\", \"pattern\": \"0x[0-9a-f]+\", \"with\": \"P\"", "at 0x7f1", "at 0x9", true);
    check_text_rule("\"kind\": \"const\", \"pattern\": \"\xc3\xa9.\", \"with\": \"P\"", "\xc3\xa9\xc3\xa8x", "\xc3\xa9yx", true);
    check_text_rule(ordinal, "v7 v9 v7", "v1 v2 v1", true);
    check_text_rule(ordinal, "v7 v9 v7", "v1 v2 v2", false);
    check_text_rule(among, "def f f g", "def h h g", true);
    check_text_rule(among, "def f f g", "def h h k", false);
    check_text_rule(part, "fn v5 v6 fn v6", "fn v1 v2 fn v1", true);
    check_text_rule(part, "fn v5 v6 fn v6 v5", "fn v1 v2 fn v1 v1", false);
    check_text_rule(unless, "v5 v6 &", "v1 v2 &", true);
    check_text_rule(unless, "v5 v6 &v5", "v1 v2 &v1", false);
    check_text_rule("\"kind\": \"sort\", \"pattern\": \"(?m)^- \"", "- b\\nx\\n- a", "- a\\nx\\n- b", true);
    check_text_rule("\"kind\": \"sort\", \"pattern\": \"(?m)^- \"", "- b\\nx\\n- a", "- a\\n- b\\nx", false);
}

/* Ordinals of scope "description" go on from text to text. */
static void
test_scope(void **state)
{
    char rules[256];

    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        snprintf(rules, sizeof rules, "\"text\": [{\"path\": \"t[*]\", \"kind\": \"ordinal\", \"pattern\": \"v\\\\d+\", "
                                      "\"with\": \"!\"%s}]", whole ? ", \"scope\": \"description\"" : "");
        gcache_rules *set = read_rules(rules);
        assert_true(same_under(set, "\"t\": [\"v1 v2\", \"v2\"]", "\"t\": [\"v5 v6\", \"v6\"]"));
        assert_int_equal(same_under(set, "\"t\": [\"v1 v2\", \"v2\"]", "\"t\": [\"v1 v2\", \"v1\"]"), !whole);
        gcache_rules_free(set);
    }
}

/* The names of a text under `t` that are handed back must be these pairs. */
static void
check_handed_back(char const *rules, char const *text, size_t count, char const *const (*pairs)[2])
{
    gcache_rules *set = read_rules(rules);
    gcache_text_name const *names;
    size_t found;

    gcache_graph *graph = gcache_graph_new("generic");
    gcache_graph_component(graph, "t", gcache_value_text(graph, text, strlen(text)));
    gcache_graph_use_rules(graph, set);
    assert_int_equal(gcache_graph_text_names(graph, &names, &found, NULL), GCACHE_OK);
    assert_int_equal(found, count);
    for (size_t i = 0; i < found && i < count; i++) {
        assert_string_equal(names[i].original, pairs[i][0]);
        assert_string_equal(names[i].canonical, pairs[i][1]);
    }
    gcache_graph_free(graph);
    gcache_rules_free(set);
}

#define RULE(kind, more) "{\"path\": \"t\", \"kind\": \"" kind "\", " more "}"
#define NUMBERED RULE("ordinal", "\"hand_back\": true, \"pattern\": \"(?<=f)\\\\d+\", \"with\": \"$\"")
#define FOLDED                                                                                        \
    RULE("const", "\"hand_back\": true, \"with\": \"@G\", \"pattern\": \"@g\\\\w+|@\\\"g[^\\\"]*\\\"\"")
#define PRIVATE RULE("private", "\"pattern\": \"(?m)^static @(\\\\w+)\"")

/* Names that became one are all told of, in the order they stand; private ones aren't, wherever the rule stands. */
static void
test_which_names_are_handed_back(void **state)
{
    static char const *const folded[][2] = { { "ga", "G" }, { "g b", "G" }, { "f7", "f$0" } };
    static char const *const seen[][2] = { { "f8", "f$1" } };

    (void)state;
    check_handed_back("\"text\": [" FOLDED ", " NUMBERED "]", "@ga @\"g b\" @ga @\"g b\" @f7 @f7", 3, folded);
    check_handed_back("\"text\": [" NUMBERED ", " PRIVATE "]", "static @f7\n@f8 @f7", 1, seen);
    check_handed_back("\"text\": [" PRIVATE ", " NUMBERED "]", "static @f7\n@f8 @f7", 1, seen);
}

static void
test_names_handed_back(void **state)
{
    static char const text[] = "{\"format\": \"guardcache-graph/1\", \"kind\": \"llvm-ir\", \"module\": "
                               "\"define void @_ZN1fB2v3B38cE() {\\n  call void @_ZN1gB3v11B38cE()\\n"
                               "  call void @_ZN1fB2v3B38cE()\\n"
                               "  call void @\\\"julia_a[b]_7\\\"()\\n"
                               "  call void @__numba_array_expr_0x7f00B2v3B38cB2v3B4()\\n"
                               "  call void @other.1()\\n}\\n\"}";
    gcache_graph *graph;
    gcache_text_name const *names;
    size_t count;

    (void)state;
    assert_int_equal(gcache_graph_read(text, sizeof text - 1, "d", &graph, NULL), GCACHE_OK);
    assert_int_equal(gcache_graph_text_names(graph, &names, &count, NULL), GCACHE_OK);
    static char const *const wanted[][2] = {
        { "_ZN1fB2v3B38cE", "_ZN1fB$v0B38cE" },
        { "_ZN1gB3v11B38cE", "_ZN1gB$v1B38cE" },
        { "__numba_array_expr_0x7f00B2v3B38cB2v3B4", "__numba_array_expr_$e0B$v0B38cB$v0B4" }, /* two rules, three parts */
        { "julia_a[b]_7", "julia_a[b]_$j0" },
    };
    assert_int_equal(count, sizeof wanted / sizeof wanted[0]);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(names[i].original, wanted[i][0]);
        assert_string_equal(names[i].canonical, wanted[i][1]);
    }
    gcache_graph_free(graph);
}

/* ---- bypasses and limits ---- */

static void
check_refused(char const *rules, char const *components, gcache_status wanted, char const *message)
{
    gcache_rules *set = read_rules(rules);
    gcache_key key;
    gcache_error error;

    assert_int_equal(key_under(set, components, &key, &error), wanted);
    assert_string_equal(error.message, message);
    gcache_rules_free(set);
}

static void
test_refusals(void **state)
{
    (void)state;
    check_refused("\"text\": [{\"path\": \"t.x\", \"kind\": \"bypass\", \"pattern\": \"0x7f\", \"why\": \"an address\"}]",
                  "\"t\": {\"x\": \"at 0x7f00\"}", GCACHE_REFUSED, "d: t.x: an address");
    check_refused("\"limits\": {\"match\": 1000}, \"text\": [{\"path\": \"t\", \"kind\": \"drop\", \"pattern\": "
                  "\"(?:(?:a+)+)+b\"}]",
                  "\"t\": \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaacb\"", GCACHE_ERROR_LIMIT,
                  "d: t: the rule for t gave up: match limit exceeded");
    check_refused("\"limits\": {\"text_bytes\": 4}, \"text\": [{\"path\": \"t\", \"kind\": \"drop\", \"pattern\": \"a\"}]",
                  "\"t\": \"12345\"", GCACHE_ERROR_LIMIT, "d: t: a text of 5 bytes, more than rules are applied to");
}

/* The key of a module of a shipped kind: `head`, `middle` so many times, `tail`. */
static gcache_status
key_of_repeated(char const *kind, char const *head, char const *middle, size_t times, gcache_error *out_error)
{
    gci_buf text;
    gcache_graph *graph;
    gcache_key key;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "{\"format\": \"guardcache-graph/1\", \"kind\": \"%s\", \"module\": \"%s", kind, head);
    for (size_t i = 0; i < times; i++)
        gci_buf_append_text(&text, middle);
    gci_buf_append_text(&text, "\"}");
    assert_int_equal(gcache_graph_read(text.data, text.size, "d", &graph, out_error), GCACHE_OK);
    gcache_status status = gcache_graph_key(graph, &key, out_error);
    gcache_graph_free(graph);
    gci_buf_clear(&text);
    return status;
}

/* What nests without end, and what is looked through again from each of its places. */
static void
test_runaway_texts(void **state)
{
    gcache_error error;

    (void)state;
    assert_int_equal(key_of_repeated("stablehlo", "x loc(#", "(", 100, &error), GCACHE_OK);
    assert_int_equal(key_of_repeated("stablehlo", "x loc(#", "(", 200000, &error), GCACHE_ERROR_LIMIT);
    /* In machine code or interpreted. */
    assert_true(strcmp(error.message, "d: module: the rule for module gave up: JIT stack limit reached") == 0 ||
                strcmp(error.message, "d: module: the rule for module gave up: matching depth limit exceeded") == 0);
    /* Blanks, of which each could be where a location begins. */
    assert_int_equal(key_of_repeated("stablehlo", "x loc() ", " ", 300000, &error), GCACHE_OK);
    check_refused("\"limits\": {\"match\": 20}, \"text\": [{\"path\": \"t\", \"kind\": \"drop\", \"pattern\": \"(?:a+)+[bc]\"}]",
                  "\"t\": \"aaaaaaaaaaaaaaaa\"", GCACHE_ERROR_LIMIT, "d: t: the rule for t gave up: match limit exceeded");
    check_refused("\"limits\": {\"text_bytes\": 16}, \"text\": [{\"path\": \"t\", \"kind\": \"const\", \"pattern\": \"a\", "
                  "\"with\": \"a long text in its place\"}]",
                  "\"t\": \"aaaaaaaaaaaaaaaa\"", GCACHE_ERROR_LIMIT, "d: t: the rule for t makes too large a text of it");
}

/* ---- what is no rule set ---- */

static void
check_error(char const *text, char const *message)
{
    gcache_rules *set = NULL;
    gcache_error error;

    assert_int_not_equal(gcache_rules_read(text, strlen(text), "r", &set, &error), GCACHE_OK);
    assert_null(set);
    assert_string_equal(error.message, message);
}

#define HEAD "{\"format\": \"guardcache-rules/1\", \"name\": \"n\", "

static void
test_errors(void **state)
{
    (void)state;
    check_error("[]", "r:1:1: a rule set must be a map with format and name");
    check_error("{\"format\": \"x\", \"name\": \"n\"}", "r:1:12: format must be \"guardcache-rules/1\"");
    check_error(HEAD "\"drops\": []}", "r:1:56: this member isn't one of a rule set");
    check_error(HEAD "\"drop\": [{\"why\": \"x\"}]}", "r:1:56: a rule needs a path");
    check_error(HEAD "\"drop\": [{\"path\": \"a..b\"}]}", "r:1:65: path: a name is missing");
    check_error(HEAD "\"drop\": [{\"path\": \"a[x]\"}]}", "r:1:65: path: an index must be a number or *");
    check_error(HEAD "\"drop\": [{\"path\": \"a[1\"}]}", "r:1:65: path: a bracket isn't closed");
    check_error(HEAD "\"drop\": [{\"path\": \"a\", \"pattern\": \"x\"}]}", "r:1:81: this member isn't one of a rule");
    check_error(HEAD "\"text\": [{\"path\": \"a\", \"kind\": \"eat\", \"pattern\": \"x\"}]}",
                "r:1:78: kind must be drop, const, ordinal, sort, bypass or private");
    check_error(HEAD "\"text\": [{\"path\": \"a\", \"kind\": \"drop\"}]}", "r:1:56: a text rule needs kind and pattern");
    check_error(HEAD "\"text\": [{\"path\": \"a\", \"kind\": \"const\", \"pattern\": \"x\"}]}", "r:1:56: with: is needed");
    check_error(HEAD "\"text\": [{\"path\": \"a\", \"kind\": \"drop\", \"pattern\": \"x\", \"part\": \"y\"}]}",
                "r:1:56: among, part and scope belong to ordinal");
    check_error(HEAD "\"text\": [{\"path\": \"a\", \"kind\": \"drop\", \"pattern\": \"(x\"}]}",
                "r:1:56: the pattern (x: missing closing parenthesis at 2");
    check_error(HEAD "\"limits\": {\"match\": 0}}", "r:1:67: a limit must be an integer from 1 to the built-in limit");
}

/* Many deep paths must not make an automaton without end. */
static void
test_states_limit(void **state)
{
    gci_buf text;
    gcache_rules *set = NULL;
    gcache_error error;

    (void)state;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&text, HEAD "\"drop\": [");
    for (int i = 0; i < 20; i++)
        gci_buf_format(&text, "%s{\"path\": \"**.a%d.**.b%d.**.c%d\"}", i != 0 ? ", " : "", i, i, i);
    gci_buf_append_text(&text, "]}");
    assert_int_equal(gcache_rules_read(text.data, text.size, "r", &set, &error), GCACHE_ERROR_LIMIT);
    assert_string_equal(error.message, "the paths need more than 4096 states");
    gci_buf_clear(&text);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_shipped),           cmocka_unit_test(test_shipped_as_used),
        cmocka_unit_test(test_failing_examples),  cmocka_unit_test(test_paths),
        cmocka_unit_test(test_texts),             cmocka_unit_test(test_scope),
        cmocka_unit_test(test_which_names_are_handed_back),
        cmocka_unit_test(test_names_handed_back), cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_runaway_texts),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_states_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
