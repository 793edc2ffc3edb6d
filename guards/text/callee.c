/*
 * What a call calls, if no hint hides it.
 */
#include "guards/text/ast.h"

gci_function const *
gci_ast_called(gci_ast const *call)
{
    gci_ast const *callee = call->first;
    gci_view const no_module = { NULL, 0 };

    if (callee->kind == GCI_AST_NAME)
        return gci_function_find(no_module, callee->name);
    bool attribute = callee->kind == GCI_AST_ATTRIBUTE && callee->first->kind == GCI_AST_NAME;
    return attribute ? gci_function_find(callee->first->name, callee->name) : NULL;
}

bool
gci_ast_is_called_comparison(gci_ast const *node, gci_operator *out)
{
    if (node->kind != GCI_AST_CALL || node->count != 3 || node->first->kind != GCI_AST_NAME)
        return false;
    gci_function const *function = gci_ast_called(node);
    if (function == NULL || function->kind != GCI_FUNCTION_OPERATOR || !gci_operator_is_comparison(function->op))
        return false;
    *out = function->op;
    return true;
}
