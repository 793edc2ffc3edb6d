/*
 * Names inside texts: what a compiled object exports is compared, unless the caller says that it renames, and handed back.
 * Every shipped kind is asked: a hit without renames is one that its caller can run as it is.
 */
#include "fixture.h"

#include <guardcache/bulk.h>

#define NUMBA(version) "_ZN8__main__3addB" version "B38cE"

/* A function as numba names it: the version counts compilations of the process. */
#define NUMBA_MODULE(version)                                                                         \
    "@_ZN08NumbaEnv8__main__3addB" version "B38cE = common local_unnamed_addr global ptr null\n"      \
    "define i32 @" NUMBA(version) "(i32 %a) {\n  ret i32 %a\n}\n"

static gcache_graph *
describe(char const *kind, char const *module)
{
    gcache_graph *g = gcache_graph_new(kind);

    gcache_graph_component(g, "module", gcache_value_text(g, module, strlen(module)));
    return g;
}

/* How a lookup of `asked` ends where only `stored` is there. */
static gcache_status
ask(fixture *f, gcache_graph *asked, bool accept, gcache_result *out_result)
{
    gcache_request request = GCACHE_REQUEST_INIT;

    request.accept_renames = accept;
    return gcache_lookup_with(f->cache, asked, NULL, &request, out_result, &f->error);
}

static void
assert_renames(gcache_result const *hit, size_t count, char const *const (*pairs)[2])
{
    assert_int_equal(hit->rename_count, count);
    for (size_t i = 0; i < count; i++) {
        assert_string_equal(hit->renames[i].stored, pairs[i][0]);
        assert_string_equal(hit->renames[i].current, pairs[i][1]);
    }
}

/* ---- each kind ---- */

typedef enum { SHARED, RENAMED, OTHER_KEY } fate;

/* What becomes of a lookup of one module where another one's code is stored. */
static struct {
    char const *kind, *stored, *asked;
    fate fate;
} const twins[] = {
    { "llvm-ir", NUMBA_MODULE("2v3"), NUMBA_MODULE("3v17"), RENAMED },
    { "llvm-ir", "define void @f() {\n  call void @_ZN1gB2v3B38cE()\n  ret void\n}\ndeclare void @_ZN1gB2v3B38cE()\n",
      "define void @f() {\n  call void @_ZN1gB2v4B38cE()\n  ret void\n}\ndeclare void @_ZN1gB2v4B38cE()\n", RENAMED },
    { "llvm-ir", "define double @julia_f_123(double %0) {\n  ret double %0\n}\n",
      "define double @julia_f_77(double %0) {\n  ret double %0\n}\n", RENAMED },
    { "llvm-ir", "define void @__numba_array_expr_0x7f82() {\n  ret void\n}\n",
      "define void @__numba_array_expr_0x7f83() {\n  ret void\n}\n", RENAMED },
    { "llvm-ir", "@.str.1 = hidden constant [2 x i8] c\"a\\00\"\n", "@.str.2 = hidden constant [2 x i8] c\"a\\00\"\n", RENAMED },
    /* Nobody outside the object sees these. */
    { "llvm-ir", "@.str.1 = private unnamed_addr constant [2 x i8] c\"a\\00\"\n",
      "@.str.2 = private unnamed_addr constant [2 x i8] c\"a\\00\"\n", SHARED },
    { "llvm-ir", "@.bytes.12 = internal constant [1 x i8] c\"a\"\n", "@.bytes.-7 = internal constant [1 x i8] c\"a\"\n", SHARED },
    { "llvm-ir", "define internal void @\"julia_a[b]_7\"() {\n  ret void\n}\n",
      "define internal void @\"julia_a[b]_8\"() {\n  ret void\n}\n", SHARED },
    { "llvm-ir", "; ModuleID = 'a'\nsource_filename = \"a.c\"\n%t = type { i32 }\ndefine void @f() #0 {\nx:\n  ret void\n}\n",
      "; ModuleID = 'b'\nsource_filename = \"b.c\"\n%u = type { i32 }\ndefine void @f() #3 {\ny:\n  ret void\n}\n", SHARED },
    { "llvm-ir", "define void @f() {\n  ret void\n}\n", "define void @g() {\n  ret void\n}\n", OTHER_KEY },
    { "stablehlo", "module @jit_f {\n}\n", "module @jit_g {\n}\n", RENAMED },
    { "stablehlo", "module @\"jit_<lambda>\" {\n}\n", "module @jit_g {\n}\n", RENAMED },
    { "stablehlo", "module @m {\n  func.func private @a(%arg0: x) -> x {\n  }\n}\n",
      "module @m {\n  func.func private @b(%arg0: x) -> x {\n  }\n}\n", SHARED },
    { "stablehlo", "module @m {\n  func.func public @main(%arg0: x) -> x {\n  }\n}\n",
      "module @m {\n  func.func public @other(%arg0: x) -> x {\n  }\n}\n", OTHER_KEY },
    { "triton", "module {\n  tt.func public @add(%a: x) {\n  } loc(#loc1)\n}\n#loc1 = loc(\"a.py\":1:2)\n",
      "module {\n  tt.func public @add(%a: x) {\n  } loc(#loc1)\n}\n#loc1 = loc(\"b.py\":7:2)\n", SHARED },
    { "triton", "module {\n  tt.func public @add_7(%a: x) {\n  }\n}\n", "module {\n  tt.func public @add_8(%a: x) {\n  }\n}\n",
      OTHER_KEY },
    { "generic", "define double @julia_f_123() {\n}\n", "define double @julia_f_77() {\n}\n", OTHER_KEY },
};

