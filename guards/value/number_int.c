/*
 * Integer arithmetic: int64 where it fits, limbs where it doesn't.
 */
#include "guards/value/calc.h"

#include "base/check.h"
#include "guards/value/limits.h"
#include "guards/value/small.h"

#include <math.h>

/* Doubles hold every integer up to here. */
#define EXACT_IN_DOUBLE ((int64_t)1 << 53)

/* Quotients get this many bits before they are rounded to a double: 53, and two to decide the rounding. */
#define QUOTIENT_BITS 55

static bool
finish(gci_calc *calc, bool done, gci_int value, gci_number *out)
{
    if (!done)
        return gci_raise_memory(calc);
    *out = gci_number_of_int(value);
    return true;
}

/* The operations that stay inside int64; false for those that don't. b isn't zero in a division. */
static bool
small_binary(gci_operator op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case GCI_OPERATOR_ADD: return !__builtin_add_overflow(a, b, out);
    case GCI_OPERATOR_SUB: return !__builtin_sub_overflow(a, b, out);
    case GCI_OPERATOR_MUL: return !__builtin_mul_overflow(a, b, out);
    case GCI_OPERATOR_FLOORDIV: return gci_small_divide(a, b, out);
    case GCI_OPERATOR_MOD: *out = gci_small_modulo(a, b); return true;
    case GCI_OPERATOR_LSHIFT: return gci_small_shift_left(a, b, out);
    case GCI_OPERATOR_BITAND: *out = a & b; return true;
    case GCI_OPERATOR_BITOR: *out = a | b; return true;
    case GCI_OPERATOR_BITXOR: *out = a ^ b; return true;
    case GCI_OPERATOR_RSHIFT:
        if (b < 0)
            return false;
        *out = b > 63 ? (a < 0 ? -1 : 0) : a >> b;
        return true;
    default: return false;
    }
}

static bool
power(gci_calc *calc, gci_number a, gci_number b, gci_number *out)
{
    uint64_t cell;
    gci_int result, exponent = gci_number_to_int(b, &cell);

    if (exponent.size < 0) {
        double base, negative;
        if (!gci_number_to_double(calc, a, &base) || !gci_number_to_double(calc, b, &negative))
            return false;
        return gci_calc_float(calc, GCI_OPERATOR_POW, base, negative, out);
    }
    /* An exponent beyond a limb only counts by its parity where the base allows it at all. */
    uint64_t size = exponent.size == 0 ? 0 : exponent.limbs[0], base_cell;
    if (exponent.size > 1)
        size |= (uint64_t)1 << 62;
    return finish(calc, gci_int_power(&calc->arena, gci_number_to_int(a, &base_cell), size, &result), result, out);
}

static bool
shift(gci_calc *calc, gci_operator op, gci_int a, gci_int b, gci_number *out)
{
    gci_int result;
    bool done;

    if (b.size < 0)
        return gci_raise(calc, GCI_RAISED_VALUE, "negative shift count");
    uint64_t bits = b.size == 0 ? 0 : b.size == 1 ? b.limbs[0] : UINT64_MAX;
    if (op == GCI_OPERATOR_LSHIFT)
        done = gci_int_shift_left(&calc->arena, a, bits, &result);
    else
        done = gci_int_shift_right(&calc->arena, a, bits, &result);
    return finish(calc, done, result, out);
}

/* |a| / |b| where both are large: QUOTIENT_BITS bits of quotient, the lowest of them sticky, rounded by ldexp's caller. */
static bool
quotient_to_double(gci_calc *calc, gci_int a, gci_int b, double *out)
{
    gci_int quotient, remainder;
    int64_t scale = (int64_t)gci_int_bits(a) - (int64_t)gci_int_bits(b) - QUOTIENT_BITS;
    /* Fewer bits count if the result is subnormal: it must be rounded once, at its last place. */
    int64_t smallest = -1074 - 2;

    if (scale < smallest)
        scale = smallest;
    bool done = scale < 0 ? gci_int_shift_left(&calc->arena, a, (uint64_t)-scale, &a)
                          : gci_int_shift_left(&calc->arena, b, (uint64_t)scale, &b);
    if (!done || !gci_int_divide(&calc->arena, a, b, &quotient, &remainder))
        return gci_raise_memory(calc);
    GCI_ASSERT(quotient.size <= 1);
    uint64_t bits = quotient.size == 0 ? 0 : quotient.limbs[0];
    bool sticky = remainder.size != 0;
    /* Round to even at the place that the double keeps: 53 bits, or two places above the smallest subnormal. */
    unsigned extra = bits >> 55 != 0 ? 3 : 2;
    uint64_t low = bits & (((uint64_t)1 << extra) - 1), half = (uint64_t)1 << (extra - 1);
    bits >>= extra;
    if (low > half || (low == half && (sticky || (bits & 1) != 0)))
        bits++;
    int64_t exponent = scale + extra;
    *out = ldexp((double)bits, exponent > 5000 ? 5000 : (int)exponent);
    return true;
}

