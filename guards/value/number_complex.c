/*
 * Complex numbers, which a guard can only meet through a power such as `(-8.0) ** 0.5` or a literal `1j`. Division and
 * powers follow CPython step by step, since their rounding shows.
 */
#include "guards/value/calc.h"

#include "base/check.h"

#include <math.h>

/* CPython multiplies out integer exponents up to here. */
#define MAX_MULTIPLIED_EXPONENT 100

typedef struct pair {
    double real, imag;
} pair;

static pair
product(pair a, pair b)
{
    return (pair){ a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real };
}

/* Smith's method: scale by the larger part of the divisor. false: division by zero. */
static bool
quotient(pair a, pair b, pair *out)
{
    double real = fabs(b.real), imag = fabs(b.imag);

    if (real >= imag) {
        if (real == 0.0) {
            *out = (pair){ 0.0, 0.0 };
            return false;
        }
        double ratio = b.imag / b.real, scale = b.real + b.imag * ratio;
        *out = (pair){ (a.real + a.imag * ratio) / scale, (a.imag - a.real * ratio) / scale };
    } else if (imag >= real) {
        double ratio = b.real / b.imag, scale = b.real * ratio + b.imag;
        *out = (pair){ (a.real * ratio + a.imag) / scale, (a.imag * ratio - a.real) / scale };
    } else {
        *out = (pair){ NAN, NAN };
    }
    return true;
}

static pair
multiplied_out(pair base, unsigned exponent)
{
    pair result = { 1.0, 0.0 };

    for (unsigned mask = 1; mask != 0 && exponent >= mask; mask <<= 1) {
        if ((exponent & mask) != 0)
            result = product(result, base);
        base = product(base, base);
    }
    return result;
}

/* false: zero to a negative or complex power. */
static bool
polar_power(pair base, pair exponent, pair *out)
{
    if (exponent.real == 0.0 && exponent.imag == 0.0) {
        *out = (pair){ 1.0, 0.0 };
        return true;
    }
    if (base.real == 0.0 && base.imag == 0.0) {
        *out = (pair){ 0.0, 0.0 };
        return exponent.imag == 0.0 && exponent.real >= 0.0;
    }
    double size = hypot(base.real, base.imag), length = pow(size, exponent.real);
    double angle = atan2(base.imag, base.real), phase = angle * exponent.real;
    if (exponent.imag != 0.0) {
        length *= exp(-angle * exponent.imag);
        phase += exponent.imag * log(size);
    }
    *out = (pair){ length * cos(phase), length * sin(phase) };
    return true;
}

static bool
power(gci_calc *calc, pair base, pair exponent, pair *out)
{
    bool defined;

    if (exponent.imag == 0.0 && exponent.real == floor(exponent.real)
        && fabs(exponent.real) <= MAX_MULTIPLIED_EXPONENT) {
        int whole = (int)exponent.real;
        pair size = multiplied_out(base, whole < 0 ? (unsigned)-whole : (unsigned)whole);
        *out = size;
        defined = whole >= 0 || quotient((pair){ 1.0, 0.0 }, size, out);
    } else {
        defined = polar_power(base, exponent, out);
    }
    if (!defined)
        return gci_raise(calc, GCI_RAISED_ZERO_DIVISION, "0.0 to a negative or complex power");
    if (isinf(out->real) || isinf(out->imag))
        return gci_raise(calc, GCI_RAISED_OVERFLOW, "complex exponentiation");
    return true;
}

static bool
pair_of(gci_calc *calc, gci_number a, pair *out)
{
    if (a.kind == GCI_KIND_COMPLEX) {
        *out = (pair){ a.parts[0], a.parts[1] };
        return true;
    }
    out->imag = 0.0;
    return gci_number_to_double(calc, a, &out->real);
}

bool
gci_calc_complex(gci_calc *calc, gci_operator op, gci_number a, gci_number b, gci_number *out)
{
    pair x, y, result;

    if (!pair_of(calc, a, &x) || !pair_of(calc, b, &y))
        return false;
    switch (op) {
    case GCI_OPERATOR_ADD: result = (pair){ x.real + y.real, x.imag + y.imag }; break;
    case GCI_OPERATOR_SUB: result = (pair){ x.real - y.real, x.imag - y.imag }; break;
    case GCI_OPERATOR_MUL: result = product(x, y); break;
    case GCI_OPERATOR_TRUEDIV:
        if (!quotient(x, y, &result))
            return gci_raise(calc, GCI_RAISED_ZERO_DIVISION, "complex division by zero");
        break;
    default:
        GCI_ASSERT(op == GCI_OPERATOR_POW);
        if (!power(calc, x, y, &result))
            return false;
    }
    return gci_number_complex(calc, result.real, result.imag, out);
}
