/*
 * Scans beside PCRE2: whatever a rule set makes of a text, it makes the same of it when PCRE2 alone matches. A set with limits
 * of its own is such a one, and its hash is that of the set without them.
 */
#include "base/buf.h"
#include "base/text/json.h"
#include "graph/rules/scan_lanes.h"

#include <guardcache/graph.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ALONE "\"limits\": {\"match\": 10000000}, "

/* Patterns, and whether they are of the subset. */
static struct {
    char const *text;
    bool plain;
} const patterns[] = {
    { "abc", true },
    { "a", true },
    { "[^a]b", true }, /* a character of many bytes before */
    { "[^a]", true },
    { "[^\\n]*b", true },
    { ".b", true },
    { "ab|a|bc", true }, /* the first that matches, not the longest */
    { "(?:ab|a)(?:bc|c)", true },
    { "(a)b|(c)", true },
    { "(?|a(b)|(c)d)", true },
    { "x(a)?", false }, /* a group repeated */
    { "x(?:(a)|b)?", true },
    { "a\\nb", true }, /* across lines */
    { "\\s+b", true },
    { "(?m)^a", true },
    { "(?m)^\\s*b", true },
    { "(?m)c$", true },
    { "(?m)^[^\\n]*c$", true },
    { "^a", true },
    { "\\Aa", true },
    { "c\\z", true },
    { "c$", false },
    { "a*?b", true },
    { "a+?", true },
    { "a{2,3}b", true },
    { "a{2}", true },
    { "(?:ab)*c", true },
    { "(?:ab)+c", true },
    { "(?:ab)*?c", false },
    { "(?:a|ab)*c", false },  /* a byte doesn't say which */
    { "(?:ab)*abc", false }, /* nor whether once more */
    { "(?:a*)*b", false },
    { "a*", false }, /* empty */
    { "(?=a)", false },
    { "\\bb", true },
    { "b\\b", true },
    { "(?<=a)b", true },
    { "(?<=a|bc)c", true },
    { "(?<!a)b", true },
    { "(?<!\\n)b", true },
    { "(?<![^a])b", false }, /* it may have many bytes */
    { "a(?=b)", true },
    { "a(?!b)", true },
    { "(?=[^\\n]*c)a", true },
    { "\"[^\"]*\"(*SKIP)(*F)|a", true },
    { "a|\"[^\"]*\"(*SKIP)(*F)", true },
    { "\"(?:[^\"\\\\]|\\\\.)*\"(*SKIP)(*F)|[ \\t]*a", true },
    { "(?<n>\\((?:[^()]|(?&n))*\\))", true },
    { "a(?<n>\\((?:[^()]|(?&n))*\\))", true },
    { "(?<n>(?&n)a|b)", false }, /* it calls itself before a byte is read */
    { "(?&n)(?<n>ab)", true },
    { "\\Gab", false },
    { "(?i)ab", false },
    { "a++b", false },
    { "(?>a+)b", false },
    { "[[:alpha:]]b", false },
    { "\\p{L}b", false },
    { "(a)\\1", false },
    { "\xC3\xA9", false },
    { "a.\\z", true },
    { "[-a]b", true },
    { "[a-c]+\\d", true },
    { "[\\w.-]+\"", true },
    { "\\{a", true },
};

/* What is looked for at a text's very start and end, on both sides of a line end, behind what is no ASCII, and in no text. */
static char const *const texts[] = {
    "", "a", "abc", "ab", "c", "xabc", "bc", "a\nb", "\na", "a\n", "\n", "\n\n", "b\nc", "c\nc", "c\n", "aab", "aaaab", "aaa",
    "abababc", "ababc", "ababab", "xa", "xb", "x", "a b", "  b\n\tb", "\xC3\xA9" "b", "a\xC3\xA9", "\xE4\xB8\xAD" "b\xE4\xB8\xAD",
    "\xF0\x9F\x98\x80" "bc", "a\xC3\xA9" "bab", "bab", "acb", "\"a\"a", "\"a", "a\"", "\"\\\"a\"a", "\"\\\n\"a", "\"\\\"\\\"\\\"",
    "\"a\nb\" a", "(a)", "((a)b)", "a((a)(b)", "a(\"", "(()", "abab", "ababa", "AB", "aa1", "a.b-c\"", "{a", "-b", "cd",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "                              abc", "0123456789012345678901234567890ab",
    "0123456789\n123456789012345\n78901234a", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"a\"a\nb",
    "\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9" "c",
};

