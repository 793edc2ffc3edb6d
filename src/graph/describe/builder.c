/*
 * The builder: include/guardcache/graph.h's calls for nodes, components and values.
 *
 * Every call begins with `live`: after the first error nothing is done any more. Texts are copied into the arena.
 */
#include "base/check.h"
#include "base/text/json.h"
#include "graph/describe/description.h"
#include "graph/describe/encoded.h"
#include "graph/describe/reader.h"

#include <stdlib.h>

/* true if the graph can be added to; what was computed from its former content is dropped. */
static bool
live(gcache_graph *graph)
{
    if (graph == NULL || graph->status != GCACHE_OK)
        return false;
    GCI_GRAPH_REQUIRE(!graph->keyed, graph, false, "a keyed description has no content");
    if (atomic_load_explicit(&graph->hashed, memory_order_relaxed) != NULL ||
        atomic_load_explicit(&graph->kept, memory_order_relaxed) != NULL)
        gci_graph_drop_canonical(graph);
    return true;
}

/* ---- values ---- */

static gcache_value *
new_value(gcache_graph *graph, gci_value_type type)
{
    if (!live(graph))
        return NULL;
    gcache_value *value = gci_graph_array(graph, 1, sizeof *value);
    if (value != NULL)
        value->value.type = (uint8_t)type;
    return value;
}

static gcache_value *
new_text(gcache_graph *graph, gci_value_type type, gci_view text)
{
    gcache_value *value = new_value(graph, type);

    return value != NULL && gci_graph_copy_text(graph, text, &value->value.text) ? value : NULL;
}

gcache_value *
gcache_value_null(gcache_graph *graph)
{
    return new_value(graph, GCI_NULL);
}

gcache_value *
gcache_value_bool(gcache_graph *graph, bool boolean)
{
    gcache_value *value = new_value(graph, GCI_BOOL);

    if (value != NULL)
        value->value.boolean = boolean;
    return value;
}

gcache_value *
gcache_value_int(gcache_graph *graph, int64_t integer)
{
    gcache_value *value = new_value(graph, GCI_INT);

    if (value != NULL)
        value->value.integer = integer;
    return value;
}

gcache_value *
gcache_value_int_text(gcache_graph *graph, char const *decimal)
{
    gcache_value *value = new_text(graph, GCI_STRING, gci_view_text(decimal));

    if (value == NULL)
        return NULL;
    GCI_GRAPH_REQUIRE(gci_typed_integer(value->value.text, &value->value), graph, NULL,
                      "not a decimal integer of at most %d digits", GCI_JSON_MAX_DIGITS);
    return value;
}

gcache_value *
gcache_value_float(gcache_graph *graph, double real)
{
    gcache_value *value = new_value(graph, GCI_FLOAT);

    if (value != NULL)
        value->value.real = real;
    return value;
}

gcache_value *
gcache_value_text(gcache_graph *graph, char const *utf8, size_t size)
{
    return new_text(graph, GCI_STRING, gci_view_of(utf8 != NULL || size != 0 ? utf8 : "", size));
}

gcache_value *
gcache_value_bytes(gcache_graph *graph, void const *bytes, size_t size)
{
    gcache_value *value = new_value(graph, GCI_BYTES);

    if (value == NULL)
        return NULL;
    GCI_GRAPH_REQUIRE(bytes != NULL || size == 0, graph, NULL, "bytes are missing (NULL)");
    return gci_graph_copy(graph, gci_view_of(bytes, size), &value->value.text) ? value : NULL;
}

/* The place of a node handed out by this graph. */
static bool
find_node(gcache_graph *graph, gcache_node node, gci_node_place *out_place)
{
    *out_place = gci_find_node(graph, node);
    if (out_place->graph == NULL)
        gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "node %u isn't one of this graph", (unsigned)node);
    return out_place->graph != NULL;
}

static bool
set_node(gcache_graph *graph, gcache_node node, gci_value *out_value)
{
    gci_node_place place;

    if (!find_node(graph, node, &place))
        return false;
    *out_value = (gci_value){ .type = GCI_NODE, .integer = gci_node_ref(place.graph->serial, place.position) };
    return true;
}

gcache_value *
gcache_value_node(gcache_graph *graph, gcache_node node)
{
    gcache_value *value = new_value(graph, GCI_NODE);

    return value != NULL && set_node(graph, node, &value->value) ? value : NULL;
}

