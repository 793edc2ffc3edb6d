/*
 * Value numbering of trees: equal trees get equal classes, so that each is computed once.
 *
 * Classes count from 1. Trees are equal if they are written alike, up to parentheses and white space.
 */
#ifndef GCI_GUARDS_CLASSES_H
#define GCI_GUARDS_CLASSES_H

#include "guards/text/ast.h"

typedef struct gci_classes {
    gci_arena *arena;
    gci_ast **slots;  /* open addressing; a tree of each class */
    uint32_t *uses;   /* how often a class occurs, by class */
    uint32_t mask, count;
} gci_classes;

bool gci_classes_init(gci_classes *classes, gci_arena *arena);

/* Sets the class of a node whose children have theirs. false: no memory. */
bool gci_classes_add(gci_classes *classes, gci_ast *node);

#endif
