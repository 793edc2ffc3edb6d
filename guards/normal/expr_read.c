/*
 * Makes the normal form of a shape expression from its tree. Both dialects of function names mean one thing; functions
 * that aren't known stay as they are.
 */
#include "base/check.h"
#include "guards/text/ast.h"
#include "guards/normal/expr.h"
#include "guards/value/functions.h"

#include <stdlib.h>

/* Operands of one chain, arguments of one call: the texts are short. */
#define MAX_OPERANDS 1024

typedef struct reading {
    gci_arena *arena;
    gci_view text;
    gci_expr_leaf leaf;
    void *state;
} reading;

static gci_expr *read_node(reading *r, gci_ast const *node);

static gci_expr *
apply(reading *r, char const *name, gci_expr *const *args, size_t count, bool commutative, bool is_integer, gci_ast const *at)
{
    return gci_expr_apply(r->arena, name, args, count, commutative, is_integer, at->begin);
}

/* The children from `first` on, read, in an array. NULL without memory. */
static gci_expr **
read_children(reading *r, gci_ast const *first, size_t *out_count)
{
    size_t count = 0;

    for (gci_ast const *child = first; child != NULL; child = child->next)
        count++;
    gci_expr **exprs = count <= MAX_OPERANDS ? gci_arena_array(r->arena, count, sizeof *exprs) : NULL;
    *out_count = count;
    for (size_t i = 0; exprs != NULL && i < count; i++, first = first->next)
        exprs[i] = read_node(r, first);
    return exprs;
}

/* ---- functions ---- */

static gci_expr *
apply_operator(reading *r, gci_operator op, gci_expr *a, gci_expr *b, gci_ast const *at)
{
    bool symmetric = op == GCI_OPERATOR_EQ || op == GCI_OPERATOR_NE;

    switch (op) {
    case GCI_OPERATOR_MOD: return gci_expr_modulo(r->arena, a, b);
    case GCI_OPERATOR_FLOORDIV: return gci_expr_floor_divide(r->arena, a, b);
    case GCI_OPERATOR_POW: return gci_expr_power(r->arena, a, b);
    default: return apply(r, gci_operator_token(op), (gci_expr *[]){ a, b }, 2, symmetric, false, at);
    }
}

/* Functions that only shape expressions have. */
static bool
apply_of_shapes(reading *r, gci_view name, gci_expr **args, size_t count, gci_ast const *at, gci_expr **out)
{
    if (gci_view_is(name, "Pow") && count == 2)
        *out = gci_expr_power(r->arena, args[0], args[1]);
    else if (gci_view_is(name, "ModularIndexing") && count == 3)
        *out = gci_expr_modulo(r->arena, gci_expr_floor_divide(r->arena, args[0], args[1]), args[2]);
    else if (gci_view_is(name, "Identity") && count == 1)
        *out = args[0];
    else if (gci_view_is(name, "OpaqueUnaryFn_sqrt") && count == 1)
        *out = apply(r, "sqrt", args, count, false, false, at);
    else
        return false;
    return true;
}

/* false: the normal form has no name for a call of the function. */
static bool
apply_known(reading *r, gci_function const *f, gci_expr **args, size_t count, gci_ast const *at, gci_expr **out)
{
    bool power = f->canonical != NULL && strcmp(f->canonical, "**") == 0;

    if (f->kind == GCI_FUNCTION_OPERATOR && count == 2)
        *out = apply_operator(r, f->op, args[0], args[1], at);
    else if (f->kind == GCI_FUNCTION_ABS && count == 1)
        *out = apply(r, "abs", args, 1, false, args[0] != NULL && args[0]->is_integer, at);
    else if ((f->kind == GCI_FUNCTION_MAX || f->kind == GCI_FUNCTION_MIN) && count > 0)
        *out = gci_expr_extreme(r->arena, f->kind == GCI_FUNCTION_MAX ? "max" : "min", args, count, at->begin);
    else if (power && count == 2)
        *out = gci_expr_power(r->arena, args[0], args[1]);
    else if (f->canonical != NULL && !power && count == 1)
        *out = apply(r, f->canonical, args, 1, false, f->result == GCI_RESULT_WHOLE, at);
    else
        return false;
    return true;
}

