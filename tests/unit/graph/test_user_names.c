/*
 * What descriptions say of the program they were made from: sources of hints, and places.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "graph/describe/torch_source.h"
#include "graph/graph.h"

#include <cmocka.h>
#include <guardcache/guardcache.h>
#include <stdio.h>
#include <stdlib.h>

#define LOCAL(name) "LocalSource(local_name='" name "', is_input=True, dynamism=None, is_derefed_cell_contents=False)"
#define SIZE_OF(base, i) "TensorPropertySource(base=" base ", prop=<TensorProperty.SIZE: 0>, idx=" i ")"
#define DICT(base, key) "DictGetItemSource(base=" base ", index='" key "')"
#define ATTR(base, member) "AttrSource(base=" base ", member='" member "')"
#define MODULE(base) "UnspecializedNNModuleSource(base=" base ")"
#define FC DICT(ATTR(MODULE(LOCAL("self")), "_modules"), "fc")

static struct {
    char const *text, *written; /* NULL: it says nothing */
} const sources[] = {
    { LOCAL("x"), "x" },
    { "torch._dynamo.source.LocalSource:" LOCAL("x"), "x" },
    { SIZE_OF(LOCAL("x"), "0"), "x.size(0)" },
    { "torch._dynamo.source.TensorPropertySource:" SIZE_OF(LOCAL("x"), "12"), "x.size(12)" },
    { "TensorPropertySource(base=" LOCAL("x") ", prop=<TensorProperty.STRIDE: 1>, idx=1)", "x.stride(1)" },
    { "TensorPropertySource(base=" LOCAL("x") ", prop=<TensorProperty.STORAGE_OFFSET: 2>, idx=None)", "x.storage_offset()" },
    { SIZE_OF("GetItemSource(base=" LOCAL("a") ", index=0, index_is_slice=False)", "1"), "a[0].size(1)" },
    { DICT(LOCAL("batch"), "ids"), "batch['ids']" },
    { DICT(ATTR(MODULE(FC), "_parameters"), "weight"), "self.fc.weight" },
    { "UnspecializedParamBufferSource(base=" DICT(ATTR(MODULE(FC), "_buffers"), "mean") ")", "self.fc.mean" },
    { "GlobalSource(global_name='SCALE')", "SCALE" },
    { ATTR("GlobalSource(global_name='cfg')", "width"), "cfg.width" },
    { "ConvertIntSource(base=" LOCAL("n") ")", "n" },
    { DICT(LOCAL("d"), "a, b)"), "d['a, b)']" },
    { "TensorPropertySource(base=" LOCAL("x") ", prop=<TensorProperty.SIZE: 0>, i...<cut 5>", NULL },
    { "LocalSource(local_name='...<cut 255>", NULL },
    { "DictGetItemSource(base=" LOCAL("d") ", index=ConstDictKeySource(base=x, index=1))", NULL },
    { "RandomValueSource(random_call_index=3)", NULL },
    { "DictGetItemSource(base=DictGetItemSource(base=Dict...<cut 600>", NULL },
    { "", NULL },
    { "(", NULL },
    { ":", NULL },
    { "x:y(", NULL },
    { "LocalSource(local_name=')", NULL },
};

static void
test_sources(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        gci_buf text;
        gci_buf_init(&text, 4096);
        bool written = gci_torch_source_write(gci_view_text(sources[i].text), &text);
        gci_buf_append_char(&text, '\0');
        if (written != (sources[i].written != NULL) || (written && strcmp(text.data, sources[i].written) != 0))
            fail_msg("%s: %s", sources[i].text, written ? text.data : "nothing");
        gci_buf_clear(&text);
    }
}

