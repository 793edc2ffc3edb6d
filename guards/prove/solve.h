/*
 * Which integers one unknown may be, as far as conditions of a normal form can be solved for it.
 *
 * It solves comparisons of a*x + b, (a*x + b) % m, (a*x + b) // d and of max and min of such, if everything but x is known.
 * It skips other conditions: a solution set may hold too much, never too little.
 */
#ifndef GCI_GUARDS_SOLVE_H
#define GCI_GUARDS_SOLVE_H

#include "guards/normal/normal.h"

/* Symbols of the conditions are slots, as gci_expr_slot makes them; this one is never known. */
#define GCI_NO_SLOT UINT16_MAX

/* Conditions that no range and residue class expresses; more are left out. */
#define GCI_MAX_SIEVES 32

/* The unknowns whose ranges are narrowed together, at most. */
#define GCI_MAX_UNKNOWNS 3

typedef struct gci_slots {
    int64_t const *values;
    bool const *known; /* false: of no use for solving now, unless it is the unknown */
    uint16_t unknown;
} gci_slots;

/* (slope*x + constant) % modulus is in low..high if inside, else outside of it; modulus 0: slope*x + constant itself. */
typedef struct gci_sieve {
    int64_t slope, constant, modulus, low, high;
    bool inside;
} gci_sieve;

/* low <= x <= high, x % modulus == residue, and it passes all sieves. */
typedef struct gci_solutions {
    int64_t low, high; /* low > high: there are none */
    int64_t modulus, residue;
    gci_sieve sieves[GCI_MAX_SIEVES];
    size_t sieve_count;
} gci_solutions;

void gci_solutions_all(gci_solutions *out);

/* Leaves only those for which the condition may hold. */
void gci_solutions_restrict(gci_solutions *solutions, gci_conjunct const *condition, gci_slots const *slots);

/*
 * Narrows the ranges that the unknowns can be in by a comparison of an affine expression of several of them.
 * ranges[i] is that of unknowns[i]; slots->unknown is of no meaning.
 */
typedef struct gci_range {
    int64_t low, high; /* low > high: it can't be */
} gci_range;
void gci_ranges_narrow(gci_range *ranges, uint16_t const *unknowns, size_t count, gci_conjunct const *condition,
                       gci_slots const *slots);

/* Solutions other than `from`, nearest first, of two as near the larger first. */
typedef struct gci_walk {
    gci_solutions const *solutions;
    int64_t from, up, down; /* the next ones */
    bool has_up, has_down;
} gci_walk;

void gci_walk_begin(gci_walk *walk, gci_solutions const *solutions, int64_t from);

/* The next value that sieves may still refuse. false: there are no more. */
bool gci_walk_next(gci_walk *walk, int64_t *out_value);
bool gci_solutions_pass(gci_solutions const *solutions, int64_t value);

/* |to - from| */
uint64_t gci_distance(int64_t from, int64_t to);

#endif
