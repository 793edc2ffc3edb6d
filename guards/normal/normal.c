/*
 * Conjuncts of a guard list, each brought to bounds of an expression where it has that form.
 */
#include "guards/normal/normal.h"

#include "base/array.h"
#include "base/check.h"
#include "guards/value/limits.h"
#include "guards/value/small.h"

#include <stdlib.h>

typedef struct making {
    gci_normal *normal;
    gci_view text;
    size_t guard;
    gci_expr_leaf leaf;
    void *state;
    bool failed;
} making;

static gci_expr *
expression(making *m, gci_ast const *node)
{
    return gci_expr_of(node, m->text, &m->normal->arena, m->leaf, m->state);
}

/* ---- one conjunct ---- */

static gci_conjunct *
new_conjunct(making *m, gci_view text)
{
    gci_normal *n = m->normal;

    if (!gci_array_has_room(&n->conjuncts, n->count, &n->room, sizeof *n->conjuncts)) {
        m->failed = true;
        return NULL;
    }
    gci_conjunct *conjunct = &n->conjuncts[n->count++];
    *conjunct = (gci_conjunct){ .kind = GCI_CONJUNCT_OTHER, .guard = m->guard, .text = text, .low = INT64_MIN, .high = INT64_MAX };
    return conjunct;
}

static void
add_hazards(making *m, gci_ast const *node, gci_conjunct *conjunct)
{
    gci_hazards hazards;

    gci_hazards_find(node, &hazards);
    conjunct->raises = conjunct->raises || hazards.raises;
    for (size_t i = 0; i < hazards.count; i++) {
        gci_expr *divisor = expression(m, hazards.divisors[i]);
        if (divisor == NULL || !divisor->is_integer || conjunct->divisor_count == GCI_MAX_DIVISORS)
            conjunct->raises = true;
        else
            conjunct->divisors[conjunct->divisor_count++] = divisor;
    }
}

static void
add_other(making *m, gci_ast const *node, gci_view text)
{
    gci_conjunct *conjunct = new_conjunct(m, text);

    if (conjunct != NULL)
        add_hazards(m, node, conjunct);
}

/* ---- comparisons of integers ---- */

/* The coefficients' greatest common divisor with the first one's sign; 0 if they don't fit. */
static int64_t
common_factor(gci_expr const *expr)
{
    int64_t factor = 0, value;

    for (uint32_t i = 0; i < expr->count; i++) {
        if (expr->terms[i].count == 0)
            continue;
        if (!gci_int_fits(expr->terms[i].coefficient, &value) || value == INT64_MIN)
            return 0;
        int64_t a = gci_common_divisor(factor < 0 ? -factor : factor, value < 0 ? -value : value);
        bool negative = factor == 0 ? value < 0 : factor < 0;
        factor = negative ? -a : a;
    }
    return factor;
}

/* expr = factor*base + constant. false: a constant, or numbers beyond 64 bits. */
static bool
split(gci_arena *arena, gci_expr *expr, gci_expr **out_base, int64_t *out_factor, int64_t *out_constant)
{
    uint64_t cell;
    gci_expr *base;

    *out_constant = 0;
    *out_factor = 1;
    *out_base = expr;
    if (expr->type != GCI_EXPR_POLYNOMIAL)
        return true;
    for (uint32_t i = 0; i < expr->count; i++)
        if (expr->terms[i].count == 0 && !gci_int_fits(expr->terms[i].coefficient, out_constant))
            return false;
    *out_factor = common_factor(expr);
    if (*out_factor == 0 || *out_constant == INT64_MIN)
        return false;
    base = gci_expr_add(arena, expr, gci_expr_small(arena, -*out_constant, expr->at));
    base = base != NULL ? gci_expr_divided(arena, base, gci_int_small(*out_factor, &cell)) : NULL;
    *out_base = base;
    return base != NULL;
}

/* Sets what factor*base op value says of base; factor > 0. */
static void
set_bounds(gci_conjunct *c, int64_t factor, gci_operator op, int64_t value)
{
    int64_t floor = gci_floor_divide(value, factor);
    bool exact = floor * factor == value;

    c->kind = GCI_CONJUNCT_BOUNDS;
    switch (op) {
    case GCI_OPERATOR_EQ:
        c->low = exact ? floor : 1;
        c->high = exact ? floor : 0;
        break;
    case GCI_OPERATOR_NE:
        c->kind = exact ? GCI_CONJUNCT_DIFFERENT : GCI_CONJUNCT_OTHER;
        c->low = floor;
        break;
    case GCI_OPERATOR_LT: c->high = exact ? floor - 1 : floor; break;
    case GCI_OPERATOR_LE: c->high = floor; break;
    case GCI_OPERATOR_GT: c->low = floor + 1; break;
    default: c->low = exact ? floor : floor + 1; break;
    }
}

