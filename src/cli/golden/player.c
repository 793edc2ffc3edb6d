/*
 * Plays the steps of a trace against a cache.
 */
#include "cli/golden/player.h"

#include "base/error.h"
#include "base/system/file.h"
#include "cli/shared/open.h"

#include <stdlib.h>

#define PAYLOAD_MAX_BYTES ((size_t)1 << 30)

void
cli_player_init(cli_player *player, gcache *cache, char const *folder)
{
    *player = (cli_player){ .cache = cache, .folder = folder };
    gci_buf_init(&player->path, GCI_BUF_NO_LIMIT);
    gci_buf_init(&player->payload, GCI_BUF_NO_LIMIT);
}

void
cli_player_clear(cli_player *player)
{
    for (size_t i = 0; i < CLI_PLAYER_GRAPHS; i++) {
        gcache_graph_free(player->graphs[i].graph);
        free(player->graphs[i].name);
    }
    gci_buf_clear(&player->path);
    gci_buf_clear(&player->payload);
}

/* The path of a file that an event names; valid until the next call. NULL without memory. */
static char const *
path_of(cli_player *player, char const *name)
{
    player->path.size = 0;
    if (name[0] != '/')
        gci_buf_format(&player->path, "%s/", player->folder);
    gci_buf_append_text(&player->path, name);
    gci_buf_append_char(&player->path, '\0');
    return player->path.failed ? NULL : player->path.data;
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

gcache_status
cli_player_graph(cli_player *player, char const *name, gcache_graph **out_graph, gcache_error *error)
{
    size_t slot = slot_of(name);

    if (player->graphs[slot].name != NULL && strcmp(player->graphs[slot].name, name) == 0) {
        *out_graph = player->graphs[slot].graph;
        return GCACHE_OK;
    }
    char const *path = path_of(player, name);
    char *copy = strdup(name);
    gcache_graph *graph = NULL;
    gcache_status status = GCACHE_ERROR_MEMORY;
    if (path != NULL && copy != NULL)
        status = cli_read_graph(path, &graph, error);
    if (status != GCACHE_OK) {
        free(copy);
        return status == GCACHE_ERROR_MEMORY ? gci_fail_memory(error) : status;
    }
    if (player->rules != NULL &&
        (player->any_kind || strcmp(gcache_rules_name(player->rules), gcache_graph_kind(graph)) == 0))
        gcache_graph_use_rules(graph, player->rules);
    gcache_graph_free(player->graphs[slot].graph);
    free(player->graphs[slot].name);
    player->graphs[slot].name = copy;
    player->graphs[slot].graph = *out_graph = graph;
    return GCACHE_OK;
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

static gcache_status
find_payload(cli_player *player, cli_event const *event, gcache_error *error)
{
    player->payload.size = 0;
    if (event->payload_file == NULL) {
        make_payload(&player->payload, (size_t)event->payload_size);
        return player->payload.failed ? gci_fail_memory(error) : GCACHE_OK;
    }
    char const *path = path_of(player, event->payload_file);
    if (path == NULL)
        return gci_fail_memory(error);
    return gci_file_read_user(path, PAYLOAD_MAX_BYTES, &player->payload, error);
}

/* ---- what came out ---- */

static void
set_outcome(cli_object *out, char const *outcome, char const *reason, char const *entry, gcache_key const *key)
{
    char hex[GCACHE_KEY_HEX_SIZE];

    cli_object_set_text(out, "outcome", outcome);
    cli_object_set_text(out, "reason", reason);
    cli_object_set_text(out, "entry", entry);
    if (key != NULL)
        gcache_key_to_hex(key, hex);
    cli_object_set_text(out, "key", key != NULL ? hex : NULL);
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
        cli_object_set_text(out, "variant", result.variant[0] != '\0' ? result.variant : NULL);
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

gcache_status
cli_player_play(cli_player *player, cli_event const *event, gci_arena *arena, cli_object *out_object,
                gcache_error *error)
{
    gcache_graph *graph = NULL;
    gcache_error found = { 0 };
    gcache_status status = GCACHE_OK;

    *out_object = cli_object_new(arena);
    cli_object_set_int(out_object, "seq", event->seq);
    if (event->op == CLI_EVENT_INSERT)
        status = find_payload(player, event, error);
    if (status != GCACHE_OK)
        return status;
    if (event->op != CLI_EVENT_BYPASS)
        status = cli_player_graph(player, event->graph, &graph, &found);
    if (status == GCACHE_ERROR_NOT_FOUND || status == GCACHE_ERROR_IO || status == GCACHE_ERROR_MEMORY) {
        *error = found;
        return status;
    }

    if (status != GCACHE_OK) {
        set_error(player, event, out_object, &found);
    } else if (event->op == CLI_EVENT_BYPASS) {
        player->counts.bypasses++;
        set_outcome(out_object, "bypass", event->reason, NULL, NULL);
    } else if (event->op == CLI_EVENT_LOOKUP) {
        play_lookup(player, event, graph, out_object);
    } else {
        play_insert(player, event, graph, out_object);
    }
    check_expected(player, event, out_object);
    return GCACHE_OK;
}