gcache_value *
gcache_value_symbolic(gcache_graph *graph, char const *expression)
{
    return new_text(graph, GCI_SYM, gci_view_text(expression));
}

gcache_value *
gcache_value_enum(gcache_graph *graph, char const *name)
{
    return new_text(graph, GCI_ENUM, gci_view_text(name));
}

/* Copies the values of an array into one of the arena. */
static bool
copy_items(gcache_graph *graph, gcache_value *const *items, size_t count, gci_value *out_list)
{
    GCI_GRAPH_REQUIRE(count <= UINT32_MAX && (items != NULL || count == 0), graph, false,
                      "a list of %zu items that isn't there", count);
    gci_value *copies = gci_graph_array(graph, count, sizeof *copies);
    if (copies == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        GCI_GRAPH_REQUIRE(items[i] != NULL, graph, false, "item %zu of a list is missing (NULL)", i);
        copies[i] = items[i]->value;
    }
    out_list->items = copies;
    out_list->count = (uint32_t)count;
    return true;
}

static gcache_value *
new_list(gcache_graph *graph, gci_value_type type, gcache_value *const *items, size_t count)
{
    gcache_value *value = new_value(graph, type);

    return value != NULL && copy_items(graph, items, count, &value->value) ? value : NULL;
}

gcache_value *
gcache_value_list(gcache_graph *graph, gcache_value *const *items, size_t count)
{
    return new_list(graph, GCI_LIST, items, count);
}

gcache_value *
gcache_value_tuple(gcache_graph *graph, gcache_value *const *items, size_t count)
{
    return new_list(graph, GCI_TUPLE, items, count);
}

gcache_value *
gcache_value_set(gcache_graph *graph, gcache_value *const *items, size_t count)
{
    return new_list(graph, GCI_SET, items, count);
}

/* No two members of a map have one name. */
static bool
check_distinct(gcache_graph *graph, gci_value const *map)
{
    gci_intern names = { .count = 0 };
    bool distinct = true;

    if (!gci_intern_reserve(&names, map->count))
        gci_graph_fail_memory(graph);
    for (uint32_t i = 0; i < map->count && distinct; i++) {
        if (gci_intern_add(&names, map->members[i].name, &distinct) == GCI_INTERN_NONE)
            gci_graph_fail_memory(graph);
        else if (!distinct)
            gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "\"%s\" is given twice", map->members[i].name.data);
    }
    gci_intern_clear(&names);
    return graph->status == GCACHE_OK;
}

gcache_value *
gcache_value_map(gcache_graph *graph, char const *const *names, gcache_value *const *values, size_t count)
{
    gcache_value *map = new_value(graph, GCI_MAP);

    if (map == NULL)
        return NULL;
    GCI_GRAPH_REQUIRE(count <= UINT32_MAX && ((names != NULL && values != NULL) || count == 0), graph, NULL,
                      "a map of %zu members that isn't there", count);
    gci_member *members = gci_graph_array(graph, count, sizeof *members);
    if (members == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        GCI_GRAPH_REQUIRE(values[i] != NULL, graph, NULL, "a map's value is missing (NULL)");
        if (!gci_graph_copy_text(graph, gci_view_text(names[i]), &members[i].name))
            return NULL;
        members[i].value = values[i]->value;
    }
    map->value.members = members;
    map->value.count = (uint32_t)count;
    return check_distinct(graph, &map->value) ? map : NULL;
}

gcache_value *
gcache_value_tensor(gcache_graph *graph, gcache_value *map)
{
    gcache_value *tensor = new_value(graph, GCI_TENSOR);

    if (tensor == NULL)
        return NULL;
    GCI_GRAPH_REQUIRE(map != NULL && map->value.type == GCI_MAP, graph, NULL, "tensor metadata must be a map");
    tensor->value = map->value;
    tensor->value.type = GCI_TENSOR;
    gci_typing typing = { .graph = graph };
    return gci_typed_tensor(&typing, &tensor->value) ? tensor : NULL;
}

/* Types what was read as JSON. A `$node` in it can't be resolved, since built nodes have no names. */
static bool
type_json(gcache_graph *graph, gci_view text, gci_value *value)
{
    gci_typing typing = { .graph = graph, .text = text, .root = value };

    return gci_typed_value(&typing, value);
}

