/*
 * What explain says: the decisive lines, asserted word for word (times and ids apart).
 */
#include "fixture.h"

static char *
explain(fixture *f, gcache_graph *g, gcache_hints const *hints, gcache_request const *request, gcache_explain_form form)
{
    char *text = NULL;
    gcache_status status = gcache_explain(f->cache, g, hints, request, form, &text, &f->error);

    if (status < 0)
        fail_msg("%s", f->error.message);
    assert_non_null(text);
    return text;
}

static void
assert_has(char const *text, char const *part)
{
    assert_non_null(text);
    if (strstr(text, part) == NULL)
        fail_msg("no \"%s\" in:\n%.4000s", part, text);
}

static void
shows_the_failing_guard_and_its_arithmetic(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints with = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 }), now = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });

    assert_int_equal(insert_text(f, g, &with, "s1 > 2 and s0 % 8 == 0", "x"), GCACHE_OK);
    char *text = explain(f, g, &now, NULL, GCACHE_EXPLAIN_TEXT);
    assert_has(text, "miss: guard_false    key ");
    assert_has(text, "1 candidate, it doesn't hold for  x.size(0)=12  x.size(1)=16\n");
    assert_has(text, "x.size(0) % 8 == 0                     12 % 8 = 4                          false\n");
    assert_has(text, "4.1 s to compile");
    gcache_free(text);
    text = explain(f, g, &with, NULL, GCACHE_EXPLAIN_TEXT);
    assert_has(text, "hit    key ");
    gcache_free(text);
    gcache_graph_free(g);
}

static void
names_what_a_guard_raises(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 12 }, { "s1", 0 });

    assert_int_equal(insert_text(f, g, NULL, "s0 // s1 == 2", "x"), GCACHE_OK);
    char *text = explain(f, g, &now, NULL, GCACHE_EXPLAIN_TEXT);
    assert_has(text, "miss: guard_error");
    assert_has(text, "ZeroDivisionError");
    gcache_free(text);
    gcache_graph_free(g);
}

static void
finds_the_nearest_key_and_what_differs(void **state)
{
    fixture *f = *state;
    gcache_graph *stored = make_matmul("s0", "s1"), *asked = make_matmul("s0", "7");

    assert_int_equal(insert_text(f, stored, NULL, NULL, "x"), GCACHE_OK);
    char *text = explain(f, asked, NULL, NULL, GCACHE_EXPLAIN_TEXT);
    assert_has(text, "miss: no_key    key ");
    assert_has(text, "nothing is stored under it");
    assert_has(text, "inputs[");
    gcache_free(text);
    text = explain(f, asked, NULL, NULL, GCACHE_EXPLAIN_JSON);
    assert_has(text, "\"reason\": \"no_key\"");
    assert_has(text, "\"differs\": [{\"path\": \"");
    gcache_free(text);
    gcache_graph_free(stored);
    gcache_graph_free(asked);
}

/* ---- the true nearest ---- */

enum { VARIANTS = 60 };

/* A chain of nodes of which one has a constant of its own, and perhaps another one another operation. */
static gcache_graph *
make_chain(int variant, bool changed)
{
    static char const *const targets[] = { "mm", "add", "relu", "exp", "mul", "sum", "cat" };
    gcache_graph *g = gcache_graph_new("chain/1");
    gcache_node last = gcache_graph_input(g, "x", &(gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = "float32" });

    for (int i = 0; i < 2 * VARIANTS; i++) {
        last = gcache_graph_call(g, changed && i == VARIANTS + 7 ? "sin" : targets[i * i % 7], &last, 1);
        gcache_graph_kwarg_int(g, last, "k", i == variant ? 1000 : i % 5);
    }
    gcache_graph_output(g, last);
    return g;
}

/* A text of lines of which one is its own, and perhaps one more. */
static gcache_graph *
make_lines(int variant, bool changed)
{
    gcache_graph *g = gcache_graph_new("lines/1");
    char text[4096];
    size_t size = 0;

    for (int i = 0; i < VARIANTS; i++)
        size += (size_t)snprintf(text + size, sizeof text - size, "line %c%c%s%s\n", 'a' + i % 26, 'a' + i / 26,
                                 i == variant ? " own" : "", changed && i == 3 ? " changed" : "");
    gcache_graph_component(g, "module", gcache_value_text(g, text, size));
    return g;
}

static void
check_nearest(fixture *f, gcache_graph *(*make)(int variant, bool changed))
{
    char hex[GCACHE_KEY_HEX_SIZE], wanted[128];
    gcache_key key;

    for (int variant = 0; variant < VARIANTS; variant++) {
        gcache_graph *stored = make(variant, false);
        assert_int_equal(insert_text(f, stored, NULL, NULL, "x"), GCACHE_OK);
        gcache_graph_free(stored);
    }
    for (int variant = 0; variant < VARIANTS; variant += 3) {
        gcache_graph *stored = make(variant, false), *asked = make(variant, true);
        assert_int_equal(gcache_graph_key(stored, &key, NULL), GCACHE_OK);
        gcache_key_to_hex(&key, hex);
        snprintf(wanted, sizeof wanted, "\"nearest\": [{\"key\": \"%s\"", hex);
        char *text = explain(f, asked, NULL, NULL, GCACHE_EXPLAIN_JSON);
        assert_has(text, wanted);
        assert_has(text, "\"distance\": 1,");
        gcache_free(text);
        gcache_graph_free(stored);
        gcache_graph_free(asked);
    }
}

