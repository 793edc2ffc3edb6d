#include "by_calls.h"

#include "base/text/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A graph's nodes by name, and those of the graphs around it. */
typedef struct scope {
    struct scope const *outer;
    gci_value const *nodes; /* the list */
    gcache_node *handles;   /* 0: not built yet */
} scope;

typedef struct build {
    gcache_graph *graph;
    gci_arena arena;
    scope const *scope; /* NULL: outside of graphs */
    bool late, unsayable;
} build;

static gcache_value *make_value(build *b, gci_value const *value);

static void *
unsayable(build *b)
{
    b->unsayable = true;
    return NULL;
}

/* Zero-terminated, as calls want it. */
static char const *
text_of(build *b, gci_value const *value)
{
    if (value == NULL || value->type != GCI_STRING || memchr(value->text.data, '\0', value->text.size) != NULL)
        return unsayable(b);
    return gci_arena_copy(&b->arena, value->text).data;
}

/* ---- values ---- */

static gcache_node
find_node(build *b, gci_view name)
{
    for (scope const *s = b->scope; s != NULL; s = s->outer)
        for (uint32_t i = 0; i < s->nodes->count; i++)
            if (gci_view_equal(gci_map_find(&s->nodes->items[i], "name")->text, name))
                return s->handles[i];
    b->unsayable = true; /* a reference to an input that is no node */
    return 0;
}

typedef gcache_value *(*items_fn)(gcache_graph *graph, gcache_value *const *items, size_t count);

static gcache_value *
make_items(build *b, gci_value const *list, items_fn fn)
{
    gcache_value **items = gci_arena_array(&b->arena, list->count, sizeof *items);

    for (uint32_t i = 0; i < list->count && items != NULL; i++)
        items[i] = make_value(b, &list->items[i]);
    return items != NULL ? fn(b->graph, items, list->count) : NULL;
}

static gcache_value *
make_map(build *b, gci_value const *map)
{
    gcache_value **values = gci_arena_array(&b->arena, map->count, sizeof *values);
    char const **names = gci_arena_array(&b->arena, map->count, sizeof *names);

    if (values == NULL || names == NULL)
        return NULL;
    for (uint32_t i = 0; i < map->count; i++) {
        names[i] = text_of(b, &(gci_value){ .type = GCI_STRING, .text = map->members[i].name });
        values[i] = make_value(b, &map->members[i].value);
    }
    return b->unsayable ? NULL : gcache_value_map(b->graph, names, values, map->count);
}

static gcache_value *
make_special_float(build *b, gci_value const *word)
{
    double infinity = (double)INFINITY;

    if (gci_view_is(word->text, "nan"))
        return gcache_value_float(b->graph, (double)NAN);
    return gcache_value_float(b->graph, gci_view_is(word->text, "inf") ? infinity : -infinity);
}

/* {"$tuple": [..]} and the like. */
static gcache_value *
make_typed(build *b, gci_value const *map)
{
    gci_view type = map->members[0].name;
    gci_value const *content = &map->members[0].value;
    gci_buf text;

    if (gci_view_is(type, "$int"))
        return gcache_value_int_text(b->graph, text_of(b, content));
    if (gci_view_is(type, "$float"))
        return make_special_float(b, content);
    if (gci_view_is(type, "$tuple"))
        return make_items(b, content, gcache_value_tuple);
    if (gci_view_is(type, "$set"))
        return make_items(b, content, gcache_value_set);
    if (gci_view_is(type, "$node"))
        return gcache_value_node(b->graph, find_node(b, content->text));
    if (gci_view_is(type, "$sym"))
        return gcache_value_symbolic(b->graph, text_of(b, content));
    if (gci_view_is(type, "$enum"))
        return gcache_value_enum(b->graph, text_of(b, content));
    if (gci_view_is(type, "$tensor"))
        return gcache_value_tensor(b->graph, make_map(b, content));
    gci_buf_init(&text, GCI_BUF_NO_LIMIT); /* $bytes */
    gci_json_write(&text, map);
    gcache_value *value = gcache_value_json(b->graph, text.data, text.size);
    gci_buf_clear(&text);
    return value;
}

static gcache_value *
make_value(build *b, gci_value const *value)
{
    switch ((gci_value_type)value->type) {
    case GCI_NULL:
        return gcache_value_null(b->graph);
    case GCI_BOOL:
        return gcache_value_bool(b->graph, value->boolean);
    case GCI_INT:
        return gcache_value_int(b->graph, value->integer);
    case GCI_BIGINT:
        return gcache_value_int_text(b->graph, gci_arena_copy(&b->arena, value->text).data);
    case GCI_FLOAT:
        return gcache_value_float(b->graph, value->real);
    case GCI_STRING:
        return gcache_value_text(b->graph, value->text.data, value->text.size);
    case GCI_LIST:
        return make_items(b, value, gcache_value_list);
    default:
        break;
    }
    return value->count == 1 && value->members[0].name.size != 0 && value->members[0].name.data[0] == '$'
               ? make_typed(b, value)
               : make_map(b, value);
}

/* ---- inputs ---- */