/* Whatever is left out at a text's end, reading stays within it, and nothing is said that the whole doesn't say. */
static void
test_cut_sources(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        size_t size = strlen(sources[i].text);
        for (size_t cut = 0; cut < size; cut++) {
            char *copy = malloc(cut + 1);
            gci_buf text;
            assert_non_null(copy);
            memcpy(copy, sources[i].text, cut);
            gci_buf_init(&text, 4096);
            gci_torch_source_write(gci_view_of(copy, cut), &text);
            gci_buf_clear(&text);
            free(copy);
        }
    }
}

/* ---- whole descriptions ---- */

#define HEAD "{\"format\": \"guardcache-graph/1\", \"kind\": \"aot\", "
#define SYM(name, symbol) "{\"name\": \"" name "\", \"value\": {\"$sym\": \"" symbol "\"}}"
#define TENSOR(name, sizes) "{\"name\": \"" name "\", \"value\": {\"$tensor\": {\"dtype\": \"float32\", \"shape\": [" sizes "]}}}"
#define SOURCES(list) "\"aot_config\": {\"aot_autograd_arg_pos_to_source\": [" list "]}"
#define SOURCE(text) "{\"$enum\": \"" text "\"}"
#define NODE(trace)                                                                                              \
    "\"graph\": {\"nodes\": [{\"name\": \"n\", \"op\": \"call_function\", \"target\": \"f\", "       \
    "\"meta\": {\"stack_trace\": \"" trace "\"}}]}"

#define TWO_SIZES "\"inputs\": [" SYM("p_0", "s1") ", " SYM("p_1", "s9") ", " TENSOR("p_2", "\"s1\", 3, \"s9\"") "], "
#define BOTH SOURCE(SIZE_OF(LOCAL("x"), "0")) ", " SOURCE(SIZE_OF(LOCAL("x"), "2"))
#define CUT SOURCE("TensorPropertySource(base=" LOCAL("x") ", prop=<TensorProperty.SIZE: 0>, i...<cut 5>")
#define X SOURCE(LOCAL("x"))

static struct {
    char const *description, *hint;
    size_t hint_count;
    char const *source; /* NULL: the description doesn't say */
} const hints[] = {
    { HEAD TWO_SIZES SOURCES(BOTH ", " X) "}", "t1", 2, "x.size(2)" },
    { HEAD TWO_SIZES SOURCES(BOTH ", " X) "}", "s9", 2, "x.size(2)" },
    /* a symbol without a hint: the numbers may mean others */
    { HEAD TWO_SIZES SOURCES(BOTH ", " X) "}", "t1", 1, NULL },
    /* cut before the dimension */
    { HEAD TWO_SIZES SOURCES(X ", " CUT ", " X) "}", "t1", 2, "x.size(2)" },
    { HEAD TWO_SIZES SOURCES(SOURCE(LOCAL("n")) ", " SOURCE(LOCAL("m")) ", " X) "}", "t0", 2, "n" },
    /* no sources: names that a compiler made up say nothing, others do */
    { HEAD TWO_SIZES "\"options\": {}}", "t1", 2, NULL },
    { HEAD "\"inputs\": [" TENSOR("x", "\"s0\", \"s1\"") "], \"options\": {}}", "s1", 2, "x.size(1)" },
    { HEAD "\"inputs\": [" TENSOR("arg0_1", "\"s0\"") ", " TENSOR("seq", "\"s0\"") "], \"options\": {}}", "s0", 1, "seq.size(0)" },
    { HEAD "\"inputs\": [" TENSOR("x", "\"2*s0\"") "], \"options\": {}}", "s0", 1, NULL },
    { HEAD "\"options\": {}}", "t0", 1, NULL },
    { HEAD TWO_SIZES "\"aot_config\": {\"aot_autograd_arg_pos_to_source\": 3}}", "t0", 2, NULL },
};

static gcache_graph *
graph_of(char const *text)
{
    gcache_graph *graph = NULL;
    gcache_error error;

    if (gcache_graph_read(text, strlen(text), "description", &graph, &error) != GCACHE_OK)
        fail_msg("%s: %s", text, error.message);
    return graph;
}

