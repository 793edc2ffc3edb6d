/*
 * What can be said of guard lists beyond their verdict: what decides one, what would change it, what it implies.
 */
#ifndef GCI_GUARDS_PROVE_H
#define GCI_GUARDS_PROVE_H

#include "guards/program/list.h"

/* ---- what decides ---- */

/*
 * Explains guard `index` for hints, for people: the decisive part of it and its arithmetic, as
 *   part    "L['t0'] % 8 == 0"       the failing conjunct of a conjunction, the guard itself otherwise
 *   values  "12 % 8 = 4"             both sides substituted and computed; "" where nothing is to be computed
 * Also for a guard that raises: the part that raises. out_values may be NULL.
 */
void gci_guards_explain(gci_guards const *guards, size_t index, gci_hints const *hints, gci_buf *out_part,
                        gci_buf *out_values);

/* A part of a guard that decides it. */
typedef struct gci_guard_part {
    gci_view part, values;   /* as above */
    bool raises;
    gci_view subject, bound; /* of a comparison with a constant its sides, "t0 // 8" and "12"; else empty */
    gci_operator op;         /* subject op bound */
    gci_view value;          /* what the subject is: "11" */
    double distance;         /* of the value to the bound; 0 where it isn't compared with a constant */
} gci_guard_part;

/*
 * The parts that decide guard `index`, which doesn't hold: of an `or` its alternatives, of each what is false; else one. All
 * are false; the last one may raise. Returns how many there are, of which at most `most` are made, with texts in the arena.
 * 0: the guard holds; or there is no memory.
 */
size_t gci_guards_parts(gci_guards const *guards, size_t index, gci_hints const *hints, gci_arena *arena, gci_guard_part *parts,
                        size_t most);

/* What a condition says of one symbol. */
typedef struct gci_symbol_bounds {
    gci_view name;     /* within the text: t0 of L['t0'] */
    int64_t modulus;   /* 0: the symbol is bounded; else the symbol % modulus */
    int64_t low, high; /* INT64_MIN, INT64_MAX: no bound */
} gci_symbol_bounds;

/* false: the condition's normal form isn't of this kind. */
bool gci_bounds_of_symbol(gci_view text, gci_symbol_bounds *out);

/* ---- the smallest change ---- */

/*
 * The smallest change of hints that would make the list hold: "t0=8" or "t0=16 t1=128". As few hints as possible are changed:
 * one, or with several up to three, which takes some milliseconds to find. false where it is not determined (then nothing
 * is written): always determined are lists of comparisons of affine expressions and of their remainders by a known number.
 *
 * What is known to be a size (gci_hints.sizes) stays one: no change makes it negative.
 *
 * *work is what the search may spend on looking at conditions, and less afterwards: of what several lists have in common.
 * NULL: as much as one list ever gets, about a tenth of a second. *out_by (may be NULL) is the sum of the changes.
 */
bool gci_guards_nearest(gci_guards const *guards, gci_hints const *hints, bool several, size_t *work, gci_buf *out,
                        uint64_t *out_by);

/* ---- implication ---- */

/*
 * Whether one guard list implies another: what makes a candidate that is tried later a shadowed one.
 *
 * Decided on the normal form, so for names that are bound to integers, and only where bounds, equalities and remainders
 * decide it: "false" means that it isn't known. Both lists must call the same things by the same (bound) names.
 */

/* A list made ready to be compared with others. */
typedef struct gci_claims gci_claims;

/* NULL without memory. The list must outlive it. */
gci_claims *gci_claims_new(gci_guards const *guards);
void gci_claims_free(gci_claims *claims);

/* true: whenever `narrow` holds, `wide` holds too, without raising. */
bool gci_claims_imply(gci_claims const *narrow, gci_claims const *wide);

#endif
