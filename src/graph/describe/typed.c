/*
 * From JSON's types to a description's: the `$` objects, and what a tensor must have.
 */
#include "graph/describe/typed.h"

#include "base/check.h"
#include "base/text/json.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- messages ---- */

/* Writes the path from `from` down to value, looking through all of the tree: only errors pay for it. */
static bool
write_path(gci_buf *out, gci_value const *from, gci_value const *value)
{
    size_t mark = out->size;

    if (from == value)
        return true;
    bool is_map = from->type == GCI_MAP || from->type == GCI_TENSOR;
    bool is_list = from->type == GCI_LIST || from->type == GCI_TUPLE || from->type == GCI_SET;
    for (uint32_t i = 0; i < from->count && (is_map || is_list); i++) {
        if (is_map)
            gci_buf_format(out, "%s%.*s", mark != 0 ? "." : "", (int)from->members[i].name.size,
                           from->members[i].name.data);
        else
            gci_buf_format(out, "[%u]", (unsigned)i);
        if (write_path(out, is_map ? &from->members[i].value : &from->items[i], value))
            return true;
        out->size = mark;
    }
    return false;
}

bool
gci_typed_fail(gci_typing const *typing, gci_value const *value, char const *format, ...)
{
    gcache_graph *graph = typing->graph;
    char message[sizeof graph->error.message];
    gci_place place = { .name = typing->name };
    gci_buf path;
    va_list arguments;

    if (graph->status != GCACHE_OK)
        return false;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    if (typing->root != NULL && value != NULL)
        write_path(&path, typing->root, value);
    gci_buf_append_char(&path, '\0');
    place.path = path.failed ? NULL : path.data;
    if (typing->text.data != NULL && value != NULL)
        gci_json_locate(typing->text, value->at, &place.line, &place.column);
    graph->status = gci_fail_at(&graph->error, GCACHE_ERROR_DESCRIPTION, &place, "%s", message);
    gci_buf_clear(&path);
    return false;
}

/* ---- the `$` objects ---- */

/* Finds a name from the innermost scope outwards. */
static bool
find_node(gci_scope const *scope, gci_view name, int64_t *out_ref)
{
    for (; scope != NULL; scope = scope->outer) {
        uint32_t position = gci_intern_find(&scope->names, name);
        if (position != GCI_INTERN_NONE) {
            *out_ref = gci_node_ref(scope->serial, position);
            return true;
        }
    }
    return false;
}

bool
gci_typed_integer(gci_view decimal, gci_value *out_value)
{
    char const *c = decimal.data, *end = c + decimal.size;
    bool negative = c < end && *c == '-';

    c += negative || (c < end && *c == '+');
    if (c == end || (size_t)(end - c) > GCI_JSON_MAX_DIGITS)
        return false;
    for (char const *p = c; p < end; p++)
        if (*p < '0' || *p > '9')
            return false;
    while (end - c > 1 && *c == '0')
        c++;
    size_t digits = (size_t)(end - c);
    uint64_t magnitude = 0;
    for (char const *p = c; p < end && digits <= 19; p++)
        magnitude = magnitude * 10 + (uint64_t)(*p - '0');
    if (digits <= 19 && magnitude <= (uint64_t)INT64_MAX + negative) {
        out_value->type = GCI_INT;
        out_value->integer = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
        return true;
    }
    /* The sign stands right before the digits unless zeros were skipped; then nothing tells a '+' from a '-'. */
    if (negative && c - decimal.data != 1)
        return false;
    out_value->type = GCI_BIGINT;
    out_value->text = negative ? decimal : gci_view_of(c, digits);
    return true;
}

static int
base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Strict base64: padded to a multiple of four, no white space, unused bits zero. */
static bool
decode_base64(gci_view text, uint8_t *out, size_t *out_size)
{
    size_t padding = 0, size = 0;

    if (text.size % 4 != 0)
        return false;
    while (padding < 2 && padding < text.size && text.data[text.size - 1 - padding] == '=')
        padding++;
    uint32_t group = 0;
    for (size_t i = 0; i < text.size; i++) {
        int digit = i < text.size - padding ? base64_value(text.data[i]) : 0;
        if (digit < 0)
            return false;
        group = group << 6 | (uint32_t)digit;
        if (i % 4 == 3) {
            out[size++] = (uint8_t)(group >> 16);
            out[size++] = (uint8_t)(group >> 8);
            out[size++] = (uint8_t)group;
            group = 0;
        }
    }
    for (size_t i = 0; i < padding; i++)
        if (out[--size] != 0)
            return false;
    *out_size = size;
    return true;
}

/*
 * A typed object is a map of one member of such a name: no map. `of` is the type that the member must have and `must` what
 * the message says when it hasn't. finish makes the value of what the member holds, which it has been given already; NULL: that is
 * it.
 */
typedef struct dollar_type {
    gci_view name;
    gci_value_type of, type;
    char const *must;
    bool (*finish)(gci_typing const *typing, struct dollar_type const *dollar, gci_value *value);
} dollar_type;

static bool
fail_dollar(gci_typing const *typing, dollar_type const *dollar, gci_value const *value)
{
    return gci_typed_fail(typing, value, "%s must be %s", dollar->name.data, dollar->must);
}

static bool
finish_int(gci_typing const *typing, dollar_type const *dollar, gci_value *value)
{
    return gci_typed_integer(value->text, value) || fail_dollar(typing, dollar, value);
}

static bool
finish_float(gci_typing const *typing, dollar_type const *dollar, gci_value *value)
{
    static struct {
        char const *name;
        double real;
    } const names[] = { { "nan", NAN }, { "inf", INFINITY }, { "-inf", -INFINITY } };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (gci_view_is(value->text, names[i].name)) {
            value->real = names[i].real;
            return true;
        }
    }
    return fail_dollar(typing, dollar, value);
}

