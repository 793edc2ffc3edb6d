/*
 * Golden files of guardcache test: read, run through the player, compared, rewritten.
 */
#include "cli/golden/golden.h"

#include "base/error.h"
#include "base/system/file.h"
#include "base/text/json.h"
#include "cli/shared/scratch.h"
#include "cli/shared/lines.h"
#include "cli/shared/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PATH_BYTES 4096
/* A kind is a word; of a longer one the beginning will do. */
#define KIND_BYTES 64
/* One event's trees. */
#define EVENT_MAX_BYTES (4 * GCI_JSON_MAX_BYTES)
#define GOLDEN_MAX_BYTES ((size_t)1 << 30)
/* Of a miss: what a reader needs to see that it is another one. */
#define WHY_CANDIDATES 6
#define WHY_DIFFERENCES 20

typedef struct play {
    char const *folder;
    char scratch[CLI_SCRATCH_PATH];
    int fd;
    cli_lines lines;
    cli_player player;
    gci_arena arena;
    gcache *cache;
    cli_golden *golden;
    cli_tried_rules const *rules;
    char **seen; /* descriptions and kinds whose line is written */
    size_t seen_count;
} play;

/* ---- why it missed, without what changes from run to run ---- */

static void
copy_members(cli_object *to, gci_value const *from, char const *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gci_value const *value = gci_map_find(from, names[i]);
        if (value != NULL)
            cli_object_set(to, names[i], *value);
    }
}

/* The first `most` items of a list, of each only what is named. */
static gci_value
shorten(gci_value const *list, char const *const *names, size_t count, size_t most, gci_arena *arena)
{
    gci_value shorter = cli_list_of(arena, list->count < most ? list->count : most);

    for (uint32_t i = 0; i < shorter.count; i++) {
        cli_object item = cli_object_new(arena);
        copy_members(&item, &list->items[i], names, count);
        shorter.items[i] = item.map;
    }
    return shorter;
}

/* Of the nearest key only; which one is nearest is part of the answer. */
static void
set_nearest(cli_object *why, gci_value const *nearest, gci_arena *arena)
{
    static char const *const fields[] = { "path", "stored", "asked" };

    if (nearest == NULL || nearest->count == 0)
        return;
    gci_value const *first = &nearest->items[0];
    gci_value const *key = gci_map_find(first, "key"), *differs = gci_map_find(first, "differs");
    if (key == NULL || differs == NULL)
        return;
    cli_object_set(why, "nearest", *key);
    cli_object_set(why, "differs", shorten(differs, fields, 3, WHY_DIFFERENCES, arena));
}

static gci_value
reduce(gci_value const *explained, gci_arena *arena)
{
    static char const *const fields[] = { "entry", "outcome", "part", "arithmetic", "would_hit", "requirement" };
    cli_object why = cli_object_new(arena);
    gci_value const *candidates = gci_map_find(explained, "candidates"), *advice = gci_map_find(explained, "advice");

    if (candidates != NULL && candidates->count != 0)
        cli_object_set(&why, "candidates", shorten(candidates, fields, 6, WHY_CANDIDATES, arena));
    set_nearest(&why, gci_map_find(explained, "nearest"), arena);
    if (advice != NULL)
        cli_object_set(&why, "advice", *advice);
    return why.map;
}

/* Explained before the event is played: an explanation changes nothing. */
static gcache_status
explain(play *p, cli_event const *event, gci_value *out_why, gcache_error *error)
{
    gcache_graph *graph;
    char *text = NULL;
    gci_value explained;

    *out_why = (gci_value){ .type = GCI_NULL };
    if (event->op != CLI_EVENT_LOOKUP || cli_player_graph(&p->player, event->graph, &graph, NULL) != GCACHE_OK)
        return GCACHE_OK;
    if (gcache_explain(p->cache, graph, event->hinted ? &event->hints : NULL, &event->request, GCACHE_EXPLAIN_JSON, &text,
                       NULL) != GCACHE_MISS) {
        gcache_free(text);
        return GCACHE_OK;
    }
    gci_view copy = gci_arena_copy(&p->arena, gci_view_text(text));
    gcache_free(text);
    if (copy.data == NULL)
        return gci_fail_memory(error);
    gcache_status status = gci_json_read(copy, "explanation", &p->arena, &explained, error);
    if (status == GCACHE_OK)
        *out_why = reduce(&explained, &p->arena);
    return status;
}

