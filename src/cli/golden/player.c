/*
 * Plays the steps of a trace against a cache.
 */
#include "cli/golden/player.h"

#include "base/error.h"
#include "base/system/file.h"
#include "cli/shared/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAYLOAD_MAX_BYTES ((size_t)1 << 30)

void
cli_player_init(cli_player *player, char const *folder, gci_arena *arena)
{
    *player = (cli_player){ .folder = folder, .arena = arena, .fd = -1 };
    gci_buf_init(&player->payload, GCI_BUF_NO_LIMIT);
}

bool
cli_trace_path(char const *folder, char const *name, char out_path[CLI_TRACE_PATH], gcache_error *error)
{
    return snprintf(out_path, CLI_TRACE_PATH, "%s/%s", folder, name) < CLI_TRACE_PATH ||
           cli_wrong(error, "the path is too long: %s", name);
}

bool
cli_player_open_trace(cli_player *player, gcache_error *error)
{
    if (!cli_trace_path(player->folder, CLI_TRACE_NAME, player->path, error))
        return false;
    player->fd = open(player->path, O_RDONLY | O_CLOEXEC);
    if (player->fd < 0)
        return gci_fail_errno(error, errno, "%s", player->path) == GCACHE_OK;
    cli_lines_init(&player->lines, player->fd, player->path);
    return true;
}

bool
cli_player_open_cache(cli_player *player, gcache_error *error)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.durability = GCACHE_DURABILITY_NONE;
    options.log = cli_log;
    if (!cli_scratch_make(player->scratch, error) || gcache_open(player->scratch, &options, &player->own, error) != GCACHE_OK)
        return false;
    player->cache = player->own;
    return true;
}

void
cli_player_clear(cli_player *player)
{
    for (size_t i = 0; i < CLI_PLAYER_GRAPHS; i++) {
        gcache_graph_free(player->graphs[i].graph);
        free(player->graphs[i].name);
    }
    gci_buf_clear(&player->payload);
    cli_lines_clear(&player->lines);
    if (player->fd >= 0)
        close(player->fd);
    gcache_close(player->own);
    cli_scratch_remove(player->scratch);
}

bool
cli_player_next(cli_player *player, cli_event *out_event, gcache_error *error)
{
    gci_view line = { 0 };

    while (line.size == 0)
        if (!cli_lines_next(&player->lines, &line, error)) {
            player->failed = player->lines.failed;
            return false;
        }
    gci_arena_reset(player->arena);
    cli_place place = { .file = player->path, .line = player->lines.number };
    player->failed = !cli_event_read(line, place, player->arena, out_event, error);
    return !player->failed;
}

/* The path of a file that an event names. */
static bool
path_of(cli_player *player, char const *name, char out_path[CLI_TRACE_PATH], gcache_error *error)
{
    return name[0] == '/' ? cli_trace_path("", name + 1, out_path, error)
                          : cli_trace_path(player->folder, name, out_path, error);
}

/* ---- what an event is about ---- */

/* FNV-1a: names differ in a few characters, and nobody attacks a trace. */
static size_t
slot_of(char const *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return (size_t)(hash % CLI_PLAYER_GRAPHS);
}

bool
cli_player_graph(cli_player *player, char const *name, gcache_graph **out_graph, gcache_error *error)
{
    size_t slot = slot_of(name);
    char path[CLI_TRACE_PATH];

    *out_graph = player->graphs[slot].graph;
    if (player->graphs[slot].name != NULL && strcmp(player->graphs[slot].name, name) == 0)
        return true;
    if (!path_of(player, name, path, error) || !cli_read_graph(path, NULL, out_graph, error))
        return false;
    char *copy = strdup(name);
    if (copy == NULL) {
        gcache_graph_free(*out_graph);
        return cli_no_memory(error);
    }
    if (player->rules != NULL &&
        (player->any_kind || strcmp(gcache_rules_name(player->rules), gcache_graph_kind(*out_graph)) == 0))
        gcache_graph_use_rules(*out_graph, player->rules);
    gcache_graph_free(player->graphs[slot].graph);
    free(player->graphs[slot].name);
    player->graphs[slot].name = copy;
    player->graphs[slot].graph = *out_graph;
    return true;
}

