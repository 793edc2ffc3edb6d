/*
 * Names of the user's program in a description. They are read when a miss is written down or explained; no hit pays for it.
 */
#include "graph/describe/user_names.h"

#include "graph/describe/description.h"
#include "graph/describe/torch_source.h"

#include <ctype.h>

/* Where a module's text names itself: within so many bytes; a define of it is looked for in all of them. */
#define MODULE_HEAD ((size_t)4 << 10)

/* ---- inputs ---- */

static bool
is_symbol(gci_input const *input)
{
    return input->tensor == NULL && input->value.type == GCI_SYM;
}

/* hint = "t" N: PyTorch numbers the inputs that are symbols. */
static bool
is_numbered(gci_view hint, size_t *out_number)
{
    *out_number = 0;
    for (size_t i = 1; i < hint.size; i++) {
        if (!isdigit((unsigned char)hint.data[i]) || hint.size > 6)
            return false;
        *out_number = 10 * *out_number + (size_t)(hint.data[i] - '0');
    }
    return hint.size > 1 && hint.data[0] == 't';
}

/* The input that is the symbol itself; NULL if there is none. */
static gci_input const *
symbol_input(gcache_graph const *graph, gci_view symbol)
{
    for (uint32_t i = 0; i < graph->input_count; i++)
        if (is_symbol(&graph->inputs[i]) && gci_view_equal(graph->inputs[i].value.text, symbol))
            return &graph->inputs[i];
    return NULL;
}

/* The input that a numbered hint is; NULL if there are more or fewer such inputs than hints: that would shift the numbers. */
static gci_input const *
numbered_input(gcache_graph const *graph, gci_view hint, size_t hint_count)
{
    gci_input const *found = NULL;
    size_t number, symbols = 0;

    if (!is_numbered(hint, &number))
        return NULL;
    for (uint32_t i = 0; i < graph->input_count; i++)
        if (is_symbol(&graph->inputs[i]) && symbols++ == number)
            found = &graph->inputs[i];
    return symbols == hint_count ? found : NULL;
}

/* The dimension of an input that is the symbol alone; false if none is. */
static bool
find_dimension(gcache_graph const *graph, gci_input const *input, gci_view symbol, size_t *out_dimension)
{
    gci_value const *shape = input->tensor == NULL && input->value.type == GCI_TENSOR ? gci_map_find(&input->value, "shape") : NULL;
    size_t rank = input->tensor != NULL ? input->tensor->rank : shape != NULL && shape->type == GCI_LIST ? shape->count : 0;

    for (size_t i = 0; i < rank; i++) {
        gci_view size = { NULL, 0 };
        if (input->tensor != NULL)
            size = graph->texts.texts[input->tensor->sizes[i]];
        else if (shape->items[i].type == GCI_STRING || shape->items[i].type == GCI_SYM)
            size = shape->items[i].text;
        *out_dimension = i;
        if (gci_view_equal(size, symbol))
            return true;
    }
    return false;
}

/* ---- sources that PyTorch's AOT writes down, one an input ---- */

static gci_view
written_source(gcache_graph const *graph, size_t input)
{
    gci_graph_component const *config = gci_graph_find_component(graph, (gci_view)GCI_VIEW("aot_config"));
    gci_value const *sources = config != NULL && config->value.type == GCI_MAP
                                   ? gci_map_find(&config->value, "aot_autograd_arg_pos_to_source")
                                   : NULL;

    if (sources == NULL || sources->type != GCI_LIST || input >= sources->count)
        return (gci_view){ NULL, 0 };
    gci_value const *source = &sources->items[input];
    return source->type == GCI_ENUM || source->type == GCI_STRING ? source->text : (gci_view){ NULL, 0 };
}

/* An input whose name a compiler made up says nothing to a user: arg0_1, primals_3, tangents_1, p_0, s77, %arg0. */
static bool
is_made_up(gci_view name)
{
    static char const *const beginnings[] = { "arg", "primals_", "tangents_", "p_", "s", "u", "%arg", "L_", "l_" };

    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++) {
        size_t size = strlen(beginnings[i]), rest = size;
        if (!gci_view_begins(name, beginnings[i]))
            continue;
        while (rest < name.size && (isdigit((unsigned char)name.data[rest]) || name.data[rest] == '_'))
            rest++;
        if (rest == name.size || beginnings[i][1] == '_')
            return true;
    }
    return name.size == 0;
}

