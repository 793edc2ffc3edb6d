/*
 * Reading a description file: strict JSON first, then the components. The component `graph` becomes gci_subgraph and
 * gci_node structs, `inputs` gci_input structs; the rest stays a tree.
 *
 * The graph and the inputs are read before other components, since those may name their nodes.
 */
#include "base/check.h"
#include "base/json.h"
#include "graph/describe/reader.h"

static bool
read_text(gci_typing const *typing, gci_value const *value, char const *what, gci_view *out_text)
{
    if (value->type != GCI_STRING)
        return gci_typed_fail(typing, value, "%s must be a string", what);
    *out_text = value->text;
    return true;
}

/* Types the members of a map that is one by its place, whatever its members are called. */
static bool
read_map(gci_typing const *typing, gci_value *value, char const *what)
{
    if (value->type != GCI_MAP)
        return gci_typed_fail(typing, value, "%s must be a map", what);
    for (uint32_t i = 0; i < value->count; i++)
        if (!gci_typed_value(typing, &value->members[i].value))
            return false;
    return true;
}

/* Adds a member that isn't well known, of a map of `room` members, to those that count as they are. */
static bool
add_other(gci_typing const *typing, gci_value *others, uint32_t room, gci_member *member)
{
    if (!gci_typed_value(typing, &member->value))
        return false;
    if (others->members == NULL)
        others->members = gci_arena_array(&typing->graph->arena, room, sizeof *others->members);
    if (others->members == NULL) {
        gci_graph_fail_memory(typing->graph);
        return false;
    }
    others->members[others->count++] = *member;
    return true;
}

static gci_value const *
require(gci_typing const *typing, gci_value const *map, char const *name)
{
    gci_value const *value = gci_map_find(map, name);

    if (value == NULL)
        gci_typed_fail(typing, map, "\"%s\" is missing", name);
    return value;
}

/* Fills the table of sub's nodes, of the inputs where sub is NULL, inside typing's scope. list is where they were read,
   for messages: false if two have one name, or without memory. */
static bool
init_scope(gci_scope *scope, gci_typing const *typing, gci_value const *list, gci_subgraph const *sub)
{
    gcache_graph *graph = typing->graph;
    uint32_t count = sub != NULL ? sub->node_count : graph->input_count;
    bool is_new;

    *scope = (gci_scope){ .outer = typing->scope, .serial = sub != NULL ? sub->serial : GCI_NODE_INPUTS };
    for (uint32_t i = 0; i < count; i++) {
        gci_view name = sub != NULL ? sub->nodes[i].name : graph->inputs[i].name;
        if (gci_intern_add(&scope->names, name, &is_new) == GCI_INTERN_NONE) {
            gci_graph_fail_memory(graph);
            return false;
        }
        if (!is_new)
            return gci_typed_fail(typing, list != NULL ? &list->items[i] : NULL, "a second %s \"%.*s\"",
                                  sub != NULL ? "node" : "input", (int)name.size, name.data);
    }
    return true;
}

/* ---- nodes ---- */

/* node := { "name": string, "op": string, "target": string, "args": list, "kwargs": map, "meta": any, other members } */
static bool
read_node_member(gci_typing const *typing, gci_member *member, uint32_t room, gci_node *node)
{
    gci_value *value = &member->value;

    if (gci_view_is(member->name, "name"))
        return true; /* read before, for references */
    if (gci_view_is(member->name, "meta")) {
        node->meta = value; /* volatile: anything goes */
        return true;
    }
    if (gci_view_is(member->name, "op"))
        return read_text(typing, value, "op", &node->op);
    if (gci_view_is(member->name, "target"))
        return read_text(typing, value, "target", &node->target);
    if (gci_view_is(member->name, "args")) {
        if (value->type != GCI_LIST)
            return gci_typed_fail(typing, value, "args must be a list");
        node->args = *value;
        return gci_typed_value(typing, value);
    }
    if (gci_view_is(member->name, "kwargs")) {
        node->kwargs = *value;
        return read_map(typing, value, "kwargs");
    }
    return add_other(typing, &node->others, room, member);
}

static bool
read_node(gci_typing const *typing, gci_value *value, gci_node *node)
{
    for (uint32_t i = 0; i < value->count; i++)
        if (!read_node_member(typing, &value->members[i], value->count, node))
            return false;
    return node->op.data != NULL || require(typing, value, "op") != NULL;
}

/* The names of all nodes, before the first reference to one is read. */
static bool
read_node_names(gci_typing const *typing, gci_value const *list, gci_subgraph *sub)
{
    if (list->type != GCI_LIST)
        return gci_typed_fail(typing, list, "nodes must be a list");
    sub->nodes = gci_arena_array(&typing->graph->arena, list->count, sizeof *sub->nodes);
    if (sub->nodes == NULL) {
        gci_graph_fail_memory(typing->graph);
        return false;
    }
    sub->node_count = list->count;
    for (uint32_t i = 0; i < list->count; i++) {
        gci_value const *value = &list->items[i];
        if (value->type != GCI_MAP)
            return gci_typed_fail(typing, value, "a node must be a map");
        gci_value const *name = require(typing, value, "name");
        if (name == NULL || !read_text(typing, name, "name", &sub->nodes[i].name))
            return false;
        sub->nodes[i].args.type = GCI_LIST;
        sub->nodes[i].kwargs.type = sub->nodes[i].others.type = GCI_MAP;
    }
    return true;
}