static void
no_kind_serves_names_that_its_caller_has_not(void **state)
{
    for (size_t i = 0; i < sizeof twins / sizeof twins[0]; i++) {
        fixture *f = *state;
        gcache_graph *stored = describe(twins[i].kind, twins[i].stored), *asked = describe(twins[i].kind, twins[i].asked);
        gcache_result strict = GCACHE_RESULT_INIT, accepted = GCACHE_RESULT_INIT;

        assert_int_equal(insert_text(f, stored, NULL, NULL, "object"), GCACHE_OK);
        assert_int_equal(ask(f, asked, false, &strict), twins[i].fate == SHARED ? GCACHE_HIT : GCACHE_MISS);
        assert_int_equal(strict.reason, twins[i].fate == RENAMED     ? GCACHE_REASON_NAMES
                                        : twins[i].fate == OTHER_KEY ? GCACHE_REASON_NO_KEY
                                                                     : GCACHE_REASON_NONE);
        assert_int_equal(ask(f, asked, true, &accepted), twins[i].fate == OTHER_KEY ? GCACHE_MISS : GCACHE_HIT);
        assert_int_equal(accepted.renamed, twins[i].fate == RENAMED);
        gcache_result_clear(&strict);
        gcache_result_clear(&accepted);
        gcache_graph_free(stored);
        gcache_graph_free(asked);
        fixture_close(state);
        fixture_open(state);
    }
}

/* ---- what is handed back ---- */

static void
renames_are_handed_back(void **state)
{
    static char const *const numba[][2] = {
        { "_ZN08NumbaEnv8__main__3addB2v3B38cE", "_ZN08NumbaEnv8__main__3addB3v17B38cE" },
        { NUMBA("2v3"), NUMBA("3v17") },
    };
    static char const *const hlo[][2] = { { "jit_<lambda>", "jit_g" } };
    fixture *f = *state;
    gcache_graph *graphs[] = { describe("llvm-ir", NUMBA_MODULE("2v3")), describe("llvm-ir", NUMBA_MODULE("3v17")),
                               describe("stablehlo", "module @\"jit_<lambda>\" {\n}\n"),
                               describe("stablehlo", "module @jit_g {\n}\n") };
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(insert_text(f, graphs[0], NULL, NULL, "object"), GCACHE_OK);
    assert_int_equal(insert_text(f, graphs[2], NULL, NULL, "executable"), GCACHE_OK);
    assert_int_equal(ask(f, graphs[1], true, &r), GCACHE_HIT);
    assert_renames(&r, 2, numba);
    gcache_result_clear(&r);
    assert_int_equal(ask(f, graphs[3], true, &r), GCACHE_HIT);
    assert_renames(&r, 1, hlo);
    gcache_result_clear(&r);
    for (size_t i = 0; i < 4; i++)
        gcache_graph_free(graphs[i]);
}

/* Symbols and names in texts of one description; guards are translated by the symbols alone. */
static gcache_graph *
describe_both(char const *symbol, char const *module)
{
    gcache_graph *g = make_matmul(symbol, "s9");

    gcache_graph_component(g, "code", gcache_value_text(g, module, strlen(module)));
    return g;
}

