/*
 * Normal forms as people write them.
 */
#ifndef GCI_GUARDS_NORMAL_TEXT_H
#define GCI_GUARDS_NORMAL_TEXT_H

#include "guards/expr.h"

/* In Python's notation. operand: in parentheses where it would otherwise run into its surroundings. */
void gci_expr_show(gci_expr const *expr, bool operand, gci_buf *out);

#endif
