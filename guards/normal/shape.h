/*
 * Shape expressions in normal form, for canonical forms of graphs.
 */
#ifndef GCI_GUARDS_SHAPE_H
#define GCI_GUARDS_SHAPE_H

#include "guards/text/hints.h"

#include "base/arena.h"

/*
 * A shape or stride expression in normal form: sums and products flattened, constants folded, like terms joined, so that
 * expressions that are equal as integer polynomials over the same atoms are equal. Floats are never re-associated with
 * a changed value. Both dialects of function names are read (`Mod(s0, 8)` and `s0 % 8` are one thing); an unknown
 * function stays as it is.
 */
typedef struct gci_expr gci_expr;

/* NULL and an error for a text that isn't in the language (ERROR_SYNTAX with column), or without memory. The expression
   lives in the arena; text must outlive it. */
gci_expr *gci_expr_read(gci_view text, gci_arena *arena, gcache_error *error);

/* The colors of symbols, see gci_expr_hash. */
typedef uint64_t (*gci_color_fn)(void *state, gci_view symbol);

/*
 * Reports every place of a symbol (an identifier that no `(` follows) in the normal form: a hash of what stands around it,
 * under `color`, which is the same for places that are interchangeable, and where the symbol was in the text. A symbol that is
 * used twice is reported twice. false without memory.
 */
typedef void (*gci_symbol_fn)(void *state, gci_view symbol, uint64_t context, size_t at);
bool gci_expr_each_symbol(gci_expr const *expr, gci_color_fn color, gci_symbol_fn fn, void *state);

/* How many steps a walk over the expression takes: its nodes, written out. */
size_t gci_expr_weight(gci_expr const *expr);

/* A hash of the normal form in which each symbol counts as its color; operand order of sums, products, min, max doesn't. */
uint64_t gci_expr_hash(gci_expr const *expr, gci_color_fn color, void *state);

/* The hash of the context in which `symbol` stands: how the expression depends on it, other symbols as their colors. */
uint64_t gci_expr_symbol_hash(gci_expr const *expr, gci_view symbol, gci_color_fn color, void *state);

/* Writes the normal form with symbols renamed; commutative operands are sorted after renaming. A plain integer is
   written in decimal. */
void gci_expr_write(gci_expr const *expr, gci_naming naming, gci_buf *out);

/* true and the value if the expression is a constant integer that fits. */
bool gci_expr_constant(gci_expr const *expr, int64_t *out_value);

#endif
