/*
 * JSON objects written to standard output, and read from files.
 */
#include "cli/shared/object.h"

#include "base/error.h"
#include "base/text/json.h"
#include "cli/shared/cli.h"

#include <stdio.h>

/* Most of the command's objects have fewer members than this. */
#define FIRST_MEMBERS 12

/* ---- writing ---- */

cli_object
cli_object_new(gci_arena *arena)
{
    return (cli_object){ .arena = arena, .map = { .type = GCI_MAP } };
}

void
cli_object_set(cli_object *object, char const *name, gci_value value)
{
    if (object->map.count == object->room) {
        uint32_t room = object->room == 0 ? FIRST_MEMBERS : object->room * 2;
        gci_member *members = gci_arena_array(object->arena, room, sizeof *members);
        if (members == NULL)
            return;
        if (object->map.count != 0)
            memcpy(members, object->map.members, object->map.count * sizeof *members);
        object->map.members = members;
        object->room = room;
    }
    object->map.members[object->map.count++] = (gci_member){ .name = gci_view_text(name), .value = value };
}

static gci_value
text_value(gci_arena *arena, char const *text)
{
    if (text == NULL)
        return (gci_value){ .type = GCI_NULL };
    return (gci_value){ .type = GCI_STRING, .text = gci_arena_copy(arena, gci_view_text(text)) };
}

gci_value
cli_list_of(gci_arena *arena, size_t count)
{
    gci_value list = { .type = GCI_LIST, .items = gci_arena_array(arena, count, sizeof *list.items) };

    if (list.items != NULL)
        list.count = (uint32_t)count;
    return list;
}

void
cli_object_set_text(cli_object *object, char const *name, char const *text)
{
    cli_object_set(object, name, text_value(object->arena, text));
}

void
cli_object_set_int(cli_object *object, char const *name, int64_t value)
{
    cli_object_set(object, name, (gci_value){ .type = GCI_INT, .integer = value });
}

void
cli_object_set_count(cli_object *object, char const *name, uint64_t value)
{
    cli_object_set_int(object, name, value < INT64_MAX ? (int64_t)value : INT64_MAX);
}

void
cli_object_set_bool(cli_object *object, char const *name, bool value)
{
    cli_object_set(object, name, (gci_value){ .type = GCI_BOOL, .boolean = value });
}

void
cli_object_set_nonempty(cli_object *object, char const *name, char const *text)
{
    cli_object_set_text(object, name, text != NULL && text[0] != '\0' ? text : NULL);
}

void
cli_object_set_key(cli_object *object, char const *name, gcache_key const *key)
{
    cli_object_set_text(object, name, cli_hex(key).text);
}

void
cli_object_set_texts(cli_object *object, char const *name, char const *const *texts, size_t count)
{
    gci_value list = cli_list_of(object->arena, count);

    for (uint32_t i = 0; i < list.count; i++)
        list.items[i] = text_value(object->arena, texts[i]);
    cli_object_set(object, name, list);
}

void
cli_object_set_pairs(cli_object *object, char const *name, gcache_pair const *pairs, size_t count)
{
    cli_object map = cli_object_new(object->arena);

    for (size_t i = 0; i < count; i++)
        cli_object_set_text(&map, pairs[i].name, pairs[i].value);
    cli_object_set(object, name, map.map);
}

bool
cli_object_set_components(cli_object *object, gcache_graph *graph, gcache_error *error)
{
    cli_object hashes = cli_object_new(object->arena);
    gcache_component const *components;
    size_t count;

    if (gcache_graph_components(graph, &components, &count, error) != GCACHE_OK)
        return false;
    for (size_t i = 0; i < count; i++)
        cli_object_set_key(&hashes, components[i].name, &components[i].hash);
    cli_object_set(object, "components", hashes.map);
    return true;
}

char const *
cli_json_text(gci_arena *arena, gci_value const *value)
{
    gci_buf json;

    gci_buf_init(&json, GCI_BUF_NO_LIMIT);
    gci_json_write(&json, value);
    arena->failed |= json.failed;
    char const *text = json.failed ? NULL : gci_arena_copy(arena, gci_buf_view(&json)).data;
    gci_buf_clear(&json);
    return text;
}

