/*
 * Solving linear comparisons and congruences for one unknown; congruences are joined by the Chinese remainder theorem.
 */
#include "guards/prove/solve.h"

#include "base/check.h"
#include "guards/value/small.h"

#include <string.h>

/* Exponents of known factors are multiplied out. */
#define MAX_EXPONENT 64

uint64_t
gci_distance(int64_t from, int64_t to)
{
    return from > to ? (uint64_t)from - (uint64_t)to : (uint64_t)to - (uint64_t)from;
}

static int64_t
floor_divide(__int128 a, int64_t b)
{
    __int128 quotient = a / b;

    quotient -= a % b != 0 && (a < 0) != (b < 0);
    return quotient > INT64_MAX ? INT64_MAX : quotient < INT64_MIN ? INT64_MIN : (int64_t)quotient;
}

/* b > 0 */
static int64_t
modulo(__int128 a, int64_t b)
{
    __int128 remainder = a % b;

    return (int64_t)(remainder < 0 ? remainder + b : remainder);
}

/* ---- expressions of the unknown ---- */

/* A bound that no 64-bit x reaches, whatever the slope and the divisor. */
#define NO_BOUND ((__int128)1 << 126)

/* slope*x + constant */
typedef struct line {
    int64_t slope, constant;
} line;

static bool line_of(gci_slots const *slots, gci_expr const *expr, line *out);

static bool
multiply(line a, line b, line *out)
{
    int64_t left, right;

    return (a.slope == 0 || b.slope == 0) && !__builtin_mul_overflow(a.slope, b.constant, &left)
           && !__builtin_mul_overflow(a.constant, b.slope, &right) && !__builtin_add_overflow(left, right, &out->slope)
           && !__builtin_mul_overflow(a.constant, b.constant, &out->constant);
}

static bool
line_of_term(gci_slots const *slots, gci_term const *term, line *out)
{
    *out = (line){ 0, 0 };
    if (!gci_int_fits(term->coefficient, &out->constant))
        return false;
    for (uint32_t i = 0; i < term->count; i++) {
        line factor;
        if (term->factors[i].exponent > MAX_EXPONENT || !line_of(slots, term->factors[i].atom, &factor))
            return false;
        for (uint32_t k = 0; k < term->factors[i].exponent; k++)
            if (!multiply(*out, factor, out))
                return false;
    }
    return true;
}

static bool
line_of_polynomial(gci_slots const *slots, gci_expr const *expr, line *out)
{
    *out = (line){ 0, 0 };
    for (uint32_t i = 0; i < expr->count; i++) {
        line term;
        if (!line_of_term(slots, &expr->terms[i], &term) || __builtin_add_overflow(out->slope, term.slope, &out->slope)
            || __builtin_add_overflow(out->constant, term.constant, &out->constant))
            return false;
    }
    return true;
}

static bool
is_division(gci_expr const *expr, char const *name)
{
    return expr->type == GCI_EXPR_APPLY && expr->count == 2 && gci_view_is(expr->name, name);
}

/* The operands of a division by what is known and positive. */
static bool
divided_line(gci_slots const *slots, gci_expr const *expr, line *out_dividend, int64_t *out_divisor)
{
    line divisor;

    if (!line_of(slots, expr->args[0], out_dividend) || !line_of(slots, expr->args[1], &divisor))
        return false;
    *out_divisor = divisor.constant;
    return divisor.slope == 0 && divisor.constant > 0;
}

static bool
line_of_apply(gci_slots const *slots, gci_expr const *expr, line *out)
{
    bool remainder = is_division(expr, "%");
    int64_t divisor;
    line dividend;

    if (!remainder && !is_division(expr, "//"))
        return false;
    if (!divided_line(slots, expr, &dividend, &divisor) || dividend.slope != 0)
        return false;
    *out = (line){ 0, remainder ? modulo(dividend.constant, divisor) : floor_divide(dividend.constant, divisor) };
    return true;
}