static void
symbols_come_first(void **state)
{
    static char const rule_text[] = "{\"format\": \"guardcache-rules/1\", \"name\": \"r\", \"text\": [{\"path\": \"code\", "
                                    "\"kind\": \"ordinal\", \"hand_back\": true, \"pattern\": \"s\\\\d+\", \"with\": \"!\"}]}";
    static char const *const wanted[][2] = { { "s1", "s2" }, { "s9", "s9" }, { "s1", "s8" } };
    fixture *f = *state;
    gcache_rules *rules;
    gcache_hints small = GCACHE_HINTS({ "s1", 48 }), now = GCACHE_HINTS({ "s2", 16 });
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(gcache_rules_read(rule_text, sizeof rule_text - 1, "r", &rules, NULL), GCACHE_OK);
    gcache_graph *stored = describe_both("s1", "call s1"), *asked = describe_both("s2", "call s8");
    gcache_graph_use_rules(stored, rules);
    gcache_graph_use_rules(asked, rules);
    assert_int_equal(insert_text(f, stored, &small, "s1 % 8 == 0", "object"), GCACHE_OK);
    gcache_request request = GCACHE_REQUEST_INIT;
    request.accept_renames = true;
    assert_int_equal(gcache_lookup_with(f->cache, asked, &now, &request, &r, &f->error), GCACHE_HIT);
    assert_renames(&r, 3, wanted);
    assert_string_equal(r.guards[0], "s2 % 8 == 0");
    gcache_result_clear(&r);
    gcache_graph_free(stored);
    gcache_graph_free(asked);
    gcache_rules_free(rules);
}

/* Whoever has only the key knows no names: a candidate with some is for those who rename. */
static void
a_key_knows_no_names(void **state)
{
    fixture *f = *state;
    gcache_graph *stored = describe("llvm-ir", NUMBA_MODULE("2v3"));
    gcache_key key;
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(insert_text(f, stored, NULL, NULL, "object"), GCACHE_OK);
    assert_int_equal(gcache_graph_key(stored, &key, NULL), GCACHE_OK);
    gcache_graph *asked = gcache_graph_new_keyed("llvm-ir", &key);
    assert_int_equal(ask(f, asked, false, &r), GCACHE_MISS);
    assert_int_equal(r.reason, GCACHE_REASON_NAMES);
    gcache_result_clear(&r);
    assert_int_equal(ask(f, asked, true, &r), GCACHE_HIT);
    assert_false(r.renamed);
    gcache_result_clear(&r);
    gcache_graph_free(stored);
    gcache_graph_free(asked);
}

/* ---- compiling ---- */

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    (void)graph, (void)hints, (void)error;
    ++*(int *)state;
    out_compiled->entry->payload = "code";
    out_compiled->entry->payload_size = 4;
    return GCACHE_OK;
}

/* Each name has code of its own, side by side under one key. */
static void
what_is_compiled_lies_beside(void **state)
{
    static char const *const modules[] = { NUMBA_MODULE("2v3"), NUMBA_MODULE("3v17"), NUMBA_MODULE("2v3"), NUMBA_MODULE("3v17") };
    static gcache_status const wanted[] = { GCACHE_MISS, GCACHE_MISS, GCACHE_HIT, GCACHE_HIT };
    fixture *f = *state;
    int calls = 0;

    for (size_t i = 0; i < 4; i++) {
        gcache_graph *g = describe("llvm-ir", modules[i]);
        gcache_result r = GCACHE_RESULT_INIT;
        assert_int_equal(gcache_get_or_compile(f->cache, g, NULL, compile, &calls, &r, &f->error), wanted[i]);
        assert_false(r.renamed);
        assert_string_equal(r.note, "");
        gcache_result_clear(&r);
        gcache_graph_free(g);
    }
    assert_int_equal(calls, 2);
}

static void
many_at_once(void **state)
{
    fixture *f = *state;
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_compile_options each = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_many_options options = GCACHE_MANY_OPTIONS_INIT;
    gcache_many_summary sums = GCACHE_MANY_SUMMARY_INIT;
    int calls = 0;
    gcache_module first = { .size = sizeof first, .graph = describe("llvm-ir", NUMBA_MODULE("2v3")), .state = &calls },
                  second = { .size = sizeof second, .graph = describe("llvm-ir", NUMBA_MODULE("3v17")), .state = &calls };

    options.each = &each;
    assert_int_equal(gcache_compile_many(f->cache, &first, 1, &options, compile, &sums, &f->error), GCACHE_OK);
    gcache_result_clear(&first.result);
    request.accept_renames = true;
    each.request = &request;
    assert_int_equal(gcache_compile_many(f->cache, &second, 1, &options, compile, &sums, &f->error), GCACHE_OK);
    assert_int_equal(sums.hits, 1);
    assert_true(second.result.renamed);
    assert_string_equal(second.result.renames[1].current, NUMBA("3v17"));
    gcache_result_clear(&second.result);
    each.request = NULL;
    assert_int_equal(gcache_compile_many(f->cache, &second, 1, &options, compile, &sums, &f->error), GCACHE_OK);
    assert_int_equal(sums.compiled, 1);
    gcache_result_clear(&second.result);
    assert_int_equal(calls, 2);
    gcache_graph_free(first.graph);
    gcache_graph_free(second.graph);
}