bool
cli_object_print(cli_object const *object, gcache_error *error)
{
    gci_buf line;

    gci_buf_init(&line, GCI_BUF_NO_LIMIT);
    gci_json_write(&line, &object->map);
    gci_buf_append_char(&line, '\n');
    bool complete = !line.failed && !object->arena->failed;
    if (complete)
        cli_write(gci_buf_view(&line));
    gci_buf_clear(&line);
    return complete || cli_no_memory(error);
}

/* ---- reading ---- */

/* The JSON reader counts lines within the text it is given; for a line of a file the file's own number is the true one. */
static bool
move_to_line(cli_place place, gcache_error *error)
{
    char prefix[64] = "", text[sizeof error->message];
    int size = error->line != 0 ? snprintf(prefix, sizeof prefix, "%d:%d: ", error->line, error->column) : 0;
    bool prefixed = strncmp(error->message, prefix, (size_t)size) == 0;

    snprintf(text, sizeof text, "%s", error->message + (prefixed ? size : 0));
    gci_place at = { .name = place.file, .line = (int)place.line, .column = error->column };
    return gci_fail_at(error, error->status, &at, "%s", text) == GCACHE_OK;
}

/* "file:line" or "file", in front of a message. */
static bool
complain_at(cli_place place, gcache_error *error, char const *message)
{
    if (place.line == 0)
        return cli_wrong(error, "%s: %s", place.file, message);
    cli_wrong(error, "%s:%zu: %s", place.file, place.line, message);
    error->line = (int)place.line;
    return false;
}

bool
cli_object_read(gci_view text, cli_place place, gci_arena *arena, gci_value *out_map, gcache_error *error)
{
    if (gci_json_read(text, place.line == 0 ? place.file : "", arena, out_map, error) != GCACHE_OK)
        return place.line != 0 && move_to_line(place, error);
    return out_map->type == GCI_MAP || complain_at(place, error, "not a JSON object");
}

bool
cli_bad_member(cli_place place, char const *name, char const *message, gcache_error *error)
{
    char text[sizeof error->message];

    snprintf(text, sizeof text, "member \"%s\" %s", name, message);
    return complain_at(place, error, text);
}

char const *
cli_copy_text(gci_arena *arena, gci_value const *value)
{
    if (value->type != GCI_STRING || (value->text.size != 0 && memchr(value->text.data, 0, value->text.size) != NULL))
        return NULL;
    return gci_arena_copy(arena, value->text).data;
}

static char const *
type_message(gci_value_type type)
{
    switch (type) {
    case GCI_STRING:
        return "must be a string";
    case GCI_INT:
        return "must be an integer of 64 bits";
    case GCI_LIST:
        return "must be a list";
    case GCI_BOOL:
        return "must be true or false";
    default:
        return "must be an object";
    }
}

bool
cli_get_value(gci_value const *map, char const *name, gci_value_type type, cli_place place, gci_value const **out_value,
              gcache_error *error)
{
    gci_value const *value = gci_map_find(map, name);

    if (value == NULL || value->type == GCI_NULL)
        return true;
    if (value->type != type)
        return cli_bad_member(place, name, type_message(type), error);
    *out_value = value;
    return true;
}

bool
cli_get_int(gci_value const *map, char const *name, cli_place place, int64_t *out_value, gcache_error *error)
{
    gci_value const *value = NULL;
    bool read = cli_get_value(map, name, GCI_INT, place, &value, error);

    if (value != NULL)
        *out_value = value->integer;
    return read;
}

bool
cli_get_text(gci_value const *map, char const *name, cli_place place, gci_arena *arena, char const **out_value,
             gcache_error *error)
{
    gci_value const *value = NULL;
    bool read = cli_get_value(map, name, GCI_STRING, place, &value, error);

    if (value == NULL)
        return read;
    *out_value = cli_copy_text(arena, value);
    if (*out_value != NULL)
        return true;
    return arena->failed ? cli_no_memory(error) : cli_bad_member(place, name, "has a zero character", error);
}