/* false: not of this form, or something is unknown besides x or beyond 64 bits. */
static bool
line_of(gci_slots const *slots, gci_expr const *expr, line *out)
{
    uint16_t slot = (uint16_t)expr->at;

    switch (expr->type) {
    case GCI_EXPR_POLYNOMIAL: return line_of_polynomial(slots, expr, out);
    case GCI_EXPR_APPLY: return line_of_apply(slots, expr, out);
    case GCI_EXPR_TEXT: return false;
    case GCI_EXPR_SYMBOL: break;
    }
    if (slot == GCI_NO_SLOT || (slot != slots->unknown && !slots->known[slot]))
        return false;
    *out = slot == slots->unknown ? (line){ 1, 0 } : (line){ 0, slots->values[slot] };
    return true;
}

/* ---- conditions ---- */

void
gci_solutions_all(gci_solutions *out)
{
    out->low = INT64_MIN;
    out->high = INT64_MAX;
    out->modulus = 1;
    out->residue = 0;
    out->sieve_count = 0;
}

static void
restrict_to_none(gci_solutions *s)
{
    s->low = 1;
    s->high = 0;
}

/* low <= slope*x + constant <= high */
static void
restrict_range(gci_solutions *s, line l, __int128 low, __int128 high)
{
    if (l.slope == 0) {
        if (l.constant < low || l.constant > high)
            restrict_to_none(s);
        return;
    }
    /* The bounds change places if the slope is negative. */
    __int128 first = (l.slope > 0 ? low : high) - l.constant, last = (l.slope > 0 ? high : low) - l.constant;
    int64_t from = floor_divide(first + (l.slope > 0 ? l.slope - 1 : l.slope + 1), l.slope);
    int64_t to = floor_divide(last, l.slope);
    s->low = from > s->low ? from : s->low;
    s->high = to < s->high ? to : s->high;
}

static void
add_sieve(gci_solutions *s, gci_sieve sieve)
{
    if (s->sieve_count < GCI_MAX_SIEVES)
        s->sieves[s->sieve_count++] = sieve;
}

/* The inverse of a modulo m, which have no common factor. */
static int64_t
inverse(int64_t a, int64_t m)
{
    __int128 r0 = m, r1 = modulo(a, m), t0 = 0, t1 = 1;

    while (r1 != 0) {
        __int128 quotient = r0 / r1, r2 = r0 - quotient * r1, t2 = t0 - quotient * t1;
        r0 = r1, r1 = r2;
        t0 = t1, t1 = t2;
    }
    return modulo(t0, m);
}

/* (slope*x + constant) % m == wanted, joined with the residue class there is: x = residue + modulus*t, solved for t. */
static void
restrict_class(gci_solutions *s, line l, int64_t m, int64_t wanted)
{
    int64_t slope = modulo((__int128)modulo(l.slope, m) * modulo(s->modulus, m), m), step;
    int64_t rest = modulo((__int128)wanted - l.constant - (__int128)modulo(l.slope, m) * modulo(s->residue, m), m);
    int64_t divisor = gci_common_divisor(m, slope);

    if (rest % divisor != 0) {
        restrict_to_none(s);
        return;
    }
    if (__builtin_mul_overflow(s->modulus, m / divisor, &step)) {
        add_sieve(s, (gci_sieve){ l.slope, l.constant, m, wanted, wanted, true });
        return;
    }
    int64_t t = m == divisor ? 0 : modulo((__int128)(rest / divisor) * inverse(slope / divisor, m / divisor), m / divisor);
    s->residue = modulo((__int128)s->residue + (__int128)s->modulus * t, step);
    s->modulus = step;
}

static void
restrict_remainder(gci_solutions *s, gci_conjunct const *c, line l, int64_t m)
{
    bool inside = c->kind == GCI_CONJUNCT_BOUNDS;
    int64_t low = inside && c->low < 0 ? 0 : c->low, high = !inside ? c->low : c->high > m - 1 ? m - 1 : c->high;

    if (inside && low > high)
        restrict_to_none(s);
    else if (inside && low == high)
        restrict_class(s, l, m, low);
    else
        add_sieve(s, (gci_sieve){ l.slope, l.constant, m, low, high, inside });
}