/* The same bytes for the same size, everywhere: splitmix64 from the size on. */
static void
make_payload(gci_buf *payload, size_t size)
{
    uint64_t state = size;

    while (payload->size < size && !payload->failed) {
        state += UINT64_C(0x9E3779B97F4A7C15);
        uint64_t word = (state ^ (state >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        word = (word ^ (word >> 27)) * UINT64_C(0x94D049BB133111EB);
        word ^= word >> 31;
        size_t left = size - payload->size;
        gci_buf_append(payload, &word, left < sizeof word ? left : sizeof word);
    }
}

static bool
find_payload(cli_player *player, cli_event const *event, gcache_error *error)
{
    char path[CLI_TRACE_PATH];

    player->payload.size = 0;
    if (event->payload_file != NULL)
        return path_of(player, event->payload_file, path, error) &&
               gci_file_read_user(path, PAYLOAD_MAX_BYTES, &player->payload, error) == GCACHE_OK;
    make_payload(&player->payload, (size_t)event->payload_size);
    return !player->payload.failed || cli_no_memory(error);
}

/* ---- what came out ---- */

static void
set_outcome(cli_object *out, char const *outcome, char const *reason, char const *entry, gcache_key const *key)
{
    cli_object_set_text(out, "outcome", outcome);
    cli_object_set_text(out, "reason", reason);
    cli_object_set_text(out, "entry", entry);
    cli_object_set_text(out, "key", key != NULL ? cli_hex(key).text : NULL);
}

static void
set_error(cli_player *player, cli_event const *event, cli_object *out, gcache_error const *found)
{
    /* With "expect" it is a mismatch, or what was expected. */
    if (event->expect == NULL)
        player->counts.errors++;
    set_outcome(out, "error", gcache_status_name(found->status), NULL, NULL);
    cli_object_set_text(out, "message", found->message);
}

static void
play_lookup(cli_player *player, cli_event const *event, gcache_graph *graph, cli_object *out)
{
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error found = { 0 };
    gcache_status status = gcache_lookup_with(player->cache, graph, event->hinted ? &event->hints : NULL,
                                              &event->request, &result, &found);

    if (status == GCACHE_HIT) {
        player->counts.lookups++;
        player->counts.hits++;
        set_outcome(out, "hit", NULL, result.entry, &result.key);
        cli_object_set_nonempty(out, "variant", result.variant);
        cli_object_set_int(out, "priority", result.priority);
        if (result.note[0] != '\0')
            cli_object_set_text(out, "note", result.note);
    } else if (status == GCACHE_MISS) {
        player->counts.lookups++;
        player->counts.misses[result.reason]++;
        set_outcome(out, "miss", gcache_reason_name(result.reason), NULL, &result.key);
    } else {
        set_error(player, event, out, &found);
    }
    gcache_result_clear(&result);
}

static void
play_insert(cli_player *player, cli_event const *event, gcache_graph *graph, cli_object *out)
{
    gcache_entry entry = event->entry;
    gcache_inserted inserted = GCACHE_INSERTED_INIT;
    gcache_error found = { 0 };

    entry.size = sizeof entry;
    entry.payload = player->payload.data;
    entry.payload_size = player->payload.size;
    gcache_status status =
        gcache_insert(player->cache, graph, event->hinted ? &event->hints : NULL, &entry, &inserted, &found);
    if (status == GCACHE_OK) {
        player->counts.inserts++;
        set_outcome(out, "inserted", NULL, inserted.entry, &inserted.key);
    } else if (status == GCACHE_REFUSED) {
        player->counts.refused++;
        set_outcome(out, "refused", gcache_reason_name(inserted.reason), NULL, &inserted.key);
    } else {
        /* The trace without its folder: what happened is kept in golden files, wherever they lie. */
        if (player->path[0] != '\0')
            cli_guards_blame((cli_place){ CLI_TRACE_NAME, player->lines.number }, entry.guards, entry.guard_count, &found);
        set_error(player, event, out, &found);
    }
}

/* ---- what should have come out ---- */

static bool
is_nothing(gci_value const *value)
{
    return value == NULL || value->type == GCI_NULL || (value->type == GCI_STRING && value->text.size == 0);
}

/* Fields are texts, integers and null; an absent field is null, and an entry without a variant has the empty one. */
static bool
field_equal(gci_value const *expected, gci_value const *found)
{
    if (is_nothing(expected) || is_nothing(found))
        return is_nothing(expected) && is_nothing(found);
    if (expected->type != found->type)
        return false;
    if (expected->type == GCI_STRING)
        return gci_view_equal(expected->text, found->text);
    return expected->type == GCI_INT && expected->integer == found->integer;
}

static bool
is_expected(gci_value const *expect, gci_value const *found)
{
    for (uint32_t i = 0; i < expect->count; i++) {
        gci_member const *member = &expect->members[i];
        gci_value const *field = NULL;
        for (uint32_t j = 0; j < found->count && field == NULL; j++)
            field = gci_view_equal(found->members[j].name, member->name) ? &found->members[j].value : NULL;
        if (!field_equal(&member->value, field))
            return false;
    }
    return true;
}

static void
check_expected(cli_player *player, cli_event const *event, cli_object *out)
{
    if (event->expect == NULL || is_expected(event->expect, &out->map))
        return;
    player->counts.mismatches++;
    cli_object_set(out, "expected", *event->expect);
}

bool
cli_player_play(cli_player *player, cli_event const *event, cli_object *out_object, gcache_error *error)
{
    gcache_graph *graph = NULL;
    gcache_error found = { 0 };

    *out_object = cli_object_new(player->arena);
    cli_object_set_int(out_object, "seq", event->seq);
    if (event->op == CLI_EVENT_INSERT && !find_payload(player, event, error))
        return false;
    if (event->op == CLI_EVENT_BYPASS) {
        player->counts.bypasses++;
        set_outcome(out_object, "bypass", event->reason, NULL, NULL);
    } else if (!cli_player_graph(player, event->graph, &graph, &found)) {
        if (found.status == GCACHE_ERROR_NOT_FOUND || found.status == GCACHE_ERROR_IO || found.status == GCACHE_ERROR_MEMORY) {
            *error = found;
            return false;
        }
        set_error(player, event, out_object, &found);
    } else if (event->op == CLI_EVENT_LOOKUP) {
        play_lookup(player, event, graph, out_object);
    } else {
        play_insert(player, event, graph, out_object);
    }
    check_expected(player, event, out_object);
    return true;
}
