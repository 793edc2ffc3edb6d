/*
 * What the functions of functions.def compute, with the exceptions of Python, PyTorch and JAX.
 */
#include "guards/value/functions.h"

#include "base/check.h"

#include <math.h>

/* Digits beyond this make no difference to round(); Python clips as well. */
#define MAX_ROUND_DIGITS 1000000000

/* ---- conversions ---- */

static bool
to_bool(gci_function_call const *c, gci_number *out)
{
    *out = gci_number_bool(c->count != 0 && gci_number_truth(c->args[0]));
    return true;
}

static bool
raise_not_integer(gci_calc *calc, gci_number a)
{
    return gci_raise(calc, GCI_RAISED_TYPE, "'%s' object cannot be interpreted as an integer", gci_number_type(a));
}

static bool
to_float(gci_function_call const *c, gci_number *out)
{
    double value = 0.0;

    if (c->count != 0 && !gci_number_is_real(c->args[0]))
        return gci_raise(c->calc, GCI_RAISED_TYPE, "float() argument must be a string or a real number, not '%s'",
                         gci_number_type(c->args[0]));
    if (c->count != 0 && !gci_number_to_double(c->calc, c->args[0], &value))
        return false;
    *out = c->count != 0 && c->args[0].kind == GCI_KIND_FLOAT ? c->args[0] : gci_number_float(value);
    return true;
}

/* Only strings have a base. Python looks at the base first. */
static bool
raise_with_base(gci_calc *calc, gci_number base)
{
    if (!gci_number_is_integral(base))
        return raise_not_integer(calc, base);
    if (base.kind == GCI_KIND_BIG || base.i < 0 || base.i == 1 || base.i > 36)
        return gci_raise(calc, GCI_RAISED_VALUE, "int() base must be >= 2 and <= 36, or 0");
    return gci_raise(calc, GCI_RAISED_TYPE, "int() can't convert non-string with explicit base");
}

static bool
to_int(gci_function_call const *c, gci_number *out)
{
    *out = gci_number_int(0);
    if (c->count == 0)
        return true;
    if (c->count == 2)
        return raise_with_base(c->calc, c->args[1]);
    if (gci_number_is_integral(c->args[0]))
        return gci_calc_unary(c->calc, GCI_OPERATOR_POS, c->args[0], out);
    if (c->args[0].kind == GCI_KIND_FLOAT)
        return gci_calc_round(c->calc, GCI_TRUNC, c->args[0].f, out);
    return gci_raise(c->calc, GCI_RAISED_TYPE,
                     "int() argument must be a string, a bytes-like object or a real number, not '%s'",
                     gci_number_type(c->args[0]));
}

/* PyTorch's: a bool only, since anything else would have to be symbolic. */
static bool
cast_bool(gci_function_call const *c, gci_number *out)
{
    if (c->args[0].kind != GCI_KIND_BOOL)
        return gci_raise(c->calc, GCI_RAISED_ATTRIBUTE, "'%s' object has no attribute 'node'", gci_number_type(c->args[0]));
    *out = gci_number_int(c->args[0].i);
    return true;
}

static bool
negate(gci_function_call const *c, gci_number *out)
{
    *out = gci_number_bool(!gci_number_truth(c->args[0]));
    return true;
}

/* ---- rounding ---- */

static bool
raise_not_real(gci_calc *calc, gci_number a)
{
    return gci_raise(calc, GCI_RAISED_TYPE, "must be real number, not %s", gci_number_type(a));
}

static bool
round_with(gci_calc *calc, gci_rounding how, gci_number a, gci_number *out)
{
    if (gci_number_is_integral(a))
        return gci_calc_unary(calc, GCI_OPERATOR_POS, a, out);
    if (a.kind == GCI_KIND_FLOAT)
        return gci_calc_round(calc, how, a.f, out);
    if (how == GCI_TRUNC)
        return gci_raise(calc, GCI_RAISED_TYPE, "type %s doesn't define __trunc__ method", gci_number_type(a));
    return raise_not_real(calc, a);
}

static bool
round_whole(gci_function_call const *c, gci_number *out)
{
    return round_with(c->calc, (gci_rounding)c->function->option, c->args[0], out);
}

static int64_t
clip_digits(gci_number digits)
{
    bool negative = digits.kind == GCI_KIND_BIG ? digits.size < 0 : digits.i < 0;

    if (digits.kind == GCI_KIND_BIG || digits.i > MAX_ROUND_DIGITS || digits.i < -MAX_ROUND_DIGITS)
        return negative ? -MAX_ROUND_DIGITS : MAX_ROUND_DIGITS;
    return digits.i;
}

