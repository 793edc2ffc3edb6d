/*
 * Reads a trace, step by step.
 */
#include "cli/golden/trace.h"

#include "base/error.h"
#include "base/text/json.h"
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

static gcache_status
get_text(reader *from, char const *name, char const **out_text)
{
    return cli_get_text(&from->map, name, from->place, from->arena, out_text, from->error);
}

static gcache_status
bad(reader *from, char const *name, char const *message)
{
    return from->arena->failed ? gci_fail_memory(from->error) : cli_bad_member(from->place, name, message, from->error);
}

static gcache_status
read_op(reader *from)
{
    static char const *const names[] = { "lookup", "insert", "bypass" };
    char const *op = NULL;
    gcache_status status = get_text(from, "op", &op);

    if (status != GCACHE_OK)
        return status;
    for (size_t i = 0; op != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(op, names[i]) == 0) {
            from->event->op = (cli_event_op)i;
            return GCACHE_OK;
        }
    }
    return bad(from, "op", "must be \"lookup\", \"insert\" or \"bypass\"");
}

static gcache_status
read_hints(reader *from)
{
    gci_value const *hints = NULL;
    gcache_status status = cli_get_value(&from->map, "hints", GCI_MAP, from->place, &hints, from->error);

    if (status != GCACHE_OK || hints == NULL)
        return status;
    from->event->hinted = true;
    return cli_hints_read(hints, from->place, from->arena, &from->event->hints, from->error);
}

/* A text stands for itself, any other value for its JSON. NULL without memory, or for a text with a zero in it. */
static char const *
text_of(gci_value const *value, gci_arena *arena)
{
    gci_buf json;

    if (value->type == GCI_STRING)
        return cli_copy_text(arena, value);
    gci_buf_init(&json, GCI_BUF_NO_LIMIT);
    gci_json_write(&json, value);
    if (json.failed)
        arena->failed = true;
    char const *text = json.failed ? NULL : gci_arena_copy(arena, gci_buf_view(&json)).data;
    gci_buf_clear(&json);
    return text;
}

/* requires, provides: {NAME: VALUE} */
static gcache_status
read_pairs(reader *from, char const *member, gcache_pair const **out_pairs, size_t *out_count)
{
    gci_value const *map = NULL;
    gcache_status status = cli_get_value(&from->map, member, GCI_MAP, from->place, &map, from->error);

    if (status != GCACHE_OK || map == NULL)
        return status;
    gcache_pair *pairs = gci_arena_array(from->arena, map->count, sizeof *pairs);
    if (pairs == NULL)
        return gci_fail_memory(from->error);
    for (uint32_t i = 0; i < map->count; i++) {
        gci_value name = { .type = GCI_STRING, .text = map->members[i].name };
        pairs[i].name = cli_copy_text(from->arena, &name);
        pairs[i].value = text_of(&map->members[i].value, from->arena);
        if (pairs[i].name == NULL || pairs[i].value == NULL)
            return bad(from, member, "has a zero character");
    }
    *out_pairs = pairs;
    *out_count = map->count;
    return GCACHE_OK;
}

static gcache_status
read_guards(reader *from)
{
    gci_value const *list = NULL;
    gcache_status status = cli_get_value(&from->map, "guards", GCI_LIST, from->place, &list, from->error);

    if (status != GCACHE_OK || list == NULL)
        return status;
    char const **texts = gci_arena_array(from->arena, list->count, sizeof *texts);
    if (texts == NULL)
        return gci_fail_memory(from->error);
    for (uint32_t i = 0; i < list->count; i++) {
        texts[i] = cli_copy_text(from->arena, &list->items[i]);
        if (texts[i] == NULL)
            return bad(from, "guards", "must be a list of texts");
    }
    from->event->entry.guards = texts;
    from->event->entry.guard_count = list->count;
    return GCACHE_OK;
}

