/*
 * A fixture's golden file: what playing its trace gives, a line a description and a line an event.
 *
 *   fixture = a folder with trace.jsonl, graphs/, and golden.jsonl
 *   golden  = { rules | description | event }
 *   rules: {"rules": NAME, "set": {..}}, before the first description whose kind uses them, without reasons and examples
 *   description: {"graph": FILE, "key": HEX, "components": {NAME: HEX}}, before the first event that names it
 *   event: what replay prints, and for a miss "why": the candidates that decided, or what differs from the nearest key
 *
 * Times don't occur in it, and ids are made from contents: the same code writes the same bytes everywhere.
 */
#ifndef GCI_CLI_GOLDEN_GOLDEN_H
#define GCI_CLI_GOLDEN_GOLDEN_H

#include "base/buf.h"
#include "cli/golden/player.h"

#define CLI_GOLDEN_NAME "golden.jsonl"

/* A fixture that was played. */
typedef struct cli_golden {
    gci_buf found;     /* golden lines */
    uint64_t events;
    cli_counts counts;
} cli_golden;

/* A rule set that stands in for the shipped one of its name, and its text. */
typedef struct cli_tried_rules {
    gcache_rules *set;
    gci_buf text;
} cli_tried_rules;

/*
 * Plays the folder's trace on a fresh temporary cache; the arena is emptied for each event. rules (may be NULL) stand in for the
 * shipped set of their name. Fails for what is wrong with the trace: a file that isn't there, a line that is no event. Clear
 * out_golden->found whatever the outcome.
 */
bool cli_golden_play(char const *folder, cli_tried_rules const *rules, gci_arena *arena, cli_golden *out_golden,
                     gcache_error *error);

/* Reads the folder's golden file; *out_exists tells whether there is one. */
bool cli_golden_load(char const *folder, gci_buf *out, bool *out_exists, gcache_error *error);
bool cli_golden_save(char const *folder, gci_view found, gcache_error *error);

/*
 * Writes what differs, for people, at most `room` differences: a line each and, indented, what changed in it.
 * Returns how many there are.
 */
size_t cli_golden_compare(gci_view expected, gci_view found, size_t room, gci_buf *out);

/*
 * Writes how the canonical forms of the first descriptions differ that have their golden key under the golden file's rules
 * and another one under the present ones: the shipped, or, in place of those of their name, rules (may be NULL).
 */
void cli_golden_write_rules(char const *folder, cli_tried_rules const *rules, gci_view expected, gci_buf *out);

/* The line about the rules of a kind, in the arena. false: there is no such set. */
bool cli_golden_rules_line(char const *kind, cli_tried_rules const *rules, gci_arena *arena, gci_value *out_line);

#endif
