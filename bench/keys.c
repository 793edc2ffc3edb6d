/*
 * What a key costs: built call by call, read from JSON, and for texts of an IR; beside SHA-256 over the same bytes, parsing the
 * same JSON, and PyTorch's figures for a graph of the same size.
 *
 * Times are of the processor: nothing here waits.
 *
 *   bench_keys [CORPUS]    CORPUS: a folder of captured descriptions; the tree's own fixtures by default
 */
#include "harness.h"

#include "base/digest.h"
#include "base/system/file.h"
#include "base/text/json.h"

#include <glob.h>
#include <guardcache/guardcache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As many nodes and inputs as the transformer has that PyTorch's key was measured on (bench/frameworks/pytorch.py). */
enum { BLOCKS = 42, PARAMETERS = 12, SYMBOLIC_INPUTS = 6, NODES_WANTED = 2996, INPUTS_WANTED = 510 };

/* PyTorch 2.13.0 on two cores of another day: prepare_key for 2,996 nodes and 510 inputs, and its pickling and hashing alone.
   bench/frameworks/pytorch.py measures it beside this library's adapter. */
#define PYTORCH_KEY_MS 347.0
#define PYTORCH_HASH_MS 134.0

enum { BATCHES = 101, MODULE_BYTES = 1 << 20 };

static gcache_error error;

static void
require(bool condition, char const *what)
{
    if (!condition)
        bench_die(what, error.message);
}

/* ---- a graph like a captured training step ---- */

typedef struct counts {
    size_t nodes, inputs;
} counts;

static gcache_node
add_input(gcache_graph *g, counts *c, char const *rows, char const *columns)
{
    gcache_tensor tensor = { .size = sizeof tensor, .dtype = "torch.float32", .shape = { rows, columns }, .stride = { columns,
                             "1" }, .rank = 2,
                             .device = "cuda:0", .layout = "torch.strided", .requires_grad = true };

    c->inputs++;
    c->nodes++;
    return gcache_graph_input(g, "arg", &tensor);
}

static gcache_node
call(gcache_graph *g, counts *c, char const *target, gcache_node a, gcache_node b)
{
    c->nodes++;
    return gcache_graph_call(g, target, (gcache_node[]){ a, b }, b != 0 ? 2 : 1);
}

/* A call with a list and constants among its arguments. */
static gcache_node
reduce(gcache_graph *g, counts *c, gcache_node x)
{
    gcache_value *dimension = gcache_value_int(g, -1);
    gcache_value *arguments[] = { gcache_value_node(g, x), gcache_value_list(g, &dimension, 1) };
    gcache_node node = gcache_graph_node(g, "call_function", "aten.mean.dim", arguments, 2);

    gcache_graph_kwarg_bool(g, node, "keepdim", true);
    gcache_graph_kwarg(g, node, "dtype", gcache_value_enum(g, "torch.float32"));
    c->nodes++;
    return node;
}

/* Attention and a gated layer: some 59 nodes of which 12 are parameters. */
static gcache_node
add_block(gcache_graph *g, counts *c, gcache_node x)
{
    gcache_node weights[PARAMETERS];

    for (int i = 0; i < PARAMETERS; i++)
        weights[i] = add_input(g, c, i % 3 == 0 ? "2048" : "512", i % 2 == 0 ? "512" : "2048");
    for (int i = 0; i < PARAMETERS; i++) {
        gcache_node transposed = call(g, c, "aten.permute.default", weights[i], 0);
        gcache_node product = call(g, c, "aten.mm.default", x, transposed);
        gcache_node scaled = call(g, c, "aten.mul.Tensor", product, weights[i]);
        x = i % 4 == 3 ? reduce(g, c, scaled) : call(g, c, "aten.add.Tensor", scaled, x);
    }
    x = call(g, c, "aten.view.default", x, 0);
    return call(g, c, "aten.add.Tensor", x, weights[0]);
}