static bool
finish_bytes(gci_typing const *typing, dollar_type const *dollar, gci_value *value)
{
    size_t size;
    uint8_t *bytes = gci_graph_array(typing->graph, value->text.size / 4, 3);

    (void)dollar;
    if (bytes == NULL)
        return false;
    if (!decode_base64(value->text, bytes, &size))
        return gci_typed_fail(typing, value, "$bytes must be padded base64");
    value->text = gci_view_of(bytes, size);
    return true;
}

static bool
finish_node(gci_typing const *typing, dollar_type const *dollar, gci_value *value)
{
    int64_t ref;

    (void)dollar;
    if (!find_node(typing->scope, value->text, &ref))
        return gci_typed_fail(typing, value, "there is no node \"%.*s\" here", (int)value->text.size, value->text.data);
    value->integer = ref;
    return true;
}

static bool
type_items(gci_typing const *typing, gci_value *list)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (!gci_typed_value(typing, &list->items[i]))
            return false;
    return true;
}

bool
gci_typed_members(gci_typing const *typing, gci_value *map)
{
    for (uint32_t i = 0; i < map->count; i++)
        if (!gci_typed_value(typing, &map->members[i].value))
            return false;
    return true;
}

static bool
finish_list(gci_typing const *typing, dollar_type const *dollar, gci_value *value)
{
    (void)dollar;
    return type_items(typing, value);
}

static bool
finish_tensor(gci_typing const *typing, dollar_type const *dollar, gci_value *value)
{
    (void)dollar;
    return gci_typed_members(typing, value) && gci_typed_tensor(typing, value);
}

#define TEXT_OF(number) #number
#define DIGITS(number) TEXT_OF(number)

static dollar_type const dollar_types[] = {
    { GCI_VIEW("$node"), GCI_STRING, GCI_NODE, "a string", finish_node },
    { GCI_VIEW("$tensor"), GCI_MAP, GCI_TENSOR, "a map", finish_tensor },
    { GCI_VIEW("$tuple"), GCI_LIST, GCI_TUPLE, "a list", finish_list },
    { GCI_VIEW("$sym"), GCI_STRING, GCI_SYM, "a string", NULL },
    { GCI_VIEW("$enum"), GCI_STRING, GCI_ENUM, "a string", NULL },
    { GCI_VIEW("$float"), GCI_STRING, GCI_FLOAT, "\"nan\", \"inf\" or \"-inf\"", finish_float },
    { GCI_VIEW("$bytes"), GCI_STRING, GCI_BYTES, "a string", finish_bytes },
    { GCI_VIEW("$set"), GCI_LIST, GCI_SET, "a list", finish_list },
    { GCI_VIEW("$int"), GCI_STRING, GCI_INT, "a string of decimal digits, at most " DIGITS(GCI_JSON_MAX_DIGITS), finish_int },
};

static bool
type_dollar(gci_typing const *typing, gci_value *value)
{
    gci_view name = value->members[0].name;
    gci_value const *held = &value->members[0].value;

    for (size_t i = 0; i < sizeof dollar_types / sizeof dollar_types[0]; i++) {
        dollar_type const *dollar = &dollar_types[i];
        if (!gci_view_equal(name, dollar->name))
            continue;
        if (held->type != dollar->of)
            return fail_dollar(typing, dollar, value);
        *value = (gci_value){ .type = (uint8_t)dollar->type, .at = value->at, .count = held->count, .text = held->text };
        return dollar->finish == NULL || dollar->finish(typing, dollar, value);
    }
    return gci_typed_fail(typing, value, "\"%.*s\" is not a known type", (int)name.size, name.data);
}

bool
gci_typed_value(gci_typing const *typing, gci_value *value)
{
    if (value->type == GCI_LIST)
        return type_items(typing, value);
    if (value->type != GCI_MAP)
        return true;
    if (value->count == 1 && value->members[0].name.size != 0 && value->members[0].name.data[0] == '$')
        return type_dollar(typing, value);
    return gci_typed_members(typing, value);
}

/* ---- tensors ---- */

static bool
check_dimensions(gci_typing const *typing, gci_value const *list, char const *name)
{
    if (list->type == GCI_NULL)
        return true;
    if (list->type != GCI_LIST)
        return gci_typed_fail(typing, list, "%s must be a list", name);
    for (uint32_t i = 0; i < list->count; i++) {
        uint8_t type = list->items[i].type;
        if (type != GCI_INT && type != GCI_BIGINT && type != GCI_SYM && type != GCI_STRING)
            return gci_typed_fail(typing, &list->items[i], "a size must be an integer or an expression");
    }
    return true;
}

bool
gci_typed_tensor(gci_typing const *typing, gci_value const *value)
{
    gci_value const *dtype = gci_map_find(value, "dtype"), *shape = gci_map_find(value, "shape");
    gci_value const *stride = gci_map_find(value, "stride"), *fixed = gci_map_find(value, "static");

    if (dtype == NULL || shape == NULL)
        return gci_typed_fail(typing, value, "a tensor needs %s", dtype == NULL ? "dtype" : "shape");
    if (dtype->type != GCI_STRING && dtype->type != GCI_ENUM)
        return gci_typed_fail(typing, dtype, "dtype must be a string");
    if (fixed != NULL && fixed->type != GCI_BOOL)
        return gci_typed_fail(typing, fixed, "static must be true or false");
    return check_dimensions(typing, shape, "shape") && (stride == NULL || check_dimensions(typing, stride, "stride"));
}
