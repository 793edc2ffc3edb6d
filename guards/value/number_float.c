/*
 * Floats: arithmetic as CPython's float type does it, and rounding.
 */
#include "guards/value/calc.h"

#include "base/check.h"
#include "base/decimal.h"
#include "guards/value/limits.h"

#include <float.h>
#include <math.h>

/* Beyond these a float has no digit to round: round(x, 400) is x, round(x, -400) is 0. */
#define MOST_DIGITS 323
#define FEWEST_DIGITS (-308)

/* Quotient and remainder with the sign of b, so that a == quotient*b + remainder as near as rounding allows. */
static void
float_divmod(double a, double b, double *out_quotient, double *out_remainder)
{
    double remainder = fmod(a, b), quotient = (a - remainder) / b;

    if (remainder == 0.0) {
        remainder = copysign(0.0, b);
    } else if ((b < 0) != (remainder < 0)) {
        remainder += b;
        quotient -= 1.0;
    }
    if (quotient == 0.0) {
        quotient = copysign(0.0, a / b);
    } else {
        double whole = floor(quotient);
        quotient = quotient - whole > 0.5 ? whole + 1.0 : whole;
    }
    *out_quotient = quotient;
    *out_remainder = remainder;
}

static bool
float_power(gci_calc *calc, double a, double b, gci_number *out)
{
    if (a == 0.0 && b < 0.0 && isfinite(b))
        return gci_raise(calc, GCI_RAISED_ZERO_DIVISION, "0.0 cannot be raised to a negative power");
    if (a < 0.0 && isfinite(a) && isfinite(b) && b != floor(b)) {
        gci_number base, exponent;
        return gci_number_complex(calc, a, 0.0, &base) && gci_number_complex(calc, b, 0.0, &exponent)
               && gci_calc_complex(calc, GCI_OPERATOR_POW, base, exponent, out);
    }
    double power = pow(a, b);
    if (isinf(power) && isfinite(a) && isfinite(b))
        return gci_raise(calc, GCI_RAISED_OVERFLOW, "(34, 'Numerical result out of range')");
    *out = gci_number_float(power);
    return true;
}

static bool
raise_zero(gci_calc *calc, gci_operator op)
{
    char const *message = op == GCI_OPERATOR_TRUEDIV    ? "float division by zero"
                          : op == GCI_OPERATOR_FLOORDIV ? "float floor division by zero"
                                                        : "float modulo";
    return gci_raise(calc, GCI_RAISED_ZERO_DIVISION, "%s", message);
}

bool
gci_calc_float(gci_calc *calc, gci_operator op, double a, double b, gci_number *out)
{
    bool divides = op == GCI_OPERATOR_TRUEDIV || op == GCI_OPERATOR_FLOORDIV || op == GCI_OPERATOR_MOD;
    double quotient, remainder;

    if (divides && b == 0.0)
        return raise_zero(calc, op);
    switch (op) {
    case GCI_OPERATOR_ADD: *out = gci_number_float(a + b); return true;
    case GCI_OPERATOR_SUB: *out = gci_number_float(a - b); return true;
    case GCI_OPERATOR_MUL: *out = gci_number_float(a * b); return true;
    case GCI_OPERATOR_TRUEDIV: *out = gci_number_float(a / b); return true;
    case GCI_OPERATOR_POW: return float_power(calc, a, b, out);
    default:
        GCI_ASSERT(op == GCI_OPERATOR_FLOORDIV || op == GCI_OPERATOR_MOD);
        float_divmod(a, b, &quotient, &remainder);
        *out = gci_number_float(op == GCI_OPERATOR_MOD ? remainder : quotient);
        return true;
    }
}

static double
round_whole(gci_rounding how, double a)
{
    switch (how) {
    case GCI_FLOOR: return floor(a);
    case GCI_CEIL: return ceil(a);
    case GCI_TRUNC: return trunc(a);
    case GCI_ROUND_EVEN: break;
    }
    double whole = round(a);
    return fabs(a - whole) == 0.5 ? 2.0 * round(a / 2.0) : whole;
}

