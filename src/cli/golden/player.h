/*
 * Plays a trace's events on a cache: runs each, says what came out, and counts.
 *
 * Invariants:
 *  1. counts.lookups = counts.hits + the sum of counts.misses.
 *  2. Descriptions are kept between events, the latest of each slot: a trace asks a few graphs many times.
 */
#ifndef GCI_CLI_GOLDEN_PLAYER_H
#define GCI_CLI_GOLDEN_PLAYER_H

#include "base/buf.h"
#include "cli/golden/trace.h"

/* Programs compile a few hundred graphs; two whose names share a slot are only read more often. */
#define CLI_PLAYER_GRAPHS 1024

typedef struct cli_counts {
    uint64_t lookups, hits, misses[GCACHE_REASON_COUNT], inserts, refused, bypasses, mismatches;
    uint64_t errors; /* of events that expect nothing */
} cli_counts;

typedef struct cli_player {
    gcache *cache;
    char const *folder; /* file names in events are relative to it */
    gcache_rules const *rules; /* in place of the shipped set of their name; NULL: none */
    bool any_kind;             /* they are in place of every kind's */
    struct {
        char *name;
        gcache_graph *graph;
    } graphs[CLI_PLAYER_GRAPHS];
    gci_buf path, payload;
    cli_counts counts;
} cli_player;

void cli_player_init(cli_player *player, gcache *cache, char const *folder);
void cli_player_clear(cli_player *player);

/* The description that events call `name`, read when it is first asked for. It is the player's. */
gcache_status cli_player_graph(cli_player *player, char const *name, gcache_graph **out_graph, gcache_error *error);

/*
 * Plays one event and hands out its output object, in the arena. What the cache refuses to take as an argument (a guard
 * that isn't in the language, a damaged description) is the outcome "error"; the status of this function is that of
 * the trace: a file that isn't there, no memory.
 */
gcache_status cli_player_play(cli_player *player, cli_event const *event, gci_arena *arena, cli_object *out_object,
                              gcache_error *error);

#endif
