/*
 * Inside the compiler: compile_tree.c makes values and jumps, compile_list.c the program of a whole list.
 */
#ifndef GCI_GUARDS_COMPILER_H
#define GCI_GUARDS_COMPILER_H

#include "guards/program/emit.h"

/* The register that has the node's value. It may be a name's or a kept one: to be released, never written. */
uint16_t gci_compile_value(gci_emitter *e, gci_ast const *node);

/* Jumps to the label (NULL: the list fails) if the node's truth is `sense`; falls through otherwise. */
void gci_compile_condition(gci_emitter *e, gci_ast const *node, bool sense, gci_label *label);

#endif
