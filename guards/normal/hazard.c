/*
 * Which parts of a guard may raise: divisors that may be zero, and everything that is not integer arithmetic.
 */
#include "guards/normal/hazard.h"

#include "base/check.h"
#include "guards/value/functions.h"

#include <math.h>

/* Integers below 2**MAX_BITS convert to floats without OverflowError, with room for the rounding of what follows. */
#define MAX_BITS 1000

/* A hint is a 64-bit integer. */
#define NAME_BITS 64

/* What is known of a value: an integer or possibly a float, its magnitude below 2**bits. */
typedef struct fact {
    bool is_integer;
    int bits;
} fact;

static fact examine(gci_hazards *h, gci_ast const *node);

static fact
raises(gci_hazards *h)
{
    h->raises = true;
    return (fact){ .is_integer = false, .bits = MAX_BITS + 1 };
}

/* A value of so many bits; floats beyond the limit might be infinite. */
static fact
known(gci_hazards *h, bool is_integer, int bits)
{
    return bits > MAX_BITS ? raises(h) : (fact){ is_integer, bits };
}

static int
larger(int a, int b)
{
    return a > b ? a : b;
}

static fact
join(fact a, fact b)
{
    return (fact){ a.is_integer && b.is_integer, larger(a.bits, b.bits) };
}

static fact
examine_number(gci_hazards *h, gci_number number)
{
    uint64_t cell;
    int exponent;

    if (gci_number_is_integral(number)) {
        uint64_t bits = gci_int_bits(gci_number_to_int(number, &cell));
        return known(h, true, bits > MAX_BITS ? MAX_BITS + 1 : (int)bits);
    }
    if (number.kind != GCI_KIND_FLOAT || !isfinite(number.f))
        return raises(h);
    frexp(number.f, &exponent);
    return known(h, false, larger(exponent, 0));
}

/* ---- operators ---- */

static void
add_divisor(gci_hazards *h, gci_ast const *divisor)
{
    if (h->count == GCI_MAX_DIVISORS)
        raises(h);
    else
        h->divisors[h->count++] = divisor;
}

static bool
is_nonzero_constant(gci_ast const *node)
{
    if (node->kind == GCI_AST_UNARY && node->first->joint != GCI_OPERATOR_INVERT)
        return is_nonzero_constant(node->first);
    if (node->kind != GCI_AST_NUMBER || !gci_number_is_real(node->number))
        return false;
    return gci_number_truth(node->number) && (node->number.kind != GCI_KIND_FLOAT || fabs(node->number.f) >= 1e-3);
}

/* right may be NULL: not a tree of its own. */
static fact
divide(gci_hazards *h, gci_operator op, fact a, fact b, gci_ast const *right)
{
    bool whole = a.is_integer && b.is_integer;

    if (right == NULL || !is_nonzero_constant(right)) {
        if (right == NULL || !whole || op == GCI_OPERATOR_TRUEDIV)
            return raises(h);
        add_divisor(h, right);
    }
    /* A divisor of 1/1000 makes ten bits more. */
    if (op == GCI_OPERATOR_TRUEDIV || !whole)
        return known(h, false, larger(a.bits, b.bits) + 11);
    return (fact){ true, op == GCI_OPERATOR_MOD ? b.bits : a.bits + 1 };
}

static int
small_constant(gci_ast const *node)
{
    bool small = node != NULL && node->kind == GCI_AST_NUMBER && node->number.kind == GCI_KIND_INT && node->number.i >= 0 &&
                 node->number.i <= MAX_BITS;

    return small ? (int)node->number.i : -1;
}