gcache_value *
gcache_value_json(gcache_graph *graph, char const *text, size_t size)
{
    gcache_value *value = new_value(graph, GCI_NULL);

    if (value == NULL)
        return NULL;
    gci_view copy;
    if (!gci_graph_copy(graph, gci_view_of(text, text != NULL ? size : 0), &copy))
        return NULL;
    gcache_error error;
    gcache_status status = gci_json_read(copy, NULL, &graph->arena, &value->value, &error);
    if (status != GCACHE_OK) {
        gci_graph_fail(graph, status, "%s", error.message);
        return NULL;
    }
    return type_json(graph, copy, &value->value) ? value : NULL;
}

/* ---- nodes ---- */

/* Turns a packed subgraph's nodes into trees. */
static bool
expand(gcache_graph *graph, gci_subgraph *sub)
{
    gci_node *nodes = sub->packed ? gci_unpack_nodes(sub, &graph->arena) : sub->nodes;

    if (sub->packed && nodes == NULL) {
        gci_graph_fail_memory(graph);
        return false;
    }
    if (sub->packed) {
        sub->nodes = nodes;
        sub->node_room = sub->node_count;
        sub->packed = false;
        gci_buf_clear(&sub->packed_nodes);
    }
    return true;
}

static bool
set_arguments(gcache_graph *graph, gci_new_node const *given, gci_value *out_list)
{
    if (given->nodes == NULL)
        return copy_items(graph, given->values, given->count, out_list);
    gci_value *items = gci_graph_array(graph, given->count, sizeof *items);
    if (items == NULL)
        return false;
    for (size_t i = 0; i < given->count; i++)
        if (!set_node(graph, given->nodes[i], &items[i]))
            return false;
    out_list->items = items;
    out_list->count = (uint32_t)given->count;
    return true;
}

/* A node as a tree, behind the others of its subgraph. */
static bool
add_tree_node(gcache_graph *graph, gci_subgraph *sub, gci_new_node const *given)
{
    gci_node *node = gci_graph_grow(graph, &sub->nodes, sub->node_count, &sub->node_room, sizeof *node);

    if (node == NULL || !gci_graph_copy_text(graph, given->op, &node->op) ||
        (given->target.data != NULL && !gci_graph_copy_text(graph, given->target, &node->target)))
        return false;
    node->args.type = GCI_LIST;
    node->kwargs.type = node->others.type = GCI_MAP;
    return set_arguments(graph, given, &node->args);
}

/* Whatever has a graph has inputs, if none, as in JSON. */
static bool
have_inputs(gcache_graph *graph)
{
    if (!graph->has_inputs)
        graph->has_inputs =
            gci_graph_add_component(graph, (gci_view)GCI_VIEW("inputs"), GCI_COMPONENT_INPUTS) != NULL;
    return graph->has_inputs;
}

static gci_subgraph *
outermost_graph(gcache_graph *graph)
{
    return have_inputs(graph) ? gci_graph_root(graph, true) : NULL;
}

/* The (sub)graph that nodes go to now, with room for one more. */
static gci_subgraph *
open_graph(gcache_graph *graph)
{
    if (graph->open == NULL)
        graph->open = outermost_graph(graph);
    if (graph->open != NULL &&
        (graph->open->node_count == GCI_GRAPH_MAX_NODES || graph->handle_count == UINT32_MAX - 1)) {
        gci_graph_fail(graph, GCACHE_ERROR_LIMIT, "more than %u nodes", (unsigned)(GCI_GRAPH_MAX_NODES - 1));
        return NULL;
    }
    return graph->open;
}

/* Handles go on in another (sub)graph than before. */
static bool
begin_run(gcache_graph *graph, gci_subgraph *sub)
{
    gci_handle_run *run = gci_graph_grow(graph, &graph->runs, graph->run_count, &graph->run_room, sizeof *run);

    if (run == NULL)
        return false;
    *run = (gci_handle_run){ .first = graph->handle_count + 1, .position = sub->node_count, .graph = sub };
    graph->run_count++;
    return true;
}

