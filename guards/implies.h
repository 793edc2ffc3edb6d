/*
 * Whether one guard list implies another: what makes a candidate that is tried later a shadowed one.
 *
 * Decided on the normal form, so for names that are bound to integers, and only where bounds, equalities and remainders
 * decide it: "false" means that it isn't known. Both lists must call the same things by the same (bound) names.
 */
#ifndef GCI_GUARDS_IMPLIES_H
#define GCI_GUARDS_IMPLIES_H

#include "guards/guards.h"

/* A list made ready to be compared with others. */
typedef struct gci_claims gci_claims;

/* NULL without memory. The list must outlive it. */
gci_claims *gci_claims_new(gci_guards const *guards);
void gci_claims_free(gci_claims *claims);

/* true: whenever `narrow` holds, `wide` holds too, without raising. */
bool gci_claims_imply(gci_claims const *narrow, gci_claims const *wide);

#endif
