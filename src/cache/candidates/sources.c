/*
 * Sources of hints, as explanations write them.
 */
#include "cache/candidates/sources.h"

#include "graph/graph.h"

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

static char const *
described_source(gci_context const *context, gci_view hint, gci_arena *arena)
{
    gci_view source = { NULL, 0 };
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (gci_graph_write_source(context->graph, hint, context->hints.count, &text) && !text.failed)
        source = gci_arena_copy(arena, gci_buf_view(&text));
    gci_buf_clear(&text);
    return source.data;
}

static void
complete_sources(gci_context const *context, gcache_request *request, gci_arena *arena)
{
    gci_hints const *hints = &context->hints;
    size_t count = request->sources_count;
    gcache_pair *sources = gci_arena_array(arena, count + hints->count, sizeof *sources);

    if (sources == NULL || context->graph == NULL)
        return;
    for (size_t i = 0; i < count; i++)
        sources[i] = request->sources[i];
    for (size_t i = 0; i < hints->count; i++) {
        gci_view name = hints->items[i].name;
        if (gci_pairs_value(request->sources, request->sources_count, name) != NULL)
            continue;
        char const *source = described_source(context, name, arena);
        if (source != NULL)
            sources[count++] = (gcache_pair){ gci_arena_copy(arena, name).data, source };
    }
    if (arena->failed)
        return;
    request->sources = sources;
    request->sources_count = count;
}

void
gci_context_complete_request(gci_context const *context, gcache_request *request, gci_arena *arena)
{
    request->label = gci_context_label(context, arena);
    complete_sources(context, request, arena);
}

/* ---- what is shown ---- */

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