/* ---- graphs ---- */

static bool read_graph(gci_typing const *outer, gci_value *value, gci_subgraph *sub);

/* subgraphs := { name: graph, ... } */
static bool
read_subgraphs(gci_typing const *typing, gci_value *value, gci_subgraph *sub)
{
    if (value->type != GCI_MAP)
        return gci_typed_fail(typing, value, "subgraphs must be a map");
    sub->subs = gci_arena_array(&typing->graph->arena, value->count, sizeof *sub->subs);
    if (sub->subs == NULL) {
        gci_graph_fail_memory(typing->graph);
        return false;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        gci_subgraph *inner = gci_graph_new_subgraph(typing->graph, sub, false);
        if (inner == NULL || !read_graph(typing, &value->members[i].value, inner))
            return false;
        sub->subs[sub->sub_count++] = (gci_subgraph_link){ .name = value->members[i].name, .graph = inner };
    }
    return true;
}

static bool
read_graph_member(gci_typing const *typing, gci_member *member, uint32_t room, gci_subgraph *sub)
{
    gci_value *value = &member->value;

    if (gci_view_is(member->name, "nodes")) {
        for (uint32_t i = 0; i < value->count; i++)
            if (!read_node(typing, &value->items[i], &sub->nodes[i]))
                return false;
        return true;
    }
    if (gci_view_is(member->name, "subgraphs"))
        return read_subgraphs(typing, value, sub);
    if (gci_view_is(member->name, "constants")) {
        sub->constants = *value;
        return read_map(typing, value, "constants");
    }
    return add_other(typing, &sub->others, room, member);
}

/* graph := { "nodes": [node, ..], "subgraphs": subgraphs, "constants": map, other members } */
static bool
read_graph(gci_typing const *outer, gci_value *value, gci_subgraph *sub)
{
    gci_scope scope = { .serial = 0 };
    gci_typing typing = *outer;

    if (value->type != GCI_MAP)
        return gci_typed_fail(outer, value, "a graph must be a map");
    gci_value const *nodes = require(outer, value, "nodes");
    typing.scope = &scope;
    bool read = nodes != NULL && read_node_names(outer, nodes, sub) &&
                init_scope(&scope, outer, nodes, sub);
    for (uint32_t i = 0; i < value->count && read; i++)
        read = read_graph_member(&typing, &value->members[i], value->count, sub);
    gci_intern_clear(&scope.names);
    return read;
}

/* ---- inputs ---- */

/* input := { "name": string, "value": any, other members }: here the names, for references */
static bool
read_input_names(gci_typing const *typing, gci_value const *list)
{
    gcache_graph *graph = typing->graph;

    if (list->type != GCI_LIST)
        return gci_typed_fail(typing, list, "inputs must be a list");
    graph->inputs = gci_arena_array(&graph->arena, list->count, sizeof *graph->inputs);
    if (graph->inputs == NULL) {
        gci_graph_fail_memory(graph);
        return false;
    }
    graph->has_inputs = true;
    graph->input_count = list->count;
    for (uint32_t i = 0; i < list->count; i++) {
        gci_value const *value = &list->items[i];
        if (value->type != GCI_MAP)
            return gci_typed_fail(typing, value, "an input must be a map");
        gci_value const *name = require(typing, value, "name");
        if (name == NULL || !read_text(typing, name, "name", &graph->inputs[i].name) ||
            require(typing, value, "value") == NULL)
            return false;
        graph->inputs[i].others.type = GCI_MAP;
    }
    return true;
}

static bool
read_input(gci_typing const *typing, gci_value *value, gci_input *input)
{
    for (uint32_t i = 0; i < value->count; i++) {
        gci_member *member = &value->members[i];
        if (gci_view_is(member->name, "name"))
            continue;
        if (gci_view_is(member->name, "value")) {
            if (!gci_typed_value(typing, &member->value))
                return false;
            input->value = member->value;
        } else if (!add_other(typing, &input->others, value->count, member)) {
            return false;
        }
    }
    return true;
}

/* ---- components ---- */

bool
gci_read_component(gci_typing const *typing, gci_view name, gci_value *value)
{
    static char const *const maps[] = { "options", "config", "environment", "constants" };

    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++)
        if (gci_view_is(name, maps[i]) && value->type != GCI_MAP)
            return gci_typed_fail(typing, value, "%s must be a map", maps[i]);
    if (gci_view_is(name, "module") && value->type != GCI_STRING && value->type != GCI_BYTES)
        return gci_typed_fail(typing, value, "module must be a string");
    gci_component *component = gci_graph_add_component(typing->graph, name, GCI_COMPONENT_VALUE);
    if (component != NULL)
        component->value = *value;
    return component != NULL;
}

