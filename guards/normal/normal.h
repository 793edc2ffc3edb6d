/*
 * The normal form of a guard list: its conjuncts in Python's order, comparisons brought to
 *
 *     low <= expression <= high        or        expression != value
 *
 * where the expression is an integer polynomial without a constant term, its coefficients without a common divisor, the
 * first one positive. That is exact if every name is bound to an integer; nothing is said of other values.
 *
 * Conjunctions are taken apart at the top only, never across an `or`, which binds weaker.
 */
#ifndef GCI_GUARDS_NORMAL_H
#define GCI_GUARDS_NORMAL_H

#include "guards/normal/expr.h"
#include "guards/normal/hazard.h"

typedef enum gci_conjunct_kind {
    GCI_CONJUNCT_BOUNDS,    /* low <= expr <= high; low > high: never true */
    GCI_CONJUNCT_DIFFERENT, /* expr != low */
    GCI_CONJUNCT_OTHER      /* anything else */
} gci_conjunct_kind;

typedef struct gci_conjunct {
    gci_conjunct_kind kind;
    size_t guard;                /* its number in the list */
    gci_view text;               /* as it is written */
    gci_expr *expr;
    int64_t low, high;           /* INT64_MIN, INT64_MAX: no bound */
    bool raises;                 /* may raise whatever the divisors are */
    gci_expr *divisors[GCI_MAX_DIVISORS]; /* raises only if one of these is 0 */
    size_t divisor_count;
} gci_conjunct;

typedef struct gci_normal {
    gci_arena arena;
    gci_conjunct *conjuncts;
    size_t count, room;
} gci_normal;

/* false: no memory, or a text that the parser doesn't take. texts must outlive the result. Clear it in any case. */
bool gci_normal_make(gci_view const *texts, size_t count, gci_expr_leaf leaf, void *state, gci_normal *out);
void gci_normal_clear(gci_normal *normal);

/* The conjuncts of all guards, one a line. */
void gci_normal_write(gci_view const *texts, size_t count, gci_buf *out);

#endif
