#include "guards/expr.h"

#include "base/check.h"
#include "base/digest.h"

#include <stdlib.h>

/* ---- hashes of what is written ---- */

static uint64_t
mix(uint64_t a, uint64_t b)
{
    uint64_t pair[2] = { a, b };

    return gci_hash64(pair, sizeof pair, 0);
}

static uint64_t
hash_integer(gci_int value)
{
    size_t limbs = (size_t)(value.size < 0 ? -value.size : value.size);

    return gci_hash64(value.limbs, limbs * sizeof *value.limbs, (uint64_t)(int64_t)value.size);
}

static uint64_t
hash_factors(gci_factor const *factors, uint32_t count)
{
    uint64_t hash = count;

    for (uint32_t i = 0; i < count; i++)
        hash = mix(hash, mix(factors[i].atom->hash, factors[i].exponent));
    return hash;
}

static uint64_t
hash_apply(gci_expr const *expr)
{
    uint64_t hash = gci_hash64(expr->name.data, expr->name.size, expr->count), sum = 0;

    for (uint32_t i = 0; i < expr->count; i++) {
        sum += mix(1, expr->args[i]->hash);
        hash = expr->commutative ? hash : mix(hash, expr->args[i]->hash);
    }
    return mix(hash, sum);
}

static uint64_t
hash_polynomial(gci_expr const *expr)
{
    uint64_t hash = 2 + (uint64_t)expr->count;

    for (uint32_t i = 0; i < expr->count; i++)
        hash = mix(hash, mix(expr->terms[i].hash, hash_integer(expr->terms[i].coefficient)));
    return hash;
}

/* ---- equality ---- */

static bool
equal_factors(gci_term const *a, gci_term const *b)
{
    if (a->hash != b->hash || a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++)
        if (a->factors[i].exponent != b->factors[i].exponent || !gci_expr_equal(a->factors[i].atom, b->factors[i].atom))
            return false;
    return true;
}

static bool
equal_terms(gci_expr const *a, gci_expr const *b)
{
    for (uint32_t i = 0; i < a->count; i++)
        if (gci_int_compare(a->terms[i].coefficient, b->terms[i].coefficient) != 0 ||
            !equal_factors(&a->terms[i], &b->terms[i]))
            return false;
    return true;
}

bool
gci_expr_equal(gci_expr const *a, gci_expr const *b)
{
    if (a == b)
        return true;
    if (a->hash != b->hash || a->type != b->type || a->count != b->count || !gci_view_equal(a->name, b->name))
        return false;
    if (a->type == GCI_EXPR_POLYNOMIAL)
        return equal_terms(a, b);
    for (uint32_t i = 0; a->type == GCI_EXPR_APPLY && i < a->count; i++)
        if (!gci_expr_equal(a->args[i], b->args[i]))
            return false;
    return true;
}

/* ---- atoms ---- */

gci_expr *
gci_expr_symbol(gci_arena *arena, gci_view name, size_t at)
{
    gci_expr *expr = GCI_ARENA_NEW(arena, gci_expr);

    if (expr == NULL)
        return NULL;
    /* PyTorch's letters: z is a float, s and u are integers; JAX's and everybody else's names are sizes. */
    *expr = (gci_expr){ .type = GCI_EXPR_SYMBOL, .is_integer = name.data[0] != 'z', .at = (uint32_t)at, .name = name };
    expr->hash = gci_hash64(name.data, name.size, 11);
    return expr;
}

gci_expr *
gci_expr_integer_symbol(gci_arena *arena, gci_view name, size_t at)
{
    gci_expr *expr = gci_expr_symbol(arena, name, at);

    if (expr != NULL)
        expr->is_integer = true;
    return expr;
}

gci_expr *
gci_expr_text(gci_arena *arena, gci_view text, size_t at)
{
    gci_expr *expr = GCI_ARENA_NEW(arena, gci_expr);

    if (expr == NULL)
        return NULL;
    *expr = (gci_expr){ .type = GCI_EXPR_TEXT, .at = (uint32_t)at, .name = text };
    expr->hash = gci_hash64(text.data, text.size, 12);
    return expr;
}

