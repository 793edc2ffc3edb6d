/*
 * The candidates of a miss whose guards don't hold, as people want to see them: those that fail alike together, and what would
 * have hit, the nearest first.
 */
#ifndef GCI_CACHE_EXPLAIN_FAILING_H
#define GCI_CACHE_EXPLAIN_FAILING_H

#include "cache/explain/explanation.h"

/* Alternatives of an `or` that are shown in a brief text. */
#define GCI_BRIEF_ALTERNATIVES 4

/* Candidates that fail on the same expression, each with a constant of its own. */
typedef struct gci_alike {
    gci_guard_part nearest; /* the part of the candidate whose constant is nearest to the value */
    size_t rank;            /* its rank */
    size_t count;           /* of candidates */
    bool one_bound;         /* they have the same constant, too */
} gci_alike;

typedef struct gci_failing_one {
    gci_trial const *trial;
    gci_guard_part part; /* the first that decides */
    size_t parts;        /* of an `or`; 0: nothing is known of it */
    double distance;     /* of the hints to what its guards want: an estimate */
    gci_alike *alike;    /* NULL: it is shown by itself */
} gci_failing_one;

typedef struct gci_failing {
    gci_failing_one *items; /* by rank */
    size_t count;
    gci_alike *alike;       /* the largest first */
    size_t alike_count;
} gci_failing;

/* All of a miss's trials that guards decided, in the arena; together: those that fail alike are found, too. */
void gci_failing_find(gci_journal_entry const *entry, gci_arena *arena, gci_failing *out, bool together);

/* The changes of hints that would have made a candidate hold: at most `most`, the smallest first. */
void gci_failing_tell_would_hit(gci_journal_entry const *entry, gci_failing const *failing, size_t most, bool brief,
                                gci_story *story);

#endif
