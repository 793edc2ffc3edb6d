/*
 * Sources of hints, as explanations write them.
 */
#include "cache/candidates/sources.h"

#include "cache/handle/words.h"
#include "graph/graph.h"

/* Inputs that are named, at most: a journal entry has no room for hundreds. */
#define INPUTS 32
/* Hints whose sources are looked for: each may look at all inputs, and a miss must not take long for it. */
#define HINTS 256

/* ---- what the description says ---- */

char const *
gci_context_label(gci_context const *context, gci_arena *arena)
{
    gci_view label = gci_view_text(context->request.label);
    gci_buf place;

    if (context->request.label != NULL || context->graph == NULL)
        return context->request.label;
    gci_buf_init(&place, GCI_BUF_NO_LIMIT);
    if (gci_graph_write_place(context->graph, &place))
        label = gci_arena_copy(arena, gci_buf_view(&place));
    gci_buf_clear(&place);
    return label.data;
}

/* What is being added to a request's sources. */
typedef struct completion {
    gci_context const *context;
    gci_arena *arena;
    gcache_pair *sources;
    size_t count;
} completion;

/* text is taken. */
static void
add_source(completion *c, gci_view name, bool known, gci_buf *text)
{
    if (known && !text->failed)
        c->sources[c->count++] =
            (gcache_pair){ gci_arena_copy(c->arena, name).data, gci_arena_copy(c->arena, gci_buf_view(text)).data };
    gci_buf_clear(text);
}

static void
add_hint(completion *c, gci_view name)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    add_source(c, name, gci_graph_write_source(c->context->graph, name, c->context->hints.count, &text), &text);
}

static void
add_hints(completion *c, gcache_request const *request)
{
    gci_hints const *hints = &c->context->hints;

    for (size_t i = 0; i < hints->count && i < HINTS; i++)
        if (gci_pairs_value(request->sources, request->sources_count, hints->items[i].name) == NULL)
            add_hint(c, hints->items[i].name);
}

/* The first ones that aren't parameters of a module: there are hundreds of those, and what changes is the others. What the caller
   said stays. */
static void
add_inputs(completion *c)
{
    size_t count = gci_graph_input_count(c->context->graph), found = 0;
    gci_buf text, name;

    for (size_t i = 0; i < count && found < INPUTS; i++) {
        gci_buf_init(&text, GCI_BUF_NO_LIMIT);
        gci_buf_init(&name, GCI_BUF_NO_LIMIT);
        gci_buf_format(&name, "inputs[%zu]", i);
        bool given = gci_pairs_value(c->sources, c->count, gci_buf_view(&name)) != NULL;
        bool known = !given && gci_graph_write_input(c->context->graph, i, &text) &&
                     !gci_view_begins(gci_buf_view(&text), "self.");
        found += known;
        add_source(c, gci_buf_view(&name), known, &text);
        gci_buf_clear(&name);
    }
}