/*
 * low <= max(arguments) <= high: none is above, and one reaches low, which says something where it can only be one. The same
 * for min with both sides swapped.
 */
static void
restrict_extreme(gci_solutions *s, gci_expr const *expr, gci_slots const *slots, __int128 low, __int128 high)
{
    bool is_max = gci_view_is(expr->name, "max"), reached = false;
    size_t may_reach = 0;
    line l, reaching = { 0, 0 };

    for (uint32_t i = 0; i < expr->count; i++) {
        if (!line_of(slots, expr->args[i], &l)) {
            may_reach += 2;
            continue;
        }
        restrict_range(s, l, is_max ? -NO_BOUND : low, is_max ? high : NO_BOUND);
        reached = reached || (l.slope == 0 && (is_max ? l.constant >= low : l.constant <= high));
        may_reach += l.slope != 0;
        reaching = l.slope != 0 ? l : reaching;
    }
    if (!reached && may_reach == 0)
        restrict_to_none(s);
    else if (!reached && may_reach == 1)
        restrict_range(s, reaching, is_max ? low : -NO_BOUND, is_max ? NO_BOUND : high);
}

static bool
is_extreme(gci_expr const *expr)
{
    return expr->type == GCI_EXPR_APPLY && (gci_view_is(expr->name, "max") || gci_view_is(expr->name, "min"));
}

void
gci_solutions_restrict(gci_solutions *s, gci_conjunct const *c, gci_slots const *slots)
{
    bool bounds = c->kind == GCI_CONJUNCT_BOUNDS;
    __int128 low = c->low, high = c->high;
    int64_t divisor;
    line l;

    if (bounds && c->low > c->high)
        restrict_to_none(s);
    if ((!bounds && c->kind != GCI_CONJUNCT_DIFFERENT) || c->expr == NULL)
        return;
    low = c->low == INT64_MIN ? -NO_BOUND : low;
    high = c->high == INT64_MAX ? NO_BOUND : high;
    if (line_of(slots, c->expr, &l)) {
        if (bounds)
            restrict_range(s, l, low, high);
        else
            add_sieve(s, (gci_sieve){ l.slope, l.constant, 0, c->low, c->low, false });
    } else if (is_division(c->expr, "%") && divided_line(slots, c->expr, &l, &divisor)) {
        restrict_remainder(s, c, l, divisor);
    } else if (is_division(c->expr, "//") && bounds && divided_line(slots, c->expr, &l, &divisor)) {
        low = c->low == INT64_MIN ? low : low * divisor;
        high = c->high == INT64_MAX ? high : high * divisor + divisor - 1;
        restrict_range(s, l, low, high);
    } else if (is_extreme(c->expr) && bounds) {
        restrict_extreme(s, c->expr, slots, low, high);
    }
}

/* ---- several unknowns ---- */

/* So that the sum of some products of slopes and bounds stays below NO_BOUND. */
#define MAX_SLOPE ((int64_t)1 << 61)

/* The least and the greatest value of slope*x. */
typedef struct extent {
    __int128 low, high;
} extent;

static __int128
scaled(int64_t bound, int64_t slope)
{
    if (bound == INT64_MIN || bound == INT64_MAX)
        return (bound < 0) == (slope < 0) ? NO_BOUND : -NO_BOUND;
    return (__int128)bound * slope;
}

/* The slopes of the unknowns and the constant of the expression. false: it isn't affine in them. */
static bool
slopes_of(gci_expr const *expr, uint16_t const *unknowns, size_t count, gci_slots const *slots, int64_t *out_slopes,
          int64_t *out_constant)
{
    *out_constant = 0;
    for (uint32_t i = 0; i < expr->count; i++) {
        bool known = false;
        line l;
        for (size_t u = 0; u < count && !known; u++) {
            gci_slots one = { slots->values, slots->known, unknowns[u] };
            known = line_of_term(&one, &expr->terms[i], &l);
            if (known && __builtin_add_overflow(out_slopes[u], l.slope, &out_slopes[u]))
                return false;
        }
        if (!known || __builtin_add_overflow(*out_constant, l.constant, out_constant))
            return false;
    }
    for (size_t u = 0; u < count; u++)
        if (out_slopes[u] > MAX_SLOPE || out_slopes[u] < -MAX_SLOPE)
            return false;
    return true;
}

