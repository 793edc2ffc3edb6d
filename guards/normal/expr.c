/*
 * Building expressions in normal form: sums and products are joined as they are made, so that equal integer polynomials
 * are equal nodes.
 */
#include "guards/normal/expr.h"

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
        hash = mix(hash, mix(expr->terms[i].hash, gci_int_hash(expr->terms[i].coefficient)));
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

/* ---- sizes ---- */

/* Adds a part to a node's sizes. false: the node would be too large. */
static bool
add_part(gci_expr *expr, uint32_t weight, uint32_t depth)
{
    expr->weight += weight; /* both are at most the limit: no overflow */
    if (depth >= expr->depth)
        expr->depth = depth + 1;
    return expr->weight <= GCI_EXPR_MAX_WEIGHT && expr->depth <= GCI_EXPR_MAX_DEPTH;
}

static bool
measure_term(gci_expr *expr, gci_term const *term)
{
    uint32_t limbs = (uint32_t)(term->coefficient.size < 0 ? -term->coefficient.size : term->coefficient.size);
    bool fits = limbs <= GCI_EXPR_MAX_LIMBS && add_part(expr, 1 + limbs, 0);

    for (uint32_t i = 0; i < term->count && fits; i++)
        fits = add_part(expr, 1 + term->factors[i].atom->weight, term->factors[i].atom->depth);
    return fits;
}

/* Sets weight and depth. false: beyond the limits. */
static bool
measure(gci_expr *expr)
{
    bool fits = true;

    expr->weight = expr->depth = 1;
    if (expr->type == GCI_EXPR_POLYNOMIAL)
        for (uint32_t i = 0; i < expr->count && fits; i++)
            fits = measure_term(expr, &expr->terms[i]);
    else
        for (uint32_t i = 0; i < expr->count && fits; i++)
            fits = add_part(expr, expr->args[i]->weight, expr->args[i]->depth);
    return fits;
}

/* ---- atoms ---- */

static gci_expr *
new_leaf(gci_arena *arena, gci_expr_type type, bool is_integer, gci_view name, size_t at)
{
    gci_expr *expr = name.data != NULL ? GCI_ARENA_NEW(arena, gci_expr) : NULL;

    if (expr == NULL)
        return NULL;
    *expr = (gci_expr){
        .type = type, .is_integer = is_integer, .at = (uint32_t)at, .weight = 1, .depth = 1, .name = name
    };
    expr->hash = gci_hash64(name.data, name.size, type == GCI_EXPR_SYMBOL ? 11 : 12);
    return expr;
}

gci_expr *
gci_expr_symbol(gci_arena *arena, gci_view name, size_t at)
{
    /* PyTorch's letters: z is a float, s and u are integers; JAX's and everybody else's names are sizes. */
    return new_leaf(arena, GCI_EXPR_SYMBOL, name.data[0] != 'z', name, at);
}

gci_expr *
gci_expr_integer_symbol(gci_arena *arena, gci_view name, size_t at)
{
    return new_leaf(arena, GCI_EXPR_SYMBOL, true, name, at);
}

gci_expr *
gci_expr_slot(gci_arena *arena, uint16_t slot)
{
    return gci_expr_integer_symbol(arena, gci_arena_copy(arena, gci_view_of(&slot, sizeof slot)), slot);
}

