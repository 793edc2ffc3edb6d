/*
 * Reading a description file: strict JSON first, then the components. The component `graph` becomes gci_subgraph and
 * gci_node structs, `inputs` gci_input structs; the rest stays a tree.
 *
 * The graph and the inputs are read before other components, since those may name their nodes.
 */
#include "base/check.h"
#include "base/digest.h"
#include "base/text/json.h"
#include "graph/describe/reader.h"

static bool
read_text(gci_typing const *typing, gci_value const *value, char const *what, gci_view *out_text)
{
    if (value->type != GCI_STRING)
        return gci_typed_fail(typing, value, "%s must be a string", what);
    *out_text = value->text;
    return true;
}

/* Adds a member that isn't well known, of a map of `room` members, to those that count as they are. */
static bool
add_other(gci_typing const *typing, gci_value *others, uint32_t room, gci_member *member)
{
    if (!gci_typed_value(typing, &member->value))
        return false;
    if (others->members == NULL)
        others->members = gci_graph_array(typing->graph, room, sizeof *others->members);
    if (others->members == NULL)
        return false;
    others->members[others->count++] = *member;
    return true;
}

static gci_value *
require(gci_typing const *typing, gci_value const *map, char const *name)
{
    gci_value *value = gci_map_find(map, name);

    if (value == NULL)
        gci_typed_fail(typing, map, "\"%s\" is missing", name);
    return value;
}

/* ---- well-known members ---- */

typedef enum field_type {
    FIELD_DONE,  /* read before, or by its own function */
    FIELD_TEXT,  /* gci_view */
    FIELD_VALUE, /* gci_value, of any type */
    FIELD_LIST,  /* gci_value */
    FIELD_MAP,   /* gci_value, a map by its place */
    FIELD_META   /* gci_value const *: volatile, anything goes */
} field_type;

typedef struct field {
    gci_view name;
    field_type type;
    bool required;
    size_t at; /* in the struct that is read */
} field;

static field const node_fields[] = {
    { GCI_VIEW("name"), FIELD_DONE, true, 0 },
    { GCI_VIEW("op"), FIELD_TEXT, true, offsetof(gci_node, op) },
    { GCI_VIEW("target"), FIELD_TEXT, false, offsetof(gci_node, target) },
    { GCI_VIEW("args"), FIELD_LIST, false, offsetof(gci_node, args) },
    { GCI_VIEW("kwargs"), FIELD_MAP, false, offsetof(gci_node, kwargs) },
    { GCI_VIEW("meta"), FIELD_META, false, offsetof(gci_node, meta) },
    { .type = FIELD_DONE },
};

static field const input_fields[] = {
    { GCI_VIEW("name"), FIELD_DONE, true, 0 },
    { GCI_VIEW("value"), FIELD_VALUE, true, offsetof(gci_input, value) },
    { .type = FIELD_DONE },
};

static field const graph_fields[] = {
    { GCI_VIEW("nodes"), FIELD_DONE, true, 0 },
    { GCI_VIEW("subgraphs"), FIELD_DONE, false, 0 },
    { GCI_VIEW("constants"), FIELD_MAP, false, offsetof(gci_subgraph, constants) },
    { .type = FIELD_DONE },
};

static bool
read_field(gci_typing const *typing, field const *f, gci_value *value, char *object)
{
    void *member = object + f->at;

    if (f->type == FIELD_LIST && value->type != GCI_LIST)
        return gci_typed_fail(typing, value, "%s must be a list", f->name.data);
    if (f->type == FIELD_MAP && value->type != GCI_MAP)
        return gci_typed_fail(typing, value, "%s must be a map", f->name.data);
    if (f->type == FIELD_TEXT)
        return read_text(typing, value, f->name.data, member);
    if (f->type == FIELD_META)
        *(gci_value const **)member = value;
    if (f->type == FIELD_DONE || f->type == FIELD_META)
        return true;
    bool typed = f->type == FIELD_MAP ? gci_typed_members(typing, value) : gci_typed_value(typing, value);
    *(gci_value *)member = *value;
    return typed;
}

/* Reads a map into a struct; members that aren't well known are added to others. */
static bool
read_fields(gci_typing const *typing, gci_value *map, field const *fields, void *object, gci_value *others)
{
    field const *next = fields; /* members mostly come in this order */
    unsigned seen = 0;

    for (uint32_t i = 0; i < map->count; i++) {
        gci_member *member = &map->members[i];
        field const *f = next;
        if (f->name.data == NULL || !gci_name_equal(f->name, member->name))
            for (f = fields; f->name.data != NULL && !gci_name_equal(f->name, member->name);)
                f++;
        next = f->name.data != NULL ? f + 1 : fields;
        seen |= 1u << (f - fields);
        if (f->name.data != NULL ? !read_field(typing, f, &member->value, object)
                            : !add_other(typing, others, map->count, member))
            return false;
    }
    for (field const *f = fields; f->name.data != NULL; f++)
        if (f->required && (seen & 1u << (f - fields)) == 0)
            return require(typing, map, f->name.data) != NULL;
    return true;
}

/* ---- names ---- */

/* The names in a list of nodes or inputs, `name_at` in structs that are made for them: references to them come next. NULL:
   the graph has failed. */
