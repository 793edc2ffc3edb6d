/*
 * Values of canonical forms as short texts.
 */
#include "base/text/json.h"
#include "base/utf8.h"
#include "graph/cbor/cbor_read.h"
#include "graph/diff/diff_run.h"

#include <ctype.h>

/* A text's beginning and a value's items: enough to know it by. */
#define TEXT_SHOWN 60
/* Of one that is shown around a difference, in front of it. */
#define TEXT_BEFORE 20
/* Words and numbers at its ends are kept whole if they are no longer. */
#define WORD_MOST 40
#define ITEMS_SHOWN 8
#define BYTES_SHOWN 16
/* Deeper levels are "..". */
#define LEVELS_SHOWN 4

/* What a description writes as an object of one member (`{"$sym": "s0"}`) is plain for people and an object for programs. */
typedef enum manner { PLAIN, TYPED } manner;

static void show(gci_value const *value, int levels, manner how, gci_buf *out);

static void
show_text(gci_view text, gci_buf *out)
{
    gci_json_write_text(out, gci_utf8_cut(text, TEXT_SHOWN));
    if (text.size > TEXT_SHOWN)
        gci_buf_format(out, "... (%zu bytes)", text.size);
}

bool
gci_diff_is_cut(gci_view text)
{
    return text.size > TEXT_SHOWN;
}

/* Not within a character. */
static size_t
whole_before(gci_view text, size_t at)
{
    while (at > 0 && at < text.size && ((uint8_t)text.data[at] & 0xc0) == 0x80)
        at--;
    return at;
}

void
gci_diff_show_around(gci_view text, gci_view other, gci_buf *out)
{
    size_t at = 0, shorter = text.size < other.size ? text.size : other.size;

    while (at < shorter && text.data[at] == other.data[at])
        at++;
    /* Numbers and words that differ are seen whole. */
    for (size_t least = at > WORD_MOST ? at - WORD_MOST : 0; at > least && isalnum((unsigned char)text.data[at - 1]);)
        at--;
    size_t start = at > TEXT_BEFORE ? whole_before(text, at - TEXT_BEFORE) : 0;
    size_t end = at + TEXT_SHOWN < text.size ? whole_before(text, at + TEXT_SHOWN) : text.size;
    for (size_t most = end + WORD_MOST; end < text.size && end < most && isalnum((unsigned char)text.data[end]);)
        end++;
    gci_buf_append_text(out, start > 0 ? "..." : "");
    gci_json_write_text(out, gci_view_of(text.data + start, end - start));
    if (end < text.size)
        gci_buf_append_text(out, "...");
    if (start > 0 || end < text.size)
        gci_buf_format(out, " (%zu bytes)", text.size);
}

void
gci_diff_show_bytes(gci_view bytes, gci_view other, gci_buf *out)
{
    size_t at = 0;

    while (at < bytes.size && at < other.size && bytes.data[at] == other.data[at])
        at++;
    gci_buf_append_text(out, at != 0 ? "bytes ..." : "bytes ");
    for (size_t i = at; i < bytes.size && i < at + BYTES_SHOWN; i++)
        gci_buf_format(out, "%02x", (unsigned)(uint8_t)bytes.data[i]);
    gci_buf_format(out, "%s (%zu bytes)", bytes.size > at + BYTES_SHOWN ? "..." : "", bytes.size);
}

static void
show_items(gci_value const *list, char const *open, char const *close, int levels, manner how, gci_buf *out)
{
    gci_buf_append_text(out, open);
    for (uint32_t i = 0; i < list->count && i < ITEMS_SHOWN; i++) {
        if (i != 0)
            gci_buf_append_text(out, ", ");
        show(&list->items[i], levels, how, out);
    }
    if (list->count > ITEMS_SHOWN)
        gci_buf_format(out, ", ... (%u items)", (unsigned)list->count);
    else if (list->type == GCI_TUPLE && list->count == 1)
        gci_buf_append_char(out, ',');
    gci_buf_append_text(out, close);
}

static void
show_members(gci_value const *map, int levels, manner how, gci_buf *out)
{
    gci_buf_append_char(out, '{');
    for (uint32_t i = 0; i < map->count && i < ITEMS_SHOWN; i++) {
        gci_buf_append_text(out, i != 0 ? ", " : "");
        gci_json_write_text(out, map->members[i].name);
        gci_buf_append_text(out, ": ");
        show(&map->members[i].value, levels, how, out);
    }
    if (map->count > ITEMS_SHOWN)
        gci_buf_format(out, ", ... (%u members)", (unsigned)map->count);
    gci_buf_append_char(out, '}');
}