/* round(x) and round(x, None) give an integer, round(x, n) x's own type. */
static bool
round_number(gci_function_call const *c, gci_number *out)
{
    gci_number a = c->args[0];

    if (!gci_number_is_real(a))
        return gci_raise(c->calc, GCI_RAISED_TYPE, "type %s doesn't define __round__ method", gci_number_type(a));
    if (c->count == 1 || c->args[1].kind == GCI_KIND_NONE)
        return round_with(c->calc, GCI_ROUND_EVEN, a, out);
    if (!gci_number_is_integral(c->args[1]))
        return raise_not_integer(c->calc, c->args[1]);
    return gci_calc_round_digits(c->calc, a, clip_digits(c->args[1]), out);
}

/* ---- functions of floats ---- */

static bool
to_double(gci_calc *calc, gci_number a, double *out)
{
    return gci_number_is_real(a) ? gci_number_to_double(calc, a, out) : raise_not_real(calc, a);
}

/* If a finite argument gives an infinite result, Python raises OverflowError for BOUNDED functions, which only grow too
   large, and ValueError for those with a POLE. */
enum { POLE, BOUNDED };

static bool
raise_domain(gci_calc *calc)
{
    return gci_raise(calc, GCI_RAISED_VALUE, "math domain error");
}

static bool
raise_range(gci_calc *calc)
{
    return gci_raise(calc, GCI_RAISED_OVERFLOW, "math range error");
}

static bool
apply_unary(gci_function_call const *c, gci_number *out)
{
    double argument;

    if (!to_double(c->calc, c->args[0], &argument))
        return false;
    double result = c->function->unary(argument);
    if (isnan(result) && !isnan(argument))
        return raise_domain(c->calc);
    if (isinf(result) && isfinite(argument))
        return c->function->option == BOUNDED ? raise_range(c->calc) : raise_domain(c->calc);
    *out = gci_number_float(result);
    return true;
}

/* Whether a float is of a class: FP_NAN, FP_INFINITE, or FP_NORMAL for any other. */
static bool
is_of_class(gci_function_call const *c, gci_number *out)
{
    double a = 0.0;
    bool real = to_double(c->calc, c->args[0], &a);

    *out = gci_number_bool((isnan(a) ? FP_NAN : isinf(a) ? FP_INFINITE : FP_NORMAL) == c->function->option);
    return real;
}

/* Logarithms take integers of any size: of those beyond a double by their fraction and exponent. */
static bool
logarithm(gci_calc *calc, double (*function)(double), gci_number a, double *out)
{
    double argument;
    int64_t exponent;
    int rounded;

    if (a.kind == GCI_KIND_BIG) {
        gci_int value = { a.limbs, a.size };
        if (value.size < 0)
            return raise_domain(calc);
        argument = gci_int_to_double(value);
        *out = function(argument);
        if (isinf(argument)) {
            double fraction = gci_int_fraction(value, &exponent, &rounded);
            *out = function(fraction) + function(2.0) * (double)exponent;
        }
        return true;
    }
    if (!to_double(calc, a, &argument))
        return false;
    if (argument <= 0.0)
        return raise_domain(calc);
    *out = function(argument);
    return true;
}

static bool
apply_logarithm(gci_function_call const *c, gci_number *out)
{
    double result = 0.0, base = 0.0;

    if (!logarithm(c->calc, c->function->unary, c->args[0], &result))
        return false;
    *out = gci_number_float(result);
    if (c->count == 1)
        return true;
    return logarithm(c->calc, c->function->unary, c->args[1], &base)
           && gci_calc_float(c->calc, GCI_OPERATOR_TRUEDIV, result, base, out);
}

static bool
apply_pair(gci_function_call const *c, gci_number *out)
{
    double a, b;

    if (!to_double(c->calc, c->args[0], &a) || !to_double(c->calc, c->args[1], &b))
        return false;
    if (c->function->pair == pow && a == 0.0 && b < 0.0 && isfinite(b))
        return raise_domain(c->calc);
    double result = c->function->pair(a, b);
    if (isnan(result) && !isnan(a) && !isnan(b))
        return raise_domain(c->calc);
    if (isinf(result) && isfinite(a) && isfinite(b))
        return raise_range(c->calc);
    *out = gci_number_float(result);
    return true;
}

/* ---- extremes ---- */

static bool
non_negative(gci_function_call const *c, gci_number *out)
{
    gci_number zero = gci_number_int(0);
    bool replaces;

    if (!gci_calc_compare(c->calc, GCI_OPERATOR_GT, zero, c->args[0], &replaces))
        return false;
    *out = replaces ? zero : c->args[0];
    return true;
}