void
gci_context_complete_request(gci_context const *context, bool with_inputs, gcache_request *request, gci_arena *arena)
{
    size_t count = request->sources_count, room = count + context->hints.count + INPUTS;
    completion c = { .context = context, .arena = arena, .count = count };

    request->label = gci_context_label(context, arena);
    c.sources = gci_arena_array(arena, room, sizeof *c.sources);
    if (c.sources == NULL || context->graph == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        c.sources[i] = request->sources[i];
    add_hints(&c, request);
    if (with_inputs)
        add_inputs(&c);
    if (arena->failed)
        return;
    request->sources = c.sources;
    request->sources_count = c.count;
}

bool
gci_context_source(gci_context const *context, gci_view hint, gci_arena *arena, gcache_pair *out_source)
{
    gcache_request const *request = &context->request;
    completion c = { .context = context, .arena = arena, .sources = out_source };
    char const *given = gci_pairs_value(request->sources, request->sources_count, hint);

    *out_source = (gcache_pair){ gci_arena_copy(arena, hint).data, given };
    if (given == NULL && context->graph != NULL)
        add_hint(&c, hint);
    return out_source->value != NULL && !arena->failed;
}

/* ---- what is known ---- */

/* Stands for itself among operators: has no space outside of brackets and quotes. */
static bool
is_atom(gci_view source)
{
    int depth = 0;
    char quote = '\0';

    for (size_t i = 0; i < source.size; i++) {
        char c = source.data[i];
        if (quote != '\0')
            quote = c == quote ? '\0' : quote;
        else if (c == '\'' || c == '"')
            quote = c;
        else if (strchr("([", c) != NULL)
            depth++;
        else if (strchr(")]", c) != NULL)
            depth--;
        else if (depth == 0 && strchr(" +-*/%<>=", c) != NULL)
            return false;
    }
    return true;
}

/* x.size(0), x.size()[0] or x.shape[0], and nothing behind it. */
static bool
is_size(gci_view source)
{
    static char const *const before[] = { ".size(", ".size()[", ".shape[" };
    size_t end = source.size != 0 && strchr(")]", source.data[source.size - 1]) != NULL ? source.size - 1 : 0, at = end;

    while (at > 0 && source.data[at - 1] >= '0' && source.data[at - 1] <= '9')
        at--;
    for (size_t i = 0; at < end && i < sizeof before / sizeof before[0]; i++) {
        size_t size = strlen(before[i]);
        if (at > size && memcmp(source.data + at - size, before[i], size) == 0 && is_atom(source))
            return true;
    }
    return false;
}

void
gci_context_know_sizes(gci_context *context, gci_arena *arena)
{
    gcache_request const *request = &context->request;
    gci_hints *hints = &context->hints;
    bool *sizes = gci_arena_array(arena, hints->count, sizeof *sizes);

    for (size_t i = 0; sizes != NULL && i < hints->count; i++) {
        char const *source = gci_pairs_value(request->sources, request->sources_count, hints->items[i].name);
        sizes[i] = source != NULL && is_size(gci_view_text(source));
        if (!sizes[i] && context->graph != NULL && i < HINTS)
            sizes[i] = gci_graph_is_size(context->graph, hints->items[i].name, hints->count);
    }
    hints->sizes = sizes;
}

/* ---- what is shown ---- */

static gci_view
in_parentheses(gci_view source, gci_arena *arena)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_char(&text, '(');
    gci_buf_append_view(&text, source);
    gci_buf_append_char(&text, ')');
    gci_view copy = text.failed ? source : gci_arena_copy(arena, gci_buf_view(&text));
    gci_buf_clear(&text);
    return copy;
}

void
gci_context_show_sources(gci_context *context, gci_arena *arena)
{
    gcache_request const *request = &context->request;
    gci_hints *hints = &context->hints;
    gci_view *shown = gci_arena_array(arena, hints->count, sizeof *shown);

    for (size_t i = 0; shown != NULL && i < hints->count; i++) {
        char const *source = gci_pairs_value(request->sources, request->sources_count, hints->items[i].name);
        shown[i] = source == NULL || source[0] == '\0' ? hints->items[i].name : gci_view_text(source);
        if (!is_atom(shown[i]))
            shown[i] = in_parentheses(shown[i], arena);
    }
    hints->shown = shown;
}

/* The part of a path up to the first "]". */
static gci_view
input_of(gci_view path)
{
    char const *end = path.size != 0 ? memchr(path.data, ']', path.size) : NULL;

    return gci_view_of(path.data, end != NULL ? (size_t)(end + 1 - path.data) : 0);
}

char const *
gci_input_source(gcache_request const *request, gci_view path)
{
    gci_view input = input_of(path);

    return input.size != 0 ? gci_pairs_value(request->sources, request->sources_count, input) : NULL;
}

void
gci_write_input_path(gcache_request const *request, gci_view path, gci_buf *out)
{
    char const *source = gci_input_source(request, path);
    gci_view input = input_of(path), rest = gci_view_of(path.data + input.size, path.size - input.size);

    if (source == NULL) {
        gci_visible_append(out, path);
        return;
    }
    if (gci_view_is(rest, ".value") || gci_view_begins(rest, ".value."))
        rest = gci_view_of(rest.data + 6, rest.size - 6);
    gci_phrase(out, "{} ({}){}", GCI_AS_TEXT(source), GCI_AS_VIEW(input), GCI_AS_VIEW(rest));
}