static void
check_text(gci_buf *found, bool is_found, char const *expected, char const *description)
{
    gci_buf_append_char(found, '\0');
    if (is_found != (expected != NULL) || (is_found && strcmp(found->data, expected) != 0))
        fail_msg("%s: %s", description, is_found ? found->data : "nothing");
    gci_buf_clear(found);
}

static void
test_hints(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++) {
        gcache_graph *graph = graph_of(hints[i].description);
        gci_buf text;
        gci_buf_init(&text, 4096);
        bool found = gci_graph_write_source(graph, gci_view_text(hints[i].hint), hints[i].hint_count, &text);
        check_text(&text, found, hints[i].source, hints[i].description);
        gcache_graph_free(graph);
    }
}

static struct {
    char const *description;
    char const *names[3]; /* of the inputs; NULL: the description doesn't say */
} const inputs[] = {
    { HEAD TWO_SIZES SOURCES(BOTH ", " X) "}", { "x.size(0)", "x.size(2)", "x" } },
    { HEAD TWO_SIZES SOURCES(BOTH) "}", { "x.size(0)", "x.size(2)", NULL } },
    { HEAD TWO_SIZES "\"options\": {}}", { NULL, NULL, NULL } },
    { HEAD "\"inputs\": [" TENSOR("x", "2") ", " TENSOR("primals_2", "2") ", " TENSOR("w", "2") "]}", { "x", NULL, "w" } },
};

static void
test_inputs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
        gcache_graph *graph = graph_of(inputs[i].description);
        assert_int_equal(gci_graph_input_count(graph), 3);
        for (size_t k = 0; k < 3; k++) {
            gci_buf text;
            gci_buf_init(&text, 4096);
            bool found = gci_graph_write_input(graph, k, &text);
            check_text(&text, found, inputs[i].names[k], inputs[i].description);
        }
        gcache_graph_free(graph);
    }
}

static struct {
    char const *description, *place;
} const places[] = {
    { HEAD NODE("  File \\\"/src/train.py\\\", line 88, in forward\\n    return x") "}", "train.py:88 forward" },
    { HEAD NODE("  File \\\"/lib/torch/nn/modules/linear.py\\\", line 9, in forward\\n    a\\n"
           "  File \\\"net.py\\\", line 3, in <lambda>\\n    b") "}",
      "net.py:3 <lambda>" },
    { HEAD NODE("  File \\\"net.py\\\", line 3") "}", NULL },
    { HEAD "\"module\": \"module @jit_train_step attributes {a = 1 : i32} {\\n}\\n\"}", "jit(train_step)" },
    { HEAD "\"module\": \"module @jit__lambda {\\n}\\n\"}", "jit(<lambda>)" },
    { HEAD "\"module\": \"module @main {\\n}\\n\"}", "main" },
    { HEAD "\"module\": \"module {\\n}\\n\"}", NULL },
    { HEAD "\"module\": \"; ModuleID = 'kernels/o.ll'\\n\\ndefine i32 @fnv1a(ptr %0) {\\n}\\n\"}", "o.ll fnv1a" },
    { HEAD "\"module\": \"; ModuleID = 'impl'\\n\\ndefine i32 @_ZN5numba4impl(ptr %0) {\\n}\\n\"}", "impl" },
    { HEAD "\"module\": \"; ModuleID = 'f'\\n\\ndefine i32 @f(ptr %0) {\\n}\\n\"}", "f" },
    { HEAD "\"module\": \"\", \"options\": {}}", NULL },
};

static void
test_places(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        gcache_graph *graph = graph_of(places[i].description);
        gci_buf text;
        gci_buf_init(&text, 4096);
        bool found = gci_graph_write_place(graph, &text);
        check_text(&text, found, places[i].place, places[i].description);
        gcache_graph_free(graph);
    }
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_cut_sources),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_inputs),
        cmocka_unit_test(test_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
