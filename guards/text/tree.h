/*
 * Evaluating a tree as it is written: for explain, which asks for the values of parts. Slow and exact; programs are what
 * lookups run.
 */
#ifndef GCI_GUARDS_TREE_H
#define GCI_GUARDS_TREE_H

#include "guards/text/ast.h"

typedef struct gci_tree {
    gci_calc *calc;
    /* The value of a NAME or HINT node; NULL if nothing is bound to it. */
    gci_number const *(*value)(void const *state, gci_ast const *node);
    void const *state;
} gci_tree;

/* false: Python would raise; the calc has the exception. */
bool gci_tree_eval(gci_tree const *tree, gci_ast const *node, gci_number *out);

#endif
