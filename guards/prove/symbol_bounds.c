/*
 * A condition on one symbol, read from its normal form: for advice, which speaks of sizes and multiples.
 */
#include "guards/prove/prove.h"

#include "guards/normal/normal.h"

static gci_expr *
symbol_of(void *state, gci_ast const *node)
{
    gci_normal *normal = state;

    return gci_expr_integer_symbol(&normal->arena, node->name, node->begin);
}

static bool
bounds_of(gci_conjunct const *c, gci_symbol_bounds *out)
{
    gci_expr const *expr = c->expr;

    if (c->kind != GCI_CONJUNCT_BOUNDS)
        return false;
    *out = (gci_symbol_bounds){ .low = c->low, .high = c->high };
    if (expr->type == GCI_EXPR_APPLY && gci_view_is(expr->name, "%")) {
        if (!gci_expr_constant(expr->args[1], &out->modulus) || out->modulus <= 0)
            return false;
        expr = expr->args[0];
    }
    out->name = expr->name;
    return expr->type == GCI_EXPR_SYMBOL;
}

bool
gci_bounds_of_symbol(gci_view text, gci_symbol_bounds *out)
{
    gci_normal normal;

    bool found = gci_normal_make(&text, 1, symbol_of, &normal, &normal) && normal.count == 1
                 && bounds_of(&normal.conjuncts[0], out);
    gci_normal_clear(&normal);
    return found;
}
