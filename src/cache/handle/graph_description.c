/*
 * A graph as the store keeps it: components with their hashes, and the canonical form.
 */
#include "cache/handle/graph_description.h"

#include "base/digest.h"
#include "graph/graph.h"

static gcache_status
describe_keyed(gcache_graph *graph, gci_arena *arena, gci_description *out, gcache_error *error)
{
    size_t count = gci_graph_line_count(graph);
    gci_component *components = gci_arena_array(arena, count, sizeof *components);

    if (components == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        gci_graph_line line = gci_graph_line_at(graph, i);
        components[i].name = line.name;
        components[i].text = line.text;
        /* SHA-256 of its text stands in where an adapter's hash isn't 64 hex digits; all that matters is equality. */
        if (!gci_unhex(line.hash, components[i].hash, GCI_SHA256_BYTES) && !gci_sha256(line.hash, components[i].hash))
            return gci_fail_memory(error);
    }
    out->components = components;
    out->component_count = count;
    return GCACHE_OK;
}

static gcache_status
describe_components(gcache_graph *graph, gci_arena *arena, gci_description *out, gcache_error *error)
{
    gcache_component const *given;
    size_t count;
    gcache_status status = gcache_graph_components(graph, &given, &count, error);

    if (status != GCACHE_OK)
        return status;
    gci_component *components = gci_arena_array(arena, count, sizeof *components);
    if (components == NULL)
        return gci_fail_memory(error);
    for (size_t i = 0; i < count; i++) {
        components[i].name = gci_view_text(given[i].name);
        memcpy(components[i].hash, given[i].hash.bytes, sizeof components[i].hash);
    }
    out->components = components;
    out->component_count = count;
    return GCACHE_OK;
}

gcache_status
gci_description_of(gcache_graph *graph, bool with_canonical, gci_arena *arena, gci_description *out_description,
                   gcache_error *error)
{
    *out_description = (gci_description){ .kind = gci_view_text(gcache_graph_kind(graph)) };
    if (gci_graph_is_keyed(graph))
        return describe_keyed(graph, arena, out_description, error);
    gcache_status status = describe_components(graph, arena, out_description, error);
    if (status == GCACHE_OK && with_canonical) {
        void const *bytes;
        size_t size;
        status = gcache_graph_canonical(graph, &bytes, &size, error);
        out_description->canonical = gci_view_of(status == GCACHE_OK ? bytes : NULL, status == GCACHE_OK ? size : 0);
    }
    return status;
}