static void
add_options(gcache_graph *g)
{
    static char const options[] = "{\"aot_mode\": false, \"cpp_wrapper\": false, \"cudagraphs\": true, \"graph_id\": 0, "
                                  "\"is_backward\": false, \"is_inference\": true, \"layout_opt\": null, "
                                  "\"static_input_idxs\": [0, 1, 2, 3]}";

    gcache_graph_component(g, "options", gcache_value_json(g, options, sizeof options - 1));
}

static gcache_graph *
build(counts *c)
{
    gcache_graph *g = gcache_graph_new("fx");

    *c = (counts){ 0 };
    gcache_node x = add_input(g, c, "s0", "512");
    for (int i = 1; i < SYMBOLIC_INPUTS; i++)
        add_input(g, c, "s0*s1", "512");
    for (int i = 0; i < BLOCKS; i++)
        x = add_block(g, c, x);
    while (c->nodes + 1 < NODES_WANTED)
        x = call(g, c, "aten.relu.default", x, 0);
    gcache_graph_output(g, x);
    c->nodes++;
    add_options(g);
    return g;
}

static void
build_and_key(void *state)
{
    counts c;
    gcache_graph *g = build(&c);

    require(gcache_graph_key(g, state, &error) == GCACHE_OK, "a built graph's key");
    gcache_graph_free(g);
}

static void
build_only(void *state)
{
    counts c;

    (void)state;
    gcache_graph_free(build(&c));
}

/* ---- layers ---- */

enum { LAYERS = 100, LAYER_NODES = 30 };

/* One layer behind the other, each alike but for what it reads. */
static void
build_layers_and_key(void *state)
{
    counts c = { 0 };
    gcache_graph *g = gcache_graph_new("fx");
    gcache_node x = add_input(g, &c, "s0", "512");

    for (int layer = 0; layer < LAYERS; layer++) {
        gcache_node begin = x;
        for (int i = 0; i < LAYER_NODES; i++)
            x = call(g, &c, i % 2 == 0 ? "aten.mm.default" : "aten.add.Tensor", x, begin);
    }
    gcache_graph_output(g, x);
    require(gcache_graph_key(g, state, &error) == GCACHE_OK, "the key of layers");
    gcache_graph_free(g);
}

/* ---- a builder that is kept, and its key again ---- */

typedef struct kept_case {
    gcache_graph *graph;
    gcache_node middle, last;
    unsigned changes;
    gcache_key key;
} kept_case;

static void
key_again(kept_case *kept)
{
    gcache_key before = kept->key;

    require(gcache_graph_key(kept->graph, &kept->key, &error) == GCACHE_OK, "the key again");
    require(memcmp(&before, &kept->key, sizeof before) != 0, "a change that doesn't count");
}

static void
add_component(void *state)
{
    kept_case *kept = state;
    char name[32];

    snprintf(name, sizeof name, "options%u", kept->changes++);
    gcache_graph_component(kept->graph, name, gcache_value_bool(kept->graph, true));
    key_again(kept);
}

static void
append_node(void *state)
{
    kept_case *kept = state;

    kept->last = gcache_graph_call(kept->graph, "aten.relu.default", &kept->last, 1);
    key_again(kept);
}

static void
change_middle(void *state)
{
    kept_case *kept = state;
    char name[32];

    snprintf(name, sizeof name, "alpha%u", kept->changes++);
    gcache_graph_kwarg_bool(kept->graph, kept->middle, name, true);
    key_again(kept);
}

static void
kept_row(char const *name, void (*body)(void *state))
{
    counts c;
    kept_case kept = { .graph = build(&c), .middle = NODES_WANTED / 2, .last = NODES_WANTED - 1 };

    bench_print(name, bench_run_computing(body, &kept, BATCHES, 1), "");
    gcache_graph_free(kept.graph);
}

/* ---- texts ---- */

typedef struct text_case {
    char *text;
    size_t size;
    gcache_rules *rules; /* NULL: those of the kind, compiled for each */
    gcache_key key;
} text_case;