/* Operands whose order doesn't matter are sorted, so that equal ones are found equal. */
static int
compare_exprs(void const *left, void const *right)
{
    gci_expr const *a = *(gci_expr *const *)left, *b = *(gci_expr *const *)right;

    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

gci_expr *
gci_expr_apply(gci_arena *arena, char const *name, gci_expr *const *args, size_t count, bool commutative, bool is_integer,
               size_t at)
{
    gci_expr *expr = GCI_ARENA_NEW(arena, gci_expr);
    gci_expr **copies = gci_arena_array(arena, count, sizeof *copies);

    if (expr == NULL || copies == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        if (args[i] == NULL)
            return NULL;
        copies[i] = args[i];
        if (args[i]->at < at)
            at = args[i]->at;
    }
    if (commutative && count > 1)
        qsort(copies, count, sizeof *copies, compare_exprs);
    *expr = (gci_expr){
        .type = GCI_EXPR_APPLY,
        .is_integer = is_integer,
        .commutative = commutative,
        .at = (uint32_t)at,
        .count = (uint32_t)count,
        .name = gci_view_text(name),
        .args = copies,
    };
    expr->hash = hash_apply(expr);
    return expr;
}

/* ---- polynomials ---- */

/* Terms being gathered, not yet joined. */
typedef struct gathering {
    gci_term *terms;
    size_t count;
} gathering;

static int
compare_terms(void const *left, void const *right)
{
    gci_term const *a = left, *b = right;

    return (a->hash > b->hash) - (a->hash < b->hash);
}

/* Joins like terms and drops zeros. Unlike terms of one hash would only stay apart, which is no error. */
static bool
join_terms(gci_arena *arena, gathering *g)
{
    size_t kept = 0;

    if (g->count > 1)
        qsort(g->terms, g->count, sizeof *g->terms, compare_terms);
    for (size_t i = 0; i < g->count; i++) {
        if (kept > 0 && equal_factors(&g->terms[kept - 1], &g->terms[i])) {
            gci_int *sum = &g->terms[kept - 1].coefficient;
            if (!gci_int_add(arena, *sum, g->terms[i].coefficient, sum))
                return false;
        } else {
            if (kept > 0 && g->terms[kept - 1].coefficient.size == 0)
                kept--;
            g->terms[kept++] = g->terms[i];
        }
    }
    if (kept > 0 && g->terms[kept - 1].coefficient.size == 0)
        kept--;
    g->count = kept;
    return true;
}

static bool
is_one(gci_int value)
{
    int64_t small;

    return gci_int_fits(value, &small) && small == 1;
}

static gci_expr *
finish_polynomial(gci_arena *arena, gathering *g, size_t at)
{
    if (!join_terms(arena, g))
        return NULL;
    if (g->count == 1 && g->terms[0].count == 1 && g->terms[0].factors[0].exponent == 1 && is_one(g->terms[0].coefficient))
        return g->terms[0].factors[0].atom;
    gci_expr *expr = GCI_ARENA_NEW(arena, gci_expr);
    if (expr == NULL)
        return NULL;
    *expr = (gci_expr){
        .type = GCI_EXPR_POLYNOMIAL, .is_integer = true, .at = (uint32_t)at, .count = (uint32_t)g->count, .terms = g->terms
    };
    expr->hash = hash_polynomial(expr);
    return expr;
}

gci_expr *
gci_expr_integer(gci_arena *arena, gci_int value, size_t at)
{
    gathering g = { .terms = gci_arena_array(arena, 1, sizeof(gci_term)), .count = 1 };

    if (g.terms == NULL)
        return NULL;
    g.terms[0].coefficient = value;
    g.terms[0].hash = hash_factors(NULL, 0);
    return finish_polynomial(arena, &g, at);
}

gci_expr *
gci_expr_small(gci_arena *arena, int64_t value, size_t at)
{
    uint64_t *cell = gci_arena_alloc(arena, sizeof *cell);

    return cell != NULL ? gci_expr_integer(arena, gci_int_small(value, cell), at) : NULL;
}

bool
gci_expr_is_constant(gci_expr const *expr, gci_int *out_value)
{
    static uint64_t const nothing;

    if (expr->type != GCI_EXPR_POLYNOMIAL || expr->count > 1 || (expr->count == 1 && expr->terms[0].count != 0))
        return false;
    *out_value = expr->count == 1 ? expr->terms[0].coefficient : (gci_int){ &nothing, 0 };
    return true;
}

bool
gci_expr_constant(gci_expr const *expr, int64_t *out_value)
{
    gci_int value;

    return gci_expr_is_constant(expr, &value) && gci_int_fits(value, out_value);
}

/* The terms of any integer expression; an atom is one term. */
static bool
terms_of(gci_arena *arena, gci_expr *expr, gathering *out)
{
    GCI_ASSERT(expr->is_integer);
    if (expr->type == GCI_EXPR_POLYNOMIAL) {
        *out = (gathering){ expr->terms, expr->count };
        return true;
    }
    gci_factor *factor = GCI_ARENA_NEW(arena, gci_factor);
    gci_term *term = GCI_ARENA_NEW(arena, gci_term);
    uint64_t *cell = gci_arena_alloc(arena, sizeof *cell);
    if (factor == NULL || term == NULL || cell == NULL)
        return false;
    *factor = (gci_factor){ expr, 1 };
    *term = (gci_term){ gci_int_small(1, cell), factor, 1, hash_factors(factor, 1) };
    *out = (gathering){ term, 1 };
    return true;
}

static size_t
first_place(gci_expr const *a, gci_expr const *b)
{
    return a->at < b->at ? a->at : b->at;
}

static gci_expr *
add_integers(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    gathering left, right, sum;

    if (!terms_of(arena, a, &left) || !terms_of(arena, b, &right))
        return NULL;
    sum.count = left.count + right.count;
    sum.terms = gci_arena_array(arena, sum.count, sizeof *sum.terms);
    if (sum.terms == NULL)
        return NULL;
    for (size_t i = 0; i < sum.count; i++)
        sum.terms[i] = i < left.count ? left.terms[i] : right.terms[i - left.count];
    return finish_polynomial(arena, &sum, first_place(a, b));
}

/* The factors of two terms together: both are sorted, equal atoms add their exponents. */
static bool
multiply_factors(gci_arena *arena, gci_term const *a, gci_term const *b, gci_term *out)
{
    gci_factor *factors = gci_arena_array(arena, (size_t)a->count + b->count, sizeof *factors);
    uint32_t i = 0, j = 0, count = 0;

    if (factors == NULL)
        return false;
    while (i < a->count || j < b->count) {
        bool take_b = i == a->count || (j < b->count && b->factors[j].atom->hash < a->factors[i].atom->hash);
        gci_factor next = take_b ? b->factors[j++] : a->factors[i++];
        if (count > 0 && gci_expr_equal(factors[count - 1].atom, next.atom))
            factors[count - 1].exponent += next.exponent;
        else
            factors[count++] = next;
    }
    out->factors = factors;
    out->count = count;
    out->hash = hash_factors(factors, count);
    return gci_int_multiply(arena, a->coefficient, b->coefficient, &out->coefficient);
}

/* A sum that is too long to multiply out stands as one factor: an atom "+" of itself. */
static gci_expr *
as_one_factor(gci_arena *arena, gci_expr *sum)
{
    return gci_expr_apply(arena, "+", &sum, 1, true, true, sum->at);
}

static gci_expr *
multiply_integers(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    gathering left, right, product;

    if (!terms_of(arena, a, &left) || !terms_of(arena, b, &right))
        return NULL;
    if (left.count * right.count > GCI_EXPR_MAX_TERMS) {
        if (left.count > 1 && ((a = as_one_factor(arena, a)) == NULL || !terms_of(arena, a, &left)))
            return NULL;
        if (right.count > 1 && ((b = as_one_factor(arena, b)) == NULL || !terms_of(arena, b, &right)))
            return NULL;
    }
    product.count = left.count * right.count;
    product.terms = gci_arena_array(arena, product.count, sizeof *product.terms);
    if (product.terms == NULL)
        return NULL;
    for (size_t i = 0; i < product.count; i++)
        if (!multiply_factors(arena, &left.terms[i / right.count], &right.terms[i % right.count], &product.terms[i]))
            return NULL;
    return finish_polynomial(arena, &product, first_place(a, b));
}

/* ---- sums and products that have floats in them ---- */

static bool
is_float_list(gci_expr const *expr, char const *name)
{
    return expr->type == GCI_EXPR_APPLY && !expr->is_integer && gci_view_is(expr->name, name);
}

/* The operands of a float sum or product, with the integer ones joined into *integer (NULL at first). */
static bool
gather_operands(gci_arena *arena, gci_expr *expr, char const *name, gci_expr **out, size_t *count, gci_expr **integer)
{
    size_t own = is_float_list(expr, name) ? expr->count : 1;

    for (size_t i = 0; i < own; i++) {
        gci_expr *operand = own == 1 && !is_float_list(expr, name) ? expr : expr->args[i];
        if (!operand->is_integer)
            out[(*count)++] = operand;
        else if (*integer == NULL)
            *integer = operand;
        else
            *integer = name[0] == '+' ? add_integers(arena, *integer, operand) : multiply_integers(arena, *integer, operand);
        if (operand->is_integer && *integer == NULL)
            return false;
    }
    return true;
}

static gci_expr *
join_floats(gci_arena *arena, char const *name, gci_expr *a, gci_expr *b)
{
    size_t room = (size_t)a->count + b->count + 3, count = 0;
    gci_expr **operands = gci_arena_array(arena, room, sizeof *operands), *integer = NULL;
    int64_t value;

    if (operands == NULL || !gather_operands(arena, a, name, operands, &count, &integer) ||
        !gather_operands(arena, b, name, operands, &count, &integer))
        return NULL;
    bool neutral = integer != NULL && gci_expr_constant(integer, &value) && value == (name[0] == '*');
    if (integer != NULL && !neutral)
        operands[count++] = integer;
    /* x + 0 and x * 1 stay visible as the one operand they have: the type is a float's in any case. */
    return gci_expr_apply(arena, name, operands, count, true, false, first_place(a, b));
}

gci_expr *
gci_expr_add(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    if (a == NULL || b == NULL)
        return NULL;
    return a->is_integer && b->is_integer ? add_integers(arena, a, b) : join_floats(arena, "+", a, b);
}

gci_expr *
gci_expr_multiply(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    if (a == NULL || b == NULL)
        return NULL;
    return a->is_integer && b->is_integer ? multiply_integers(arena, a, b) : join_floats(arena, "*", a, b);
}

gci_expr *
gci_expr_negate(gci_arena *arena, gci_expr *a)
{
    return a != NULL ? gci_expr_multiply(arena, gci_expr_small(arena, -1, a->at), a) : NULL;
}

gci_expr *
gci_expr_power(gci_arena *arena, gci_expr *base, gci_expr *exponent)
{
    int64_t n;

    if (base == NULL || exponent == NULL)
        return NULL;
    gci_expr *operands[] = { base, exponent };
    bool known = gci_expr_constant(exponent, &n);
    if (!base->is_integer || !known || n < 0 || n > GCI_EXPR_MAX_EXPONENT)
        return gci_expr_apply(arena, "**", operands, 2, false, base->is_integer && exponent->is_integer && (!known || n >= 0),
                              base->at);
    gci_expr *power = gci_expr_small(arena, 1, base->at);
    for (int64_t i = 0; i < n && power != NULL; i++)
        power = gci_expr_multiply(arena, power, base);
    return power;
}

/* ---- division ---- */

static bool
divides_all(gci_arena *arena, gci_expr const *a, gci_int divisor, gci_term *out_quotients)
{
    for (uint32_t i = 0; i < a->count; i++) {
        gci_int rest;
        out_quotients[i] = a->terms[i];
        if (!gci_int_divide(arena, a->terms[i].coefficient, divisor, &out_quotients[i].coefficient, &rest) || rest.size != 0)
            return false;
    }
    return true;
}

gci_expr *
gci_expr_divided(gci_arena *arena, gci_expr *a, gci_int divisor)
{
    if (is_one(divisor))
        return a;
    if (a->type != GCI_EXPR_POLYNOMIAL)
        return NULL;
    gathering g = { .terms = gci_arena_array(arena, a->count, sizeof(gci_term)), .count = a->count };
    if (g.terms == NULL || !divides_all(arena, a, divisor, g.terms))
        return NULL;
    return finish_polynomial(arena, &g, a->at);
}

static gci_expr *
apply_division(gci_arena *arena, char const *name, gci_expr *a, gci_expr *b)
{
    gci_expr *operands[] = { a, b };

    return gci_expr_apply(arena, name, operands, 2, false, a->is_integer && b->is_integer, first_place(a, b));
}

gci_expr *
gci_expr_floor_divide(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    gci_int dividend, divisor, rest;

    if (a == NULL || b == NULL)
        return NULL;
    if (!a->is_integer || !gci_expr_is_constant(b, &divisor) || divisor.size == 0)
        return apply_division(arena, "//", a, b);
    if (gci_expr_is_constant(a, &dividend))
        return gci_int_divide(arena, dividend, divisor, &dividend, &rest) ? gci_expr_integer(arena, dividend, a->at) : NULL;
    gci_expr *exact = gci_expr_divided(arena, a, divisor);
    return exact != NULL ? exact : apply_division(arena, "//", a, b);
}

gci_expr *
gci_expr_modulo(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    gci_int dividend, divisor, quotient;

    if (a == NULL || b == NULL)
        return NULL;
    if (!a->is_integer || !gci_expr_is_constant(b, &divisor) || divisor.size == 0)
        return apply_division(arena, "%", a, b);
    if (gci_expr_is_constant(a, &dividend))
        return gci_int_divide(arena, dividend, divisor, &quotient, &dividend) ? gci_expr_integer(arena, dividend, a->at) : NULL;
    return gci_expr_divided(arena, a, divisor) != NULL ? gci_expr_small(arena, 0, a->at) : apply_division(arena, "%", a, b);
}

/* ---- max and min ---- */

static bool
contains(gci_expr *const *list, size_t count, gci_expr const *expr)
{
    for (size_t i = 0; i < count; i++)
        if (gci_expr_equal(list[i], expr))
            return true;
    return false;
}

/* Operands gathered so far; of constants only the extreme one is kept. */
typedef struct extremes {
    gci_expr **list;
    size_t count;
    gci_expr *constant;
    bool is_max;
} extremes;

static void
add_extreme(extremes *x, gci_expr *operand)
{
    gci_int value, best;

    if (!gci_expr_is_constant(operand, &value)) {
        if (!contains(x->list, x->count, operand))
            x->list[x->count++] = operand;
        return;
    }
    if (x->constant == NULL || !gci_expr_is_constant(x->constant, &best) ||
        (gci_int_compare(value, best) > 0) == x->is_max)
        x->constant = operand;
}

gci_expr *
gci_expr_extreme(gci_arena *arena, char const *name, gci_expr *const *args, size_t count, size_t at)
{
    size_t room = 1;

    for (size_t i = 0; i < count; i++) {
        if (args[i] == NULL)
            return NULL;
        if (!args[i]->is_integer)
            return gci_expr_apply(arena, name, args, count, true, false, at);
        room += args[i]->count + 1;
    }
    extremes x = { .list = gci_arena_array(arena, room, sizeof *x.list), .is_max = name[1] == 'a' };
    if (x.list == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        bool nested = args[i]->type == GCI_EXPR_APPLY && gci_view_is(args[i]->name, name);
        for (uint32_t j = 0; j < (nested ? args[i]->count : 1); j++)
            add_extreme(&x, nested ? args[i]->args[j] : args[i]);
    }
    if (x.constant != NULL)
        x.list[x.count++] = x.constant;
    return x.count == 1 ? x.list[0] : gci_expr_apply(arena, name, x.list, x.count, true, true, at);
}