/* ---- descriptions ---- */

static bool
is_new(play *p, char const *graph, gcache_error *error, gcache_status *out_status)
{
    for (size_t i = 0; i < p->seen_count; i++)
        if (strcmp(p->seen[i], graph) == 0)
            return false;
    char **larger = realloc(p->seen, (p->seen_count + 1) * sizeof *larger);
    if (larger != NULL)
        p->seen = larger;
    char *copy = larger != NULL ? strdup(graph) : NULL;
    if (copy == NULL)
        *out_status = gci_fail_memory(error);
    else
        p->seen[p->seen_count++] = copy;
    return copy != NULL;
}

static void
put_line(play *p, cli_object const *object)
{
    gci_json_write(&p->golden->found, &object->map);
    gci_buf_append_char(&p->golden->found, '\n');
}

static void
set_components(cli_object *object, gcache_graph *graph)
{
    gcache_component const *components;
    cli_object hashes = cli_object_new(object->arena);
    char hex[GCACHE_KEY_HEX_SIZE];
    size_t count;

    if (gcache_graph_components(graph, &components, &count, NULL) != GCACHE_OK)
        return;
    for (size_t i = 0; i < count; i++) {
        gcache_key_to_hex(&components[i].hash, hex);
        cli_object_set_text(&hashes, components[i].name, hex);
    }
    cli_object_set(object, "components", hashes.map);
}

/* Kinds are told from descriptions by what no path begins with. */
static gcache_status
put_rules(play *p, char const *kind, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    cli_object object = { .arena = &p->arena };
    char name[KIND_BYTES];

    snprintf(name, sizeof name, "//%s", kind);
    if (is_new(p, name, error, &status) && cli_golden_rules_line(kind, p->rules, &p->arena, &object.map))
        put_line(p, &object);
    return status;
}

static gcache_status
put_description(play *p, cli_event const *event, gcache_error *error)
{
    cli_object object = cli_object_new(&p->arena);
    gcache_status status = GCACHE_OK;
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_graph *graph;
    gcache_key key;

    if (event->graph == NULL || !is_new(p, event->graph, error, &status))
        return status;
    cli_object_set_text(&object, "graph", event->graph);
    if (cli_player_graph(&p->player, event->graph, &graph, NULL) != GCACHE_OK)
        return GCACHE_OK; /* playing the event says why */
    status = put_rules(p, gcache_graph_kind(graph), error);
    if (gcache_graph_key(graph, &key, NULL) == GCACHE_OK) {
        gcache_key_to_hex(&key, hex);
        cli_object_set_text(&object, "key", hex);
        set_components(&object, graph);
    }
    put_line(p, &object);
    return status;
}

/* ---- playing ---- */

static gcache_status
play_line(play *p, gci_view line, cli_place place, gcache_error *error)
{
    gci_value why;
    cli_event event;
    cli_object out;

    gci_arena_reset(&p->arena);
    gcache_status status = cli_event_read(line, place, &p->arena, &event, error);
    if (status == GCACHE_OK)
        status = put_description(p, &event, error);
    if (status == GCACHE_OK)
        status = explain(p, &event, &why, error);
    if (status == GCACHE_OK)
        status = cli_player_play(&p->player, &event, &p->arena, &out, error);
    if (status != GCACHE_OK)
        return status;
    if (why.type != GCI_NULL)
        cli_object_set(&out, "why", why);
    put_line(p, &out);
    p->golden->events++;
    return p->golden->found.failed || p->arena.failed ? gci_fail_memory(error) : GCACHE_OK;
}