/* The members of a description that are read as trees. */
static bool
read_rest(gci_typing const *typing, gci_value *root)
{
    for (uint32_t i = 0; i < root->count; i++) {
        gci_member *member = &root->members[i];
        bool known = gci_view_is(member->name, "format") || gci_view_is(member->name, "kind") ||
                     gci_view_is(member->name, "graph") || gci_view_is(member->name, "inputs");
        if (known)
            continue;
        if (!gci_component_is_volatile(member->name) && !gci_typed_value(typing, &member->value))
            return false;
        if (!gci_read_component(typing, member->name, &member->value))
            return false;
    }
    return true;
}

static bool
read_format(gci_typing const *typing, gci_value const *root)
{
    gci_value const *format, *kind;

    if (root->type != GCI_MAP)
        return gci_typed_fail(typing, root, "a description must be a map");
    format = require(typing, root, "format");
    if (format == NULL)
        return false;
    if (format->type != GCI_STRING || !gci_view_is(format->text, GCI_GRAPH_FORMAT))
        return gci_typed_fail(typing, format, "format must be \"" GCI_GRAPH_FORMAT "\"");
    kind = require(typing, root, "kind");
    if (kind == NULL)
        return false;
    if (kind->type != GCI_STRING || kind->text.size == 0)
        return gci_typed_fail(typing, kind, "kind must be a string");
    if (memchr(kind->text.data, '\0', kind->text.size) != NULL)
        return gci_typed_fail(typing, kind, "kind must not contain a zero character");
    typing->graph->kind = gci_arena_copy(&typing->graph->arena, kind->text);
    return typing->graph->kind.data != NULL;
}

/* description := { "format": string, "kind": string, "graph": graph, "inputs": [input, ..], other components } */
static bool
read_description(gci_typing *typing, gci_value *root)
{
    gcache_graph *graph = typing->graph;
    gci_scope inputs = { .serial = 0 }, nodes = { .serial = 0 };

    if (!read_format(typing, root))
        return false;
    gci_value *input_list = gci_map_find(root, "inputs"), *tree = gci_map_find(root, "graph");
    bool read = (input_list == NULL ||
                 (gci_graph_add_component(graph, (gci_view)GCI_VIEW("inputs"), GCI_COMPONENT_INPUTS) != NULL &&
                  read_input_names(typing, input_list))) &&
                init_scope(&inputs, typing, input_list, NULL);
    typing->scope = &inputs;
    if (read && tree != NULL) {
        gci_subgraph *top = gci_graph_root(graph, false);
        read = top != NULL && read_graph(typing, tree, top) &&
               init_scope(&nodes, typing, gci_map_find(tree, "nodes"), top);
        typing->scope = &nodes;
    }
    for (uint32_t i = 0; i < graph->input_count && read; i++)
        read = read_input(typing, &input_list->items[i], &graph->inputs[i]);
    read = read && read_rest(typing, root);
    gci_intern_clear(&nodes.names);
    gci_intern_clear(&inputs.names);
    return read;
}

gcache_status
gcache_graph_read(char const *text, size_t size, char const *name, gcache_graph **out_graph, gcache_error *error)
{
    GCI_REQUIRE(out_graph != NULL && (text != NULL || size == 0), error, "gcache_graph_read needs a text and a result");
    *out_graph = NULL;
    if (size > GCI_JSON_MAX_BYTES) {
        gci_place place = { .name = name };
        return gci_fail_at(error, GCACHE_ERROR_LIMIT, &place, "a description of %zu bytes; the limit is %zu", size,
                           GCI_JSON_MAX_BYTES);
    }
    gcache_graph *graph = gcache_graph_new("");
    gci_value root;
    if (graph == NULL)
        return gci_fail_memory(error);
    gci_view copy = gci_arena_copy(&graph->arena, gci_view_of(text, size));
    graph->source_name = gci_arena_copy(&graph->arena, gci_view_text(name));
    bool copied = copy.data != NULL && graph->source_name.data != NULL;
    gcache_status status = copied ? gci_json_read(copy, name, &graph->arena, &root, error) : gci_fail_memory(error);
    if (status == GCACHE_OK) {
        gci_typing typing = { .graph = graph, .name = name, .text = copy, .root = &root };
        if (!read_description(&typing, &root))
            gci_graph_fail_memory(graph); /* unless it says more already */
        status = graph->status;
        if (status != GCACHE_OK && error != NULL)
            *error = graph->error;
    }
    if (status != GCACHE_OK) {
        gcache_graph_free(graph);
        return status;
    }
    *out_graph = graph;
    return GCACHE_OK;
}