gci_expr *
gci_expr_text(gci_arena *arena, gci_view text, size_t at)
{
    return new_leaf(arena, GCI_EXPR_TEXT, false, text, at);
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
    if (!measure(expr))
        return NULL;
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
    if (!measure(expr))
        return NULL;
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

static size_t
terms_in(gci_expr const *expr)
{
    return expr->type == GCI_EXPR_POLYNOMIAL ? expr->count : 1;
}

/* The first place of any of them in the text. */
static size_t
first_place(gci_expr *const *exprs, size_t count)
{
    size_t at = exprs[0]->at;

    for (size_t i = 1; i < count; i++)
        at = exprs[i]->at < at ? exprs[i]->at : at;
    return at;
}

/* The terms of any integer expression, behind those gathered; an atom is one term. There is room. */
static bool
add_terms(gci_arena *arena, gci_expr *expr, gathering *g)
{
    GCI_ASSERT(expr->is_integer);
    if (expr->type == GCI_EXPR_POLYNOMIAL) {
        for (uint32_t i = 0; i < expr->count; i++)
            g->terms[g->count++] = expr->terms[i];
        return true;
    }
    gci_factor *factor = GCI_ARENA_NEW(arena, gci_factor);
    uint64_t *cell = gci_arena_alloc(arena, sizeof *cell);
    if (factor == NULL || cell == NULL)
        return false;
    *factor = (gci_factor){ expr, 1 };
    g->terms[g->count++] = (gci_term){ gci_int_small(1, cell), factor, 1, hash_factors(factor, 1) };
    return true;
}

static bool
gather_terms(gci_arena *arena, gci_expr *const *exprs, size_t count, gathering *g)
{
    size_t room = 0;

    for (size_t i = 0; i < count; i++)
        room += terms_in(exprs[i]);
    *g = (gathering){ .terms = gci_arena_array(arena, room, sizeof *g->terms) };
    for (size_t i = 0; i < count && g->terms != NULL; i++)
        if (!add_terms(arena, exprs[i], g))
            return false;
    return g->terms != NULL;
}

static gci_expr *
add_integers(gci_arena *arena, gci_expr *const *operands, size_t count)
{
    gathering sum;

    if (!gather_terms(arena, operands, count, &sum))
        return NULL;
    return finish_polynomial(arena, &sum, first_place(operands, count));
}

/* ---- products of integers ---- */

static int
compare_factors(void const *left, void const *right)
{
    gci_factor const *a = left, *b = right;

    return (a->atom->hash > b->atom->hash) - (a->atom->hash < b->atom->hash);
}

/* Sorts factors and adds the exponents of equal atoms. false: an exponent gets too large. */
static bool
join_factors(gci_factor *factors, uint32_t *count)
{
    uint32_t kept = 0;

    if (*count > 1)
        qsort(factors, *count, sizeof *factors, compare_factors);
    for (uint32_t i = 0; i < *count; i++) {
        if (kept == 0 || !gci_expr_equal(factors[kept - 1].atom, factors[i].atom))
            factors[kept++] = factors[i];
        else if (__builtin_add_overflow(factors[kept - 1].exponent, factors[i].exponent, &factors[kept - 1].exponent))
            return false;
    }
    *count = kept;
    return true;
}

/* The product of terms. */
static bool
multiply_terms(gci_arena *arena, gci_term const *terms, size_t count, gci_term *out)
{
    size_t room = 0;
    uint64_t *one = gci_arena_alloc(arena, sizeof *one);

    for (size_t i = 0; i < count; i++)
        room += terms[i].count;
    *out = (gci_term){ .factors = gci_arena_array(arena, room, sizeof *out->factors) };
    if (out->factors == NULL || one == NULL)
        return false;
    out->coefficient = gci_int_small(1, one);
    for (size_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < terms[i].count; k++)
            out->factors[out->count++] = terms[i].factors[k];
        if (!gci_int_multiply(arena, out->coefficient, terms[i].coefficient, &out->coefficient) ||
            out->coefficient.size > GCI_EXPR_MAX_LIMBS || out->coefficient.size < -GCI_EXPR_MAX_LIMBS)
            return false;
    }
    if (!join_factors(out->factors, &out->count))
        return false;
    out->hash = hash_factors(out->factors, out->count);
    return true;
}

/* A sum that is too long to multiply out stands as one factor: an atom "+" of itself. */
static gci_expr *
as_one_factor(gci_arena *arena, gci_expr *sum)
{
    return gci_expr_apply(arena, "+", &sum, 1, true, true, sum->at);
}

/* The product of what has one term each, or none: zero. */
static gci_expr *
multiply_monomials(gci_arena *arena, gci_expr *const *operands, size_t count, size_t at)
{
    gathering all, product = { .terms = GCI_ARENA_NEW(arena, gci_term) };

    if (product.terms == NULL || !gather_terms(arena, operands, count, &all))
        return NULL;
    if (all.count == count && !multiply_terms(arena, all.terms, count, product.terms))
        return NULL;
    product.count = all.count == count;
    return finish_polynomial(arena, &product, at);
}

/* a * b multiplied out. */
static gci_expr *
multiply_out(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    gci_expr *both[] = { a, b };
    gathering left, right, product = { .count = terms_in(a) * terms_in(b) };
    uint64_t weight = (uint64_t)a->weight * terms_in(b) + (uint64_t)b->weight * terms_in(a);

    if (weight > GCI_EXPR_MAX_WEIGHT || !gather_terms(arena, &a, 1, &left) || !gather_terms(arena, &b, 1, &right))
        return NULL;
    product.terms = gci_arena_array(arena, product.count, sizeof *product.terms);
    if (product.terms == NULL)
        return NULL;
    for (size_t i = 0; i < product.count; i++) {
        gci_term pair[] = { left.terms[i / right.count], right.terms[i % right.count] };
        if (!multiply_terms(arena, pair, 2, &product.terms[i]))
            return NULL;
    }
    return finish_polynomial(arena, &product, first_place(both, 2));
}

