/*
 * The tree walk; operators and functions are those of guards/value.
 */
#include "guards/text/tree.h"

#include "base/check.h"
#include "guards/value/functions.h"

static bool
eval_name(gci_tree const *tree, gci_ast const *node, gci_number *out)
{
    gci_number const *value = tree->value(tree->state, node);

    if (value != NULL) {
        *out = *value;
        return true;
    }
    if (node->kind == GCI_AST_HINT)
        return gci_raise(tree->calc, GCI_RAISED_KEY, "'%.*s'", (int)node->name.size, node->name.data);
    if (gci_function_object(node->name, out))
        return true;
    return gci_raise(tree->calc, GCI_RAISED_NAME, "name '%.*s' is not defined", (int)node->name.size, node->name.data);
}

static bool
eval_chain(gci_tree const *tree, gci_ast const *node, gci_number *out)
{
    gci_number next;

    if (!gci_tree_eval(tree, node->first, out))
        return false;
    for (gci_ast const *child = node->first->next; child != NULL; child = child->next) {
        gci_operator op = node->kind == GCI_AST_POWER ? GCI_OPERATOR_POW : (gci_operator)child->joint;
        if (!gci_tree_eval(tree, child, &next) || !gci_calc_binary(tree->calc, op, *out, next, out))
            return false;
    }
    return true;
}

static bool
eval_compare(gci_tree const *tree, gci_ast const *node, gci_number *out)
{
    gci_number left, right;
    bool holds = true;

    if (!gci_tree_eval(tree, node->first, &left))
        return false;
    for (gci_ast const *child = node->first->next; child != NULL && holds; child = child->next, left = right)
        if (!gci_tree_eval(tree, child, &right) ||
            !gci_calc_compare(tree->calc, (gci_operator)child->joint, left, right, &holds))
            return false;
    *out = gci_number_bool(holds);
    return true;
}

/* `and` and `or` hand back the operand that decides. */
static bool
eval_logical(gci_tree const *tree, gci_ast const *node, gci_number *out)
{
    for (gci_ast const *child = node->first; child != NULL; child = child->next) {
        if (!gci_tree_eval(tree, child, out))
            return false;
        if (gci_number_truth(*out) == (node->kind == GCI_AST_OR))
            break;
    }
    return true;
}

/* ---- calls ---- */

static gci_function const *
callee_function(gci_tree const *tree, gci_ast const *callee)
{
    if (callee->kind == GCI_AST_NAME)
        return tree->value(tree->state, callee) == NULL ? gci_function_find(gci_view_of("", 0), callee->name) : NULL;
    bool attribute = callee->kind == GCI_AST_ATTRIBUTE && callee->first->kind == GCI_AST_NAME &&
                     gci_function_is_module(callee->first->name);
    return attribute ? gci_function_find(callee->first->name, callee->name) : NULL;
}

static bool
call_function(gci_tree const *tree, gci_function const *function, gci_number const *args, size_t count, gci_number *out)
{
    bool replaces;

    switch (function->kind) {
    case GCI_FUNCTION_OPERATOR:
        if (gci_operator_is_comparison(function->op)) {
            bool holds;
            if (!gci_calc_compare(tree->calc, function->op, args[0], args[1], &holds))
                return false;
            *out = gci_number_bool(holds);
            return true;
        }
        return gci_calc_binary(tree->calc, function->op, args[0], args[1], out);
    case GCI_FUNCTION_ABS:
        return gci_function_abs(tree->calc, args[0], out);
    case GCI_FUNCTION_MAX:
    case GCI_FUNCTION_MIN:
        *out = args[0];
        for (size_t i = 1; i < count; i++) {
            if (!gci_function_replaces(tree->calc, function->kind, *out, args[i], &replaces))
                return false;
            if (replaces)
                *out = args[i];
        }
        return true;
    case GCI_FUNCTION_CALLED:
        return function->call(tree->calc, args, count, out);
    case GCI_FUNCTION_CONSTANT:
        break;
    }
    return gci_raise(tree->calc, GCI_RAISED_TYPE, "'float' object is not callable");
}

