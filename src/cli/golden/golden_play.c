/*
 * A fixture played for guardcache test: each event explained and run, and what came out written as a line.
 */
#include "cli/golden/golden.h"

#include "base/array.h"
#include "base/text/intern.h"
#include "base/system/clock.h"
#include "base/text/json.h"

#include <stdio.h>

/* A kind is a word; of a longer one the beginning will do. */
#define KIND_BYTES 64
#define NAMES_MAX_BYTES ((size_t)256 << 20)
#define LINES_MAX_BYTES ((size_t)1 << 30)
/* Of a miss: what a reader needs to see that it is another one. */
#define WHY_CANDIDATES 6
#define WHY_DIFFERENCES 20

typedef struct play {
    cli_player player;
    cli_played *played;
    cli_tried_rules const *rules;
    gci_intern seen; /* descriptions and kinds whose line is written */
    gci_arena names; /* of them */
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
static bool
explain(play *p, cli_event const *event, gci_value *out_why, gcache_error *error)
{
    gci_arena *arena = p->player.arena;
    gcache_graph *graph;
    char *text = NULL;
    gci_value explained;

    *out_why = (gci_value){ .type = GCI_NULL };
    if (event->op != CLI_EVENT_LOOKUP || !cli_player_graph(&p->player, event->graph, &graph, NULL))
        return true;
    bool missed = gcache_explain(p->player.cache, graph, event->hinted ? &event->hints : NULL, &event->request,
                                 GCACHE_EXPLAIN_JSON, &text, NULL) == GCACHE_MISS;
    gci_view copy = gci_arena_copy(arena, gci_view_text(text));
    gcache_free(text);
    if (!missed)
        return true;
    if (copy.data == NULL)
        return cli_no_memory(error);
    if (gci_json_read(copy, "explanation", arena, &explained, error) != GCACHE_OK)
        return false;
    *out_why = reduce(&explained, arena);
    return true;
}

/* ---- descriptions ---- */

/* Whether a name is met for the first time. Without memory it isn't: p->names knows. */
static bool
is_new(play *p, char const *name)
{
    bool new = false;

    if (gci_intern_find(&p->seen, gci_view_text(name)) != GCI_INTERN_NONE)
        return false;
    gci_view copy = gci_arena_copy(&p->names, gci_view_text(name));
    if (copy.data == NULL || gci_intern_add(&p->seen, copy, &new) == GCI_INTERN_NONE)
        p->names.failed = true;
    return new;
}

static void
put_line(play *p, gci_value const *object)
{
    gci_json_write(&p->played->lines, object);
    gci_buf_append_char(&p->played->lines, '\n');
}

/* Kinds are told from descriptions by what no path begins with. What one without rules is keyed by isn't what it was recorded by,
   unless it never had any. */
static void
put_rules(play *p, char const *kind)
{
    char name[KIND_BYTES];
    gci_value line;

    snprintf(name, sizeof name, "//%s", kind);
    if (!is_new(p, name))
        return;
    if (cli_golden_rules_line(kind, p->rules, p->player.arena, &line))
        put_line(p, &line);
    else
        cli_complain("warning: kind %s isn't known here and goes by generic's rules; GUARDCACHE_KINDS names folders of kinds",
                     kind);
}

static void
put_description(play *p, cli_event const *event)
{
    cli_object object = cli_object_new(p->player.arena);
    gcache_graph *graph;
    gcache_key key;

    /* Where it can't be read, playing the event says why. */
    if (event->graph == NULL || !is_new(p, event->graph) || !cli_player_graph(&p->player, event->graph, &graph, NULL))
        return;
    put_rules(p, gcache_graph_kind(graph));
    cli_object_set_text(&object, "graph", event->graph);
    cli_object_set_text(&object, "kind", gcache_graph_kind(graph));
    if (gcache_graph_key(graph, &key, NULL) == GCACHE_OK) {
        cli_object_set_key(&object, "key", &key);
        cli_object_set_components(&object, graph, NULL);
    }
    put_line(p, &object.map);
}

/* ---- playing ---- */

/* What was asked, beside what came out. */
static void
set_asked(cli_object *out, cli_event const *event)
{
    static char const *const ops[] = {
        [CLI_EVENT_LOOKUP] = "lookup",
        [CLI_EVENT_INSERT] = "insert",
        [CLI_EVENT_BYPASS] = "bypass",
    };

    cli_object_set_text(out, "op", ops[event->op]);
    cli_object_set_text(out, "graph", event->graph);
    if (event->op == CLI_EVENT_INSERT)
        cli_object_set_texts(out, "guards", event->entry.guards, event->entry.guard_count);
}

static bool
play_event(play *p, cli_event const *event, gcache_error *error)
{
    cli_played *played = p->played;
    uint64_t start_ns = gci_clock_steady_ns();
    gci_value why;
    cli_object out;

    put_description(p, event);
    if (!explain(p, event, &why, error) || !cli_player_play(&p->player, event, &out, error))
        return false;
    set_asked(&out, event);
    if (why.type != GCI_NULL)
        cli_object_set(&out, "why", why);
    put_line(p, &out.map);
    if (played->lines.failed || p->player.arena->failed || p->names.failed ||
        !gci_array_has_room(&played->elapsed_ns, played->events, &played->elapsed_room, sizeof *played->elapsed_ns))
        return cli_no_memory(error);
    played->elapsed_ns[played->events++] = gci_clock_steady_ns() - start_ns;
    return true;
}

bool
cli_golden_play(char const *folder, cli_tried_rules const *rules, cli_played_watch const *watch, gci_arena *arena,
                cli_played *out_played, gcache_error *error)
{
    play p = { .played = out_played, .rules = rules };
    cli_event event;

    *out_played = (cli_played){ 0 };
    gci_buf_init(&out_played->lines, LINES_MAX_BYTES);
    gci_arena_init(&p.names, NAMES_MAX_BYTES);
    cli_player_init(&p.player, folder, arena);
    p.player.rules = rules != NULL ? rules->set : NULL;
    bool done = cli_player_open_trace(&p.player, error) && cli_player_open_cache(&p.player, error);
    while (done && cli_signal_caught() == 0 && cli_player_next(&p.player, &event, error)) {
        done = play_event(&p, &event, error);
        if (watch != NULL)
            watch->step(watch->state, p.player.lines.passed);
    }
    out_played->mismatches = p.player.counts.mismatches;
    done = done && !p.player.failed;
    cli_player_clear(&p.player);
    gci_intern_clear(&p.seen);
    gci_arena_clear(&p.names);
    return done;
}

void
cli_played_clear(cli_played *played)
{
    gci_buf_clear(&played->lines);
    free(played->elapsed_ns);
}
