/*
 * Implication by intervals and remainders: each conjunct of the wider list must follow from bounds of the narrower one.
 */
#include "guards/prove/prove.h"

#include "base/check.h"
#include "guards/program/program.h"
#include "guards/normal/normal.h"
#include "guards/value/small.h"

#include <stdlib.h>

/* Expressions are followed so deep; deeper ones are unbounded. */
#define DEPTH_MAX 12

struct gci_claims {
    gci_guards const *guards;
    gci_normal normal;
    bool known; /* the normal form could be made */
};

/* ---- making ---- */

static gci_expr *
bound_symbol(void *state, gci_ast const *node)
{
    gci_claims *claims = state;
    gci_view bound = gci_guards_bound_name(claims->guards, node->name);

    return gci_expr_integer_symbol(&claims->normal.arena, bound, node->begin);
}

gci_claims *
gci_claims_new(gci_guards const *guards)
{
    gci_claims *claims = calloc(1, sizeof *claims);

    if (claims == NULL)
        return NULL;
    claims->guards = guards;
    claims->known = gci_normal_make(guards->texts, guards->count, bound_symbol, claims, &claims->normal);
    return claims;
}

void
gci_claims_free(gci_claims *claims)
{
    if (claims == NULL)
        return;
    gci_normal_clear(&claims->normal);
    free(claims);
}

/* ---- intervals: INT64_MIN and INT64_MAX are no bounds ---- */

typedef struct interval {
    int64_t low, high;
} interval;

static interval const everything = { INT64_MIN, INT64_MAX };

static bool
is_bounded(interval i)
{
    return i.low != INT64_MIN && i.high != INT64_MAX;
}

static interval
meet(interval a, interval b)
{
    return (interval){ a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high };
}

static interval
sum(interval a, interval b)
{
    interval total = everything;

    if (a.low == INT64_MIN || b.low == INT64_MIN || __builtin_add_overflow(a.low, b.low, &total.low))
        total.low = INT64_MIN;
    if (a.high == INT64_MAX || b.high == INT64_MAX || __builtin_add_overflow(a.high, b.high, &total.high))
        total.high = INT64_MAX;
    return total;
}

/* Bounded intervals multiply by their corners, others only where nothing is negative. */
static interval
product(interval a, interval b)
{
    if (!is_bounded(a) || !is_bounded(b)) {
        interval grown = { 0, INT64_MAX };
        if (a.low < 0 || b.low < 0)
            return everything;
        if (__builtin_mul_overflow(a.low, b.low, &grown.low))
            grown.low = INT64_MAX - 1;
        return grown;
    }
    int64_t const lefts[] = { a.low, a.low, a.high, a.high }, rights[] = { b.low, b.high, b.low, b.high };
    interval corners = { INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < 4; i++) {
        int64_t corner;
        if (__builtin_mul_overflow(lefts[i], rights[i], &corner))
            return a.low >= 0 && b.low >= 0 ? (interval){ 0, INT64_MAX } : everything;
        corners.low = corner < corners.low ? corner : corners.low;
        corners.high = corner > corners.high ? corner : corners.high;
    }
    return corners;
}

static bool
positive_constant(gci_expr const *expr, int64_t *out)
{
    gci_int value;

    return gci_expr_is_constant(expr, &value) && gci_int_fits(value, out) && *out > 0;
}

/* ---- what a list says of an expression ---- */

static interval interval_of(gci_claims const *claims, gci_expr const *expr, int depth);

static interval
interval_of_term(gci_claims const *claims, gci_term const *term, int depth)
{
    interval total;

    if (!gci_int_fits(term->coefficient, &total.low))
        return everything;
    total.high = total.low;
    for (uint32_t i = 0; i < term->count; i++)
        for (uint32_t n = 0; n < term->factors[i].exponent; n++)
            total = product(total, interval_of(claims, term->factors[i].atom, depth));
    return total;
}

static interval
interval_of_remainder(interval dividend, int64_t divisor)
{
    int64_t quotient = gci_floor_divide(dividend.low, divisor);

    if (is_bounded(dividend) && quotient == gci_floor_divide(dividend.high, divisor))
        return (interval){ dividend.low - quotient * divisor, dividend.high - quotient * divisor };
    return (interval){ 0, divisor - 1 };
}

static interval
interval_of_call(gci_claims const *claims, gci_expr const *expr, int depth)
{
    bool is_max = gci_view_is(expr->name, "max");
    int64_t divisor;

    if (expr->count == 0 || !expr->is_integer)
        return everything;
    interval first = interval_of(claims, expr->args[0], depth);
    if (is_max || gci_view_is(expr->name, "min")) {
        for (uint32_t i = 1; i < expr->count; i++) {
            interval next = interval_of(claims, expr->args[i], depth);
            first.low = (next.low > first.low) == is_max ? next.low : first.low;
            first.high = (next.high > first.high) == is_max ? next.high : first.high;
        }
        return first;
    }
    if (expr->count != 2 || !positive_constant(expr->args[1], &divisor))
        return everything;
    if (gci_view_is(expr->name, "%"))
        return interval_of_remainder(first, divisor);
    if (!gci_view_is(expr->name, "//"))
        return everything;
    first.low = first.low != INT64_MIN ? gci_floor_divide(first.low, divisor) : INT64_MIN;
    first.high = first.high != INT64_MAX ? gci_floor_divide(first.high, divisor) : INT64_MAX;
    return first;
}