/* call -> callee '(' arguments ')' */
static gci_expr *
read_call(reading *r, gci_ast const *node)
{
    gci_view const name = gci_ast_text(node->first, r->text), no_module = { NULL, 0 };
    gci_function const *function = gci_function_find(no_module, name);
    gci_expr *known;
    size_t count;
    gci_expr **args = read_children(r, node->first->next, &count);

    if (args == NULL)
        return NULL;
    if (function != NULL ? apply_known(r, function, args, count, node, &known)
                         : apply_of_shapes(r, name, args, count, node, &known))
        return known;
    /* A call's name has its parenthesis, so that it can't be taken for an operator or a known function. */
    gci_buf text;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_buf_append_view(&text, name);
    gci_buf_append_char(&text, '(');
    char const *own = text.failed ? NULL : gci_arena_copy(r->arena, gci_buf_view(&text)).data;
    gci_buf_clear(&text);
    return own != NULL ? apply(r, own, args, count, false, false, node) : NULL;
}

/* ---- operators ---- */

/* a op b, for what isn't a sum or a product. */
static gci_expr *
join(reading *r, gci_operator op, gci_expr *a, gci_expr *b, gci_ast const *at)
{
    bool integers = a != NULL && b != NULL && a->is_integer && b->is_integer;
    bool commutative = op == GCI_OPERATOR_BITAND || op == GCI_OPERATOR_BITOR || op == GCI_OPERATOR_BITXOR;

    if (op == GCI_OPERATOR_FLOORDIV)
        return gci_expr_floor_divide(r->arena, a, b);
    if (op == GCI_OPERATOR_MOD)
        return gci_expr_modulo(r->arena, a, b);
    return apply(r, gci_operator_token(op), (gci_expr *[]){ a, b }, 2, commutative, integers && op != GCI_OPERATOR_TRUEDIV,
                 at);
}

/* Operands that one sum or one product will be made of. */
typedef struct operand_run {
    gci_expr **items;
    size_t count;
    gci_operator op; /* ADD or MUL, once there are two */
} operand_run;

static gci_expr *
end_run(reading *r, operand_run *run)
{
    gci_expr *value = run->items[0];

    if (run->count > 1)
        value = run->op == GCI_OPERATOR_ADD ? gci_expr_sum(r->arena, run->items, run->count)
                                            : gci_expr_product(r->arena, run->items, run->count);
    run->items[0] = value;
    run->count = 1;
    return value;
}

/* One more operand. false: it couldn't be made. */
static bool
add_to_run(reading *r, operand_run *run, gci_operator op, gci_expr *operand, gci_ast const *at)
{
    bool sum = op == GCI_OPERATOR_ADD || op == GCI_OPERATOR_SUB, product = op == GCI_OPERATOR_MUL;
    gci_operator kind = sum ? GCI_OPERATOR_ADD : op;

    if (operand != NULL && op == GCI_OPERATOR_SUB)
        operand = gci_expr_negate(r->arena, operand);
    if (operand == NULL || (run->count > 1 && run->op != kind && end_run(r, run) == NULL))
        return false;
    run->op = kind;
    if (sum || product)
        run->items[run->count++] = operand;
    else
        run->items[0] = join(r, op, run->items[0], operand, at);
    return run->items[0] != NULL;
}

/* chain -> operand (operator operand)* , from left to right */
static gci_expr *
read_chain(reading *r, gci_ast const *node)
{
    operand_run run = { .items = gci_arena_array(r->arena, node->count, sizeof *run.items), .count = 1 };

    if (run.items == NULL)
        return NULL;
    run.items[0] = read_node(r, node->first);
    for (gci_ast const *child = node->first->next; child != NULL && run.items[0] != NULL; child = child->next)
        if (!add_to_run(r, &run, (gci_operator)child->joint, read_node(r, child), node))
            return NULL;
    return run.items[0] != NULL ? end_run(r, &run) : NULL;
}

/* Written the other way round, a > b is b < a: one form for both. */
static gci_expr *
compare_pair(reading *r, gci_operator op, gci_expr *a, gci_expr *b, gci_ast const *at)
{
    bool swapped = op == GCI_OPERATOR_GT || op == GCI_OPERATOR_GE;
    bool symmetric = op == GCI_OPERATOR_EQ || op == GCI_OPERATOR_NE;

    if (swapped)
        op = op == GCI_OPERATOR_GT ? GCI_OPERATOR_LT : GCI_OPERATOR_LE;
    return apply(r, gci_operator_token(op), (gci_expr *[]){ swapped ? b : a, swapped ? a : b }, 2, symmetric, false, at);
}