/* left - right op 0, as bounds of an expression. */
static void
normalise(making *m, gci_conjunct *conjunct, gci_expr *left, gci_operator op, gci_expr *right)
{
    gci_arena *arena = &m->normal->arena;
    int64_t factor, constant;
    gci_expr *base;

    if (left == NULL || right == NULL || !left->is_integer || !right->is_integer)
        return;
    gci_expr *difference = gci_expr_add(arena, left, gci_expr_negate(arena, right));
    if (difference == NULL || !split(arena, difference, &base, &factor, &constant))
        return;
    /* Room for one more and one less. */
    if (factor < 0) {
        op = gci_operator_mirrored(op);
        factor = -factor;
        constant = -constant;
    }
    if (constant <= INT64_MIN + 1 || constant >= INT64_MAX - 1)
        return;
    conjunct->expr = base;
    set_bounds(conjunct, factor, op, -constant);
}

static void
add_comparison(making *m, gci_ast const *left, gci_operator op, gci_ast const *right, gci_view text)
{
    gci_conjunct *conjunct = new_conjunct(m, text);

    if (conjunct == NULL)
        return;
    add_hazards(m, left, conjunct);
    add_hazards(m, right, conjunct);
    normalise(m, conjunct, expression(m, left), op, expression(m, right));
}

/* ---- conditions ---- */

static gci_operator
opposite(gci_operator op)
{
    switch (op) {
    case GCI_OPERATOR_EQ: return GCI_OPERATOR_NE;
    case GCI_OPERATOR_NE: return GCI_OPERATOR_EQ;
    case GCI_OPERATOR_LT: return GCI_OPERATOR_GE;
    case GCI_OPERATOR_LE: return GCI_OPERATOR_GT;
    case GCI_OPERATOR_GT: return GCI_OPERATOR_LE;
    default: return GCI_OPERATOR_LT;
    }
}

/* `condition == False` and `condition == True`: the condition, and whether it is wanted. */
static bool
compared_with_bool(gci_ast const *node, gci_ast const **out_condition, bool *out_wanted)
{
    gci_ast const *right = node->kind == GCI_AST_COMPARE && node->count == 2 ? node->first->next : NULL;
    gci_operator op;

    if (right == NULL || right->joint != GCI_OPERATOR_EQ || right->kind != GCI_AST_NUMBER
        || right->number.kind != GCI_KIND_BOOL)
        return false;
    *out_condition = node->first;
    *out_wanted = right->number.i != 0;
    return gci_ast_is_called_comparison(node->first, &op) || (node->first->kind == GCI_AST_COMPARE && node->first->parenthesised);
}

static void add_condition(making *m, gci_ast const *node, bool wanted, gci_view text);

/* Comparisons in a row hold one by one; what isn't wanted is one comparison or nothing that can be split. */
static void
add_compare(making *m, gci_ast const *node, bool wanted, gci_view text)
{
    if (node->count == 2) {
        gci_operator op = node->first->next->joint;
        add_comparison(m, node->first, wanted ? op : opposite(op), node->first->next, text);
        return;
    }
    for (gci_ast const *left = node->first, *right = left->next; right != NULL; left = right, right = right->next)
        add_comparison(m, left, right->joint, right,
                       gci_view_of(m->text.data + left->begin, right->end - left->begin));
}

static void
add_condition(making *m, gci_ast const *node, bool wanted, gci_view text)
{
    gci_ast const *inner;
    gci_operator op;
    bool truth;

    if (node->kind == GCI_AST_AND && wanted) {
        for (gci_ast const *child = node->first; child != NULL; child = child->next)
            add_condition(m, child, true, gci_ast_text(child, m->text));
    } else if (node->kind == GCI_AST_NOT) {
        add_condition(m, node->first, !wanted, text);
    } else if (compared_with_bool(node, &inner, &truth)) {
        add_condition(m, inner, truth == wanted, text);
    } else if (node->kind == GCI_AST_COMPARE && (wanted || node->count == 2)) {
        add_compare(m, node, wanted, text);
    } else if (gci_ast_is_called_comparison(node, &op)) {
        gci_ast const *left = node->first->next;
        add_comparison(m, left, wanted ? op : opposite(op), left->next, text);
    } else {
        add_other(m, node, text);
    }
}

/* ---- lists ---- */

bool
gci_normal_make(gci_view const *texts, size_t count, gci_expr_leaf leaf, void *state, gci_normal *out)
{
    making m = { .normal = out, .leaf = leaf, .state = state };

    *out = (gci_normal){ .count = 0 };
    gci_arena_init(&out->arena, GCI_GUARD_PARSE_MEMORY);
    for (size_t i = 0; i < count && !m.failed; i++) {
        gci_ast const *tree = gci_ast_parse(texts[i], &out->arena, NULL);
        if (tree == NULL)
            return false;
        m.text = texts[i];
        m.guard = i;
        add_condition(&m, tree, true, gci_ast_text(tree, texts[i]));
    }
    return !m.failed;
}

void
gci_normal_clear(gci_normal *normal)
{
    free(normal->conjuncts);
    gci_arena_clear(&normal->arena);
    *normal = (gci_normal){ .count = 0 };
}
