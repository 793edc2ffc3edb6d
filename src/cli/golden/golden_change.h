/*
 * What differs between a golden file and what was found, as changes: each about one record, with its reason in half a sentence
 * and, below it, what in the record shows it. What only follows from another change (a hash made of what changed) names its
 * cause; it is counted, not shown.
 *
 * Order: rule sets, descriptions, events that end otherwise, other events; so causes come first. A changed insert is told where
 * an event ends otherwise because of it.
 */
#ifndef GCI_CLI_GOLDEN_GOLDEN_CHANGE_H
#define GCI_CLI_GOLDEN_GOLDEN_CHANGE_H

#include "cli/golden/golden.h"

#define CLI_NO_CAUSE SIZE_MAX

/* Hashes that differ because of what they are made of. */
typedef struct cli_hashes {
    size_t keys, components, ids;
} cli_hashes;

typedef struct cli_change {
    cli_golden_record const *was, *is; /* NULL: it is new, it is gone */
    int rank;        /* where it belongs in the order */
    gci_view subject; /* "event 17" */
    gci_view reason;  /* "hit became miss (guard_false)" */
    gci_view details; /* lines; may be empty */
    size_t cause;     /* index of the change that it follows from or that tells it, or CLI_NO_CAUSE */
    bool expects;     /* nothing changed: the event isn't what the trace expects, which --accept doesn't mend */
    cli_hashes hashes;
} cli_change;

typedef struct cli_changes {
    cli_change *items;
    size_t count, capacity;
    gci_arena *arena; /* of its texts */
} cli_changes;

/* Both are settled, and outlive the changes. false without memory. */
bool cli_golden_compare(cli_golden const *expected, cli_golden const *found, cli_changes *out, gcache_error *error);
void cli_changes_clear(cli_changes *changes);

/* The record that a change is about. */
static inline cli_golden_record const *
cli_change_record(cli_change const *change)
{
    return change->is != NULL ? change->is : change->was;
}

/* Whether it is about an event that asks for another description than it did. */
bool cli_change_is_redescribed(cli_change const *change);

/* ---- golden_rules.c ---- */

/*
 * Writes how the description that an event asked for differs from the one it asks for now, where the former is still there: of the
 * first few events.
 */
void cli_golden_write_redescribed(char const *folder, cli_changes const *changes, gci_buf *out);

/* ---- golden_accept.c ---- */

/*
 * What of the changes becomes golden. take has a place a change; what isn't taken stays as the golden file has it. *out is in the
 * arena of `found`, made of records of both.
 */
bool cli_golden_merge(cli_golden const *expected, cli_golden const *found, cli_changes const *changes, bool const *take,
                      cli_golden *out, gcache_error *error);
/* Takes the change of an event, those of its description and its rules, what is told with them and what follows. */
void cli_changes_take_event(cli_changes const *changes, cli_golden const *found, int64_t event, bool *take);
/* Takes what is told with, or follows from, what is taken. */
void cli_changes_take_consequences(cli_changes const *changes, bool *take);

/* ---- golden_report.c ---- */

static inline bool
cli_change_is_shown(cli_change const *change)
{
    return change->cause == CLI_NO_CAUSE;
}

/* Whether both show the same, so that they are told, and asked for, once. */
bool cli_changes_alike(cli_change const *a, cli_change const *b);
/* One change with its subject and reason, and the others that show the same. */
void cli_changes_write_one(gci_buf *out, cli_changes const *changes, size_t at);
/* "event 17: hit became miss (guard_false)", of the first change. Empty if there is none. */
void cli_changes_write_headline(gci_buf *out, cli_changes const *changes);
/*
 * Writes the changes for people, at most `room`: each with its subject and reason, but for the first below its headline. Those
 * that show the same are told once.
 */
void cli_changes_write(gci_buf *out, cli_changes const *changes, bool below_headline, size_t room);
/* Those of all changes. */
cli_hashes cli_changes_hashes(cli_changes const *changes);
/* "and so: the key and 3 components differ", a line; nothing where there are none. */
void cli_hashes_write(gci_buf *out, char const *before, cli_hashes hashes);

#endif
