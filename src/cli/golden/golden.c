/*
 * Golden files read, in both formats, and written.
 *
 *   format 1: a JSON object a record, with its name among its members: "rules", "graph" or "seq"
 *   format 2: {"format": ..}, then lines {PART: NAME, MEMBER: VALUE}. "components." and "why." before a member's name say that it
 *             is inside that map, "[]" behind it that the value is one item of a list. An event begins with its "op".
 */
#include "cli/golden/golden.h"

#include "base/error.h"
#include "base/system/file.h"
#include "base/text/json.h"

#include <stdio.h>
#include <unistd.h>

#define GOLDEN_MAX_BYTES ((size_t)1 << 30)
/* Digits of a number of 64 bits with its sign. */
#define NUMBER_BYTES 24
#define ITEM "[]"

static char const *const part_names[] = {
    [CLI_GOLDEN_RULES] = "rules",
    [CLI_GOLDEN_DESCRIPTION] = "description",
    [CLI_GOLDEN_EVENT] = "event",
};
#define PART_COUNT (sizeof part_names / sizeof part_names[0])

/* Maps whose members have lines of their own. */
static char const *const nested_names[] = { "components", "why" };
#define NESTED_COUNT (sizeof nested_names / sizeof nested_names[0])

/* ---- growing in the arena ---- */

/* Arrays double where their count is a power of two, so that the count says how much room there is. */
static void *
grown(gci_arena *arena, void *items, uint32_t count, size_t size)
{
    if (count != 0 && (count & (count - 1)) != 0)
        return items;
    void *more = gci_arena_array(arena, count != 0 ? 2 * (size_t)count : 1, size);
    if (more != NULL && count != 0)
        memcpy(more, items, count * size);
    return more;
}

static bool
push_member(gci_arena *arena, gci_value *map, gci_view name, gci_value value)
{
    gci_member *members = grown(arena, map->members, map->count, sizeof *members);

    if (members == NULL)
        return false;
    map->members = members;
    map->members[map->count++] = (gci_member){ .name = name, .value = value };
    return true;
}

static bool
push_item(gci_arena *arena, gci_value *list, gci_value value)
{
    gci_value *items = grown(arena, list->items, list->count, sizeof *items);

    if (items == NULL)
        return false;
    list->items = items;
    list->items[list->count++] = value;
    return true;
}

bool
cli_golden_push(cli_golden *golden, cli_golden_record const *record)
{
    cli_golden_record *items = grown(golden->arena, golden->items, golden->count, sizeof *items);

    if (items == NULL)
        return false;
    golden->items = items;
    golden->items[golden->count++] = *record;
    return true;
}

/* ---- names of records ---- */

static gci_view
number_name(gci_arena *arena, int64_t number)
{
    char text[NUMBER_BYTES];

    snprintf(text, sizeof text, "%lld", (long long)number);
    return gci_arena_copy(arena, gci_view_text(text));
}

gci_view
cli_golden_text(gci_value const *map, char const *name)
{
    gci_value const *value = gci_map_find(map, name);

    return value != NULL && value->type == GCI_STRING ? value->text : (gci_view){ 0 };
}

gci_view
cli_golden_subject(cli_golden_record const *record, gci_arena *arena)
{
    gci_buf text;

    if (record->part == CLI_GOLDEN_DESCRIPTION)
        return record->name;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_format(&text, "%s %.*s", part_names[record->part], (int)record->name.size, record->name.data);
    gci_view subject = gci_arena_copy(arena, gci_buf_view(&text));
    gci_buf_clear(&text);
    return subject;
}

static bool
same_subject(cli_golden_record const *a, cli_golden_record const *b)
{
    return a->part == b->part && gci_view_equal(a->name, b->name);
}

cli_golden_record const *
cli_golden_find(cli_golden const *golden, cli_golden_record const *wanted, uint32_t *near)
{
    for (uint32_t i = 0; i < golden->count; i++) {
        uint32_t at = (*near + i) % golden->count;
        if (!same_subject(&golden->items[at], wanted))
            continue;
        *near = at + 1;
        return &golden->items[at];
    }
    return NULL;
}

/* ---- reading ---- */