static bool
true_divide(gci_calc *calc, gci_number a, gci_number b, gci_number *out)
{
    uint64_t cell_a, cell_b;
    gci_int x = gci_number_to_int(a, &cell_a), y = gci_number_to_int(b, &cell_b);
    double quotient = 0;

    if (gci_number_is_small(a) && gci_number_is_small(b) && a.i >= -EXACT_IN_DOUBLE && a.i <= EXACT_IN_DOUBLE
        && b.i >= -EXACT_IN_DOUBLE && b.i <= EXACT_IN_DOUBLE) {
        *out = gci_number_float((double)a.i / (double)b.i);
        return true;
    }
    bool negative = (x.size < 0) != (y.size < 0);
    x = x.size < 0 ? gci_int_negate(x) : x;
    y = y.size < 0 ? gci_int_negate(y) : y;
    int64_t difference = (int64_t)gci_int_bits(x) - (int64_t)gci_int_bits(y);
    if (x.size != 0 && difference > 1024)
        quotient = INFINITY;
    else if (x.size != 0 && difference >= -1080 && !quotient_to_double(calc, x, y, &quotient))
        return false;
    if (isinf(quotient))
        return gci_raise(calc, GCI_RAISED_OVERFLOW, "integer division result too large for a float");
    *out = gci_number_float(negative ? -quotient : quotient);
    return true;
}

static bool
divide(gci_calc *calc, gci_operator op, gci_int a, gci_int b, gci_number *out)
{
    gci_int quotient, remainder;
    bool done = gci_int_divide(&calc->arena, a, b, &quotient, &remainder);

    return finish(calc, done, op == GCI_OPERATOR_MOD ? remainder : quotient, out);
}

static bool
raise_zero(gci_calc *calc, gci_operator op)
{
    char const *message = op == GCI_OPERATOR_TRUEDIV    ? "division by zero"
                          : op == GCI_OPERATOR_FLOORDIV ? "integer division or modulo by zero"
                                                        : "integer modulo by zero";
    return gci_raise(calc, GCI_RAISED_ZERO_DIVISION, "%s", message);
}

static bool
large_binary(gci_calc *calc, gci_operator op, gci_number a, gci_number b, gci_number *out)
{
    uint64_t cell_a, cell_b;
    gci_int x = gci_number_to_int(a, &cell_a), y = gci_number_to_int(b, &cell_b), result = { NULL, 0 };
    gci_arena *arena = &calc->arena;

    switch (op) {
    case GCI_OPERATOR_ADD: return finish(calc, gci_int_add(arena, x, y, &result), result, out);
    case GCI_OPERATOR_SUB: return finish(calc, gci_int_add(arena, x, gci_int_negate(y), &result), result, out);
    case GCI_OPERATOR_MUL: return finish(calc, gci_int_multiply(arena, x, y, &result), result, out);
    case GCI_OPERATOR_FLOORDIV:
    case GCI_OPERATOR_MOD: return divide(calc, op, x, y, out);
    case GCI_OPERATOR_LSHIFT:
    case GCI_OPERATOR_RSHIFT: return shift(calc, op, x, y, out);
    case GCI_OPERATOR_BITAND:
    case GCI_OPERATOR_BITOR:
    case GCI_OPERATOR_BITXOR:
        return finish(calc, gci_int_bitwise(arena, (gci_bit_op)(op - GCI_OPERATOR_BITAND), x, y, &result), result, out);
    default: GCI_ASSERT(false); return gci_raise_memory(calc);
    }
}

bool
gci_calc_int(gci_calc *calc, gci_operator op, gci_number a, gci_number b, gci_number *out)
{
    bool divides = op == GCI_OPERATOR_TRUEDIV || op == GCI_OPERATOR_FLOORDIV || op == GCI_OPERATOR_MOD;
    int64_t small;

    if (divides && gci_number_is_small(b) && b.i == 0)
        return raise_zero(calc, op);
    if (op == GCI_OPERATOR_TRUEDIV)
        return true_divide(calc, a, b, out);
    if (op == GCI_OPERATOR_POW)
        return power(calc, a, b, out);
    if (gci_number_is_small(a) && gci_number_is_small(b) && small_binary(op, a.i, b.i, &small)) {
        bool logical = op >= GCI_OPERATOR_BITAND && op <= GCI_OPERATOR_BITXOR;
        bool both = a.kind == GCI_KIND_BOOL && b.kind == GCI_KIND_BOOL;
        *out = logical && both ? gci_number_bool(small != 0) : gci_number_int(small);
        return true;
    }
    return large_binary(calc, op, a, b, out);
}