/* compare -> a REL b REL c .. : all of the pairs hold */
static gci_expr *
read_compare(reading *r, gci_ast const *node)
{
    gci_expr *left = read_node(r, node->first), *all = NULL;

    for (gci_ast const *child = node->first->next; child != NULL; child = child->next) {
        gci_expr *right = read_node(r, child), *pair;
        if (left == NULL || right == NULL)
            return NULL;
        pair = compare_pair(r, (gci_operator)child->joint, left, right, node);
        all = all == NULL ? pair : apply(r, "and", (gci_expr *[]){ all, pair }, 2, false, false, node);
        if (all == NULL)
            return NULL;
        left = right;
    }
    return all;
}

static gci_expr *
read_unary(reading *r, gci_ast const *node)
{
    gci_expr *operand = read_node(r, node->first);

    if (operand == NULL)
        return NULL;
    if (node->first->joint == GCI_OPERATOR_NEG)
        return gci_expr_negate(r->arena, operand);
    if (node->first->joint == GCI_OPERATOR_POS && operand->is_integer)
        return operand;
    return apply(r, gci_operator_token((gci_operator)node->first->joint), &operand, 1, false, operand->is_integer, node);
}

static gci_expr *
read_list(reading *r, gci_ast const *node, char const *name)
{
    size_t count;
    gci_expr **items = read_children(r, node->first, &count);

    return items != NULL ? apply(r, name, items, count, false, false, node) : NULL;
}

static gci_expr *
read_number(reading *r, gci_ast const *node)
{
    if (gci_number_is_integral(node->number) && node->number.kind != GCI_KIND_BOOL) {
        uint64_t *cell = gci_arena_alloc(r->arena, sizeof *cell);
        return cell != NULL ? gci_expr_integer(r->arena, gci_number_to_int(node->number, cell), node->begin) : NULL;
    }
    gci_buf text;
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    gci_number_write(node->number, &text);
    gci_view own = text.failed ? (gci_view){ NULL, 0 } : gci_arena_copy(r->arena, gci_buf_view(&text));
    gci_buf_clear(&text);
    return own.data != NULL ? gci_expr_text(r->arena, own, node->begin) : NULL;
}

/* L['t0'] and math.inf count as they are written. */
static gci_expr *
read_text(reading *r, gci_ast const *node)
{
    return gci_expr_text(r->arena, gci_ast_text(node, r->text), node->begin);
}

static gci_expr *
read_node(reading *r, gci_ast const *node)
{
    if (r->leaf != NULL && (node->kind == GCI_AST_NAME || node->kind == GCI_AST_HINT))
        return r->leaf(r->state, node);
    switch ((gci_ast_kind)node->kind) {
    case GCI_AST_NUMBER:
        return read_number(r, node);
    case GCI_AST_NAME:
        return gci_expr_symbol(r->arena, node->name, node->begin);
    case GCI_AST_HINT:
    case GCI_AST_ATTRIBUTE:
        return read_text(r, node);
    case GCI_AST_CHAIN:
        return read_chain(r, node);
    case GCI_AST_POWER:
        return gci_expr_power(r->arena, read_node(r, node->first), read_node(r, node->first->next));
    case GCI_AST_UNARY:
        return read_unary(r, node);
    case GCI_AST_COMPARE:
        return read_compare(r, node);
    case GCI_AST_CALL:
        return read_call(r, node);
    case GCI_AST_NOT:
        return read_list(r, node, "not");
    case GCI_AST_AND:
        return read_list(r, node, "and");
    case GCI_AST_OR:
        return read_list(r, node, "or");
    case GCI_AST_IF:
        return read_list(r, node, "if");
    case GCI_AST_TUPLE:
        return read_list(r, node, "tuple");
    }
    return NULL;
}

gci_expr *
gci_expr_of(gci_ast const *tree, gci_view text, gci_arena *arena, gci_expr_leaf leaf, void *state)
{
    reading r = { .arena = arena, .text = text, .leaf = leaf, .state = state };

    return read_node(&r, tree);
}

gci_expr *
gci_expr_read(gci_view text, gci_arena *arena, gcache_error *error)
{
    gci_ast *tree = gci_ast_parse(text, arena, error);

    if (tree == NULL)
        return NULL;
    gci_expr *expr = gci_expr_of(tree, text, arena, NULL, NULL);
    if (expr == NULL)
        gci_fail(error, arena->failed ? GCACHE_ERROR_MEMORY : GCACHE_ERROR_LIMIT, "the expression is too large");
    return expr;
}