/* A record of format 1: which it is shows in the member that names it. */
static bool
read_whole(cli_golden *golden, gci_value const *line)
{
    static char const *const naming[] = {
        [CLI_GOLDEN_RULES] = "rules",
        [CLI_GOLDEN_DESCRIPTION] = "graph",
        [CLI_GOLDEN_EVENT] = "seq",
    };
    cli_golden_record record = { .map = { .type = GCI_MAP } };
    int part = CLI_GOLDEN_EVENT;

    while (part > 0 && gci_map_find(line, naming[part]) == NULL)
        part--;
    gci_value const *name = gci_map_find(line, naming[part]), *set = gci_map_find(line, "set");
    if (name == NULL || name->type != (part == CLI_GOLDEN_EVENT ? GCI_INT : GCI_STRING))
        return false;
    record.part = (cli_golden_part)part;
    record.name = part == CLI_GOLDEN_EVENT ? number_name(golden->arena, name->integer) : name->text;
    gci_value const *from = part == CLI_GOLDEN_RULES && set != NULL && set->type == GCI_MAP ? set : line;
    bool done = record.name.data != NULL;
    for (uint32_t i = 0; done && i < from->count; i++)
        done = (from == line && gci_view_is(from->members[i].name, naming[part])) ||
               push_member(golden->arena, &record.map, from->members[i].name, from->members[i].value);
    return done && cli_golden_push(golden, &record);
}

/* The record that a line of format 2 belongs to, which may begin with it. */
static cli_golden_record *
record_of(cli_golden *golden, gci_value const *line)
{
    gci_member const *naming = &line->members[0];
    cli_golden_record record = { .map = { .type = GCI_MAP } };
    size_t part = 0;

    while (part < PART_COUNT && !gci_view_is(naming->name, part_names[part]))
        part++;
    if (part == PART_COUNT || naming->value.type != (part == CLI_GOLDEN_EVENT ? GCI_INT : GCI_STRING))
        return NULL;
    record.part = (cli_golden_part)part;
    record.name =
        part == CLI_GOLDEN_EVENT ? number_name(golden->arena, naming->value.integer) : naming->value.text;
    cli_golden_record *last = golden->count != 0 ? &golden->items[golden->count - 1] : NULL;
    bool begins = part == CLI_GOLDEN_EVENT && gci_view_is(line->members[1].name, "op");
    if (last != NULL && !begins && same_subject(last, &record))
        return last;
    return cli_golden_push(golden, &record) ? &golden->items[golden->count - 1] : NULL;
}

/* The map that a member is in: the record's, or one inside it, whose name is taken off the member's. Components are hashes,
   whatever they are called: no lists. */
static gci_value *
map_of(cli_golden *golden, gci_value *map, gci_view *name, bool *out_has_lists)
{
    *out_has_lists = true;
    for (size_t i = 0; i < NESTED_COUNT; i++) {
        gci_view nested = gci_view_text(nested_names[i]);
        if (name->size <= nested.size || memcmp(name->data, nested.data, nested.size) != 0 || name->data[nested.size] != '.')
            continue;
        *name = gci_view_of(name->data + nested.size + 1, name->size - nested.size - 1);
        if (gci_map_member(map, nested) == NULL && !push_member(golden->arena, map, nested, (gci_value){ .type = GCI_MAP }))
            return NULL;
        gci_value *inside = gci_map_member(map, nested);
        *out_has_lists = !gci_view_is(nested, "components");
        return inside->type == GCI_MAP ? inside : NULL;
    }
    return map;
}

static bool
read_member(cli_golden *golden, gci_value const *line)
{
    if (line->count != 2)
        return false;
    cli_golden_record *record = record_of(golden, line);
    gci_view name = line->members[1].name;
    gci_value const *value = &line->members[1].value;
    bool has_lists = true;
    gci_value *map = record != NULL ? map_of(golden, &record->map, &name, &has_lists) : NULL;
    bool item = has_lists && name.size > 2 && memcmp(name.data + name.size - 2, ITEM, 2) == 0;
    if (map == NULL || !item)
        return map != NULL && push_member(golden->arena, map, name, *value);
    name.size -= 2;
    gci_value *list = gci_map_member(map, name);
    if (list == NULL && push_member(golden->arena, map, name, (gci_value){ .type = GCI_LIST }))
        list = gci_map_member(map, name);
    return list != NULL && list->type == GCI_LIST && push_item(golden->arena, list, *value);
}

static bool
is_known_format(gci_value const *line, char const *name, gcache_error *error)
{
    gci_view format = cli_golden_text(line, "format");

    return gci_view_is(format, CLI_GOLDEN_FORMAT) ||
           cli_wrong(error, "%s: the format \"%.*s\" isn't known; this guardcache reads " CLI_GOLDEN_FORMAT " and older", name,
                     (int)format.size, format.data);
}