/* float32[s0, 16] on cpu */
static void
show_tensor(gci_value const *tensor, gci_buf *out)
{
    gci_value const *dtype = gci_map_find(tensor, "dtype"), *shape = gci_map_find(tensor, "shape");
    gci_value const *device = gci_map_find(tensor, "device");

    if (dtype != NULL && (dtype->type == GCI_STRING || dtype->type == GCI_ENUM))
        gci_buf_append_view(out, dtype->text);
    else
        gci_buf_append_text(out, "tensor");
    if (shape != NULL && shape->type == GCI_LIST)
        show_items(shape, "[", "]", 1, PLAIN, out);
    if (device != NULL && device->type == GCI_STRING) {
        gci_buf_append_text(out, " on ");
        gci_buf_append_view(out, device->text);
    }
}

void
gci_diff_show_reference(int64_t ref, gci_buf *out)
{
    unsigned position = gci_node_ref_position(ref);

    if (gci_node_ref_serial(ref) == GCI_NODE_INPUTS) {
        gci_buf_format(out, "inputs[%u]", position);
        return;
    }
    for (uint32_t up = gci_node_ref_serial(ref); up > 1; up--)
        gci_buf_append_text(out, "../");
    gci_buf_format(out, "nodes[%u]", position);
}

/* s0, or {"$sym": "s0"} */
static void
show_named(char const *type, gci_view text, manner how, gci_buf *out)
{
    if (how == PLAIN) {
        gci_buf_append_view(out, text);
        return;
    }
    gci_buf_format(out, "{\"%s\": ", type);
    gci_json_write_text(out, text);
    gci_buf_append_char(out, '}');
}

static void
show(gci_value const *value, int levels, manner how, gci_buf *out)
{
    bool nested = value->type == GCI_LIST || value->type == GCI_TUPLE || value->type == GCI_SET || value->type == GCI_MAP;

    if (nested && levels == 0 && value->count != 0) {
        gci_buf_append_text(out, "..");
        return;
    }
    switch ((gci_value_type)value->type) {
    case GCI_STRING:
        show_text(value->text, out);
        break;
    case GCI_SYM:
        show_named("$sym", value->text, how, out);
        break;
    case GCI_ENUM:
        show_named("$enum", value->text, how, out);
        break;
    case GCI_BYTES:
        gci_buf_append_text(out, "bytes ");
        for (size_t i = 0; i < value->text.size && i < BYTES_SHOWN; i++)
            gci_buf_format(out, "%02x", (unsigned)(uint8_t)value->text.data[i]);
        if (value->text.size > BYTES_SHOWN)
            gci_buf_format(out, "... (%zu bytes)", value->text.size);
        break;
    case GCI_NODE:
        gci_diff_show_reference(value->integer, out);
        break;
    case GCI_LIST:
        show_items(value, "[", "]", levels - 1, how, out);
        break;
    case GCI_TUPLE:
        show_items(value, "(", ")", levels - 1, how, out);
        break;
    case GCI_SET:
        show_items(value, "{", "}", levels - 1, how, out);
        break;
    case GCI_MAP:
        show_members(value, levels - 1, how, out);
        break;
    case GCI_TENSOR:
        show_tensor(value, out);
        break;
    default:
        gci_json_write(out, value);
    }
}

void
gci_diff_show(gci_value const *value, gci_buf *out)
{
    show(value, LEVELS_SHOWN, PLAIN, out);
}

void
gci_diff_show_typed(gci_value const *value, gci_buf *out)
{
    show(value, LEVELS_SHOWN, TYPED, out);
}

/* aten.sum.dim_IntList(nodes[3], [1], keepdim=true) */
void
gci_diff_show_node(gci_value const *node, gci_buf *out)
{
    gci_value const *op = gci_map_find(node, "op"), *target = gci_map_find(node, "target");
    gci_value const *args = gci_map_find(node, "args"), *kwargs = gci_map_find(node, "kwargs");
    bool call = op != NULL && op->type == GCI_STRING && gci_view_is(op->text, "call_function");
    bool output = op != NULL && op->type == GCI_STRING && gci_view_is(op->text, "output");

    if (!call && op != NULL && op->type == GCI_STRING)
        gci_buf_append_view(out, op->text);
    if (target != NULL && target->type == GCI_STRING && !output) {
        gci_buf_append_text(out, call ? "" : " ");
        gci_buf_append_view(out, target->text);
    }
    gci_buf_append_char(out, '(');
    uint32_t shown = 0;
    for (uint32_t i = 0; args != NULL && args->type == GCI_LIST && i < args->count && i < ITEMS_SHOWN; i++) {
        gci_buf_append_text(out, shown++ != 0 ? ", " : "");
        show(&args->items[i], LEVELS_SHOWN, PLAIN, out);
    }
    for (uint32_t i = 0; kwargs != NULL && kwargs->type == GCI_MAP && i < kwargs->count && i < ITEMS_SHOWN; i++) {
        gci_buf_append_text(out, shown++ != 0 ? ", " : "");
        gci_buf_append_view(out, kwargs->members[i].name);
        gci_buf_append_char(out, '=');
        show(&kwargs->members[i].value, LEVELS_SHOWN, PLAIN, out);
    }
    gci_buf_append_char(out, ')');
}
