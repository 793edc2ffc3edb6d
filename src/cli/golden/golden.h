/*
 * A fixture's golden file: what playing its trace gives. The format is docs/formats/golden.md.
 *
 *   fixture = a folder with trace.jsonl, graphs/, and golden.jsonl
 *   golden  = { rules | description | event }, records in the order of the trace
 *
 * Times don't occur in it, and ids are made from contents: the same code writes the same bytes everywhere. A line holds one
 * member of a record, or one item of its list. Events call an entry by the event that stored it and a key by its description;
 * so what hashes say stands once, and a changed option changes the lines about it, its component, its key and its entries' ids.
 */
#ifndef GCI_CLI_GOLDEN_GOLDEN_H
#define GCI_CLI_GOLDEN_GOLDEN_H

#include "base/buf.h"
#include "cli/golden/player.h"

#define CLI_GOLDEN_NAME "golden.jsonl"
#define CLI_GOLDEN_FORMAT "guardcache-golden/2"

/* A rule set that stands in for the shipped one of its name, and its text. */
typedef struct cli_tried_rules {
    gcache_rules *set;
    gci_buf text;
} cli_tried_rules;

/* ---- golden_play.c ---- */

/* A fixture that was played. */
typedef struct cli_played {
    gci_buf lines;       /* records as JSON objects, one a line, with hashes and ids: format 1 and what format 2 says besides */
    uint64_t *elapsed_ns; /* of each event */
    size_t events, elapsed_room;
    uint64_t mismatches; /* events that ended otherwise than the trace expects */
} cli_played;

/* What is called now and then while a trace is played: bytes of it so far. */
typedef struct cli_played_watch {
    void (*step)(void *state, uint64_t bytes);
    void *state;
} cli_played_watch;

/*
 * Plays the folder's trace on a fresh temporary cache; the arena is emptied for each event. rules (may be NULL) stand in for the
 * shipped set of their name. Fails for what is wrong with the trace: a file that isn't there, a line that is no event. Clear
 * out_played whatever the outcome.
 */
bool cli_golden_play(char const *folder, cli_tried_rules const *rules, cli_played_watch const *watch, gci_arena *arena,
                     cli_played *out_played, gcache_error *error);
void cli_played_clear(cli_played *played);

/* ---- golden.c ---- */

typedef enum cli_golden_part {
    CLI_GOLDEN_RULES,       /* a rule set, before the first description whose kind uses it; without reasons and examples */
    CLI_GOLDEN_DESCRIPTION, /* kind, key and components, before the first event that names it */
    CLI_GOLDEN_EVENT        /* what replay prints, and for a miss why */
} cli_golden_part;

typedef struct cli_golden_record {
    cli_golden_part part;
    gci_view name;             /* "fx", "graphs/3f2a.json", "17" */
    gci_value map;             /* its members; an event's by the order of the format */
    gci_value const *expected; /* what the trace expects of an event that ended otherwise; not in the file */
} cli_golden_record;

/* Records, in an arena that outlives them, as does the text they are read from. */
typedef struct cli_golden {
    gci_arena *arena;
    cli_golden_record *items;
    uint32_t count;
    bool old; /* of format 1 */
} cli_golden;

/* Reads a golden file of either format, or cli_played.lines. name is for messages. */
bool cli_golden_read(gci_view text, char const *name, gci_arena *arena, cli_golden *out_golden, gcache_error *error);
/* Gives records of format 1 what only format 2 says, from those found now. */
void cli_golden_complete(cli_golden *golden, cli_golden const *found);
/* Calls entries and keys by names, leaves out what says nothing, and puts members in order. Once, before comparing. */
void cli_golden_settle(cli_golden *golden);
void cli_golden_write(gci_buf *out, cli_golden const *golden);

/* "event 17", "graphs/3f2a.json", "rules fx", in the arena. */
gci_view cli_golden_subject(cli_golden_record const *record, gci_arena *arena);
/* The record about the same thing, or NULL. *near is where it is looked for first, and then the place behind it. */
cli_golden_record const *cli_golden_find(cli_golden const *golden, cli_golden_record const *wanted, uint32_t *near);
/* The text of a member; empty: it has none. */
gci_view cli_golden_text(gci_value const *map, char const *name);
bool cli_golden_push(cli_golden *golden, cli_golden_record const *record);

/* Reads the folder's golden file; *out_exists tells whether there is one. */
bool cli_golden_load(char const *folder, gci_buf *out, bool *out_exists, gcache_error *error);
bool cli_golden_save(char const *folder, cli_golden const *golden, gcache_error *error);

/* ---- golden_rules.c ---- */

/*
 * Writes how the canonical forms of the first descriptions differ that have their golden key under the golden file's rules
 * and another one under the present ones: the shipped, or, in place of those of their name, rules (may be NULL).
 */
void cli_golden_write_rules(char const *folder, cli_tried_rules const *rules, cli_golden const *expected, gci_buf *out);

/* The line about the rules of a kind, in the arena. false: there is no such set. */
bool cli_golden_rules_line(char const *kind, cli_tried_rules const *rules, gci_arena *arena, gci_value *out_line);

#endif