/* low <= slope*x <= high */
static void
narrow(gci_range *range, int64_t slope, __int128 low, __int128 high)
{
    gci_solutions solutions;

    gci_solutions_all(&solutions);
    restrict_range(&solutions, (line){ slope, 0 }, low, high);
    range->low = solutions.low > range->low ? solutions.low : range->low;
    range->high = solutions.high < range->high ? solutions.high : range->high;
}

void
gci_ranges_narrow(gci_range *ranges, uint16_t const *unknowns, size_t count, gci_conjunct const *c,
                  gci_slots const *slots)
{
    int64_t slopes[GCI_MAX_UNKNOWNS] = { 0 }, constant;

    GCI_ASSERT(count <= GCI_MAX_UNKNOWNS);
    if (c->kind != GCI_CONJUNCT_BOUNDS || c->expr == NULL || c->expr->type != GCI_EXPR_POLYNOMIAL
        || !slopes_of(c->expr, unknowns, count, slots, slopes, &constant))
        return;
    for (size_t u = 0; u < count; u++) {
        extent others = { constant, constant };
        for (size_t k = 0; k < count; k++) {
            if (k == u || slopes[k] == 0)
                continue;
            bool rising = slopes[k] > 0;
            __int128 low = scaled(rising ? ranges[k].low : ranges[k].high, slopes[k]);
            __int128 high = scaled(rising ? ranges[k].high : ranges[k].low, slopes[k]);
            others.low = low == -NO_BOUND || others.low == -NO_BOUND ? -NO_BOUND : others.low + low;
            others.high = high == NO_BOUND || others.high == NO_BOUND ? NO_BOUND : others.high + high;
        }
        if (slopes[u] == 0)
            continue;
        __int128 low = c->low == INT64_MIN || others.high == NO_BOUND ? -NO_BOUND : c->low - others.high;
        __int128 high = c->high == INT64_MAX || others.low == -NO_BOUND ? NO_BOUND : c->high - others.low;
        narrow(&ranges[u], slopes[u], low, high);
    }
}

bool
gci_solutions_pass(gci_solutions const *s, int64_t value)
{
    for (size_t i = 0; i < s->sieve_count; i++) {
        gci_sieve const *sieve = &s->sieves[i];
        __int128 at = (__int128)sieve->slope * value + sieve->constant;
        if (sieve->modulus != 0)
            at = modulo(at, sieve->modulus);
        if ((at >= sieve->low && at <= sieve->high) != sieve->inside)
            return false;
    }
    return true;
}

/* ---- walking ---- */

void
gci_walk_begin(gci_walk *walk, gci_solutions const *s, int64_t from)
{
    __int128 up = (__int128)from + 1, down = (__int128)from - 1;

    *walk = (gci_walk){ .solutions = s, .from = from };
    if (s->low > s->high)
        return;
    up = up < s->low ? s->low : up;
    down = down > s->high ? s->high : down;
    up += modulo((__int128)s->residue - up, s->modulus);
    down -= modulo(down - s->residue, s->modulus);
    walk->has_up = up <= s->high;
    walk->has_down = down >= s->low;
    walk->up = walk->has_up ? (int64_t)up : 0;
    walk->down = walk->has_down ? (int64_t)down : 0;
}

bool
gci_walk_next(gci_walk *walk, int64_t *out_value)
{
    gci_solutions const *s = walk->solutions;

    if (!walk->has_up && !walk->has_down)
        return false;
    bool up = !walk->has_down
              || (walk->has_up && gci_distance(walk->from, walk->up) <= gci_distance(walk->from, walk->down));
    if (up) {
        *out_value = walk->up;
        walk->has_up = !__builtin_add_overflow(walk->up, s->modulus, &walk->up) && walk->up <= s->high;
    } else {
        *out_value = walk->down;
        walk->has_down = !__builtin_sub_overflow(walk->down, s->modulus, &walk->down) && walk->down >= s->low;
    }
    return true;
}
