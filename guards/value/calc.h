/*
 * Python's operators and rounding on values. They return false where Python would raise; the calc then has the exception.
 */
#ifndef GCI_GUARDS_CALC_H
#define GCI_GUARDS_CALC_H

#include "guards/value/number.h"

/* ADD to BITXOR. */
bool gci_calc_binary(gci_calc *calc, gci_operator op, gci_number a, gci_number b, gci_number *out);
/* NEG, POS, INVERT. */
bool gci_calc_unary(gci_calc *calc, gci_operator op, gci_number a, gci_number *out);
/* EQ to GE. */
bool gci_calc_compare(gci_calc *calc, gci_operator op, gci_number a, gci_number b, bool *out);

/* ---- the parts of gci_calc_binary, by the type it is computed in ---- */

bool gci_calc_int(gci_calc *calc, gci_operator op, gci_number a, gci_number b, gci_number *out);
bool gci_calc_float(gci_calc *calc, gci_operator op, double a, double b, gci_number *out);
bool gci_calc_complex(gci_calc *calc, gci_operator op, gci_number a, gci_number b, gci_number *out);

/* ---- what functions need beyond operators ---- */

/* floor, ceil, trunc, round to even of a double as an integer of any size; ValueError for nan, OverflowError for inf. */
typedef enum gci_rounding { GCI_FLOOR, GCI_CEIL, GCI_TRUNC, GCI_ROUND_EVEN } gci_rounding;
bool gci_calc_round(gci_calc *calc, gci_rounding how, double a, gci_number *out);

/* round(a, digits): of an integral number an integer, of a float a float. */
bool gci_calc_round_digits(gci_calc *calc, gci_number a, int64_t digits, gci_number *out);

#endif