static interval
interval_of(gci_claims const *claims, gci_expr const *expr, int depth)
{
    interval said = everything, computed = everything;

    for (size_t i = 0; i < claims->normal.count; i++) {
        gci_conjunct const *c = &claims->normal.conjuncts[i];
        if (c->kind == GCI_CONJUNCT_BOUNDS && gci_expr_equal(c->expr, expr))
            said = meet(said, (interval){ c->low, c->high });
    }
    if (depth == DEPTH_MAX)
        return said;
    if (expr->type == GCI_EXPR_POLYNOMIAL) {
        computed = (interval){ 0, 0 };
        for (uint32_t i = 0; i < expr->count; i++)
            computed = sum(computed, interval_of_term(claims, &expr->terms[i], depth + 1));
    } else if (expr->type == GCI_EXPR_APPLY) {
        computed = interval_of_call(claims, expr, depth + 1);
    }
    return meet(said, computed);
}

/* ---- remainders: x % 16 == 3 says what x % 8 is ---- */

static bool
is_remainder(gci_expr const *expr, int64_t *out_divisor)
{
    return expr->type == GCI_EXPR_APPLY && expr->is_integer && expr->count == 2 && gci_view_is(expr->name, "%") &&
           positive_constant(expr->args[1], out_divisor);
}

static bool
remainder_known(gci_claims const *claims, gci_expr const *expr, int64_t *out_value)
{
    int64_t wanted, divisor;

    if (!is_remainder(expr, &wanted))
        return false;
    for (size_t i = 0; i < claims->normal.count; i++) {
        gci_conjunct const *c = &claims->normal.conjuncts[i];
        if (c->kind != GCI_CONJUNCT_BOUNDS || c->low != c->high || c->low < 0 || !is_remainder(c->expr, &divisor))
            continue;
        if (divisor % wanted != 0 || !gci_expr_equal(c->expr->args[0], expr->args[0]))
            continue;
        *out_value = c->low % wanted;
        return true;
    }
    return false;
}

/* ---- conjuncts ---- */

static bool
has_same_text(gci_claims const *claims, gci_conjunct const *wanted)
{
    for (size_t i = 0; i < claims->normal.count; i++)
        if (gci_view_equal(claims->normal.conjuncts[i].text, wanted->text))
            return true;
    return false;
}

/* None of its divisors can be 0. */
static bool
cannot_raise(gci_claims const *claims, gci_conjunct const *wanted)
{
    for (size_t i = 0; i < wanted->divisor_count; i++) {
        interval divisor = interval_of(claims, wanted->divisors[i], 0);
        if (divisor.low <= 0 && divisor.high >= 0)
            return false;
    }
    return !wanted->raises;
}

static bool
differs(gci_claims const *claims, gci_conjunct const *wanted)
{
    for (size_t i = 0; i < claims->normal.count; i++) {
        gci_conjunct const *c = &claims->normal.conjuncts[i];
        if (c->kind == GCI_CONJUNCT_DIFFERENT && c->low == wanted->low && gci_expr_equal(c->expr, wanted->expr))
            return true;
    }
    return false;
}

static bool
implies_conjunct(gci_claims const *narrow, gci_conjunct const *wanted)
{
    int64_t value;

    /* A conjunct that the other list has is true here too, whatever it says. */
    if (has_same_text(narrow, wanted))
        return true;
    if (wanted->kind == GCI_CONJUNCT_OTHER || !cannot_raise(narrow, wanted))
        return false;
    interval known = interval_of(narrow, wanted->expr, 0);
    if (remainder_known(narrow, wanted->expr, &value))
        known = meet(known, (interval){ value, value });
    if (wanted->kind == GCI_CONJUNCT_BOUNDS)
        return known.low >= wanted->low && known.high <= wanted->high;
    return known.high < wanted->low || known.low > wanted->low || differs(narrow, wanted);
}

/* A name that isn't bound raises. */
static bool
reads_all_of(gci_guards const *narrow, gci_guards const *wide)
{
    for (size_t i = 0; i < gci_guards_name_count(wide); i++)
        if (!gci_guards_reads(narrow, gci_guards_name(wide, i)))
            return false;
    return true;
}

bool
gci_claims_imply(gci_claims const *narrow, gci_claims const *wide)
{
    if (!wide->known || !narrow->known || !reads_all_of(narrow->guards, wide->guards))
        return false;
    for (size_t i = 0; i < wide->normal.count; i++)
        if (!implies_conjunct(narrow, &wide->normal.conjuncts[i]))
            return false;
    return true;
}
