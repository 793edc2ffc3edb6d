/*
 * Plays a trace's events on a cache: reads each, runs it, says what came out, and counts.
 *
 * Invariants:
 *  1. counts.lookups = counts.hits + the sum of counts.misses.
 *  2. Descriptions are kept between events, the latest of each slot: a trace asks a few graphs many times.
 */
#ifndef GCI_CLI_GOLDEN_PLAYER_H
#define GCI_CLI_GOLDEN_PLAYER_H

#include "base/buf.h"
#include "cli/golden/trace.h"
#include "cli/shared/cli.h"
#include "cli/shared/lines.h"
#include "cli/shared/scratch.h"

#define CLI_TRACE_NAME "trace.jsonl"
#define CLI_TRACE_PATH 4096

/* Programs compile a few hundred graphs; two whose names share a slot are only read more often. */
#define CLI_PLAYER_GRAPHS 1024

typedef struct cli_counts {
    uint64_t lookups, hits, misses[GCACHE_REASON_COUNT], inserts, refused, bypasses, mismatches;
    uint64_t errors; /* of events that expect nothing */
} cli_counts;

typedef struct cli_player {
    gcache *cache;
    gcache *own; /* a fresh one in `scratch`, or NULL */
    char scratch[CLI_SCRATCH_PATH];
    char const *folder;        /* file names in events are relative to it */
    char path[CLI_TRACE_PATH]; /* of the trace, if it is open */
    int fd;
    cli_lines lines;
    gci_arena *arena;          /* of one event at a time */
    bool failed;               /* cli_player_next didn't return false for the trace's end */
    gcache_rules const *rules; /* in place of the shipped set of their name; NULL: none */
    bool any_kind;             /* they are in place of every kind's */
    struct {
        char *name;
        gcache_graph *graph;
    } graphs[CLI_PLAYER_GRAPHS];
    gci_buf payload;
    cli_counts counts;
} cli_player;

/* Clear it whatever becomes of opening. */
void cli_player_init(cli_player *player, char const *folder, gci_arena *arena);
void cli_player_clear(cli_player *player);

bool cli_player_open_trace(cli_player *player, gcache_error *error);
/* Makes a fresh cache, which is removed by cli_player_clear. */
bool cli_player_open_cache(cli_player *player, gcache_error *error);

/* folder/name; false if that is too long. */
bool cli_trace_path(char const *folder, char const *name, char out_path[CLI_TRACE_PATH], gcache_error *error);

/* The next event of the trace, in the arena, which is emptied before. false at the end, and if player->failed. */
bool cli_player_next(cli_player *player, cli_event *out_event, gcache_error *error);

/* The description that events call `name`, read when it is first asked for. It is the player's. */
bool cli_player_graph(cli_player *player, char const *name, gcache_graph **out_graph, gcache_error *error);

/*
 * Plays one event and hands out its output object, in the arena. What the cache refuses to take as an argument (a guard
 * that isn't in the language, a damaged description) is the outcome "error"; this fails for what is wrong with the trace: a
 * file that isn't there, no memory.
 */
bool cli_player_play(cli_player *player, cli_event const *event, cli_object *out_object, gcache_error *error);

#endif