/* A size as text; NULL if it isn't an integer or a text. */
static char const *
size_text(build *b, gci_value const *item)
{
    char digits[32];

    if (item->type == GCI_STRING)
        return text_of(b, item);
    if (item->type != GCI_INT)
        return NULL;
    snprintf(digits, sizeof digits, "%lld", (long long)item->integer);
    return gci_arena_copy(&b->arena, gci_view_text(digits)).data;
}

static bool
fill_sizes(build *b, gci_value const *list, char const **out)
{
    for (uint32_t i = 0; i < list->count; i++)
        if ((out[i] = size_text(b, &list->items[i])) == NULL)
            return false;
    return true;
}

/* Whether a gcache_tensor holds all that counts of the map: false for those that need a value. */
static bool
fill_tensor(build *b, gci_value const *map, gcache_tensor *out)
{
    static char const *const known[] = { "dtype", "shape", "stride", "device", "layout", "requires_grad", "storage_offset",
                                         "storage_bytes" };
    gci_value const *shape = gci_map_find(map, "shape"), *stride = gci_map_find(map, "stride");
    gci_value const *grad = gci_map_find(map, "requires_grad"), *device = gci_map_find(map, "device");
    gci_value const *layout = gci_map_find(map, "layout");

    for (uint32_t i = 0; i < map->count; i++) {
        bool found = false;
        for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
            found = found || gci_view_is(map->members[i].name, known[k]);
        if (!found)
            return false;
    }
    if (grad == NULL || grad->type != GCI_BOOL || shape->count > GCACHE_TENSOR_RANK || shape->type != GCI_LIST ||
        (device != NULL && device->type != GCI_STRING) || (layout != NULL && layout->type != GCI_STRING) ||
        (stride == NULL && shape->count == 0) ||
        (stride != NULL && (stride->type != GCI_LIST || stride->count != shape->count)))
        return false;
    *out = (gcache_tensor){ .size = sizeof(gcache_tensor), .dtype = text_of(b, gci_map_find(map, "dtype")),
                            .rank = (int)shape->count,
                            .device = device != NULL ? text_of(b, device) : NULL,
                            .layout = layout != NULL ? text_of(b, layout) : NULL, .requires_grad = grad->boolean };
    return fill_sizes(b, shape, out->shape) && (stride == NULL || fill_sizes(b, stride, out->stride));
}

static gcache_node
make_input(build *b, gci_value const *input)
{
    gci_value const *value = gci_map_find(input, "value");
    gci_value const *map = value->type == GCI_MAP ? gci_map_find(value, "$tensor") : NULL;
    char const *name = text_of(b, gci_map_find(input, "name"));
    gcache_tensor tensor;

    if (input->count != 2)
        b->unsayable = true;
    if (map != NULL && fill_tensor(b, map, &tensor))
        return gcache_graph_input(b->graph, name, &tensor);
    return gcache_graph_input_value(b->graph, name, make_value(b, value));
}

/* ---- nodes ---- */

static gci_value const empty_list = { .type = GCI_LIST }, empty_map = { .type = GCI_MAP };

static gci_value const *
member_or(gci_value const *map, char const *name, gci_value const *otherwise)
{
    gci_value const *found = gci_map_find(map, name);

    return found != NULL ? found : otherwise;
}

/* Each type by the call that is made for it. */
static void
add_kwarg(build *b, gcache_node node, gci_member const *member)
{
    char const *name = text_of(b, &(gci_value){ .type = GCI_STRING, .text = member->name });
    gci_value const *value = &member->value;

    if (value->type == GCI_BOOL)
        gcache_graph_kwarg_bool(b->graph, node, name, value->boolean);
    else if (value->type == GCI_INT)
        gcache_graph_kwarg_int(b->graph, node, name, value->integer);
    else if (value->type == GCI_FLOAT)
        gcache_graph_kwarg_float(b->graph, node, name, value->real);
    else if (value->type == GCI_STRING)
        gcache_graph_kwarg_text(b->graph, node, name, text_of(b, value));
    else
        gcache_graph_kwarg(b->graph, node, name, make_value(b, value));
}

static void
add_kwargs(build *b, scope const *s, uint32_t index)
{
    gci_value const *kwargs = member_or(&s->nodes->items[index], "kwargs", &empty_map);

    for (uint32_t i = 0; i < kwargs->count; i++)
        add_kwarg(b, s->handles[index], &kwargs->members[i]);
}

/* The nodes of a list of references; NULL if it is anything else. */
static gcache_node *
plain_arguments(build *b, gci_value const *args)
{
    gcache_node *nodes = gci_arena_array(&b->arena, args->count, sizeof *nodes);

    for (uint32_t i = 0; i < args->count && nodes != NULL; i++) {
        gci_value const *item = &args->items[i];
        gci_value const *name = item->type == GCI_MAP ? gci_map_find(item, "$node") : NULL;
        if (name == NULL || item->count != 1)
            return NULL;
        nodes[i] = find_node(b, name->text);
    }
    return nodes;
}