/* torch.sym_max and sym_min, as the operator says: of numbers only, and a float if any of the two is one. */
static bool
promoted_extreme(gci_function_call const *c, gci_number *out)
{
    gci_number const *args = c->args;
    double value;
    bool replaces;

    for (int i = 0; i < 2; i++)
        if (!gci_number_is_real(args[i]))
            return gci_raise(c->calc, GCI_RAISED_ASSERTION, "<class '%s'>", gci_number_type(args[i]));
    if (!gci_calc_compare(c->calc, (gci_operator)c->function->option, args[1], args[0], &replaces))
        return false;
    *out = replaces ? args[1] : args[0];
    if (out->kind == GCI_KIND_FLOAT || (args[0].kind != GCI_KIND_FLOAT && args[1].kind != GCI_KIND_FLOAT))
        return true;
    bool fits = gci_number_to_double(c->calc, *out, &value);
    *out = gci_number_float(value);
    return fits;
}

static bool
if_then_else(gci_function_call const *c, gci_number *out)
{
    if (c->args[0].kind != GCI_KIND_BOOL || strcmp(gci_number_type(c->args[1]), gci_number_type(c->args[2])) != 0)
        return gci_raise(c->calc, GCI_RAISED_ASSERTION, "a bool and two values of one type are expected");
    *out = c->args[0].i != 0 ? c->args[1] : c->args[2];
    return true;
}

bool
gci_function_abs(gci_calc *calc, gci_number a, gci_number *out)
{
    bool negative = a.kind == GCI_KIND_BIG ? a.size < 0 : gci_number_is_small(a) && a.i < 0;

    if (gci_number_is_integral(a))
        return gci_calc_unary(calc, negative ? GCI_OPERATOR_NEG : GCI_OPERATOR_POS, a, out);
    if (a.kind == GCI_KIND_FLOAT) {
        *out = gci_number_float(fabs(a.f));
        return true;
    }
    if (a.kind != GCI_KIND_COMPLEX)
        return gci_raise(calc, GCI_RAISED_TYPE, "bad operand type for abs(): '%s'", gci_number_type(a));
    double size = hypot(a.parts[0], a.parts[1]);
    if (isinf(size) && isfinite(a.parts[0]) && isfinite(a.parts[1]))
        return gci_raise(calc, GCI_RAISED_OVERFLOW, "absolute value too large");
    *out = gci_number_float(size);
    return true;
}

/* ---- the indicator of dense tensors ---- */

/* Sorts indices of dimensions by their strides, stably as Python's sorted(). */
static bool
sort_by_stride(gci_calc *calc, gci_number const *strides, size_t rank, uint8_t *order)
{
    for (size_t i = 0; i < rank; i++) {
        size_t place = i;
        bool before = true;
        for (; place > 0; place--) {
            if (!gci_calc_compare(calc, GCI_OPERATOR_LT, strides[i], strides[order[place - 1]], &before))
                return false;
            if (!before)
                break;
            order[place] = order[place - 1];
        }
        order[place] = (uint8_t)i;
    }
    return true;
}

/* One dimension: dense if the stride is 1 or there are less than two elements. */
static bool
is_dense_line(gci_calc *calc, gci_number size, gci_number stride, bool *out)
{
    gci_calc_compare(calc, GCI_OPERATOR_EQ, stride, gci_number_int(1), out);
    if (*out)
        return true;
    return gci_calc_compare(calc, GCI_OPERATOR_LT, size, gci_number_int(2), out);
}

/* Dimensions sorted by stride, those of size 1 left out: each stride is the product of the sizes before it. */
static bool
is_dense_volume(gci_calc *calc, gci_number const *sizes, gci_number const *strides, size_t rank, bool *out)
{
    uint8_t order[GCI_FUNCTION_MAX_ARGUMENTS];
    gci_number expected = gci_number_int(1);
    bool equal;

    if (!sort_by_stride(calc, strides, rank, order))
        return false;
    *out = true;
    for (size_t i = 0; i < rank; i++) {
        gci_calc_compare(calc, GCI_OPERATOR_EQ, sizes[order[i]], gci_number_int(1), &equal);
        if (equal)
            continue;
        gci_calc_compare(calc, GCI_OPERATOR_EQ, strides[order[i]], expected, out);
        if (!*out)
            return true;
        if (!gci_calc_binary(calc, GCI_OPERATOR_MUL, expected, sizes[order[i]], &expected))
            return false;
    }
    return true;
}

/* Sizes, then as many strides; there is one stride more if the number of arguments is odd. */
static bool
is_dense(gci_function_call const *c, gci_number *out)
{
    size_t rank = c->count / 2;
    bool dense, done;

    if (rank == 1)
        done = is_dense_line(c->calc, c->args[0], c->args[1], &dense);
    else
        done = is_dense_volume(c->calc, c->args, c->args + rank, rank, &dense);
    *out = gci_number_int(done && dense);
    return done;
}