bool
cli_golden_read(gci_view text, char const *name, gci_arena *arena, cli_golden *out_golden, gcache_error *error)
{
    gci_view line;
    size_t number = 0;

    *out_golden = (cli_golden){ .arena = arena, .old = true };
    while (gci_view_next_line(&text, &line)) {
        cli_place place = { .file = name, .line = ++number };
        gci_value map;
        if (line.size == 0)
            continue;
        if (!cli_object_read(line, place, arena, &map, error))
            return false;
        bool first = number == 1 && gci_map_find(&map, "format") != NULL;
        if (first && !is_known_format(&map, name, error))
            return false;
        if (first)
            out_golden->old = false;
        else if (!(out_golden->old ? read_whole(out_golden, &map) : read_member(out_golden, &map)))
            return cli_wrong(error, "%s:%zu: this is no line of a golden file", name, number);
    }
    return true;
}

/* ---- format 1, completed ---- */

void
cli_golden_complete(cli_golden *golden, cli_golden const *found)
{
    static char const *const added[] = { "op", "graph", "guards", "kind" };
    uint32_t near = 0;

    for (uint32_t i = 0; golden->old && i < golden->count; i++) {
        cli_golden_record *record = &golden->items[i];
        cli_golden_record const *now = cli_golden_find(found, record, &near);
        for (size_t at = 0; now != NULL && at < sizeof added / sizeof added[0]; at++) {
            gci_value const *value = gci_map_find(&now->map, added[at]);
            if (value != NULL && gci_map_find(&record->map, added[at]) == NULL)
                push_member(golden->arena, &record->map, gci_view_text(added[at]), *value);
        }
    }
}

/* ---- writing ---- */

static void
write_line(gci_buf *out, cli_golden_record const *record, gci_view outer, gci_view name, char const *behind, gci_value const *value)
{
    gci_buf path;

    gci_buf_format(out, "{\"%s\": ", part_names[record->part]);
    if (record->part == CLI_GOLDEN_EVENT)
        gci_buf_append_view(out, record->name);
    else
        gci_json_write_text(out, record->name);
    gci_buf_append_text(out, ", ");
    gci_buf_init(&path, GCI_BUF_NO_LIMIT);
    gci_buf_append_view(&path, outer);
    gci_buf_append_text(&path, outer.size != 0 ? "." : "");
    gci_buf_append_view(&path, name);
    gci_buf_append_text(&path, behind);
    gci_json_write_text(out, gci_buf_view(&path));
    out->failed |= path.failed;
    gci_buf_clear(&path);
    gci_buf_append_text(out, ": ");
    gci_json_write(out, value);
    gci_buf_append_text(out, "}\n");
}

static bool
is_nested(gci_view outer, gci_view name, gci_value const *value)
{
    bool named = false;

    for (size_t i = 0; i < NESTED_COUNT; i++)
        named |= gci_view_is(name, nested_names[i]);
    return outer.size == 0 && named && value->type == GCI_MAP;
}

static void
write_members(gci_buf *out, cli_golden_record const *record, gci_view outer, gci_value const *map)
{
    for (uint32_t i = 0; i < map->count; i++) {
        gci_view name = map->members[i].name;
        gci_value const *value = &map->members[i].value;
        if (is_nested(outer, name, value))
            write_members(out, record, name, value);
        else if (value->type != GCI_LIST)
            write_line(out, record, outer, name, "", value);
        for (uint32_t at = 0; value->type == GCI_LIST && at < value->count; at++)
            write_line(out, record, outer, name, ITEM, &value->items[at]);
    }
}

void
cli_golden_write(gci_buf *out, cli_golden const *golden)
{
    gci_buf_append_text(out, "{\"format\": \"" CLI_GOLDEN_FORMAT "\"}\n");
    for (uint32_t i = 0; i < golden->count; i++)
        write_members(out, &golden->items[i], (gci_view){ 0 }, &golden->items[i].map);
}

/* ---- the file ---- */

bool
cli_golden_load(char const *folder, gci_buf *out, bool *out_exists, gcache_error *error)
{
    char path[CLI_TRACE_PATH];

    *out_exists = false;
    if (!cli_trace_path(folder, CLI_GOLDEN_NAME, path, error))
        return false;
    *out_exists = access(path, F_OK) == 0;
    return !*out_exists || gci_file_read_user(path, GOLDEN_MAX_BYTES, out, error) == GCACHE_OK;
}

bool
cli_golden_save(char const *folder, cli_golden const *golden, gcache_error *error)
{
    char path[CLI_TRACE_PATH];
    gci_buf text;

    gci_buf_init(&text, GOLDEN_MAX_BYTES);
    cli_golden_write(&text, golden);
    bool done = !text.failed || cli_no_memory(error);
    done = done && cli_trace_path(folder, CLI_GOLDEN_NAME, path, error) &&
           gci_file_write_user(path, gci_buf_view(&text), error) == GCACHE_OK;
    gci_buf_clear(&text);
    return done;
}