static gcache_node
make_node(build *b, gci_value const *node)
{
    gci_value const *args = member_or(node, "args", &empty_list);
    char const *op = text_of(b, gci_map_find(node, "op")), *target = text_of(b, gci_map_find(node, "target"));
    gcache_node *plain = op != NULL && strcmp(op, "call_function") == 0 ? plain_arguments(b, args) : NULL;

    if (b->unsayable)
        return 0;
    if (plain != NULL)
        return gcache_graph_call(b->graph, target, plain, args->count);
    gcache_value **values = gci_arena_array(&b->arena, args->count, sizeof *values);
    for (uint32_t i = 0; i < args->count && values != NULL; i++)
        values[i] = make_value(b, &args->items[i]);
    return gcache_graph_node(b->graph, op, target, values, args->count);
}

static bool
has_only(gci_value const *map, char const *const *names, size_t count)
{
    for (uint32_t i = 0; i < map->count; i++) {
        bool found = false;
        for (size_t k = 0; k < count; k++)
            found = found || gci_view_is(map->members[i].name, names[k]);
        if (!found)
            return false;
    }
    return true;
}

/* inputs: of the outermost graph, one for each placeholder; NULL: placeholders are nodes like others. */
static void
make_nodes(build *b, scope *s, gci_value const *inputs)
{
    static char const *const known[] = { "name", "op", "target", "args", "kwargs", "meta" };
    uint32_t placeholders = 0;

    for (uint32_t i = 0; i < s->nodes->count && !b->unsayable; i++) {
        gci_value const *node = &s->nodes->items[i];
        bool is_input = inputs != NULL && gci_view_is(gci_map_find(node, "op")->text, "placeholder");
        if (!has_only(node, known, sizeof known / sizeof known[0]) ||
            (is_input && (placeholders == inputs->count || member_or(node, "args", &empty_list)->count != 0))) {
            b->unsayable = true;
            break;
        }
        s->handles[i] = is_input ? make_input(b, &inputs->items[placeholders++]) : make_node(b, node);
        if (!b->late)
            add_kwargs(b, s, i);
    }
    for (uint32_t i = s->nodes->count; i-- > 0 && b->late && !b->unsayable;)
        add_kwargs(b, s, i);
    if (inputs != NULL && placeholders != inputs->count)
        b->unsayable = true;
}

static void
make_graph(build *b, gci_value const *graph, gci_value const *inputs)
{
    static char const *const known[] = { "nodes", "subgraphs" };
    gci_value const *subgraphs = member_or(graph, "subgraphs", &empty_map);
    scope *s = gci_arena_alloc(&b->arena, sizeof *s);

    if (s == NULL || !has_only(graph, known, sizeof known / sizeof known[0])) {
        b->unsayable = true;
        return;
    }
    *s = (scope){ .outer = b->scope, .nodes = gci_map_find(graph, "nodes") };
    s->handles = gci_arena_array(&b->arena, s->nodes->count, sizeof *s->handles);
    b->scope = s;
    if (s->handles != NULL)
        make_nodes(b, s, inputs);
    for (uint32_t i = 0; i < subgraphs->count && !b->unsayable; i++) {
        gcache_graph_subgraph_begin(b->graph,
                                    text_of(b, &(gci_value){ .type = GCI_STRING, .text = subgraphs->members[i].name }));
        make_graph(b, &subgraphs->members[i].value, NULL);
        gcache_graph_subgraph_end(b->graph);
    }
    if (s->outer != NULL)
        b->scope = s->outer; /* the outermost stays: other components may refer to its nodes */
}

static void
make_description(build *b, gci_value const *root)
{
    gci_value const *graph = gci_map_find(root, "graph"), *inputs = gci_map_find(root, "inputs");

    if ((graph == NULL) != (inputs == NULL))
        b->unsayable = true;
    else if (graph != NULL)
        make_graph(b, graph, inputs);
    for (uint32_t i = 0; i < root->count && !b->unsayable; i++) {
        gci_view name = root->members[i].name;
        if (gci_view_is(name, "graph") || gci_view_is(name, "inputs") || gci_view_is(name, "format") ||
            gci_view_is(name, "kind") || gci_view_is(name, "volatile"))
            continue;
        char const *text = text_of(b, &(gci_value){ .type = GCI_STRING, .text = name });
        gcache_graph_component(b->graph, text, make_value(b, &root->members[i].value));
    }
}

gcache_graph *
build_by_calls(char const *text, size_t size, bool late)
{
    build b = { .late = late };
    gci_value root;

    gci_arena_init(&b.arena, (size_t)1 << 30);
    if (gci_json_read(gci_view_of(text, size), "by calls", &b.arena, &root, NULL) == GCACHE_OK) {
        char const *kind = text_of(&b, gci_map_find(&root, "kind"));
        b.graph = kind != NULL ? gcache_graph_new(kind) : NULL;
        if (b.graph != NULL)
            make_description(&b, &root);
    }
    if (b.unsayable || (b.arena.failed && b.graph != NULL)) {
        gcache_graph_free(b.graph);
        b.graph = NULL;
    }
    gci_arena_clear(&b.arena);
    return b.graph;
}