static bool
eval_arguments(gci_tree const *tree, gci_ast const *first, gci_number **out_args, size_t *out_count)
{
    size_t count = 0;

    for (gci_ast const *child = first; child != NULL; child = child->next)
        count++;
    gci_number *args = gci_arena_array(&tree->calc->arena, count, sizeof *args);
    if (args == NULL)
        return gci_raise_memory(tree->calc);
    *out_args = args;
    *out_count = count;
    for (gci_ast const *child = first; child != NULL; child = child->next)
        if (!gci_tree_eval(tree, child, args++))
            return false;
    return true;
}

static bool
eval_call(gci_tree const *tree, gci_ast const *node, gci_number *out)
{
    gci_function const *function = callee_function(tree, node->first);
    gci_number *args = NULL;
    size_t count = 0;

    if (function == NULL)
        return gci_tree_eval(tree, node->first, out) &&
               gci_raise(tree->calc, GCI_RAISED_TYPE, "'%s' object is not callable", gci_number_type(*out));
    if (!eval_arguments(tree, node->first->next, &args, &count))
        return false;
    bool extreme = function->kind == GCI_FUNCTION_MAX || function->kind == GCI_FUNCTION_MIN;
    if (count < (extreme ? 2 : function->least) || count > function->most)
        return gci_raise(tree->calc, GCI_RAISED_TYPE, "%s() takes another number of arguments", function->name);
    return call_function(tree, function, args, count, out);
}

static bool
eval_attribute(gci_tree const *tree, gci_ast const *node, gci_number *out)
{
    gci_function const *function = callee_function(tree, node);

    if (function == NULL)
        return gci_tree_eval(tree, node->first, out) &&
               gci_raise(tree->calc, GCI_RAISED_ATTRIBUTE, "'%s' object has no attribute '%.*s'", gci_number_type(*out),
                         (int)node->name.size, node->name.data);
    *out = gci_function_as_object(function);
    return true;
}

static bool
eval_tuple(gci_tree const *tree, gci_ast const *node, gci_number *out)
{
    gci_number *items = NULL;
    size_t count = 0;

    return eval_arguments(tree, node->first, &items, &count) &&
           gci_function_tuple()->call(tree->calc, items, count, out);
}

bool
gci_tree_eval(gci_tree const *tree, gci_ast const *node, gci_number *out)
{
    switch ((gci_ast_kind)node->kind) {
    case GCI_AST_NUMBER:
        *out = node->number;
        return true;
    case GCI_AST_NAME:
    case GCI_AST_HINT:
        return eval_name(tree, node, out);
    case GCI_AST_CHAIN:
    case GCI_AST_POWER:
        return eval_chain(tree, node, out);
    case GCI_AST_UNARY:
        return gci_tree_eval(tree, node->first, out) &&
               gci_calc_unary(tree->calc, (gci_operator)node->first->joint, *out, out);
    case GCI_AST_NOT:
        if (!gci_tree_eval(tree, node->first, out))
            return false;
        *out = gci_number_bool(!gci_number_truth(*out));
        return true;
    case GCI_AST_COMPARE:
        return eval_compare(tree, node, out);
    case GCI_AST_AND:
    case GCI_AST_OR:
        return eval_logical(tree, node, out);
    case GCI_AST_IF:
        return gci_tree_eval(tree, node->first, out) &&
               gci_tree_eval(tree, gci_number_truth(*out) ? node->first->next : node->first->next->next, out);
    case GCI_AST_CALL:
        return eval_call(tree, node, out);
    case GCI_AST_ATTRIBUTE:
        return eval_attribute(tree, node, out);
    case GCI_AST_TUPLE:
        return eval_tuple(tree, node, out);
    }
    return false;
}