static bool
make_tuple(gci_function_call const *c, gci_number *out)
{
    gci_number *items = gci_arena_array(&c->calc->arena, c->count, sizeof *items);

    if (items == NULL)
        return gci_raise_memory(c->calc);
    for (size_t i = 0; i < c->count; i++)
        items[i] = c->args[i];
    *out = (gci_number){ .kind = GCI_KIND_TUPLE, .size = (int32_t)c->count, .items = items };
    return true;
}

/* ---- the table ---- */

static gci_function const table[] = {
#define OPERATOR(text, operator_name)                                                                 \
    { .name = text, .size = sizeof text - 1, .kind = GCI_FUNCTION_OPERATOR, .op = GCI_OPERATOR_##operator_name,           \
      .least = 2, .most = 2 },
#define LOWERED(text, lowering, fewest)                                                               \
    { .name = text, .size = sizeof text - 1, .kind = GCI_FUNCTION_##lowering, .least = fewest,                                 \
      .most = GCI_FUNCTION_##lowering == GCI_FUNCTION_ABS ? 1 : GCI_FUNCTION_MAX_ARGUMENTS },
#define FUNCTION(text, function, fewest, greatest, gives, normal, choice)                             \
    { .name = text, .size = sizeof text - 1, .kind = GCI_FUNCTION_CALLED, .call = function, .least = fewest,               \
      .most = greatest, .result = GCI_RESULT_##gives, .canonical = normal, .option = choice },
#define UNARY(text, function, infinite, normal)                                                       \
    { .name = text, .size = sizeof text - 1, .kind = GCI_FUNCTION_CALLED, .call = apply_unary, .unary = function,          \
      .least = 1, .most = 1, .canonical = normal, .option = infinite },
#define LOGARITHM(text, function, greatest)                                                           \
    { .name = text, .size = sizeof text - 1, .kind = GCI_FUNCTION_CALLED, .call = apply_logarithm, .unary = function,      \
      .least = 1, .most = greatest },
#define PAIR(text, function, normal)                                                                  \
    { .name = text, .size = sizeof text - 1, .kind = GCI_FUNCTION_CALLED, .call = apply_pair, .pair = function,            \
      .least = 2, .most = 2, .canonical = normal },
#define CONSTANT(text, number) { .name = text, .size = sizeof text - 1, .kind = GCI_FUNCTION_CONSTANT, .value = number },
#include "guards/value/functions.def"
#undef OPERATOR
#undef LOWERED
#undef FUNCTION
#undef UNARY
#undef LOGARITHM
#undef PAIR
#undef CONSTANT
};

#define TABLE_SIZE (sizeof table / sizeof table[0])

size_t
gci_function_count(void)
{
    return TABLE_SIZE;
}

gci_function const *
gci_function_at(size_t index)
{
    GCI_ASSERT(index < TABLE_SIZE);
    return &table[index];
}

size_t
gci_function_index(gci_function const *function)
{
    return (size_t)(function - table);
}

gci_function const *
gci_function_tuple(void)
{
    return gci_function_find((gci_view){ NULL, 0 }, (gci_view)GCI_VIEW("()"));
}

gci_function const *
gci_function_find(gci_view module, gci_view name)
{
    size_t prefix = module.size != 0 ? module.size + 1 : 0;

    for (size_t i = 0; i < TABLE_SIZE; i++) {
        char const *text = table[i].name;
        if (table[i].size != prefix + name.size || memcmp(text + prefix, name.data, name.size) != 0)
            continue;
        if (prefix == 0 || (text[module.size] == '.' && memcmp(text, module.data, module.size) == 0))
            return &table[i];
    }
    return NULL;
}

bool
gci_function_is_module(gci_view name)
{
    return gci_view_is(name, "math") || gci_view_is(name, "torch");
}

gci_number
gci_function_as_object(gci_function const *function)
{
    bool class = strcmp(function->name, "bool") == 0 || strcmp(function->name, "int") == 0
                 || strcmp(function->name, "float") == 0;

    if (function->kind == GCI_FUNCTION_CONSTANT)
        return gci_number_float_object(function->value, GCI_OBJECT_NAN);
    return (gci_number){ .kind = GCI_KIND_OBJECT,
                         .size = (int32_t)(function - table),
                         .type = class ? "type" : "builtin_function_or_method" };
}

bool
gci_function_object(gci_view name, gci_number *out)
{
    gci_function const *function = gci_function_find((gci_view){ NULL, 0 }, name);

    if (function != NULL) {
        *out = gci_function_as_object(function);
        return true;
    }
    if (!gci_function_is_module(name))
        return false;
    int32_t which = gci_view_is(name, "math") ? -1 : -2;
    *out = (gci_number){ .kind = GCI_KIND_OBJECT, .size = which, .type = "module" };
    return true;
}
