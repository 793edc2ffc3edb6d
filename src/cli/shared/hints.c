/*
 * Hints as a command line gives them: NAME=VALUE, or a JSON object in a file.
 */
#include "cli/shared/hints.h"

#include "base/system/file.h"
#include "base/text/json.h"

#include <ctype.h>

/* A file of hints names a graph's symbols: thousands at the very most. */
#define HINTS_FILE_MAX_BYTES ((size_t)16 << 20)

typedef struct collector {
    gci_arena *arena;
    gcache_hint *ints;
    gcache_hint_literal *literals;
    gcache_hints hints; /* counts are kept here */
} collector;

static bool
collector_init(collector *into, gci_arena *arena, size_t room, gcache_error *error)
{
    *into = (collector){ .arena = arena };
    into->ints = gci_arena_array(arena, room, sizeof *into->ints);
    into->literals = gci_arena_array(arena, room, sizeof *into->literals);
    into->hints.items = into->ints;
    into->hints.literals = into->literals;
    return (into->ints != NULL && into->literals != NULL) || cli_no_memory(error);
}

/* {"$int": "123"} and {"$float": "inf"} carry the literal themselves. */
static char const *
object_literal(gci_arena *arena, gci_value const *value)
{
    gci_member const *only = value->members;

    if (value->count != 1 || !(gci_view_is(only->name, "$int") || gci_view_is(only->name, "$float")))
        return NULL;
    return cli_copy_text(arena, &only->value);
}

/* What a value is called in gcache_hint_literal; NULL for a value that can't be a hint. */
static char const *
literal_of(gci_arena *arena, gci_value const *value)
{
    switch (value->type) {
    case GCI_NULL:
        return "None";
    case GCI_BOOL:
        return value->boolean ? "True" : "False";
    case GCI_BIGINT:
        return gci_arena_copy(arena, value->text).data;
    case GCI_FLOAT:
        return cli_json_text(arena, value);
    case GCI_MAP:
        return object_literal(arena, value);
    default:
        return NULL;
    }
}

/* false if the value can't be a hint, or without memory (the arena knows). */
static bool
collect(collector *into, char const *name, gci_value const *value)
{
    if (value->type == GCI_INT) {
        into->ints[into->hints.count++] = (gcache_hint){ .name = name, .value = value->integer };
        return true;
    }
    char const *literal = literal_of(into->arena, value);
    if (literal == NULL)
        return false;
    into->literals[into->hints.literal_count++] = (gcache_hint_literal){ .name = name, .literal = literal };
    return true;
}

static bool
collect_map(collector *into, gci_value const *map, cli_place place, gcache_error *error)
{
    for (uint32_t i = 0; i < map->count; i++) {
        gci_value name = { .type = GCI_STRING, .text = map->members[i].name };
        char const *text = cli_copy_text(into->arena, &name);
        if (text != NULL && collect(into, text, &map->members[i].value))
            continue;
        if (into->arena->failed)
            return cli_no_memory(error);
        return cli_bad_member(place, text != NULL ? text : "?", "is not a hint: an integer, float, bool or null", error);
    }
    return true;
}

bool
cli_hints_read(gci_value const *map, cli_place place, gci_arena *arena, gcache_hints *out_hints, gcache_error *error)
{
    collector into;
    bool read = collector_init(&into, arena, map->count, error) && collect_map(&into, map, place, error);

    *out_hints = into.hints;
    return read;
}

/* What a guard's text can call a hint, as it is called by everybody but L['..']. */
static bool
is_hint_name(char const *name)
{
    bool letters = *name != '\0' && !isdigit((unsigned char)*name);

    for (; *name != '\0' && letters; name++)
        letters = isalnum((unsigned char)*name) || *name == '_' || (unsigned char)*name >= 0x80;
    return letters;
}

static bool
wrong_name(char const *option, char const *name, gcache_error *error)
{
    size_t size = strlen(name);

    /* The guard's own way of writing it. */
    if (size > 5 && (strncmp(name, "L['", 3) == 0 || strncmp(name, "L[\"", 3) == 0) && name[size - 1] == ']')
        return cli_wrong(error, "--hint %s: the name of %s is %.*s", option, name, (int)size - 5, name + 3);
    return cli_wrong(error, "--hint %s: '%s' can't be a name: letters, digits and _, as t0 for L['t0'] or s0 for s0", option,
                     name);
}