static gcache_rules *
read_set(gci_buf *text)
{
    gcache_rules *set;
    gcache_error error;

    if (gcache_rules_read(text->data, text->size, "r", &set, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    gci_buf_clear(text);
    return set;
}

/* A set of one rule for a pattern: each match, or its first group, becomes a bar. */
static gcache_rules *
set_of(char const *pattern, char const *limits)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "{\"format\": \"guardcache-rules/1\", \"name\": \"test\", %s\"text\": [{\"path\": \"t\", "
                          "\"kind\": \"const\", \"with\": \"|\", \"pattern\": ", limits);
    gci_json_write_text(&text, gci_view_text(pattern));
    gci_buf_append_text(&text, "}]}");
    return read_set(&text);
}

static gcache_status
key_under(gcache_rules const *rules, gci_view given, gcache_key *out_key, gcache_error *error)
{
    gcache_graph *graph;
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&text, "{\"format\": \"guardcache-graph/1\", \"kind\": \"generic\", \"t\": ");
    gci_json_write_text(&text, given);
    gci_buf_append_text(&text, ", \"module\": ");
    gci_json_write_text(&text, given);
    gci_buf_append_text(&text, "}");
    assert_int_equal(gcache_graph_read(text.data, text.size, "d", &graph, error), GCACHE_OK);
    gci_buf_clear(&text);
    gcache_graph_use_rules(graph, rules);
    gcache_status status = gcache_graph_key(graph, out_key, error);
    gcache_graph_free(graph);
    return status;
}

/* What PCRE2 refuses to match to the end a scan may match. */
static void
check_same(gcache_rules const *with_scan, gcache_rules const *alone, gci_view text, char const *what)
{
    gcache_key keys[2];
    gcache_error errors[2];
    gcache_status wanted = key_under(alone, text, &keys[1], &errors[1]);

    if (wanted == GCACHE_ERROR_LIMIT)
        return;
    assert_int_equal(key_under(with_scan, text, &keys[0], &errors[0]), wanted);
    if (wanted == GCACHE_OK && memcmp(keys[0].bytes, keys[1].bytes, sizeof keys[0].bytes) != 0)
        fail_msg("%s matches otherwise in \"%.*s\"", what, (int)text.size, text.data);
}

static void
test_subset(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        gci_scan *scan = gci_scan_new(gci_view_text(patterns[i].text));
        if ((scan != NULL) != patterns[i].plain)
            fail_msg("%s: %s", patterns[i].text, scan != NULL ? "is a plain one" : "isn't a plain one");
        gci_scan_free(scan);
    }
}

/* So many bytes before a text that it lies across the ends of what is looked at at once, or is within. */
enum { FIRST_PAD = 28, LAST_PAD = 34, PAD_BEHIND = 40 };

/* A text between others that no pattern names. */
static gci_view
padded(gci_buf *out, char const *text, size_t before)
{
    out->size = 0;
    for (size_t i = 0; i < before; i++)
        gci_buf_append_char(out, '~');
    gci_buf_append_text(out, text);
    for (size_t i = 0; i < PAD_BEHIND; i++)
        gci_buf_append_char(out, '~');
    return gci_buf_view(out);
}

static void
test_patterns(void **state)
{
    gci_buf text;

    (void)state;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        gcache_rules *with_scan = set_of(patterns[i].text, ""), *alone = set_of(patterns[i].text, ALONE);
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
            check_same(with_scan, alone, gci_view_text(texts[k]), patterns[i].text);
            check_same(with_scan, alone, padded(&text, texts[k], FIRST_PAD + k % (LAST_PAD - FIRST_PAD)), patterns[i].text);
        }
        gcache_rules_free(with_scan);
        gcache_rules_free(alone);
    }
    gci_buf_clear(&text);
}