static void
read_and_key(void *state)
{
    text_case *t = state;
    gcache_graph *g;

    require(gcache_graph_read(t->text, t->size, "bench", &g, &error) == GCACHE_OK, "reading");
    gcache_graph_use_rules(g, t->rules);
    require(gcache_graph_key(g, &t->key, &error) == GCACHE_OK, "a key");
    gcache_graph_free(g);
}

static void
parse_only(void *state)
{
    text_case *t = state;
    gci_arena arena;
    gci_value value;

    gci_arena_init(&arena, (size_t)1 << 30);
    require(gci_json_read(gci_view_of(t->text, t->size), "bench", &arena, &value, &error) == GCACHE_OK, "parsing");
    gci_arena_clear(&arena);
}

static void
hash_only(void *state)
{
    text_case *t = state;
    gci_digest *digest = gci_digest_new();
    uint8_t hash[GCI_SHA256_BYTES];

    require(digest != NULL && gci_digest_of(digest, gci_view_of(t->text, t->size), hash), "hashing");
    gci_digest_free(digest);
}

static void
print_rate(char const *name, bench_figure figure, size_t bytes, size_t nodes)
{
    char note[96];

    snprintf(note, sizeof note, "%5.0f MB/s, at best %5.0f", (double)bytes / figure.median_ns * 1e3,
             (double)bytes / figure.lowest_ns * 1e3);
    if (nodes != 0)
        snprintf(note + strlen(note), sizeof note - strlen(note), "; %.1f M nodes/s", (double)nodes / figure.median_ns * 1e3);
    bench_print(name, figure, note);
}

static bench_figure
run_text(char const *name, void (*body)(void *state), text_case *t, size_t nodes)
{
    bench_figure figure = bench_run_computing(body, t, BATCHES, 1);

    print_rate(name, figure, t->size, nodes);
    return figure;
}

/* ---- the rows ---- */

static void
built_rows(void)
{
    counts c;
    gcache_key key;
    void const *bytes;
    size_t size;
    gcache_graph *g = build(&c);

    require(c.nodes == NODES_WANTED && c.inputs == INPUTS_WANTED, "the graph has another size");
    require(gcache_graph_canonical(g, &bytes, &size, &error) == GCACHE_OK, "canonical bytes");
    text_case canonical = { .text = (char *)(uintptr_t)bytes, .size = size };
    printf("%zu nodes, %zu inputs, %zu canonical bytes\n", c.nodes, c.inputs, size);
    bench_figure whole = bench_run_computing(build_and_key, &key, BATCHES, 1);
    print_rate("2,996 nodes: build and compute the key", whole, size, c.nodes);
    print_rate("  of that, building", bench_run_computing(build_only, NULL, BATCHES, 1), size, c.nodes);
    run_text("  SHA-256 over the canonical bytes alone", hash_only, &canonical, c.nodes);
    printf("%-52s%10.0f x\n", "  PyTorch's key of such a graph, 347 ms, takes", PYTORCH_KEY_MS * 1e6 / whole.median_ns);
    printf("%-52s%10.0f x\n", "  of that pickling and hashing alone, 134 ms", PYTORCH_HASH_MS * 1e6 / whole.median_ns);

    kept_row("  its key again, one component more", add_component);
    kept_row("  its key again, one node appended", append_node);
    kept_row("  its key again, a node in the middle changed", change_middle);
    bench_print("100 equal layers of 30 nodes: build, compute the key", bench_run_computing(build_layers_and_key, &key, BATCHES, 1),
                "");

    text_case json = { .text = NULL };
    require(gcache_graph_write(g, &json.text, &json.size, &error) == GCACHE_OK, "writing");
    printf("the same as JSON, %zu bytes\n", json.size);
    run_text("2,996 nodes: read the JSON and compute the key", read_and_key, &json, c.nodes);
    run_text("  parse it", parse_only, &json, c.nodes);
    run_text("  SHA-256 over it", hash_only, &json, c.nodes);
    gcache_free(json.text);
    gcache_graph_free(g);
}