static fact
combine(gci_hazards *h, gci_operator op, fact a, fact b, gci_ast const *right)
{
    bool whole = a.is_integer && b.is_integer;
    int constant = small_constant(right);

    switch (op) {
    case GCI_OPERATOR_ADD:
    case GCI_OPERATOR_SUB: return known(h, whole, larger(a.bits, b.bits) + 1);
    case GCI_OPERATOR_MUL: return known(h, whole, a.bits + b.bits);
    case GCI_OPERATOR_TRUEDIV:
    case GCI_OPERATOR_FLOORDIV:
    case GCI_OPERATOR_MOD: return divide(h, op, a, b, right);
    case GCI_OPERATOR_POW: return whole && constant >= 0 ? known(h, true, larger(a.bits * constant, 1)) : raises(h);
    case GCI_OPERATOR_LSHIFT: return whole && constant >= 0 ? known(h, true, a.bits + constant) : raises(h);
    case GCI_OPERATOR_RSHIFT: return whole && constant >= 0 ? a : raises(h);
    case GCI_OPERATOR_BITAND:
    case GCI_OPERATOR_BITOR:
    case GCI_OPERATOR_BITXOR: return whole ? known(h, true, larger(a.bits, b.bits) + 1) : raises(h);
    default: return (fact){ true, 1 };
    }
}

static fact
examine_chain(gci_hazards *h, gci_ast const *node)
{
    fact value = examine(h, node->first);

    for (gci_ast const *child = node->first->next; child != NULL; child = child->next) {
        gci_operator op = node->kind == GCI_AST_POWER ? GCI_OPERATOR_POW : (gci_operator)child->joint;
        value = combine(h, op, value, examine(h, child), child);
    }
    return value;
}

/* The union of all children: what `and`, `or` and conditionals may give. */
static fact
examine_any(gci_hazards *h, gci_ast const *first)
{
    fact value = examine(h, first);

    for (gci_ast const *child = first->next; child != NULL; child = child->next)
        value = join(value, examine(h, child));
    return value;
}

/* ---- calls ---- */

static fact
examine_called(gci_hazards *h, gci_function const *function, gci_ast const *argument, size_t count)
{
    if (count != 1 || function->result == GCI_RESULT_ANY)
        return raises(h);
    fact value = examine(h, argument);
    /* non_negative hands back what it was given. */
    if (gci_view_is(gci_view_text(function->name), "non_negative"))
        return value;
    return known(h, function->result == GCI_RESULT_WHOLE, value.bits + 1);
}

static fact
examine_call(gci_hazards *h, gci_ast const *node)
{
    gci_function const *function = gci_ast_called(node);
    gci_ast const *first = node->first->next;
    size_t count = node->count - 1;

    if (function == NULL || count < function->least || count > function->most)
        return raises(h);
    switch (function->kind) {
    case GCI_FUNCTION_OPERATOR: {
        fact left = examine(h, first);
        return combine(h, function->op, left, examine(h, first->next), first->next);
    }
    case GCI_FUNCTION_ABS: return examine(h, first);
    case GCI_FUNCTION_MAX:
    case GCI_FUNCTION_MIN: return count > 1 ? examine_any(h, first) : raises(h);
    default: return examine_called(h, function, first, count);
    }
}

static fact
examine(gci_hazards *h, gci_ast const *node)
{
    switch ((gci_ast_kind)node->kind) {
    case GCI_AST_NUMBER: return examine_number(h, node->number);
    case GCI_AST_NAME:
    case GCI_AST_HINT: return (fact){ true, NAME_BITS };
    case GCI_AST_CHAIN:
    case GCI_AST_POWER: return examine_chain(h, node);
    case GCI_AST_UNARY: {
        fact value = examine(h, node->first);
        return node->first->joint == GCI_OPERATOR_INVERT && !value.is_integer ? raises(h)
                                                                               : known(h, value.is_integer, value.bits + 1);
    }
    case GCI_AST_NOT:
    case GCI_AST_COMPARE: examine_any(h, node->first); return (fact){ true, 1 };
    case GCI_AST_AND:
    case GCI_AST_OR:
    case GCI_AST_IF: return examine_any(h, node->first);
    case GCI_AST_CALL: return examine_call(h, node);
    case GCI_AST_ATTRIBUTE:
    case GCI_AST_TUPLE: return raises(h);
    }
    return raises(h);
}

void
gci_hazards_find(gci_ast const *node, gci_hazards *out)
{
    *out = (gci_hazards){ .raises = false };
    examine(out, node);
}
