/*
 * Inside the compiler: compile.c makes values, condition.c jumps, list.c the program of a whole list.
 */
#ifndef GCI_GUARDS_COMPILE_H
#define GCI_GUARDS_COMPILE_H

#include "guards/program/emit.h"

/* The register that has the node's value; to be released, never written. */
uint16_t gci_compile_value(gci_emitter *e, gci_ast const *node);

/* The value of the first `count` operands of a chain, fewer than it has. */
uint16_t gci_compile_prefix(gci_emitter *e, gci_ast const *node, uint32_t count);

/* true and the value if the node is a constant. */
bool gci_compile_fold(gci_emitter *e, gci_ast const *node, gci_number *out);

/* Jumps to the label (NULL: the list fails) if the node's truth is `sense`; falls through otherwise. */
void gci_compile_condition(gci_emitter *e, gci_ast const *node, bool sense, gci_label *label);

#endif
