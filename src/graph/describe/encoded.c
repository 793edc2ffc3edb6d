/*
 * Nodes as canonical bytes and tensors as numbers of texts, from the start; and back to trees.
 */
#include "graph/describe/encoded.h"

#include "base/check.h"
#include "graph/cbor/cbor.h"
#include "graph/cbor/cbor_read.h"

/* Arguments nest a level or two; deeper ones are left to trees. */
#define MAX_DEPTH 16

/* A map's head is one byte up to this many members. */
#define MAX_KWARGS 23

/* ---- handles ---- */

/* The run that a handle belongs to. */
static gci_handle_run const *
find_run(gcache_graph const *graph, gcache_node node)
{
    size_t low = 0, high = graph->run_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (graph->runs[middle].first <= node)
            low = middle;
        else
            high = middle;
    }
    return &graph->runs[low];
}

gci_node_place
gci_find_node(gcache_graph const *graph, gcache_node node)
{
    if (node == 0 || node > graph->handle_count)
        return (gci_node_place){ NULL, 0 };
    gci_handle_run const *run = &graph->runs[graph->run_count - 1];
    if (run->first > node)
        run = find_run(graph, node); /* hardly ever: a graph without subgraphs has one run */
    return (gci_node_place){ .graph = run->graph, .position = run->position + (node - run->first) };
}

/* ---- writing ---- */

/* false: the graph isn't around this one, and the tree's reader says what is wrong with it. */
static bool
put_reference(gci_buf *out, gci_subgraph const *sub, uint32_t serial, uint32_t position)
{
    uint32_t up;

    if (!gci_subgraph_levels(sub, serial, &up))
        return false;
    gci_cbor_reference(out, up, position);
    return true;
}

static bool put_value(gci_buf *out, gci_subgraph const *sub, gci_value const *value, int depth);

static bool
put_list(gci_buf *out, gci_subgraph const *sub, gci_value const *list, int depth)
{
    gci_cbor_head(out, GCI_CBOR_ARRAY, list->count);
    for (uint32_t i = 0; i < list->count; i++)
        if (!put_value(out, sub, &list->items[i], depth + 1))
            return false;
    return true;
}

/* Writes what means the same whatever else there is. */
static bool
put_value(gci_buf *out, gci_subgraph const *sub, gci_value const *value, int depth)
{
    switch ((gci_value_type)value->type) {
    case GCI_NULL:
    case GCI_BOOL:
    case GCI_INT:
    case GCI_BIGINT:
    case GCI_FLOAT:
    case GCI_BYTES:
        gci_cbor_scalar(out, value);
        return true;
    case GCI_STRING:
        gci_cbor_text(out, value->text);
        return true;
    case GCI_ENUM:
        gci_cbor_tag(out, GCI_TAG_ENUM);
        gci_cbor_text(out, value->text);
        return true;
    case GCI_NODE:
        return put_reference(out, sub, gci_node_ref_serial(value->integer), gci_node_ref_position(value->integer));
    case GCI_TUPLE:
        gci_cbor_tag(out, GCI_TAG_TUPLE);
        return depth < MAX_DEPTH && put_list(out, sub, value, depth);
    case GCI_LIST:
        return depth < MAX_DEPTH && put_list(out, sub, value, depth);
    default:
        return false;
    }
}

static bool
put_arguments(gcache_graph *graph, gci_subgraph *sub, gci_new_node const *node)
{
    gci_buf *out = &sub->packed_nodes;

    gci_cbor_head(out, GCI_CBOR_ARRAY, node->count);
    for (size_t i = 0; i < node->count; i++) {
        if (node->nodes != NULL) {
            gci_node_place place = gci_find_node(graph, node->nodes[i]);
            if (place.graph == NULL || !put_reference(out, sub, place.graph->serial, place.position))
                return false;
        } else if (node->values[i] == NULL || !put_value(out, sub, &node->values[i]->value, 0)) {
            return false;
        }
    }
    return true;
}

/* Gives a packed subgraph back what it was; without memory the graph fails. */
static bool
undo(gcache_graph *graph, gci_subgraph *sub, size_t mark)
{
    if (sub->packed_nodes.failed)
        gci_graph_fail_memory(graph);
    sub->packed_nodes.size = mark;
    return false;
}

/* {"op": "call_function", "args": ..., as most nodes begin. */
static char const call_start[] = "\xA4\x62op\x6D" "call_function" "\x64" "args";
/* ..., "kwargs": {}, "target": ..., as they end. */
static char const kwargs_key[] = "\x66" "kwargs", target_key[] = "\x66" "target";

/* What a node takes besides its texts and arguments. */
#define NODE_BYTES 64

static void
put_start(gci_buf *out, gci_new_node const *node)
{
    if (gci_view_is(node->op, "call_function") && node->target.data != NULL) {
        gci_cbor_append(out, call_start, sizeof call_start - 1);
        return;
    }
    gci_cbor_head(out, GCI_CBOR_MAP, 3u + (node->target.data != NULL));
    gci_cbor_text(out, (gci_view)GCI_VIEW("op"));
    gci_cbor_text(out, node->op);
    gci_cbor_text(out, (gci_view)GCI_VIEW("args"));
}