static bool
can_multiply_out(gci_expr const *a, gci_expr const *b)
{
    return terms_in(a) * terms_in(b) <= GCI_EXPR_MAX_TERMS;
}

/* Every sum is a factor. */
static gci_expr *
multiply_as_factors(gci_arena *arena, gci_expr *const *operands, size_t count)
{
    gci_expr **factors = gci_arena_array(arena, count, sizeof *factors);

    for (size_t i = 0; i < count && factors != NULL; i++) {
        factors[i] = terms_in(operands[i]) <= 1 ? operands[i] : as_one_factor(arena, operands[i]);
        if (factors[i] == NULL)
            return NULL;
    }
    return factors != NULL ? multiply_monomials(arena, factors, count, first_place(operands, count)) : NULL;
}

/*
 * Sums are multiplied out, and what they are multiplied with comes last. If they get too long on the way, all of them stay
 * factors: whatever order they are written in, one form comes out.
 */
static gci_expr *
multiply_integers(gci_arena *arena, gci_expr *const *operands, size_t count)
{
    gci_expr **rest = gci_arena_array(arena, count + 1, sizeof *rest), *sum = NULL;
    size_t rest_count = 0, at = first_place(operands, count);
    bool fits = rest != NULL;

    for (size_t i = 0; i < count && fits; i++) {
        if (terms_in(operands[i]) <= 1) {
            rest[rest_count++] = operands[i];
        } else if (sum == NULL || can_multiply_out(sum, operands[i])) {
            sum = sum == NULL ? operands[i] : multiply_out(arena, sum, operands[i]);
            fits = sum != NULL;
        } else {
            return multiply_as_factors(arena, operands, count);
        }
    }
    if (!fits || sum == NULL)
        return fits ? multiply_monomials(arena, rest, rest_count, at) : NULL;
    if (rest_count == 0)
        return sum;
    if (terms_in(sum) > GCI_EXPR_MAX_TERMS)
        return multiply_as_factors(arena, operands, count);
    gci_expr *monomial = multiply_monomials(arena, rest, rest_count, at);
    return monomial != NULL ? multiply_out(arena, sum, monomial) : NULL;
}

/* ---- sums and products that have floats in them ---- */

static bool
is_float_list(gci_expr const *expr, char const *name)
{
    return expr->type == GCI_EXPR_APPLY && !expr->is_integer && gci_view_is(expr->name, name);
}

/* Operands of a float sum or product: those of lists among them in place of the lists, integers apart. */
typedef struct float_operands {
    gci_expr **floats, **integers;
    size_t float_count, integer_count;
} float_operands;

static bool
gather_operands(gci_arena *arena, char const *name, gci_expr *const *exprs, size_t count, float_operands *out)
{
    size_t room = 1; /* for the integers joined */

    for (size_t i = 0; i < count; i++)
        room += is_float_list(exprs[i], name) ? exprs[i]->count : 1;
    *out = (float_operands){ .floats = gci_arena_array(arena, room, sizeof *out->floats),
                       .integers = gci_arena_array(arena, room, sizeof *out->integers) };
    if (out->floats == NULL || out->integers == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        bool list = is_float_list(exprs[i], name);
        for (uint32_t k = 0; k < (list ? exprs[i]->count : 1); k++) {
            gci_expr *operand = list ? exprs[i]->args[k] : exprs[i];
            if (operand->is_integer)
                out->integers[out->integer_count++] = operand;
            else
                out->floats[out->float_count++] = operand;
        }
    }
    return true;
}

static gci_expr *
join_integers(gci_arena *arena, char const *name, gci_expr *const *exprs, size_t count)
{
    return name[0] == '+' ? add_integers(arena, exprs, count) : multiply_integers(arena, exprs, count);
}