/* payload: {"size": N} | {"file": FILE} */
static gcache_status
read_payload(reader *from)
{
    gci_value const *payload = NULL;
    cli_event *event = from->event;
    gcache_status status = cli_get_value(&from->map, "payload", GCI_MAP, from->place, &payload, from->error);

    if (status == GCACHE_OK && payload == NULL)
        return bad(from, "payload", "is missing");
    if (status == GCACHE_OK)
        status = cli_get_text(payload, "file", from->place, from->arena, &event->payload_file, from->error);
    event->payload_size = -1;
    if (status == GCACHE_OK && event->payload_file == NULL)
        status = cli_get_int(payload, "size", from->place, &event->payload_size, from->error);
    if (status == GCACHE_OK && event->payload_file == NULL &&
        (event->payload_size < 0 || event->payload_size > PAYLOAD_MAX_BYTES))
        return bad(from, "payload", "must have a file, or a size from 0 to 1 GiB");
    return status;
}

static gcache_status
read_metadata(reader *from)
{
    gci_value const *metadata = gci_map_find(&from->map, "metadata");

    if (metadata == NULL || metadata->type == GCI_NULL)
        return GCACHE_OK;
    char const *text = text_of(metadata, from->arena);
    if (text == NULL)
        return bad(from, "metadata", "has a zero character");
    from->event->entry.metadata = text;
    from->event->entry.metadata_size = strlen(text);
    return GCACHE_OK;
}

static gcache_status
read_insert(reader *from)
{
    gcache_entry *entry = &from->event->entry;
    int64_t compile_ns = 0;

    gcache_status status = read_guards(from);
    if (status == GCACHE_OK)
        status = read_payload(from);
    if (status == GCACHE_OK)
        status = read_metadata(from);
    if (status == GCACHE_OK)
        status = read_pairs(from, "requires", &entry->requires_, &entry->requires_count);
    if (status == GCACHE_OK)
        status = get_text(from, "variant", &entry->variant);
    if (status == GCACHE_OK)
        status = cli_get_int(&from->map, "priority", from->place, &entry->priority, from->error);
    if (status == GCACHE_OK)
        status = cli_get_int(&from->map, "compile_ns", from->place, &compile_ns, from->error);
    entry->compile_ns = compile_ns > 0 ? (uint64_t)compile_ns : 0;
    return status;
}

/* Candidates under other names are accepted unless a line says that its caller didn't. */
static gcache_status
read_accept_renames(reader *from)
{
    gci_value const *accept = NULL;
    gcache_status status = cli_get_value(&from->map, "accept_renames", GCI_BOOL, from->place, &accept, from->error);

    from->event->request.accept_renames = accept == NULL || accept->boolean;
    return status;
}

static gcache_status
read_lookup(reader *from)
{
    gcache_request *request = &from->event->request;

    *request = (gcache_request)GCACHE_REQUEST_INIT;
    gcache_status status = read_accept_renames(from);
    if (status == GCACHE_OK)
        status = get_text(from, "variant", &request->variant);
    if (status == GCACHE_OK)
        status = get_text(from, "expect_variant", &request->expect_variant);
    if (status == GCACHE_OK)
        status = read_pairs(from, "provides", &request->provides, &request->provides_count);
    return status;
}

static gcache_status
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
    return GCACHE_OK;
}

gcache_status
cli_event_read(gci_view line, cli_place place, gci_arena *arena, cli_event *out_event, gcache_error *error)
{
    reader from = { .place = place, .arena = arena, .event = out_event, .error = error };

    *out_event = (cli_event){ .place = place };
    gcache_status status = cli_object_read(line, place, arena, &from.map, error);
    if (status == GCACHE_OK)
        status = read_op(&from);
    if (status == GCACHE_OK)
        status = cli_get_int(&from.map, "seq", place, &out_event->seq, error);
    if (status == GCACHE_OK)
        status = get_text(&from, "graph", &out_event->graph);
    if (status == GCACHE_OK && out_event->op != CLI_EVENT_BYPASS && out_event->graph == NULL)
        return bad(&from, "graph", "is missing");
    if (status == GCACHE_OK)
        status = read_hints(&from);
    if (status == GCACHE_OK)
        status = cli_get_value(&from.map, "expect", GCI_MAP, place, &out_event->expect, error);
    return status == GCACHE_OK ? read_by_op(&from) : status;
}
