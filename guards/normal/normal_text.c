/*
 * The normal form of a list as text, for people: a conjunct a line, in Python's own notation and the order of the text.
 */
#include "guards/normal/normal.h"

#include "base/check.h"

#include <stdlib.h>

/* ---- expressions ---- */

/* Terms of a polynomial are sorted by hash; people read them in the order they were written. */
static uint32_t
place_of(gci_term const *term)
{
    uint32_t place = term->count == 0 ? UINT32_MAX : term->factors[0].atom->at;

    for (uint32_t i = 1; i < term->count; i++)
        if (term->factors[i].atom->at < place)
            place = term->factors[i].atom->at;
    return place;
}

/* Whether a is written before b; b NULL: any is. Terms of one place come in their own order. */
static bool
is_before(gci_term const *a, gci_term const *b)
{
    return b == NULL || place_of(a) < place_of(b) || (place_of(a) == place_of(b) && a < b);
}

/* The term that is written after the last one, or NULL. */
static gci_term const *
next_term(gci_expr const *expr, gci_term const *last)
{
    gci_term const *next = NULL;

    for (gci_term const *term = expr->terms; term < expr->terms + expr->count; term++)
        if (term != last && (last == NULL || is_before(last, term)) && is_before(term, next))
            next = term;
    return next;
}

/* operand: in parentheses where it would run into what stands beside it. */
static void write_expr(gci_expr const *expr, bool operand, gci_buf *out);

static void
write_factors(gci_term const *term, gci_buf *out)
{
    for (uint32_t i = 0; i < term->count; i++) {
        if (i != 0)
            gci_buf_append_char(out, '*');
        write_expr(term->factors[i].atom, true, out);
        if (term->factors[i].exponent > 1)
            gci_buf_format(out, "**%u", term->factors[i].exponent);
    }
}

/* The coefficient without its sign, which the caller has written; 1 is left out before factors. */
static void
write_term(gci_term const *term, gci_buf *out)
{
    gci_int size = term->coefficient.size < 0 ? gci_int_negate(term->coefficient) : term->coefficient;
    int64_t small;

    if (term->count == 0 || !gci_int_fits(size, &small) || small != 1) {
        gci_number_write(gci_number_of_int(size), out);
        if (term->count != 0)
            gci_buf_append_char(out, '*');
    }
    write_factors(term, out);
}

static void
write_polynomial(gci_expr const *expr, bool operand, gci_buf *out)
{
    bool plain = expr->count == 0 || (expr->count == 1 && expr->terms[0].count == 0 && expr->terms[0].coefficient.size > 0);
    bool enclosed = operand && !plain;

    if (enclosed)
        gci_buf_append_char(out, '(');
    if (expr->count == 0)
        gci_buf_append_char(out, '0');
    for (gci_term const *term = NULL, *last = NULL; (term = next_term(expr, last)) != NULL; last = term) {
        bool minus = term->coefficient.size < 0;
        gci_buf_append_text(out, last == NULL ? minus ? "-" : "" : minus ? " - " : " + ");
        write_term(term, out);
    }
    if (enclosed)
        gci_buf_append_char(out, ')');
}

static bool
is_infix(gci_expr const *expr)
{
    for (gci_operator op = GCI_OPERATOR_ADD; op <= GCI_OPERATOR_GE; op++)
        if (gci_view_is(expr->name, gci_operator_token(op)))
            return true;
    return false;
}

/* How a guard calls what the normal form calls so: as a function of `math` if there is one. NULL: it has no call. */
static char const *
called_name(gci_view name)
{
    gci_function const *function = gci_function_find((gci_view)GCI_VIEW("math"), name);

    if (function == NULL)
        function = gci_function_find((gci_view){ NULL, 0 }, name);
    return function != NULL ? function->name : gci_view_is(name, "~") ? "~" : NULL;
}

/* A function that the normal form doesn't know: its name has the parenthesis. */
static bool
is_foreign(gci_expr const *expr)
{
    return expr->name.size > 0 && expr->name.data[expr->name.size - 1] == '(';
}

/* Whether the expression can be written as a guard; conditionals and what `and` gives can't. */
static bool
is_writable(gci_expr const *expr)
{
    if (expr->type == GCI_EXPR_POLYNOMIAL) {
        for (uint32_t i = 0; i < expr->count; i++)
            for (uint32_t k = 0; k < expr->terms[i].count; k++)
                if (!is_writable(expr->terms[i].factors[k].atom))
                    return false;
        return true;
    }
    if (expr->type != GCI_EXPR_APPLY)
        return true;
    if (!is_infix(expr) && !is_foreign(expr) && called_name(expr->name) == NULL)
        return false;
    for (uint32_t i = 0; i < expr->count; i++)
        if (!is_writable(expr->args[i]))
            return false;
    return true;
}