/* ---- explaining ---- */

static void
assert_told(char *text, char const *what)
{
    assert_non_null(text);
    if (strstr(text, what) == NULL)
        fail_msg("no \"%s\" in:\n%s", what, text);
    gcache_free(text);
}

static void
both_names_are_told(void **state)
{
    fixture *f = *state;
    gcache_graph *stored = describe("llvm-ir", NUMBA_MODULE("2v3")), *asked = describe("llvm-ir", NUMBA_MODULE("3v17"));
    gcache_journal_query query = GCACHE_JOURNAL_QUERY_INIT;
    char const line[] = "compiled as \"" NUMBA("2v3") "\", yours is \"" NUMBA("3v17") "\"";
    gcache_result r = GCACHE_RESULT_INIT;
    char *text = NULL;

    assert_int_equal(insert_text(f, stored, NULL, NULL, "object"), GCACHE_OK);
    assert_int_equal(ask(f, asked, false, &r), GCACHE_MISS);
    gcache_result_clear(&r);
    gcache_explain(f->cache, asked, NULL, NULL, GCACHE_EXPLAIN_TEXT, &text, &f->error);
    assert_told(text, line);
    gcache_explain(f->cache, asked, NULL, NULL, GCACHE_EXPLAIN_JSON, &text, &f->error);
    assert_told(text, "{\"stored\": \"" NUMBA("2v3") "\", \"asked\": \"" NUMBA("3v17") "\"}");
    query.last = 1;
    assert_int_equal(gcache_journal_explain(f->cache, &query, GCACHE_EXPLAIN_TEXT, &text, NULL, &f->error), GCACHE_OK);
    assert_told(text, line);
    gcache_graph_free(stored);
    gcache_graph_free(asked);
}

/* ---- the module's name ---- */

static gcache_graph *
describe_with_name(char const *kind, char const *module)
{
    gcache_graph *g = describe(kind, module);

    gcache_graph_component(g, "module_name", gcache_value_bool(g, true));
    return g;
}

/* Where it counts another name is another key, also for a caller who renames, and also where something else has that name. */
static void
a_modules_name_counts_for_who_says_so(void **state)
{
    fixture *f = *state;
    gcache_graph *graphs[] = {
        describe_with_name("stablehlo", "module @a {\n  func.func private @a() {\n  }\n}\n"),
        describe_with_name("stablehlo", "module @a {\n  func.func private @x() {\n  }\n}\n"),
        describe_with_name("stablehlo", "module @b {\n  func.func private @b() {\n  }\n}\n"),
        describe("stablehlo", "module @a {\n  func.func private @a() {\n  }\n}\n"),
    };
    static gcache_status const outcomes[] = { GCACHE_HIT, GCACHE_HIT, GCACHE_MISS, GCACHE_MISS };
    char *text = NULL;

    assert_int_equal(insert_text(f, graphs[0], NULL, NULL, "executable"), GCACHE_OK);
    for (size_t i = 0; i < 4; i++) {
        gcache_result r = GCACHE_RESULT_INIT;
        assert_int_equal(ask(f, graphs[i], true, &r), outcomes[i]);
        assert_int_equal(r.reason, outcomes[i] == GCACHE_HIT ? GCACHE_REASON_NONE : GCACHE_REASON_NO_KEY);
        assert_false(r.renamed);
        gcache_result_clear(&r);
    }
    gcache_explain(f->cache, graphs[2], NULL, NULL, GCACHE_EXPLAIN_TEXT, &text, &f->error);
    assert_told(text, "// module name: @b");
    for (size_t i = 0; i < 4; i++)
        gcache_graph_free(graphs[i]);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)

int
main(void)
{
    struct CMUnitTest const cases[] = {
        CASE(no_kind_serves_names_that_its_caller_has_not),
        CASE(renames_are_handed_back),
        CASE(symbols_come_first),
        CASE(a_key_knows_no_names),
        CASE(what_is_compiled_lies_beside),
        CASE(many_at_once),
        CASE(both_names_are_told),
        CASE(a_modules_name_counts_for_who_says_so),
    };
    return cmocka_run_group_tests(cases, NULL, NULL);
}
