/*
 * What a condition may do besides being true or false, if every name is bound to a 64-bit integer.
 *
 * Used to tell which conjuncts the selection index may rely on: a conjunct that is false decides only if nothing before
 * it raises.
 */
#ifndef GCI_GUARDS_HAZARD_H
#define GCI_GUARDS_HAZARD_H

#include "guards/text/ast.h"

/* Divisors that aren't constants, collected up to this many in a conjunct; with more it counts as raising. */
#define GCI_MAX_DIVISORS 8

typedef struct gci_hazards {
    bool raises;                                /* may raise whatever the divisors are */
    gci_ast const *divisors[GCI_MAX_DIVISORS];  /* raises only if one of these integers is 0 */
    size_t count;
} gci_hazards;

void gci_hazards_find(gci_ast const *node, gci_hazards *out);

#endif
