/*
 * A description as an object: its life, its first error, its growing arrays and its parts.
 */
#include "base/check.h"
#include "base/utf8.h"
#include "graph/describe/description.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Room of a growing array at first: most graphs have more nodes, hardly any map more members. */
#define FIRST_ROOM 8

gcache_graph *
gcache_graph_new(char const *kind)
{
    gcache_graph *graph = calloc(1, sizeof *graph);

    if (graph == NULL)
        return NULL;
    gci_arena_init(&graph->arena, GCI_GRAPH_MAX_BYTES);
    graph->kind = gci_arena_copy(&graph->arena, gci_view_text(kind != NULL ? kind : "generic"));
    if (graph->kind.data == NULL) {
        gcache_graph_free(graph);
        return NULL;
    }
    return graph;
}

void
gci_graph_drop_canonical(gcache_graph *graph)
{
    gci_canonical_free(atomic_exchange(&graph->hashed, NULL));
    gci_canonical_free(atomic_exchange(&graph->kept, NULL));
    free(atomic_exchange(&graph->salted, NULL));
}

void
gcache_graph_free(gcache_graph *graph)
{
    if (graph == NULL)
        return;
    gci_graph_drop_canonical(graph);
    for (gci_subgraph *sub = graph->newest; sub != NULL; sub = sub->older)
        gci_buf_clear(&sub->packed_nodes);
    gci_intern_clear(&graph->texts);
    gci_arena_clear(&graph->arena);
    free(graph);
}

char const *
gcache_graph_kind(gcache_graph const *graph)
{
    return graph->kind.data;
}

/* ---- sticky errors ---- */

void
gci_graph_fail(gcache_graph *graph, gcache_status status, char const *format, ...)
{
    char message[sizeof graph->error.message];
    va_list arguments;

    if (graph->status != GCACHE_OK)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    graph->status = gci_fail(&graph->error, status, "%s", message);
}

void
gci_graph_fail_memory(gcache_graph *graph)
{
    if (graph->arena.total >= graph->arena.limit / 2)
        gci_graph_fail(graph, GCACHE_ERROR_LIMIT, "the description is larger than %zu bytes in memory",
                       (size_t)GCI_GRAPH_MAX_BYTES);
    else
        gci_graph_fail(graph, GCACHE_ERROR_MEMORY, "out of memory");
}

gcache_status
gci_graph_check(gcache_graph const *graph, gcache_error *error)
{
    GCI_REQUIRE(graph != NULL, error, "the graph is missing (NULL)");
    if (graph->status != GCACHE_OK && error != NULL)
        *error = graph->error;
    return graph->status;
}

/* ---- parts ---- */

void *
gci_graph_array(gcache_graph *graph, size_t count, size_t item_size)
{
    void *items = gci_arena_array(&graph->arena, count, item_size);

    if (items == NULL)
        gci_graph_fail_memory(graph);
    return items;
}

bool
gci_graph_check_text(gcache_graph *graph, gci_view text)
{
    if (text.data != NULL && gci_utf8_valid(text))
        return true;
    gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, text.data == NULL ? "a text is missing (NULL)"
                                                                   : "a text that isn't valid UTF-8");
    return false;
}

bool
gci_graph_copy(gcache_graph *graph, gci_view bytes, gci_view *out_copy)
{
    *out_copy = gci_arena_copy(&graph->arena, bytes);
    if (out_copy->data == NULL)
        gci_graph_fail_memory(graph);
    return out_copy->data != NULL;
}

bool
gci_graph_copy_text(gcache_graph *graph, gci_view text, gci_view *out_text)
{
    return gci_graph_check_text(graph, text) && gci_graph_copy(graph, text, out_text);
}

void *
gci_graph_grow(gcache_graph *graph, void *items_at, size_t count, size_t *room, size_t item_size)
{
    char *items;

    GCI_ASSERT(count <= *room);
    memcpy(&items, items_at, sizeof items);
    if (count == *room) {
        size_t more = *room == 0 ? FIRST_ROOM : *room * 2;
        char *moved = gci_graph_array(graph, more, item_size);
        if (moved == NULL)
            return NULL;
        if (count != 0)
            memcpy(moved, items, count * item_size);
        memcpy(items_at, &moved, sizeof moved);
        *room = more;
        items = moved;
    }
    return memset(items + count * item_size, 0, item_size);
}

bool
gci_component_is_volatile(gci_view name)
{
    return gci_view_is(name, "volatile");
}

gci_graph_component *
gci_graph_find_component(gcache_graph const *graph, gci_view name)
{
    for (size_t i = 0; i < graph->component_count; i++)
        if (gci_view_equal(graph->components[i].name, name))
            return &graph->components[i];
    return NULL;
}

bool
gci_graph_counts_module_name(gcache_graph const *graph)
{
    gci_graph_component const *component = gci_graph_find_component(graph, (gci_view)GCI_VIEW("module_name"));

    return component != NULL && component->type == GCI_COMPONENT_VALUE && component->value.type == GCI_BOOL &&
           component->value.boolean;
}

gci_graph_component *
gci_graph_add_component(gcache_graph *graph, gci_view name, gci_component_type type)
{
    gci_graph_component *component =
        gci_graph_grow(graph, &graph->components, graph->component_count, &graph->component_room, sizeof *component);

    if (component == NULL)
        return NULL;
    *component = (gci_graph_component){ .name = name, .type = type, .counts = !gci_component_is_volatile(name) };
    graph->component_count++;
    return component;
}

gci_subgraph *
gci_graph_new_subgraph(gcache_graph *graph, gci_subgraph *outer, bool packed)
{
    gci_subgraph *sub = gci_graph_array(graph, 1, sizeof *sub);

    if (sub == NULL)
        return NULL;
    sub->outer = outer;
    sub->serial = ++graph->last_serial;
    sub->packed = packed;
    gci_buf_init(&sub->packed_nodes, GCI_GRAPH_MAX_BYTES);
    sub->older = graph->newest;
    graph->newest = sub;
    sub->constants.type = sub->others.type = GCI_MAP;
    return sub;
}

gci_subgraph *
gci_graph_root(gcache_graph *graph, bool packed)
{
    if (graph->root == NULL) {
        gci_subgraph *root = gci_graph_new_subgraph(graph, NULL, packed);
        if (root == NULL || gci_graph_add_component(graph, (gci_view)GCI_VIEW("graph"), GCI_COMPONENT_GRAPH) == NULL)
            return NULL;
        GCI_ASSERT(root->serial == 1);
        graph->root = root;
    }
    return graph->root;
}