static void *
read_names(gci_typing const *typing, gci_value const *list, char const *what, char const *each, size_t struct_size,
           size_t name_at)
{
    if (list->type != GCI_LIST) {
        gci_typed_fail(typing, list, "%s must be a list", what);
        return NULL;
    }
    char *items = gci_graph_array(typing->graph, list->count, struct_size);
    for (uint32_t i = 0; i < list->count && items != NULL; i++) {
        gci_value const *item = &list->items[i];
        gci_value const *name = item->type == GCI_MAP ? require(typing, item, "name") : NULL;
        if (item->type != GCI_MAP)
            gci_typed_fail(typing, item, "%s must be a map", each);
        if (name == NULL || !read_text(typing, name, "name", (gci_view *)(void *)(items + i * struct_size + name_at)))
            return NULL;
    }
    return items;
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
    if (!gci_intern_reserve(&scope->names, count)) {
        gci_graph_fail_memory(graph);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        gci_view name = sub != NULL ? sub->nodes[i].name : graph->inputs[i].name;
        gci_intern_add(&scope->names, name, &is_new);
        if (!is_new)
            return gci_typed_fail(typing, list != NULL ? &list->items[i] : NULL, "a second %s \"%.*s\"",
                                  sub != NULL ? "node" : "input", (int)name.size, name.data);
    }
    return true;
}

/* ---- graphs ---- */

static bool read_graph(gci_typing const *outer, gci_value *value, gci_subgraph *sub, gci_scope *scope);

static bool
read_subgraph(gci_typing const *typing, gci_value *value, gci_subgraph *sub)
{
    gci_scope scope = { .serial = 0 };
    bool read = read_graph(typing, value, sub, &scope);

    gci_intern_clear(&scope.names);
    return read;
}

/* subgraphs := { name: graph, ... } */
static bool
read_subgraphs(gci_typing const *typing, gci_value *value, gci_subgraph *sub)
{
    if (value->type != GCI_MAP)
        return gci_typed_fail(typing, value, "subgraphs must be a map");
    sub->subs = gci_graph_array(typing->graph, value->count, sizeof *sub->subs);
    if (sub->subs == NULL)
        return false;
    for (uint32_t i = 0; i < value->count; i++) {
        gci_subgraph *inner = gci_graph_new_subgraph(typing->graph, sub, false);
        if (inner == NULL || !read_subgraph(typing, &value->members[i].value, inner))
            return false;
        sub->subs[sub->sub_count++] = (gci_subgraph_link){ .name = value->members[i].name, .graph = inner };
    }
    return true;
}

/* node := { "name": string, "op": string, "target": string, "args": list, "kwargs": map, "meta": any, other members } */
static bool
read_nodes(gci_typing const *typing, gci_value *list, gci_subgraph *sub)
{
    for (uint32_t i = 0; i < list->count; i++) {
        gci_node *node = &sub->nodes[i];
        node->args.type = GCI_LIST;
        node->kwargs.type = node->others.type = GCI_MAP;
        if (!read_fields(typing, &list->items[i], node_fields, node, &node->others))
            return false;
    }
    return true;
}

/* graph := { "nodes": [node, ..], "subgraphs": subgraphs, "constants": map, other members }    scope becomes that of its nodes */
static bool
read_graph(gci_typing const *outer, gci_value *value, gci_subgraph *sub, gci_scope *scope)
{
    gci_typing typing = *outer;

    if (value->type != GCI_MAP)
        return gci_typed_fail(outer, value, "a graph must be a map");
    gci_value *nodes = require(outer, value, "nodes"), *subgraphs = gci_map_find(value, "subgraphs");
    sub->nodes = nodes != NULL ? read_names(outer, nodes, "nodes", "a node", sizeof *sub->nodes, offsetof(gci_node, name))
                               : NULL;
    sub->node_count = sub->nodes != NULL ? nodes->count : 0;
    typing.scope = scope;
    return sub->nodes != NULL && init_scope(scope, outer, nodes, sub) && read_nodes(&typing, nodes, sub) &&
           (subgraphs == NULL || read_subgraphs(&typing, subgraphs, sub)) &&
           read_fields(&typing, value, graph_fields, sub, &sub->others);
}

/* ---- inputs ---- */

static bool
read_input_names(gci_typing const *typing, gci_value const *list)
{
    gcache_graph *graph = typing->graph;

    if (gci_graph_add_component(graph, (gci_view)GCI_VIEW("inputs"), GCI_COMPONENT_INPUTS) == NULL)
        return false;
    graph->inputs = read_names(typing, list, "inputs", "an input", sizeof *graph->inputs, offsetof(gci_input, name));
    graph->has_inputs = graph->inputs != NULL;
    graph->input_count = graph->has_inputs ? list->count : 0;
    return graph->has_inputs;
}

/* input := { "name": string, "value": any, other members } */
static bool
read_inputs(gci_typing const *typing, gci_value *list)
{
    for (uint32_t i = 0; i < typing->graph->input_count; i++) {
        gci_input *input = &typing->graph->inputs[i];
        input->others.type = GCI_MAP;
        if (!read_fields(typing, &list->items[i], input_fields, input, &input->others))
            return false;
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
    gci_graph_component *component = gci_graph_add_component(typing->graph, name, GCI_COMPONENT_VALUE);
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
        if (memchr(member->name.data, '\0', member->name.size) != NULL)
            return gci_typed_fail(typing, &member->value, "a component's name must not contain a zero character");
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
    bool read = (input_list == NULL || read_input_names(typing, input_list)) &&
                init_scope(&inputs, typing, input_list, NULL);
    typing->scope = &inputs;
    if (read && tree != NULL) {
        gci_subgraph *top = gci_graph_root(graph, false);
        read = top != NULL && read_graph(typing, tree, top, &nodes);
        typing->scope = &nodes;
    }
    read = read && read_inputs(typing, input_list) && read_rest(typing, root);
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
