/*
 * Operators on any values: which type they are computed in, and what Python says where there is none.
 */
#include "guards/value/calc.h"

#include "base/check.h"

#include <math.h>

static bool
is_numeric(gci_number a)
{
    return gci_number_is_real(a) || a.kind == GCI_KIND_COMPLEX;
}

static bool
raise_operands(gci_calc *calc, gci_operator op, gci_number a, gci_number b)
{
    static char const *const texts[] = {
#define X(name, token, text) text,
        GCI_OPERATOR_MAP(X)
#undef X
    };
    return gci_raise(calc, GCI_RAISED_TYPE, "unsupported operand type(s) for %s: '%s' and '%s'", texts[op],
                     gci_number_type(a), gci_number_type(b));
}

bool
gci_calc_binary(gci_calc *calc, gci_operator op, gci_number a, gci_number b, gci_number *out)
{
    bool whole_only = op >= GCI_OPERATOR_LSHIFT, no_complex = op == GCI_OPERATOR_FLOORDIV || op == GCI_OPERATOR_MOD;
    double x, y;

    GCI_ASSERT(op <= GCI_OPERATOR_BITXOR);
    if (gci_number_is_integral(a) && gci_number_is_integral(b))
        return gci_calc_int(calc, op, a, b, out);
    if (whole_only || !is_numeric(a) || !is_numeric(b))
        return raise_operands(calc, op, a, b);
    if (gci_number_is_real(a) && gci_number_is_real(b))
        return gci_number_to_double(calc, a, &x) && gci_number_to_double(calc, b, &y)
               && gci_calc_float(calc, op, x, y, out);
    if (no_complex)
        return raise_operands(calc, op, a, b);
    return gci_calc_complex(calc, op, a, b, out);
}

static bool
negate_integer(gci_calc *calc, gci_number a, gci_number *out)
{
    return gci_calc_int(calc, GCI_OPERATOR_SUB, gci_number_int(0), a, out);
}

bool
gci_calc_unary(gci_calc *calc, gci_operator op, gci_number a, gci_number *out)
{
    if (op == GCI_OPERATOR_INVERT && gci_number_is_integral(a))
        return negate_integer(calc, a, out) && gci_calc_int(calc, GCI_OPERATOR_SUB, *out, gci_number_int(1), out);
    if (op == GCI_OPERATOR_INVERT || !is_numeric(a))
        return gci_raise(calc, GCI_RAISED_TYPE, "bad operand type for unary %s: '%s'", gci_operator_token(op),
                         gci_number_type(a));
    if (op == GCI_OPERATOR_POS) {
        *out = a.kind == GCI_KIND_BOOL ? gci_number_int(a.i) : a;
        return true;
    }
    GCI_ASSERT(op == GCI_OPERATOR_NEG);
    if (gci_number_is_integral(a))
        return negate_integer(calc, a, out);
    if (a.kind == GCI_KIND_COMPLEX)
        return gci_number_complex(calc, -a.parts[0], -a.parts[1], out);
    *out = gci_number_float(-a.f);
    return true;
}

static int
order_of(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

/* -1, 0, 1 for an integer against a double that isn't nan, exactly. */
static int
compare_int_double(gci_number a, double b)
{
    uint64_t cell;
    gci_int value = gci_number_to_int(a, &cell);

    if (isinf(b))
        return b > 0 ? -1 : 1;
    if (gci_number_is_small(a) && fabs(b) < 0x1p63) {
        /* The integer parts decide, then the fraction. */
        int64_t whole = (int64_t)b;
        int order = order_of(a.i, whole);
        double fraction = b - (double)whole;
        return order != 0 ? order : (fraction < 0) - (fraction > 0);
    }
    /* One of them is beyond 2**63, where doubles are whole. Where rounding makes them equal its direction decides. */
    int64_t exponent;
    int rounded;
    double near = gci_int_to_double(value);
    if (near != b)
        return near < b ? -1 : 1;
    gci_int_fraction(value, &exponent, &rounded);
    return value.size < 0 ? rounded : -rounded;
}

/* *out_unordered: one of them is nan. */
static int
compare_real(gci_number a, gci_number b, bool *out_unordered)
{
    bool float_a = a.kind == GCI_KIND_FLOAT, float_b = b.kind == GCI_KIND_FLOAT;
    uint64_t cell_a, cell_b;

    *out_unordered = (float_a && isnan(a.f)) || (float_b && isnan(b.f));
    if (*out_unordered)
        return 0;
    if (float_a && float_b)
        return (a.f > b.f) - (a.f < b.f);
    if (float_b)
        return compare_int_double(a, b.f);
    if (float_a)
        return -compare_int_double(b, a.f);
    if (gci_number_is_small(a) && gci_number_is_small(b))
        return order_of(a.i, b.i);
    return gci_int_compare(gci_number_to_int(a, &cell_a), gci_number_to_int(b, &cell_b));
}

static bool equal_tuples(gci_number a, gci_number b);

static bool
is_equal(gci_number a, gci_number b)
{
    bool unordered;

    if (gci_number_is_real(a) && gci_number_is_real(b))
        return compare_real(a, b, &unordered) == 0 && !unordered;
    if (is_numeric(a) && is_numeric(b)) {
        gci_number z = a.kind == GCI_KIND_COMPLEX ? a : b, other = a.kind == GCI_KIND_COMPLEX ? b : a;
        if (other.kind == GCI_KIND_COMPLEX)
            return z.parts[0] == other.parts[0] && z.parts[1] == other.parts[1];
        return z.parts[1] == 0.0 && is_equal(gci_number_float(z.parts[0]), other);
    }
    if (a.kind == GCI_KIND_TUPLE && b.kind == GCI_KIND_TUPLE)
        return equal_tuples(a, b);
    return a.kind == b.kind && gci_number_identical(a, b);
}

/* Which is equal to nothing by itself, but as an item to itself. */
static bool
is_same_nan(gci_number a, gci_number b)
{
    return a.kind == GCI_KIND_FLOAT && b.kind == GCI_KIND_FLOAT && isnan(a.f) && isnan(b.f) && a.size != 0
           && a.size == b.size;
}

static bool
equal_tuples(gci_number a, gci_number b)
{
    if (a.size != b.size)
        return false;
    for (int32_t i = 0; i < a.size; i++)
        if (!is_same_nan(a.items[i], b.items[i]) && !is_equal(a.items[i], b.items[i]))
            return false;
    return true;
}

static bool
holds(gci_operator op, int order)
{
    switch (op) {
    case GCI_OPERATOR_LT: return order < 0;
    case GCI_OPERATOR_LE: return order <= 0;
    case GCI_OPERATOR_GT: return order > 0;
    case GCI_OPERATOR_GE: return order >= 0;
    default: GCI_ASSERT(false); return false;
    }
}

bool
gci_calc_compare(gci_calc *calc, gci_operator op, gci_number a, gci_number b, bool *out)
{
    bool unordered;

    GCI_ASSERT(gci_operator_is_comparison(op));
    if (op == GCI_OPERATOR_EQ || op == GCI_OPERATOR_NE) {
        *out = is_equal(a, b) == (op == GCI_OPERATOR_EQ);
        return true;
    }
    if (!gci_number_is_real(a) || !gci_number_is_real(b))
        return gci_raise(calc, GCI_RAISED_TYPE, "'%s' not supported between instances of '%s' and '%s'",
                         gci_operator_token(op), gci_number_type(a), gci_number_type(b));
    int order = compare_real(a, b, &unordered);
    *out = !unordered && holds(op, order);
    return true;
}