static void
write_apply(gci_expr const *expr, bool operand, gci_buf *out)
{
    bool infix = is_infix(expr), enclosed = infix && operand && expr->count > 1;
    char const *called = called_name(expr->name);

    if (!infix && called != NULL)
        gci_buf_append_text(out, called);
    else if (!infix)
        gci_buf_append_view(out, expr->name);
    if (enclosed || (!infix && !is_foreign(expr)))
        gci_buf_append_char(out, '(');
    for (uint32_t i = 0; i < expr->count; i++) {
        if (i != 0 && infix)
            gci_buf_format(out, " %.*s ", (int)expr->name.size, expr->name.data);
        else if (i != 0)
            gci_buf_append_text(out, ", ");
        write_expr(expr->args[i], infix, out);
    }
    if (enclosed || !infix)
        gci_buf_append_char(out, ')');
}

static void
write_expr(gci_expr const *expr, bool operand, gci_buf *out)
{
    switch (expr->type) {
    case GCI_EXPR_POLYNOMIAL: write_polynomial(expr, operand, out); break;
    case GCI_EXPR_APPLY: write_apply(expr, operand, out); break;
    case GCI_EXPR_SYMBOL:
    case GCI_EXPR_TEXT: gci_buf_append_view(out, expr->name); break;
    }
}

/* ---- conjuncts ---- */

static gci_expr *
written_symbol(void *state, gci_ast const *node)
{
    gci_normal *normal = state;
    gci_view name = node->name;

    if (node->kind == GCI_AST_HINT) {
        gci_buf text;
        gci_buf_init(&text, GCI_BUF_NO_LIMIT);
        gci_buf_format(&text, "L['%.*s']", (int)name.size, name.data);
        name = text.failed ? (gci_view){ NULL, 0 } : gci_arena_copy(&normal->arena, gci_buf_view(&text));
        gci_buf_clear(&text);
    }
    return name.data != NULL ? gci_expr_integer_symbol(&normal->arena, name, node->begin) : NULL;
}

static void
write_bounds(gci_conjunct const *c, int64_t low, int64_t high, gci_buf *out)
{
    if (low > INT64_MIN && low != high)
        gci_buf_format(out, "%lld <= ", (long long)low);
    write_expr(c->expr, false, out);
    if (low == high)
        gci_buf_format(out, " == %lld", (long long)low);
    else if (high < INT64_MAX)
        gci_buf_format(out, " <= %lld", (long long)high);
}

/* Bounds that no integer is between stay as they are written, and so does what can't be written otherwise. */
static bool
has_bounds(gci_conjunct const *c)
{
    return c->kind == GCI_CONJUNCT_BOUNDS && c->low <= c->high && is_writable(c->expr);
}

/* Narrows the bounds by those of later conjuncts on the same expression, which are left out then. */
static void
merge_bounds(gci_normal const *n, size_t at, bool *merged, int64_t *low, int64_t *high)
{
    gci_conjunct const *c = &n->conjuncts[at];

    for (size_t i = at + 1; i < n->count; i++) {
        gci_conjunct const *other = &n->conjuncts[i];
        if (merged[i] || !has_bounds(other) || !gci_expr_equal(c->expr, other->expr) || other->low > *high
            || other->high < *low)
            continue;
        merged[i] = true;
        *low = other->low > *low ? other->low : *low;
        *high = other->high < *high ? other->high : *high;
    }
}

static void
write_conjunct(gci_normal const *n, size_t at, bool *merged, gci_buf *out)
{
    gci_conjunct const *c = &n->conjuncts[at];
    int64_t low = c->low, high = c->high;

    if (has_bounds(c)) {
        merge_bounds(n, at, merged, &low, &high);
        write_bounds(c, low, high, out);
    } else if (c->kind == GCI_CONJUNCT_DIFFERENT && is_writable(c->expr)) {
        write_expr(c->expr, false, out);
        gci_buf_format(out, " != %lld", (long long)c->low);
    } else {
        gci_buf_append_view(out, c->text);
    }
    gci_buf_append_char(out, '\n');
}

/* The same condition with the expression's sign changed, where its first written term would begin with a minus. */
static void
turn_sign(gci_normal *n, gci_conjunct *c)
{
    if (c->expr == NULL || c->expr->type != GCI_EXPR_POLYNOMIAL || c->expr->count == 0
        || next_term(c->expr, NULL)->coefficient.size > 0)
        return;
    gci_expr *turned = gci_expr_negate(&n->arena, c->expr);
    if (turned == NULL)
        return;
    int64_t low = c->high == INT64_MAX ? INT64_MIN : -c->high;
    c->expr = turned;
    if (c->kind == GCI_CONJUNCT_DIFFERENT) {
        c->low = -c->low;
        return;
    }
    c->high = c->low == INT64_MIN ? INT64_MAX : -c->low;
    c->low = low;
}

void
gci_normal_write(gci_view const *texts, size_t count, gci_buf *out)
{
    gci_normal normal;
    bool good = gci_normal_make(texts, count, written_symbol, &normal, &normal);
    bool *merged = calloc(normal.count + 1, sizeof *merged);

    if (!good || merged == NULL)
        out->failed = true;
    for (size_t i = 0; !out->failed && i < normal.count; i++)
        turn_sign(&normal, &normal.conjuncts[i]);
    for (size_t i = 0; !out->failed && i < normal.count; i++)
        if (!merged[i])
            write_conjunct(&normal, i, merged, out);
    free(merged);
    gci_normal_clear(&normal);
}