static gcache_status
play_lines(play *p, char const *path, gcache_error *error)
{
    gci_view line;
    gcache_status status;

    while ((status = cli_lines_next(&p->lines, &line, error)) == GCACHE_OK && line.data != NULL) {
        if (line.size != 0)
            status = play_line(p, line, (cli_place){ .file = path, .line = p->lines.number }, error);
        if (status != GCACHE_OK || cli_signal_caught() != 0)
            break;
    }
    return status;
}

static gcache_status
open_play(play *p, char const *path, gcache_error *error)
{
    gcache_options settings = GCACHE_OPTIONS_INIT;

    p->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (p->fd < 0)
        return gci_fail_errno(error, errno, "%s", path);
    cli_lines_init(&p->lines, p->fd, path);
    gcache_status status = cli_scratch_make(p->scratch, error);
    settings.durability = GCACHE_DURABILITY_NONE;
    settings.log = cli_log;
    return status == GCACHE_OK ? gcache_open(p->scratch, &settings, &p->cache, error) : status;
}

static void
close_play(play *p)
{
    cli_player_clear(&p->player);
    cli_lines_clear(&p->lines);
    if (p->fd >= 0)
        close(p->fd);
    for (size_t i = 0; i < p->seen_count; i++)
        free(p->seen[i]);
    free(p->seen);
    gci_arena_clear(&p->arena);
    gcache_close(p->cache);
    cli_scratch_remove(p->scratch);
}

static gcache_status
path_in(char const *folder, char const *name, char out_path[PATH_BYTES], gcache_error *error)
{
    if (snprintf(out_path, PATH_BYTES, "%s/%s", folder, name) >= PATH_BYTES)
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "the path is too long: %s", folder);
    return GCACHE_OK;
}

gcache_status
cli_golden_play(char const *folder, cli_tried_rules const *rules, cli_golden *out_golden, gcache_error *error)
{
    play *p = calloc(1, sizeof *p);
    char path[PATH_BYTES];

    *out_golden = (cli_golden){ 0 };
    gci_buf_init(&out_golden->found, GOLDEN_MAX_BYTES);
    if (p == NULL)
        return gci_fail_memory(error);
    p->fd = -1;
    p->golden = out_golden;
    gci_arena_init(&p->arena, EVENT_MAX_BYTES);
    gcache_status status = path_in(folder, "trace.jsonl", path, error);
    if (status == GCACHE_OK)
        status = open_play(p, path, error);
    cli_player_init(&p->player, p->cache, folder);
    p->player.rules = rules != NULL ? rules->set : NULL;
    p->rules = rules;
    if (status == GCACHE_OK)
        status = play_lines(p, path, error);
    out_golden->counts = p->player.counts;
    close_play(p);
    free(p);
    return status;
}

void
cli_golden_clear(cli_golden *golden)
{
    gci_buf_clear(&golden->found);
}

/* ---- the file ---- */

gcache_status
cli_golden_load(char const *folder, gci_buf *out, bool *out_exists, gcache_error *error)
{
    char path[PATH_BYTES];

    *out_exists = false;
    gcache_status status = path_in(folder, CLI_GOLDEN_NAME, path, error);
    if (status != GCACHE_OK || access(path, F_OK) != 0)
        return status;
    *out_exists = true;
    return gci_file_read_user(path, GOLDEN_MAX_BYTES, out, error);
}

gcache_status
cli_golden_save(char const *folder, gci_view found, gcache_error *error)
{
    char path[PATH_BYTES];
    gcache_status status = path_in(folder, CLI_GOLDEN_NAME, path, error);

    return status == GCACHE_OK ? gci_file_write_user(path, found, error) : status;
}