bool
gci_pack_node(gcache_graph *graph, gci_subgraph *sub, gci_new_node const *node)
{
    gci_buf *out = &sub->packed_nodes;
    size_t mark = out->size;

    GCI_ASSERT(sub->packed && sub->nodes == NULL);
    gci_buf_reserve(out, NODE_BYTES + node->op.size + node->target.size); /* so that appends find room at once */
    put_start(out, node);
    if (!put_arguments(graph, sub, node))
        return undo(graph, sub, mark);
    gci_cbor_append(out, kwargs_key, sizeof kwargs_key - 1);
    size_t kwargs_at = out->size;
    gci_cbor_head(out, GCI_CBOR_MAP, 0);
    size_t kwargs_end = out->size;
    if (node->target.data != NULL) {
        gci_cbor_append(out, target_key, sizeof target_key - 1);
        gci_cbor_text(out, node->target);
    }
    if (out->failed)
        return undo(graph, sub, mark);
    sub->kwargs_at = kwargs_at;
    sub->kwargs_end = kwargs_end;
    return true;
}

/* ---- keyword arguments ---- */

/* Where a name belongs among the last node's keyword arguments. */
static size_t
find_place(gci_subgraph const *sub, gci_view name, bool *out_there)
{
    char const *data = sub->packed_nodes.data;
    size_t at = sub->kwargs_at + 1;

    *out_there = false;
    while (at < sub->kwargs_end) {
        size_t key = gci_cbor_item_size(gci_view_of(data + at, sub->kwargs_end - at));
        size_t head = (uint8_t)data[at] < 0x78 ? 1 : (size_t)1 + ((size_t)1 << ((uint8_t)data[at] - 0x78));
        int order = gci_cbor_key_compare(gci_view_of(data + at + head, key - head), name);
        *out_there = order == 0;
        if (order >= 0)
            break;
        at += key + gci_cbor_item_size(gci_view_of(data + at + key, sub->kwargs_end - at - key));
    }
    return at;
}

bool
gci_pack_kwarg(gcache_graph *graph, gci_subgraph *sub, gci_view name, gci_value const *value)
{
    gci_buf *out = &sub->packed_nodes;
    size_t end = out->size;
    bool there;

    GCI_ASSERT(sub->packed && sub->node_count != 0);
    unsigned count = (uint8_t)out->data[sub->kwargs_at] & 31;
    size_t place = find_place(sub, name, &there);
    if (there || count == MAX_KWARGS)
        return false; /* trees take any number, and say what is wrong */
    gci_cbor_text(out, name);
    if (!put_value(out, sub, value, 0) || out->failed)
        return undo(graph, sub, end);
    /* The member was written behind the node: it changes places with what must come after it. */
    size_t size = out->size - end;
    if (gci_buf_reserve(out, size) == NULL)
        return undo(graph, sub, end);
    memcpy(out->data + out->size, out->data + end, size);
    memmove(out->data + place + size, out->data + place, end - place);
    memcpy(out->data + place, out->data + out->size, size);
    out->data[sub->kwargs_at]++;
    sub->kwargs_end += size;
    return true;
}

/* ---- tensors ---- */

static uint32_t
number_text(gcache_graph *graph, char const *text)
{
    gci_view view = gci_view_text(text);
    uint32_t number = gci_intern_find(&graph->texts, view);
    bool is_new = false;

    if (number != GCI_INTERN_NONE)
        return number;
    gci_view copy;
    if (!gci_graph_copy_text(graph, view, &copy))
        return GCI_INTERN_NONE;
    number = gci_intern_add(&graph->texts, copy, &is_new);
    if (number == GCI_INTERN_NONE)
        gci_graph_fail_memory(graph);
    return number;
}

gci_plain_tensor const *
gci_pack_tensor(gcache_graph *graph, gcache_tensor const *tensor)
{
    GCI_GRAPH_REQUIRE(tensor->size == sizeof *tensor, graph, NULL, "a tensor must be initialised with GCACHE_TENSOR_INIT");
    GCI_GRAPH_REQUIRE(tensor->rank >= 0 && tensor->rank <= GCACHE_TENSOR_RANK, graph, NULL,
                      "a tensor's rank must be 0 to %d", GCACHE_TENSOR_RANK);
    size_t rank = (size_t)tensor->rank;
    bool has_stride = rank == 0 || tensor->stride[0] != NULL;
    gci_plain_tensor *plain =
        gci_graph_array(graph, 1, sizeof *plain + (has_stride ? 2 : 1) * rank * sizeof plain->sizes[0]);
    if (plain == NULL)
        return NULL;
    plain->dtype = number_text(graph, tensor->dtype);
    plain->device = tensor->device != NULL ? number_text(graph, tensor->device) : GCI_INTERN_NONE;
    plain->layout = tensor->layout != NULL ? number_text(graph, tensor->layout) : GCI_INTERN_NONE;
    plain->rank = (uint16_t)rank;
    plain->has_stride = has_stride;
    plain->requires_grad = tensor->requires_grad;
    for (size_t i = 0; i < rank; i++)
        plain->sizes[i] = number_text(graph, tensor->shape[i]);
    for (size_t i = 0; i < rank && has_stride; i++)
        plain->sizes[rank + i] = number_text(graph, tensor->stride[i]);
    return graph->status == GCACHE_OK ? plain : NULL;
}