/* "x.size(0)" for the symbol's first place among the sizes of inputs; base: of that tensor only, as its source calls it. */
static bool
write_size(gcache_graph const *graph, gci_view symbol, gci_view base, gci_buf *out)
{
    size_t dimension, start = out->size;

    for (uint32_t i = 0; i < graph->input_count; i++) {
        gci_input const *input = &graph->inputs[i];
        if (!find_dimension(graph, input, symbol, &dimension))
            continue;
        out->size = start;
        if (!gci_torch_source_write_base(written_source(graph, i), out)) {
            out->size = start;
            if (is_made_up(input->name))
                continue;
            gci_buf_append_view(out, input->name);
        }
        if (base.size != 0 && !gci_view_equal(gci_view_of(out->data + start, out->size - start), base))
            continue;
        gci_buf_format(out, ".size(%zu)", dimension);
        return true;
    }
    out->size = start;
    return false;
}

/* The source of an input that is a symbol. Where PyTorch's text was cut before the dimension, the tensor's sizes know it. */
static bool
write_input(gcache_graph const *graph, gci_input const *input, gci_buf *out)
{
    gci_view source = written_source(graph, (size_t)(input - graph->inputs));
    size_t start = out->size;
    gci_buf base;

    if (gci_torch_source_write(source, out))
        return true;
    out->size = start;
    gci_buf_init(&base, GCI_BUF_NO_LIMIT);
    bool known = gci_torch_source_write_base(source, &base);
    bool written = write_size(graph, input->value.text, known ? gci_buf_view(&base) : (gci_view){ NULL, 0 }, out);
    gci_buf_clear(&base);
    return written;
}

bool
gci_graph_write_source(gcache_graph const *graph, gci_view hint, size_t hint_count, gci_buf *out)
{
    gci_input const *input = symbol_input(graph, hint);

    if (input == NULL && write_size(graph, hint, (gci_view){ NULL, 0 }, out))
        return true;
    if (input == NULL)
        input = numbered_input(graph, hint, hint_count);
    return input != NULL && write_input(graph, input, out);
}

bool
gci_graph_is_size(gcache_graph const *graph, gci_view hint, size_t hint_count)
{
    gci_input const *numbered = symbol_input(graph, hint) == NULL ? numbered_input(graph, hint, hint_count) : NULL;
    gci_view symbol = numbered != NULL ? numbered->value.text : hint;
    size_t dimension;

    for (uint32_t i = 0; i < graph->input_count; i++)
        if (find_dimension(graph, &graph->inputs[i], symbol, &dimension))
            return true;
    return false;
}

size_t
gci_graph_input_count(gcache_graph const *graph)
{
    return graph->input_count;
}

bool
gci_graph_write_input(gcache_graph const *graph, size_t i, gci_buf *out)
{
    gci_input const *input = &graph->inputs[i];
    size_t start = out->size;

    if (is_symbol(input))
        return write_input(graph, input, out);
    if (gci_torch_source_write(written_source(graph, i), out))
        return true;
    out->size = start;
    if (is_made_up(input->name))
        return false;
    gci_buf_append_view(out, input->name);
    return true;
}

/* ---- places ---- */

static gci_view
behind_last(gci_view text, char c)
{
    char const *at = text.size != 0 ? memrchr(text.data, c, text.size) : NULL;

    return at != NULL ? gci_view_of(at + 1, (size_t)(text.data + text.size - at - 1)) : text;
}

/* The text between two marks; false if they aren't there. */
static bool
between(gci_view text, char const *before, char const *behind, gci_view *out)
{
    char const *start = text.size != 0 ? memmem(text.data, text.size, before, strlen(before)) : NULL;

    if (start == NULL)
        return false;
    start += strlen(before);
    size_t left = (size_t)(text.data + text.size - start);
    char const *end = memmem(start, left, behind, strlen(behind));
    *out = gci_view_of(start, end != NULL ? (size_t)(end - start) : 0);
    return end != NULL;
}