/* option: NAME=VALUE, VALUE in JSON */
static bool
collect_option(collector *into, char const *option, gcache_error *error)
{
    gcache_pair pair = { 0 };
    gci_value value;

    if (!cli_pair_read(option, into->arena, &pair, error))
        return into->arena->failed ? false : cli_wrong(error, "--hint %s: must be NAME=VALUE", option);
    if (!is_hint_name(pair.name))
        return wrong_name(option, pair.name, error);
    gcache_status status = gci_json_read(gci_view_text(pair.value), "", into->arena, &value, error);
    if (status == GCACHE_ERROR_MEMORY)
        return false;
    return (status == GCACHE_OK && collect(into, pair.name, &value)) ||
           cli_wrong(error, "--hint %s: the value must be JSON: an integer, float, bool or null", option);
}

static bool
read_file(char const *file, gci_arena *arena, gci_value *out_map, gcache_error *error)
{
    gci_buf text;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    bool read = gci_file_read_user(file, HINTS_FILE_MAX_BYTES, &text, error) == GCACHE_OK;
    gci_view copy = gci_arena_copy(arena, gci_buf_view(&text));
    gci_buf_clear(&text);
    return read && (copy.data != NULL || cli_no_memory(error)) &&
           cli_object_read(copy, (cli_place){ .file = file }, arena, out_map, error);
}

bool
cli_hints_gather(char const *file, cli_list options, gci_arena *arena, gcache_hints *out_hints, gcache_error *error)
{
    gci_value map = { .type = GCI_MAP };
    collector into = { 0 };

    bool read = (file == NULL || read_file(file, arena, &map, error)) &&
                collector_init(&into, arena, map.count + options.count, error) &&
                collect_map(&into, &map, (cli_place){ .file = file }, error);
    for (size_t i = 0; read && i < options.count; i++)
        read = collect_option(&into, options.items[i], error);
    *out_hints = into.hints;
    return read;
}

gci_value
cli_hint_value(char const *literal, gci_arena *arena)
{
    gci_value value = { .type = GCI_NULL };

    if (strcmp(literal, "None") == 0)
        return value;
    if (strcmp(literal, "True") == 0 || strcmp(literal, "False") == 0)
        return (gci_value){ .type = GCI_BOOL, .boolean = literal[0] == 'T' };
    if (gci_json_read(gci_view_text(literal), "hint", arena, &value, NULL) == GCACHE_OK)
        return value;
    cli_object special = cli_object_new(arena);
    cli_object_set_text(&special, "$float", literal);
    return special.map;
}

/* ---- other pairs ---- */

bool
cli_pair_read(char const *text, gci_arena *arena, gcache_pair *out_pair, gcache_error *error)
{
    size_t size = strcspn(text, "=");

    if (text[size] == '\0' || size == 0)
        return cli_wrong(error, "'%s' must be NAME=VALUE", text);
    out_pair->name = gci_arena_copy(arena, gci_view_of(text, size)).data;
    out_pair->value = text + size + 1;
    return out_pair->name != NULL || cli_no_memory(error);
}

/* Of two values of one name neither is what was meant. */
static bool
is_new(gcache_pair const *pairs, size_t last, gcache_error *error)
{
    for (size_t i = 0; i < last; i++)
        if (strcmp(pairs[i].name, pairs[last].name) == 0)
            return cli_wrong(error, "%s is given twice: %s and %s", pairs[i].name, pairs[i].value, pairs[last].value);
    return true;
}

bool
cli_pairs_read(cli_list items, gci_arena *arena, gcache_pair **out_pairs, gcache_error *error)
{
    *out_pairs = gci_arena_array(arena, items.count, sizeof **out_pairs);
    if (*out_pairs == NULL)
        return cli_no_memory(error);
    for (size_t i = 0; i < items.count; i++)
        if (!cli_pair_read(items.items[i], arena, &(*out_pairs)[i], error) || !is_new(*out_pairs, i, error))
            return false;
    return true;
}