/* Members of the tree that a plain tensor stands for. */
#define TENSOR_MEMBERS 6

static void
add_member(gci_value *map, gci_view name, gci_value value)
{
    map->members[map->count++] = (gci_member){ .name = name, .value = value };
}

static gci_value
text_value(gcache_graph const *graph, uint32_t number)
{
    return (gci_value){ .type = GCI_STRING, .text = graph->texts.texts[number] };
}

static gci_value
size_list(gcache_graph const *graph, uint32_t const *numbers, uint32_t rank, gci_arena *arena)
{
    gci_value list = { .type = GCI_LIST, .count = rank, .items = gci_arena_array(arena, rank, sizeof *list.items) };

    for (uint32_t i = 0; i < rank && list.items != NULL; i++)
        list.items[i] = text_value(graph, numbers[i]);
    return list;
}

bool
gci_unpack_input(gcache_graph const *graph, gci_input const *input, gci_arena *arena, gci_value *out_value)
{
    gci_plain_tensor const *plain = input->tensor;
    gci_value map = { .type = GCI_TENSOR };

    *out_value = plain == NULL ? input->value : (gci_value){ .type = GCI_NULL };
    if (plain == NULL)
        return true;
    map.members = gci_arena_array(arena, TENSOR_MEMBERS, sizeof *map.members);
    if (map.members == NULL)
        return false;
    add_member(&map, (gci_view)GCI_VIEW("dtype"), text_value(graph, plain->dtype));
    add_member(&map, (gci_view)GCI_VIEW("shape"), size_list(graph, plain->sizes, plain->rank, arena));
    if (plain->device != GCI_INTERN_NONE)
        add_member(&map, (gci_view)GCI_VIEW("device"), text_value(graph, plain->device));
    if (plain->layout != GCI_INTERN_NONE)
        add_member(&map, (gci_view)GCI_VIEW("layout"), text_value(graph, plain->layout));
    if (plain->has_stride)
        add_member(&map, (gci_view)GCI_VIEW("stride"), size_list(graph, plain->sizes + plain->rank, plain->rank, arena));
    add_member(&map, (gci_view)GCI_VIEW("requires_grad"), (gci_value){ .type = GCI_BOOL, .boolean = plain->requires_grad });
    if (!arena->failed)
        *out_value = map;
    return !arena->failed;
}

/* ---- reading back ---- */

/* References are relative in canonical bytes; trees name the (sub)graph. */
static void
make_absolute(gci_subgraph const *sub, gci_value *value)
{
    if (value->type == GCI_NODE) {
        uint32_t up = gci_node_ref_serial(value->integer) - 1;
        while (up-- > 0)
            sub = sub->outer;
        value->integer = gci_node_ref(sub->serial, gci_node_ref_position(value->integer));
    } else if (value->type == GCI_LIST || value->type == GCI_TUPLE) {
        for (uint32_t i = 0; i < value->count; i++)
            make_absolute(sub, &value->items[i]);
    } else if (value->type == GCI_MAP) {
        for (uint32_t i = 0; i < value->count; i++)
            make_absolute(sub, &value->members[i].value);
    }
}

static gci_value const empty_map = { .type = GCI_MAP };

static void
unpack_node(gci_value const *map, gci_node *node)
{
    gci_value const *target = gci_map_find(map, "target"), *kwargs = gci_map_find(map, "kwargs");

    *node = (gci_node){ .op = gci_map_find(map, "op")->text,
                        .target = target != NULL ? target->text : (gci_view){ NULL, 0 },
                        .args = *gci_map_find(map, "args"),
                        .kwargs = *kwargs,
                        .kwarg_room = kwargs->count,
                        .others = empty_map };
}

gci_node *
gci_unpack_nodes(gci_subgraph const *sub, gci_arena *arena)
{
    if (!sub->packed)
        return sub->nodes;
    gci_node *nodes = gci_arena_array(arena, sub->node_count, sizeof *nodes);
    gci_view bytes = gci_arena_copy(arena, gci_buf_view(&sub->packed_nodes));
    if (nodes == NULL || bytes.data == NULL)
        return NULL;
    for (uint32_t i = 0; i < sub->node_count; i++) {
        gci_view item = gci_view_of(bytes.data, gci_cbor_item_size(bytes));
        gci_value map;
        if (gci_cbor_read(item, arena, &map, NULL) != GCACHE_OK)
            return NULL; /* they are our own bytes: it can only be memory */
        make_absolute(sub, &map);
        unpack_node(&map, &nodes[i]);
        bytes = gci_view_of(bytes.data + item.size, bytes.size - item.size);
    }
    return nodes;
}