bool
gci_calc_round(gci_calc *calc, gci_rounding how, double a, gci_number *out)
{
    gci_int value;

    if (isnan(a))
        return gci_raise(calc, GCI_RAISED_VALUE, "cannot convert float NaN to integer");
    if (isinf(a))
        return gci_raise(calc, GCI_RAISED_OVERFLOW, "cannot convert float infinity to integer");
    double whole = round_whole(how, a);
    if (whole >= -0x1p63 && whole < 0x1p63) {
        *out = gci_number_int((int64_t)whole);
        return true;
    }
    if (!gci_int_from_double(&calc->arena, whole, &value))
        return gci_raise_memory(calc);
    *out = gci_number_of_int(value);
    return true;
}

/* a + fraction rounded to a multiple of 10**power, half to even. fraction: whether there is one, less than 1. */
static bool
round_to_power(gci_calc *calc, gci_int a, bool fraction, uint64_t power, gci_int *out)
{
    uint64_t cell_ten, cell;
    gci_int unit, quotient, remainder, twice, ten = gci_int_small(10, &cell_ten);
    gci_arena *arena = &calc->arena;

    if (!gci_int_power(arena, ten, power, &unit) || !gci_int_divide(arena, a, unit, &quotient, &remainder)
        || !gci_int_shift_left(arena, remainder, 1, &twice))
        return gci_raise_memory(calc);
    int order = gci_int_compare(twice, unit);
    bool odd = quotient.size != 0 && (quotient.limbs[0] & 1) != 0;
    if (order > 0 || (order == 0 && (odd || fraction)))
        if (!gci_int_add(arena, quotient, gci_int_small(1, &cell), &quotient))
            return gci_raise_memory(calc);
    return gci_int_multiply(arena, quotient, unit, out) || gci_raise_memory(calc);
}

static bool
round_integer(gci_calc *calc, gci_number a, int64_t digits, gci_number *out)
{
    uint64_t cell;
    gci_int value = gci_number_to_int(a, &cell);

    if (digits >= 0) {
        *out = a.kind == GCI_KIND_BOOL ? gci_number_int(a.i) : a;
        return true;
    }
    /* 10**n has more than 3n bits: beyond that it is more than twice any value. */
    if (digits < -(int64_t)gci_int_bits(value) / 3 - 2) {
        *out = gci_number_int(0);
        return true;
    }
    if (!round_to_power(calc, value, false, (uint64_t)-digits, &value))
        return false;
    *out = gci_number_of_int(value);
    return true;
}

/* The decimal nearest to the exact value, half to even, then the double nearest to that. */
static double
round_fraction(double a, int digits)
{
    /* 309 digits before the point, 323 behind it. */
    char text[DBL_MAX_10_EXP + MOST_DIGITS + 8];

    gci_write_decimal(text, sizeof text, 'f', digits, a);
    return gci_read_double(text);
}

static bool
round_tens(gci_calc *calc, double a, int64_t digits, double *out)
{
    gci_int value;
    double whole = trunc(fabs(a));

    if (!gci_int_from_double(&calc->arena, whole, &value))
        return gci_raise_memory(calc);
    if (!round_to_power(calc, value, whole != fabs(a), (uint64_t)-digits, &value))
        return false;
    *out = copysign(gci_int_to_double(value), a);
    return true;
}

bool
gci_calc_round_digits(gci_calc *calc, gci_number a, int64_t digits, gci_number *out)
{
    double rounded;

    if (gci_number_is_integral(a))
        return round_integer(calc, a, digits, out);
    GCI_ASSERT(a.kind == GCI_KIND_FLOAT);
    if (!isfinite(a.f) || digits > MOST_DIGITS || a.f == 0.0) {
        *out = a;
        return true;
    }
    if (digits < FEWEST_DIGITS)
        rounded = 0.0 * a.f;
    else if (digits >= 0)
        rounded = round_fraction(a.f, (int)digits);
    else if (!round_tens(calc, a.f, digits, &rounded))
        return false;
    if (isinf(rounded))
        return gci_raise(calc, GCI_RAISED_OVERFLOW, "rounded value too large to represent");
    *out = gci_number_float(rounded);
    return true;
}