/* Of many keys that share as many components, the one with a single difference. */
static void
the_nearest_graph_is_the_nearest(void **state)
{
    check_nearest(*state, make_chain);
}

static void
the_nearest_text_is_the_nearest(void **state)
{
    check_nearest(*state, make_lines);
}

static void
says_which_requirement_and_variant(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_pair needs = { "libdevice", "a" };
    gcache_entry entry = { .size = sizeof entry, .payload = "t", .payload_size = 1, .variant = "pgle", .requires_ = &needs,
                           .requires_count = 1 };
    gcache_request request = GCACHE_REQUEST_INIT;

    request.label = "train.py:88 forward";
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    char *text = explain(f, g, NULL, &request, GCACHE_EXPLAIN_TEXT);
    assert_has(text, "miss: requirement    train.py:88 forward    key ");
    assert_has(text, "stored \"a\"   asked nothing\n");
    gcache_free(text);
    request.variant = "plain";
    text = explain(f, g, NULL, &request, GCACHE_EXPLAIN_TEXT);
    assert_has(text, "miss: variant");
    assert_has(text, "stored \"pgle\"   asked \"plain\"\n");
    gcache_free(text);
    gcache_graph_free(g);
}

static void
json_has_every_guard_and_the_values(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });
    char const *guards[] = { "s1 > 2", "s0 % 8 == 0", "s0 // 0 > 1" };
    gcache_entry entry = { .size = sizeof entry, .guards = guards, .guard_count = 3, .payload = "x", .payload_size = 1 };

    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    char *text = explain(f, g, &now, NULL, GCACHE_EXPLAIN_JSON);
    assert_has(text, "{\"outcome\": \"miss\", \"reason\": \"guard_false\", \"key\": \"");
    assert_has(text, "{\"text\": \"s1 > 2\", \"result\": true}, {\"text\": \"s0 % 8 == 0\", \"result\": false}, "
                     "{\"text\": \"s0 // 0 > 1\", \"result\": \"error\", \"error\": \"ZeroDivisionError\"");
    assert_has(text, "\"first_failing\": 1");
    assert_has(text, "\"values\": {\"s0\": 12, \"s1\": 16}");
    assert_null(strchr(text, '\n'));
    gcache_free(text);
    gcache_graph_free(g);
}

static void
a_brief_text_has_at_most_25_lines(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });

    for (int i = 0; i < 40; i++) {
        char guard[32];
        snprintf(guard, sizeof guard, "s0 + %d == 100", i);
        assert_int_equal(insert_text(f, g, NULL, guard, "x"), GCACHE_OK);
    }
    char *brief = explain(f, g, &now, NULL, GCACHE_EXPLAIN_TEXT), *all = explain(f, g, &now, NULL, GCACHE_EXPLAIN_ALL);
    int brief_lines = 0, all_lines = 0;
    for (char const *c = brief; *c != '\0'; c++)
        brief_lines += *c == '\n';
    for (char const *c = all; *c != '\0'; c++)
        all_lines += *c == '\n';
    assert_in_range(brief_lines, 5, 25);
    assert_true(all_lines > 80);
    assert_has(brief, "and 34 more (--all shows them)");
    gcache_free(brief);
    gcache_free(all);
    gcache_graph_free(g);
}

/* Each is for one size: the present one's neighbours come first, however many there are. */
static void
the_nearest_of_many_comes_first(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints now = GCACHE_HINTS({ "s0", 2001 }, { "s1", 16 });

    for (int i = 0; i < 500; i++) {
        char guard[48];
        snprintf(guard, sizeof guard, "s0 == %d", 8 * (i + 1));
        assert_int_equal(insert_text(f, g, NULL, guard, "x"), GCACHE_OK);
    }
    assert_int_equal(insert_text(f, g, NULL, "s0 == 2003 and s1 == 17", "x"), GCACHE_OK);
    char *brief = explain(f, g, &now, NULL, GCACHE_EXPLAIN_TEXT);
    assert_has(brief, "501 candidates, each compiled for one value of x.size(0); yours is 2001\n\n");
    assert_has(brief, "\n  nearest     x.size(0) == 2000 ");
    assert_has(brief, "would hit:  x.size(0)=2000 (#252)   x.size(0)=2003 x.size(1)=17 (#1)   x.size(0)=2008 (#251)\n");
    gcache_free(brief);
    gcache_graph_free(g);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(shows_the_failing_guard_and_its_arithmetic),
        CASE(names_what_a_guard_raises),
        CASE(finds_the_nearest_key_and_what_differs),
        CASE(the_nearest_graph_is_the_nearest),
        CASE(the_nearest_text_is_the_nearest),
        CASE(says_which_requirement_and_variant),
        CASE(json_has_every_guard_and_the_values),
        CASE(a_brief_text_has_at_most_25_lines),
        CASE(the_nearest_of_many_comes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
