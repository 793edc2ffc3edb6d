/*
 * From the tree of a shape expression to its normal form. Both dialects of function names mean one thing; functions
 * that aren't known stay as they are.
 */
#include "base/check.h"
#include "guards/text/ast.h"
#include "guards/normal/expr.h"

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

static bool
all_integers(gci_expr *const *exprs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (exprs[i] == NULL || !exprs[i]->is_integer)
            return false;
    return true;
}

/* ---- functions ---- */

/* How the arguments of a function make its normal form. */
typedef enum meaning {
    MEANS_ITSELF,   /* an atom of the canonical name */
    MEANS_INTEGER,  /* the same, and its value is an integer */
    MEANS_SYMMETRIC, /* an atom whose arguments may be swapped */
    MEANS_OPERATOR, /* as the operator of the canonical name */
    MEANS_EXTREME,  /* max, min */
    MEANS_INDEXING, /* (a // b) % c */
    MEANS_ARGUMENT  /* its argument */
} meaning;

/* name as written, canonical name, arguments (0: any number), meaning */
static struct function {
    char const *name, *canonical;
    size_t arity;
    meaning means;
} const functions[] = {
    { "Mod", "%", 2, MEANS_OPERATOR },
    { "PythonMod", "%", 2, MEANS_OPERATOR },
    { "mod", "%", 2, MEANS_OPERATOR },
    { "FloorDiv", "//", 2, MEANS_OPERATOR },
    { "CleanDiv", "//", 2, MEANS_OPERATOR },
    { "floordiv", "//", 2, MEANS_OPERATOR },
    { "IntTrueDiv", "/", 2, MEANS_OPERATOR },
    { "FloatTrueDiv", "/", 2, MEANS_OPERATOR },
    { "TrueDiv", "/", 2, MEANS_OPERATOR },
    { "Pow", "**", 2, MEANS_OPERATOR },
    { "PowByNatural", "**", 2, MEANS_OPERATOR },
    { "FloatPow", "**", 2, MEANS_OPERATOR },
    { "Max", "max", 0, MEANS_EXTREME },
    { "max", "max", 0, MEANS_EXTREME },
    { "Min", "min", 0, MEANS_EXTREME },
    { "min", "min", 0, MEANS_EXTREME },
    { "ModularIndexing", "", 3, MEANS_INDEXING },
    { "Identity", "", 1, MEANS_ARGUMENT },
    { "Eq", "==", 2, MEANS_SYMMETRIC },
    { "Ne", "!=", 2, MEANS_SYMMETRIC },
    { "Lt", "<", 2, MEANS_ITSELF },
    { "Le", "<=", 2, MEANS_ITSELF },
    { "Gt", ">", 2, MEANS_ITSELF },
    { "Ge", ">=", 2, MEANS_ITSELF },
    { "ToFloat", "float", 1, MEANS_ITSELF },
    { "torch.sym_float", "float", 1, MEANS_ITSELF },
    { "float", "float", 1, MEANS_ITSELF },
    { "TruncToInt", "trunc", 1, MEANS_INTEGER },
    { "math.trunc", "trunc", 1, MEANS_INTEGER },
    { "CeilToInt", "ceil", 1, MEANS_INTEGER },
    { "ceiling", "ceil", 1, MEANS_INTEGER },
    { "math.ceil", "ceil", 1, MEANS_INTEGER },
    { "FloorToInt", "floor", 1, MEANS_INTEGER },
    { "floor", "floor", 1, MEANS_INTEGER },
    { "math.floor", "floor", 1, MEANS_INTEGER },
    { "RoundToInt", "round", 1, MEANS_INTEGER },
    { "round", "round", 1, MEANS_INTEGER },
    { "Abs", "abs", 1, MEANS_INTEGER },
    { "abs", "abs", 1, MEANS_INTEGER },
    { "OpaqueUnaryFn_sqrt", "sqrt", 1, MEANS_ITSELF },
    { "torch._sym_sqrt", "sqrt", 1, MEANS_ITSELF },
    { "math.sqrt", "sqrt", 1, MEANS_ITSELF },
};

/* "math.floor" of an attribute node, "Max" of a name: what stands before the parenthesis, as it is written. */
static gci_view
callee_name(reading *r, gci_ast const *callee)
{
    return gci_ast_text(callee, r->text);
}

static gci_expr *
apply_operator(reading *r, char const *name, gci_expr *a, gci_expr *b, gci_ast const *at)
{
    if (name[0] == '%')
        return gci_expr_modulo(r->arena, a, b);
    if (name[0] == '/' && name[1] == '/')
        return gci_expr_floor_divide(r->arena, a, b);
    if (name[0] == '*' && name[1] == '*')
        return gci_expr_power(r->arena, a, b);
    return apply(r, name, (gci_expr *[]){ a, b }, 2, false, false, at);
}

static gci_expr *
apply_known(reading *r, struct function const *f, gci_expr **args, size_t count, gci_ast const *at)
{
    switch (f->means) {
    case MEANS_OPERATOR:
        return apply_operator(r, f->canonical, args[0], args[1], at);
    case MEANS_EXTREME:
        return gci_expr_extreme(r->arena, f->canonical, args, count, at->begin);
    case MEANS_INDEXING:
        return gci_expr_modulo(r->arena, gci_expr_floor_divide(r->arena, args[0], args[1]), args[2]);
    case MEANS_ARGUMENT:
        return args[0];
    case MEANS_SYMMETRIC:
        return apply(r, f->canonical, args, count, true, false, at);
    case MEANS_INTEGER:
        return apply(r, f->canonical, args, count, false, f->canonical[0] != 'a' || all_integers(args, count), at);
    case MEANS_ITSELF:
        break;
    }
    return apply(r, f->canonical, args, count, false, false, at);
}

/* call -> callee '(' arguments ')' */
static gci_expr *
read_call(reading *r, gci_ast const *node)
{
    gci_view name = callee_name(r, node->first);
    size_t count;
    gci_expr **args = read_children(r, node->first->next, &count);

    if (args == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
        struct function const *f = &functions[i];
        if (gci_view_is(name, f->name) && (f->arity == 0 ? count > 0 : f->arity == count))
            return apply_known(r, f, args, count, node);
    }
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
