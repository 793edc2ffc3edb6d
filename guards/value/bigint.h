/*
 * Integers of any size. bigint.c is the only file that knows GMP.
 *
 * A gci_int is sign and magnitude: |size| limbs, lowest first, the top one not zero; size < 0 for negative numbers, 0
 * for zero. It borrows its limbs: results live in the arena that is passed in, small operands in a gci_limb on the
 * caller's stack.
 *
 * Functions that return bool give false for lack of memory and for a result beyond GCI_INT_MAX_BITS; both mean
 * MemoryError to a guard.
 */
#ifndef GCI_GUARDS_BIGINT_H
#define GCI_GUARDS_BIGINT_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdint.h>

typedef struct gci_int {
    uint64_t const *limbs;
    int32_t size;
} gci_int;

/* In the order of the operators. */
typedef enum gci_bit_op { GCI_BIT_AND, GCI_BIT_OR, GCI_BIT_XOR } gci_bit_op;

/* The integer as one limb in *out_cell, which must live as long as the result. */
gci_int gci_int_small(int64_t value, uint64_t *out_cell);

/* true and the value if it fits. */
bool gci_int_fits(gci_int a, int64_t *out_value);

int gci_int_compare(gci_int a, gci_int b);
gci_int gci_int_negate(gci_int a);
uint64_t gci_int_hash(gci_int a);
/* Bits of the magnitude; 0 for zero. */
uint64_t gci_int_bits(gci_int a);

bool gci_int_add(gci_arena *arena, gci_int a, gci_int b, gci_int *out);
bool gci_int_multiply(gci_arena *arena, gci_int a, gci_int b, gci_int *out);
/* Floor division: the remainder has the sign of b, which isn't zero. */
bool gci_int_divide(gci_arena *arena, gci_int a, gci_int b, gci_int *out_quotient, gci_int *out_remainder);
bool gci_int_power(gci_arena *arena, gci_int base, uint64_t exponent, gci_int *out);
bool gci_int_shift_left(gci_arena *arena, gci_int a, uint64_t bits, gci_int *out);
/* Rounds toward minus infinity. */
bool gci_int_shift_right(gci_arena *arena, gci_int a, uint64_t bits, gci_int *out);
/* On infinite two's complement, as Python's. */
bool gci_int_bitwise(gci_arena *arena, gci_bit_op op, gci_int a, gci_int b, gci_int *out);

/* The nearest double, ties to even; HUGE_VAL with the sign if it is out of range. */
double gci_int_to_double(gci_int a);
/*
 * a = fraction * 2**exponent with 0.5 <= |fraction| <= 1, rounded to nearest; a isn't zero. out_rounded: 1 if |fraction|
 * is larger than it would be exactly, -1 if it is smaller, 0 if it is exact.
 */
double gci_int_fraction(gci_int a, int64_t *out_exponent, int *out_rounded);
/* The integer part of a finite double. */
bool gci_int_from_double(gci_arena *arena, double value, gci_int *out);

/* Digits of the base (2, 8, 10, 16), which all are valid; underscores are skipped. */
bool gci_int_read(gci_arena *arena, gci_view digits, int base, gci_int *out);
/* In decimal. The arena is for scratch. */
bool gci_int_write(gci_arena *arena, gci_int a, gci_buf *out);

#endif