/* line -> '  File "' PATH '", line ' N ', in ' FUNCTION */
static bool
write_frame(gci_view line, gci_buf *out)
{
    gci_view path, number, function = gci_view_of(line.data + line.size, 0);

    if (!between(line, "File \"", "\", line ", &path) || !between(line, "\", line ", ", in ", &number))
        return false;
    char const *in = memmem(line.data, line.size, ", in ", 5);
    function = gci_view_of(in + 5, (size_t)(line.data + line.size - in - 5));
    if (gci_view_contains(path, "/torch/") || function.size == 0)
        return false;
    gci_buf_append_view(out, behind_last(path, '/'));
    gci_buf_append_char(out, ':');
    gci_buf_append_view(out, number);
    gci_buf_append_char(out, ' ');
    gci_buf_append_view(out, function);
    return true;
}

/* The outermost frame of the first node that has any: the line of the compiled function. */
static bool
write_trace(gcache_graph const *graph, gci_buf *out)
{
    for (uint32_t i = 0; graph->root != NULL && !graph->root->packed && i < graph->root->node_count; i++) {
        gci_value const *meta = graph->root->nodes[i].meta;
        gci_value const *trace = meta != NULL && meta->type == GCI_MAP ? gci_map_find(meta, "stack_trace") : NULL;
        gci_view rest = trace != NULL && trace->type == GCI_STRING ? trace->text : (gci_view){ NULL, 0 }, line;
        while (gci_view_next_line(&rest, &line))
            if (write_frame(line, out))
                return true;
    }
    return false;
}

/* module @jit_f: JAX says jit(f). */
static bool
write_mlir(gci_view text, gci_buf *out)
{
    static char const *const transforms[] = { "jit_", "pjit_", "pmap_" };
    size_t end = strlen("module @");

    if (!gci_view_begins(text, "module @") || text.size == end)
        return false;
    while (end < text.size && !isspace((unsigned char)text.data[end]))
        end++;
    gci_view name = behind_last(gci_view_of(text.data, end), '@');
    for (size_t i = 0; i < sizeof transforms / sizeof *transforms; i++) {
        size_t size = strlen(transforms[i]);
        if (name.size == size || !gci_view_begins(name, transforms[i]))
            continue;
        name = gci_view_of(name.data + size, name.size - size);
        gci_buf_append(out, transforms[i], size - 1);
        gci_buf_append_char(out, '(');
        gci_buf_append_view(out, gci_view_is(name, "_lambda") ? gci_view_text("<lambda>") : name);
        gci_buf_append_char(out, ')');
        return true;
    }
    gci_buf_append_view(out, name);
    return true;
}

/* The first function that a module defines; nothing of mangled ones, which no user reads. */
static gci_view
defined_function(gci_view text)
{
    gci_view name, line = { NULL, 0 };

    if (between(text, "\ndefine ", "\n", &line) && between(line, "@", "(", &name) && name.size < 80 && name.size != 0 &&
        name.data[0] != '_' && name.data[0] != '"')
        return name;
    return (gci_view){ NULL, 0 };
}

/* ; ModuleID = 'f.c', and the function */
static bool
write_llvm(gci_view text, gci_buf *out)
{
    gci_view module, head = gci_view_of(text.data, text.size < MODULE_HEAD ? text.size : MODULE_HEAD);

    if (!between(head, "ModuleID = '", "'", &module))
        return false;
    gci_view function = defined_function(text);
    module = behind_last(module, '/');
    gci_buf_append_view(out, module);
    if (function.size != 0 && !gci_view_equal(function, module)) {
        gci_buf_append_text(out, module.size != 0 ? " " : "");
        gci_buf_append_view(out, function);
    }
    return module.size != 0 || function.size != 0;
}

bool
gci_graph_write_place(gcache_graph const *graph, gci_buf *out)
{
    if (write_trace(graph, out))
        return true;
    for (size_t i = 0; i < graph->component_count; i++) {
        gci_graph_component const *component = &graph->components[i];
        if (component->type != GCI_COMPONENT_VALUE || component->value.type != GCI_STRING)
            continue;
        if (write_mlir(component->value.text, out) || write_llvm(component->value.text, out))
            return true;
    }
    return false;
}
