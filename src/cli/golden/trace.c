/*
 * Reads a trace, step by step.
 */
#include "cli/golden/trace.h"

#include "cli/shared/hints.h"

/* Large enough for any compiled artefact, small enough to be made in memory. */
#define PAYLOAD_MAX_BYTES (INT64_C(1) << 30)

/* What is being read: the event's map, where it stands, and where it goes. */
typedef struct reader {
    gci_value map;
    cli_place place;
    gci_arena *arena;
    cli_event *event;
    gcache_error *error;
} reader;

static bool
get_text(reader *from, char const *name, char const **out_text)
{
    return cli_get_text(&from->map, name, from->place, from->arena, out_text, from->error);
}

static bool
get_int(reader *from, char const *name, int64_t *out_value)
{
    return cli_get_int(&from->map, name, from->place, out_value, from->error);
}

/* *out_value is NULL where there is none. */
static bool
get_value(reader *from, char const *name, gci_value_type type, gci_value const **out_value)
{
    *out_value = NULL;
    return cli_get_value(&from->map, name, type, from->place, out_value, from->error);
}

static bool
bad(reader *from, char const *name, char const *message)
{
    return from->arena->failed ? cli_no_memory(from->error) : cli_bad_member(from->place, name, message, from->error);
}

static bool
read_op(reader *from)
{
    static char const *const names[] = { "lookup", "insert", "bypass" };
    char const *op = NULL;

    if (!get_text(from, "op", &op))
        return false;
    for (size_t i = 0; op != NULL && i < sizeof names / sizeof names[0]; i++) {
        from->event->op = (cli_event_op)i;
        if (strcmp(op, names[i]) == 0)
            return true;
    }
    return bad(from, "op", "must be \"lookup\", \"insert\" or \"bypass\"");
}

static bool
read_hints(reader *from)
{
    gci_value const *hints;

    if (!get_value(from, "hints", GCI_MAP, &hints))
        return false;
    from->event->hinted = hints != NULL;
    return hints == NULL || cli_hints_read(hints, from->place, from->arena, &from->event->hints, from->error);
}

/* A text stands for itself, any other value for its JSON. NULL without memory, or for a text with a zero in it. */
static char const *
text_of(gci_value const *value, gci_arena *arena)
{
    return value->type == GCI_STRING ? cli_copy_text(arena, value) : cli_json_text(arena, value);
}

/* requires, provides: {NAME: VALUE} */
static bool
read_pairs(reader *from, char const *member, gcache_pair const **out_pairs, size_t *out_count)
{
    gci_value const *map;

    if (!get_value(from, member, GCI_MAP, &map))
        return false;
    size_t count = map != NULL ? map->count : 0;
    gcache_pair *pairs = gci_arena_array(from->arena, count, sizeof *pairs);
    for (uint32_t i = 0; pairs != NULL && i < count; i++) {
        gci_value name = { .type = GCI_STRING, .text = map->members[i].name };
        pairs[i].name = cli_copy_text(from->arena, &name);
        pairs[i].value = text_of(&map->members[i].value, from->arena);
        if (pairs[i].name == NULL || pairs[i].value == NULL)
            return bad(from, member, "has a zero character");
    }
    *out_pairs = pairs;
    *out_count = count;
    return pairs != NULL || cli_no_memory(from->error);
}

static bool
read_guards(reader *from)
{
    gci_value const *list;

    if (!get_value(from, "guards", GCI_LIST, &list))
        return false;
    size_t count = list != NULL ? list->count : 0;
    char const **texts = gci_arena_array(from->arena, count, sizeof *texts);
    for (uint32_t i = 0; texts != NULL && i < count; i++) {
        texts[i] = cli_copy_text(from->arena, &list->items[i]);
        if (texts[i] == NULL)
            return bad(from, "guards", "must be a list of texts");
    }
    from->event->entry.guards = texts;
    from->event->entry.guard_count = count;
    return texts != NULL || cli_no_memory(from->error);
}

/* payload: {"size": N} | {"file": FILE} */
static bool
read_payload(reader *from)
{
    gci_value const *payload;
    cli_event *event = from->event;

    if (!get_value(from, "payload", GCI_MAP, &payload))
        return false;
    if (payload == NULL)
        return bad(from, "payload", "is missing");
    event->payload_size = -1;
    if (!cli_get_text(payload, "file", from->place, from->arena, &event->payload_file, from->error))
        return false;
    if (event->payload_file != NULL)
        return true;
    if (!cli_get_int(payload, "size", from->place, &event->payload_size, from->error))
        return false;
    return (event->payload_size >= 0 && event->payload_size <= PAYLOAD_MAX_BYTES) ||
           bad(from, "payload", "must have a file, or a size from 0 to 1 GiB");
}

static bool
read_metadata(reader *from)
{
    gci_value const *metadata = gci_map_find(&from->map, "metadata");
    gcache_entry *entry = &from->event->entry;

    if (metadata == NULL || metadata->type == GCI_NULL)
        return true;
    char const *text = text_of(metadata, from->arena);
    entry->metadata = text;
    entry->metadata_size = text != NULL ? strlen(text) : 0;
    return text != NULL || bad(from, "metadata", "has a zero character");
}

static bool
read_insert(reader *from)
{
    gcache_entry *entry = &from->event->entry;
    int64_t compile_ns = 0;

    bool read = read_guards(from) && read_payload(from) && read_metadata(from) &&
                read_pairs(from, "requires", &entry->requires_, &entry->requires_count) &&
                get_text(from, "variant", &entry->variant) && get_int(from, "priority", &entry->priority) &&
                get_int(from, "compile_ns", &compile_ns);
    entry->compile_ns = compile_ns > 0 ? (uint64_t)compile_ns : 0;
    return read;
}

/* Candidates under other names are accepted unless a line says that its caller didn't. */
static bool
read_lookup(reader *from)
{
    gcache_request *request = &from->event->request;
    gci_value const *accept;

    *request = (gcache_request)GCACHE_REQUEST_INIT;
    if (!get_value(from, "accept_renames", GCI_BOOL, &accept))
        return false;
    request->accept_renames = accept == NULL || accept->boolean;
    return get_text(from, "variant", &request->variant) && get_text(from, "expect_variant", &request->expect_variant) &&
           read_pairs(from, "provides", &request->provides, &request->provides_count);
}

static bool
read_by_op(reader *from)
{
    switch (from->event->op) {
    case CLI_EVENT_INSERT:
        return read_insert(from);
    case CLI_EVENT_LOOKUP:
        return read_lookup(from);
    case CLI_EVENT_BYPASS:
        return get_text(from, "reason", &from->event->reason);
    }
    return true;
}

bool
cli_event_read(gci_view line, cli_place place, gci_arena *arena, cli_event *out_event, gcache_error *error)
{
    reader from = { .place = place, .arena = arena, .event = out_event, .error = error };

    *out_event = (cli_event){ 0 };
    if (!cli_object_read(line, place, arena, &from.map, error) || !read_op(&from) || !get_int(&from, "seq", &out_event->seq) ||
        !get_text(&from, "graph", &out_event->graph))
        return false;
    if (out_event->op != CLI_EVENT_BYPASS && out_event->graph == NULL)
        return bad(&from, "graph", "is missing");
    return read_hints(&from) && get_value(&from, "expect", GCI_MAP, &out_event->expect) && read_by_op(&from);
}