/* Adds a node and gives its handle; 0 after an error. The graph is live. */
static gcache_node
add_node(gcache_graph *graph, gci_new_node const *given)
{
    gci_subgraph *sub = open_graph(graph);
    bool missing = given->count != 0 && given->nodes == NULL && given->values == NULL;

    if (sub == NULL)
        return 0;
    GCI_GRAPH_REQUIRE(!missing && given->count <= UINT32_MAX, graph, 0, "%zu arguments that aren't there", given->count);
    if ((graph->run_count == 0 || graph->runs[graph->run_count - 1].graph != sub) && !begin_run(graph, sub))
        return 0;
    bool added = sub->packed && gci_pack_node(graph, sub, given);
    if (!added && (graph->status != GCACHE_OK || !expand(graph, sub) || !add_tree_node(graph, sub, given)))
        return 0;
    sub->node_count++;
    return ++graph->handle_count;
}

gcache_node
gcache_graph_node(gcache_graph *graph, char const *op, char const *target, gcache_value *const *args, size_t count)
{
    gci_new_node given = { .op = gci_view_text(op), .target = gci_view_text(target), .values = args, .count = count };

    if (!live(graph) || !gci_graph_check_text(graph, given.op) || !gci_graph_check_text(graph, given.target))
        return 0;
    if (gci_view_is(given.op, "placeholder"))
        given.target = (gci_view){ NULL, 0 }; /* it is only its name */
    return add_node(graph, &given);
}

gcache_node
gcache_graph_call(gcache_graph *graph, char const *target, gcache_node const *args, size_t count)
{
    static gcache_node const none[1];
    gci_new_node given = { .op = GCI_VIEW("call_function"), .target = gci_view_text(target),
                           .nodes = args != NULL || count != 0 ? args : none, .count = count };

    return live(graph) && gci_graph_check_text(graph, given.target) ? add_node(graph, &given) : 0;
}

static bool
add_tree_kwarg(gcache_graph *graph, gci_node *node, char const *name, gci_value const *value)
{
    gci_value *kwargs = &node->kwargs;
    gci_view name_view = gci_view_text(name), copy;

    for (uint32_t i = 0; i < kwargs->count; i++)
        GCI_GRAPH_REQUIRE(!gci_view_equal(kwargs->members[i].name, name_view), graph, false, "\"%s\" is given twice", name);
    if (!gci_graph_copy_text(graph, name_view, &copy))
        return false;
    gci_member *member = gci_graph_grow(graph, &kwargs->members, kwargs->count, &node->kwarg_room, sizeof *member);
    if (member == NULL)
        return false;
    *member = (gci_member){ .name = copy, .value = *value };
    kwargs->count++;
    return true;
}

static void
add_kwarg(gcache_graph *graph, gcache_node node, char const *name, gci_value const *value)
{
    gci_node_place place;

    if (!live(graph) || !find_node(graph, node, &place) || !gci_graph_check_text(graph, gci_view_text(name)))
        return;
    gci_subgraph *sub = place.graph;
    bool last = sub->packed && place.position == sub->node_count - 1;
    if (last && gci_pack_kwarg(graph, sub, gci_view_text(name), value))
        return;
    if (graph->status == GCACHE_OK && expand(graph, sub))
        add_tree_kwarg(graph, &sub->nodes[place.position], name, value);
}

void
gcache_graph_kwarg(gcache_graph *graph, gcache_node node, char const *name, gcache_value *value)
{
    if (value != NULL)
        add_kwarg(graph, node, name, &value->value);
    else if (live(graph))
        gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "a keyword argument's value is missing (NULL)");
}

void
gcache_graph_kwarg_bool(gcache_graph *graph, gcache_node node, char const *name, bool value)
{
    add_kwarg(graph, node, name, &(gci_value){ .type = GCI_BOOL, .boolean = value });
}

void
gcache_graph_kwarg_int(gcache_graph *graph, gcache_node node, char const *name, int64_t value)
{
    add_kwarg(graph, node, name, &(gci_value){ .type = GCI_INT, .integer = value });
}

void
gcache_graph_kwarg_float(gcache_graph *graph, gcache_node node, char const *name, double value)
{
    add_kwarg(graph, node, name, &(gci_value){ .type = GCI_FLOAT, .real = value });
}

void
gcache_graph_kwarg_text(gcache_graph *graph, gcache_node node, char const *name, char const *value)
{
    gci_value copy = { .type = GCI_STRING };

    if (live(graph) && gci_graph_copy_text(graph, gci_view_text(value), &copy.text))
        add_kwarg(graph, node, name, &copy);
}