static void
append_file(char const *path, gci_buf *out)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    require(gci_file_read_user(path, GCI_JSON_MAX_BYTES, &text, &error) == GCACHE_OK, path);
    gci_buf_append_view(out, gci_buf_view(&text));
    gci_buf_clear(&text);
}

static void
find_files(char const *corpus, char const *pattern, glob_t *out_files)
{
    char path[1024];

    snprintf(path, sizeof path, "%s/%s", corpus, pattern);
    if (glob(path, 0, NULL, out_files) != 0)
        bench_die(path, "no such files");
}

/* All captured descriptions, one after the other. */
typedef struct many {
    text_case *items;
    size_t count, bytes;
} many;

static void
read_many(void *state)
{
    many *m = state;

    for (size_t i = 0; i < m->count; i++)
        read_and_key(&m->items[i]);
}

static void
captured_rows(char const *corpus)
{
    glob_t files;
    many m = { .count = 0 };

    find_files(corpus, "torch/*/graphs/*.json", &files);
    m.items = calloc(files.gl_pathc, sizeof *m.items);
    require(m.items != NULL, "memory");
    for (; m.count < files.gl_pathc; m.count++) {
        gci_buf text;
        gci_buf_init(&text, GCI_BUF_NO_LIMIT);
        append_file(files.gl_pathv[m.count], &text);
        m.items[m.count] = (text_case){ .text = text.data, .size = text.size };
        m.bytes += text.size;
    }
    globfree(&files);
    printf("%zu descriptions captured from PyTorch, %zu bytes of JSON\n", m.count, m.bytes);
    print_rate("61 captured descriptions: read and compute the key", bench_run_computing(read_many, &m, BATCHES, 1), m.bytes, 0);
    for (size_t i = 0; i < m.count; i++)
        free(m.items[i].text);
    free(m.items);
}

/* Captured modules, one behind the other until the text is long, as one description. */
static void
text_rows(char const *corpus, char const *kind, char const *pattern)
{
    glob_t files;
    gci_buf module, json;
    gci_arena arena;
    gci_value value;
    char name[96];

    gci_buf_init(&module, GCI_BUF_NO_LIMIT);
    gci_buf_init(&json, GCI_BUF_NO_LIMIT);
    gci_arena_init(&arena, (size_t)1 << 30);
    find_files(corpus, pattern, &files);
    for (size_t i = 0; module.size < MODULE_BYTES; i = (i + 1) % files.gl_pathc) {
        gci_buf text;
        gci_buf_init(&text, GCI_BUF_NO_LIMIT);
        append_file(files.gl_pathv[i], &text);
        require(gci_json_read(gci_buf_view(&text), "module", &arena, &value, &error) == GCACHE_OK, "a module");
        gci_buf_append_view(&module, gci_map_find(&value, "module")->text);
        gci_buf_clear(&text);
    }
    globfree(&files);
    gci_buf_format(&json, "{\"format\": \"guardcache-graph/1\", \"kind\": \"%s\", \"module\": ", kind);
    gci_json_write_text(&json, gci_buf_view(&module));
    gci_buf_append_text(&json, "}");
    text_case t = { .text = json.data, .size = json.size };
    printf("%s, %zu bytes of modules captured\n", kind, module.size);
    require(gcache_rules_of_kind(kind, &t.rules, &error) == GCACHE_OK, "rules");
    snprintf(name, sizeof name, "%s, 1 MB: read it and compute the key", kind);
    run_text(name, read_and_key, &t, 0);
    run_text("  parse it", parse_only, &t, 0);
    run_text("  SHA-256 over it", hash_only, &t, 0);
    gcache_rules_free(t.rules);
    gci_buf_clear(&module);
    gci_buf_clear(&json);
    gci_arena_clear(&arena);
}

int
main(int argc, char **argv)
{
    char const *corpus = argc > 1 ? argv[1] : BENCH_CORPUS;

    built_rows();
    captured_rows(corpus);
    text_rows(corpus, "stablehlo", "jax/graphs/*.json");
    text_rows(corpus, "llvm-ir", "llvm/graphs/*.json");
    return 0;
}