static gci_expr *
join_floats(gci_arena *arena, char const *name, gci_expr *const *exprs, size_t count)
{
    float_operands all;
    gci_expr *integer = NULL;
    int64_t value;

    if (!gather_operands(arena, name, exprs, count, &all))
        return NULL;
    if (all.integer_count != 0) {
        integer = join_integers(arena, name, all.integers, all.integer_count);
        if (integer == NULL)
            return NULL;
    }
    bool neutral = integer != NULL && gci_expr_constant(integer, &value) && value == (name[0] == '*');
    if (integer != NULL && !neutral)
        all.floats[all.float_count++] = integer;
    /* x + 0 and x * 1 stay visible as the one operand they have: the type is a float's in any case. */
    return gci_expr_apply(arena, name, all.floats, all.float_count, true, false, first_place(exprs, count));
}

/* name is "+" or "*". */
static gci_expr *
join_all(gci_arena *arena, char const *name, gci_expr *const *exprs, size_t count)
{
    bool integers = true;

    GCI_ASSERT(count != 0);
    for (size_t i = 0; i < count; i++) {
        if (exprs[i] == NULL)
            return NULL;
        integers = integers && exprs[i]->is_integer;
    }
    return integers ? join_integers(arena, name, exprs, count) : join_floats(arena, name, exprs, count);
}

gci_expr *
gci_expr_sum(gci_arena *arena, gci_expr *const *exprs, size_t count)
{
    return join_all(arena, "+", exprs, count);
}

gci_expr *
gci_expr_product(gci_arena *arena, gci_expr *const *exprs, size_t count)
{
    return join_all(arena, "*", exprs, count);
}

gci_expr *
gci_expr_add(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    return gci_expr_sum(arena, (gci_expr *[]){ a, b }, 2);
}

gci_expr *
gci_expr_multiply(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    return gci_expr_product(arena, (gci_expr *[]){ a, b }, 2);
}

gci_expr *
gci_expr_negate(gci_arena *arena, gci_expr *a)
{
    return a != NULL ? gci_expr_multiply(arena, gci_expr_small(arena, -1, a->at), a) : NULL;
}

/* base ** n as a factor of its own. */
static gci_expr *
power_as_factor(gci_arena *arena, gci_expr *base, uint32_t n)
{
    gci_expr *atom = as_one_factor(arena, base);
    gathering g;

    if (atom == NULL || !gather_terms(arena, &atom, 1, &g))
        return NULL;
    g.terms[0].factors[0].exponent = n;
    g.terms[0].hash = hash_factors(g.terms[0].factors, 1);
    return finish_polynomial(arena, &g, base->at);
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
    for (int64_t i = 0; i < n && power != NULL; i++) {
        if (terms_in(base) > 1 && !can_multiply_out(power, base))
            return power_as_factor(arena, base, (uint32_t)n);
        power = gci_expr_multiply(arena, power, base);
    }
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

/* a // b, or a % b. */
static gci_expr *
divide(gci_arena *arena, bool modulo, gci_expr *a, gci_expr *b)
{
    gci_int dividend, divisor, quotient, rest;

    if (a == NULL || b == NULL)
        return NULL;
    gci_expr *operands[] = { a, b };
    bool known = a->is_integer && gci_expr_is_constant(b, &divisor) && divisor.size != 0;
    if (known && gci_expr_is_constant(a, &dividend))
        return gci_int_divide(arena, dividend, divisor, &quotient, &rest)
                   ? gci_expr_integer(arena, modulo ? rest : quotient, a->at)
                   : NULL;
    gci_expr *exact = known ? gci_expr_divided(arena, a, divisor) : NULL;
    if (exact != NULL)
        return modulo ? gci_expr_small(arena, 0, a->at) : exact;
    return gci_expr_apply(arena, modulo ? "%" : "//", operands, 2, false, a->is_integer && b->is_integer,
                          first_place(operands, 2));
}

gci_expr *
gci_expr_floor_divide(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    return divide(arena, false, a, b);
}

gci_expr *
gci_expr_modulo(gci_arena *arena, gci_expr *a, gci_expr *b)
{
    return divide(arena, true, a, b);
}

/* ---- max and min ---- */

/* The first of equal expressions stays. */
static size_t
drop_equal(gci_expr **list, size_t count)
{
    size_t kept = 0;

    if (count > 1)
        qsort(list, count, sizeof *list, compare_exprs);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || !gci_expr_equal(list[kept - 1], list[i]))
            list[kept++] = list[i];
    return kept;
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
    x.count = drop_equal(x.list, x.count);
    if (x.constant != NULL)
        x.list[x.count++] = x.constant;
    return x.count == 1 ? x.list[0] : gci_expr_apply(arena, name, x.list, x.count, true, true, at);
}