void
gcache_graph_outputs(gcache_graph *graph, gcache_value *value)
{
    gcache_graph_node(graph, "output", "output", &value, 1);
}

void
gcache_graph_output(gcache_graph *graph, gcache_node node)
{
    gcache_graph_outputs(graph, gcache_value_node(graph, node));
}

/* ---- inputs ---- */

static gcache_node
add_input(gcache_graph *graph, char const *name, gci_input const *given)
{
    GCI_GRAPH_REQUIRE(graph->open == NULL || graph->open == graph->root, graph, 0, "inputs belong to the outermost graph");
    if (!have_inputs(graph))
        return 0;
    gci_input *input = gci_graph_grow(graph, &graph->inputs, graph->input_count, &graph->input_room, sizeof *input);
    if (input == NULL)
        return 0;
    *input = *given;
    input->others.type = GCI_MAP;
    if (!gci_graph_copy_text(graph, gci_view_text(name), &input->name))
        return 0;
    graph->input_count++;
    return add_node(graph, &(gci_new_node){ .op = GCI_VIEW("placeholder") });
}

gcache_node
gcache_graph_input(gcache_graph *graph, char const *name, gcache_tensor const *tensor)
{
    if (!live(graph))
        return 0;
    GCI_GRAPH_REQUIRE(tensor != NULL, graph, 0, "an input's tensor is missing (NULL)");
    gci_plain_tensor const *plain = gci_pack_tensor(graph, tensor);
    return plain != NULL ? add_input(graph, name, &(gci_input){ .tensor = plain }) : 0;
}

gcache_node
gcache_graph_input_value(gcache_graph *graph, char const *name, gcache_value *value)
{
    if (!live(graph))
        return 0;
    GCI_GRAPH_REQUIRE(value != NULL, graph, 0, "an input's value is missing (NULL)");
    return add_input(graph, name, &(gci_input){ .value = value->value });
}

/* ---- subgraphs and components ---- */

void
gcache_graph_subgraph_begin(gcache_graph *graph, char const *name)
{
    gci_view copy;

    if (!live(graph) || !gci_graph_copy_text(graph, gci_view_text(name), &copy))
        return;
    gci_subgraph *outer = graph->open != NULL ? graph->open : outermost_graph(graph);
    if (outer == NULL)
        return;
    if (graph->nesting == GCI_GRAPH_MAX_NESTING) {
        gci_graph_fail(graph, GCACHE_ERROR_LIMIT, "subgraphs nested deeper than %d", GCI_GRAPH_MAX_NESTING);
        return;
    }
    for (uint32_t i = 0; i < outer->sub_count; i++) {
        if (gci_view_equal(outer->subs[i].name, copy)) {
            gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "a second subgraph \"%s\"", name);
            return;
        }
    }
    gci_subgraph_link *link = gci_graph_grow(graph, &outer->subs, outer->sub_count, &outer->sub_room, sizeof *link);
    gci_subgraph *sub = gci_graph_new_subgraph(graph, outer, true);
    if (link == NULL || sub == NULL)
        return;
    *link = (gci_subgraph_link){ .name = copy, .graph = sub };
    outer->sub_count++;
    graph->nesting++;
    graph->open = sub;
}

void
gcache_graph_subgraph_end(gcache_graph *graph)
{
    if (!live(graph))
        return;
    if (graph->nesting == 0) {
        gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "no subgraph is open");
        return;
    }
    graph->nesting--;
    graph->open = graph->open->outer;
}

void
gcache_graph_component(gcache_graph *graph, char const *name, gcache_value *value)
{
    gci_view copy;

    if (!live(graph) || !gci_graph_copy_text(graph, gci_view_text(name), &copy))
        return;
    if (value == NULL) {
        gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "component \"%s\" has no value (NULL)", name);
    } else if (gci_view_is(copy, "graph") || gci_view_is(copy, "inputs")) {
        gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "component \"%s\" is described by its nodes and inputs", name);
    } else if (gci_view_is(copy, "format") || gci_view_is(copy, "kind")) {
        gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "\"%s\" isn't a component", name);
    } else if (gci_graph_find_component(graph, copy) != NULL) {
        gci_graph_fail(graph, GCACHE_ERROR_ARGUMENT, "component \"%s\" is given twice", name);
    } else {
        gci_typing typing = { .graph = graph };
        gci_read_component(&typing, copy, &value->value);
    }
}