/* All matches in a text, and the steps they took, as one text. */
static void
list_matches(gci_scan const *scan, gci_view text, gci_buf *out)
{
    gci_scan_search search = gci_scan_begin(scan, text);
    gci_span match = { 0, 0 }, group;
    uint64_t steps = 1000000;

    out->size = 0;
    while (gci_scan_next(&search, match.end, &steps, &match, &group) == GCI_SCAN_FOUND)
        gci_buf_format(out, "%zu-%zu %zu-%zu, ", match.start, match.end, group.start, group.end);
    gci_buf_format(out, "%llu left", (unsigned long long)steps);
}

/* A processor that can't look at many places at once finds the same, in as many steps. */
static void
test_lanes(void **state)
{
    gci_buf text, wanted, found;

    (void)state;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_init(&wanted, GCI_BUF_NO_LIMIT);
    gci_buf_init(&found, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < sizeof patterns / sizeof patterns[0]; i++) {
        gci_scan *scan = gci_scan_new(gci_view_text(patterns[i].text));
        for (size_t k = 0; k < sizeof texts / sizeof texts[0] && scan != NULL; k++)
            for (size_t pad = FIRST_PAD; pad <= LAST_PAD; pad++) {
                padded(&text, texts[k], pad);
                scan->has_lanes = gci_scan_lanes_work();
                list_matches(scan, gci_buf_view(&text), &found);
                scan->has_lanes = false;
                list_matches(scan, gci_buf_view(&text), &wanted);
                if (!gci_view_equal(gci_buf_view(&wanted), gci_buf_view(&found)))
                    fail_msg("%s in \"%.*s\": %.*s, by lanes %.*s", patterns[i].text, (int)text.size, text.data,
                             (int)wanted.size, wanted.data, (int)found.size, found.data);
            }
        gci_scan_free(scan);
    }
    gci_buf_clear(&text);
    gci_buf_clear(&wanted);
    gci_buf_clear(&found);
}

/* ---- the shipped sets ---- */

/* What their patterns look for, and what may come between. */
static char const *const pieces[] = {
    "\"", "\\\"", "\\", "\n", " ", "\t", "(", ")", "[", "<[", "{", "}", ",", ", ", ":", "=", " = ", ";", "//", "@", "@\"", "%",
    "%\"",
    "#", " #1", "!", "!1", "a", "x", "B", "1", "_", ".", "-", "$", "\xC3\xA9", "loc(", " loc(\"a\":1:2)", "#loc",
    "#loc1 = loc(x)\n",
    "module @", "module @a {\n", "custom_call", " custom_call @f", "@xla_python_cpu_callback", "backend_config = \"1234567890\"",
    "descriptor = 1", "CustomSPMDPartitioning", "jax.result_info = \"", "  func.func private @f(%a: x) -> y {\n", "@f", "sdy.mesh",
    "sdy.mesh @mesh = <[\"x\"=4]>", "{\"x\"}", "inttoptr (i64 140000000000 to ", "@g = private", "define internal x @g(", "define ",
    "source_filename = \"a\"\n", "!llvm.ident = x\n", "\n!2 = !{!\"clang version 1\"}\n", "missing Environment: ", "] c\"",
    "[3 x i8] ",
    "xB1v2B3", "B1v2", "__numba_array_expr_0x7f", "@.bytes.12", "@.str.1", "\n@.str.1 = ", "external", "@julia_f_1", "jl_1.jit",
    "a#1.jit", "\nattributes #1 = ", "\n!@1 = ", " = type ", "%T", "\n%T = type ", "\nx:", "x:\n", "\n\"y\":", "blockaddress(",
    "\n1a:",
    "kernel_idx = 1", "(kernel_idx = 1)", ", constant_args_idx = 2,",
};

enum { DRAWN = 1000, MOST_PIECES = 40 };

/* The next number of a sequence that is the same each time (xorshift). */
static unsigned
draw(uint32_t *state, size_t below)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return (unsigned)(*state % below);
}

/* A shipped set as a user's own, without limits and with them. */
static gcache_rules *
own_set(char const *kind, char const *limits)
{
    size_t size;
    char const *shipped = gcache_rules_shipped(kind, &size);
    char const *start = memchr(shipped, '{', size);
    gci_buf text;

    assert_non_null(start);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "{%s%.*s", limits, (int)(shipped + size - start - 1), start + 1);
    return read_set(&text);
}

static void
test_shipped(void **state)
{
    char const *kind;

    (void)state;
    for (size_t i = 0; (kind = gcache_rules_kind(i)) != NULL; i++) {
        gcache_rules *with_scan = own_set(kind, ""), *alone = own_set(kind, ALONE);
        uint32_t seed = 1 + (uint32_t)i;
        for (size_t k = 0; k < DRAWN; k++) {
            gci_buf text;
            gci_buf_init(&text, GCI_BUF_NO_LIMIT);
            for (unsigned count = draw(&seed, MOST_PIECES); count != 0; count--)
                gci_buf_append_text(&text, pieces[draw(&seed, sizeof pieces / sizeof pieces[0])]);
            check_same(with_scan, alone, gci_buf_view(&text), kind);
            gci_buf_clear(&text);
        }
        gcache_rules_free(with_scan);
        gcache_rules_free(alone);
    }
}

/* ---- what ends ---- */

/* A text that is looked through again from each of its places costs as many steps as are given, and no more. */
static void
test_steps(void **state)
{
    gci_scan *scan = gci_scan_new((gci_view)GCI_VIEW("[ \\t]*\\w"));
    gci_scan_search search;
    gci_span match, group;
    uint64_t steps = 10000;
    gci_buf text;

    (void)state;
    assert_non_null(scan);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    for (int i = 0; i < 100000; i++)
        gci_buf_append_char(&text, ' ');
    search = gci_scan_begin(scan, gci_buf_view(&text));
    assert_int_equal(gci_scan_next(&search, 0, &steps, &match, &group), GCI_SCAN_GAVE_UP);
    assert_int_equal(steps, 0);
    gci_buf_append_char(&text, 'a');
    steps = 10000;
    search = gci_scan_begin(scan, gci_buf_view(&text));
    assert_int_equal(gci_scan_next(&search, 0, &steps, &match, &group), GCI_SCAN_FOUND);
    assert_true(match.start == 0 && match.end == text.size);
    gci_buf_clear(&text);
    gci_scan_free(scan);
}

/* So do ways that take no byte, of which there are two to the 40th. */
static void
test_ways(void **state)
{
    gci_span match, group;
    uint64_t steps = 10000;
    gci_buf pattern;

    (void)state;
    gci_buf_init(&pattern, GCI_BUF_NO_LIMIT);
    for (int i = 0; i < 40; i++)
        gci_buf_append_text(&pattern, "(?:\\b|)");
    gci_buf_append_text(&pattern, "(?!a)a");
    gci_scan *scan = gci_scan_new(gci_buf_view(&pattern));
    assert_non_null(scan);
    gci_scan_search search = gci_scan_begin(scan, (gci_view)GCI_VIEW("a"));
    assert_int_equal(gci_scan_next(&search, 0, &steps, &match, &group), GCI_SCAN_GAVE_UP);
    gci_scan_free(scan);
    gci_buf_clear(&pattern);
}

/* Constants stand in modules as strings of any length. */
static void
test_long_string(void **state)
{
    gci_buf text;
    gcache_key key;
    gcache_error error;
    gcache_rules *rules;

    (void)state;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_text(&text, "module @a {\n  func.func private @f(%a: x) -> x {\n  dense<\"0x");
    for (int i = 0; i < 100000; i++)
        gci_buf_append_text(&text, "0123456789");
    gci_buf_append_text(&text, "\"> loc(\"a\")\n");
    assert_int_equal(gcache_rules_of_kind("stablehlo", &rules, &error), GCACHE_OK);
    assert_int_equal(key_under(rules, gci_buf_view(&text), &key, &error), GCACHE_OK);
    gcache_rules_free(rules);
    gci_buf_clear(&text);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_subset), cmocka_unit_test(test_patterns), cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_shipped), cmocka_unit_test(test_steps),   cmocka_unit_test(test_ways),
        cmocka_unit_test(test_long_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
