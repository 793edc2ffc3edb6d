/*
 * Inside shape expressions: the nodes of the normal form and the operations that keep it.
 *
 * A node is an integer polynomial, or an atom: a symbol, or a function applied to normal forms.
 *
 * Invariants:
 *  1. A polynomial's terms have distinct factors and coefficients that aren't zero; a term's factors are distinct integer
 *     atoms with exponents of at least 1. Both are sorted by hash, then by first place in the text.
 *  2. A polynomial that is one atom once is that atom.
 *  3. Sums and products of floats are atoms with all their operands in one list; their integer operands are joined into
 *     at most one, the first. Nothing else about floats is ever computed.
 *  4. hash is of the names as they are written, for joining like terms.
 *  5. weight and depth are within their limits: a walk over an expression needs no check of its own.
 */
#ifndef GCI_GUARDS_EXPR_H
#define GCI_GUARDS_EXPR_H

#include "guards/normal/shape.h"
#include "guards/text/ast.h"
#include "guards/value/bigint.h"

/* Products of sums are multiplied out up to this many terms; a shape has a handful. The sums of a larger product stay
   factors. */
#define GCI_EXPR_MAX_TERMS 64

/* Exponents up to which `x ** n` is multiplied out. */
#define GCI_EXPR_MAX_EXPONENT 32

/* Nodes of an expression as it would be written out: parts that stand in several terms are shared in memory, but hashed and
   written once for each. */
#define GCI_EXPR_MAX_WEIGHT ((uint32_t)1 << 20)

/* Levels of nodes, which are walked by recursion. The parser's nesting gives at most three a level; chains of operators
   that aren't sums or products give one an operator. */
#define GCI_EXPR_MAX_DEPTH 600

/* Words of a coefficient: more than the longest literal has. Arithmetic on them stays as fast as reading them. */
#define GCI_EXPR_MAX_LIMBS 256

typedef enum gci_expr_type { GCI_EXPR_POLYNOMIAL, GCI_EXPR_SYMBOL, GCI_EXPR_TEXT, GCI_EXPR_APPLY } gci_expr_type;

typedef struct gci_factor {
    gci_expr *atom;
    uint32_t exponent;
} gci_factor;

typedef struct gci_term {
    gci_int coefficient;
    gci_factor *factors;
    uint32_t count;
    uint64_t hash; /* of the factors */
} gci_term;

struct gci_expr {
    gci_expr_type type;
    bool is_integer;
    bool commutative; /* of APPLY */
    uint32_t at;      /* the first place of it in the text */
    uint32_t count;
    uint32_t weight;  /* nodes, written out */
    uint32_t depth;
    uint64_t hash;
    gci_view name;    /* of a symbol; an applied function; TEXT: a float, True, None, as it is written */
    union {
        gci_term *terms;
        gci_expr **args;
    };
};

/* What a name of a tree becomes: NAME and HINT nodes are handed to it. */
typedef gci_expr *(*gci_expr_leaf)(void *state, gci_ast const *node);

/* The normal form of a tree of the text. leaf may be NULL: names are symbols, hints stay text. NULL: see gci_expr_read. */
gci_expr *gci_expr_of(gci_ast const *tree, gci_view text, gci_arena *arena, gci_expr_leaf leaf, void *state);

gci_expr *gci_expr_symbol(gci_arena *arena, gci_view name, size_t at);
/* The same for a name that is an integer whatever its letter. */
gci_expr *gci_expr_integer_symbol(gci_arena *arena, gci_view name, size_t at);
/* The symbol of a slot, which is its place; its name is the two bytes. */
gci_expr *gci_expr_slot(gci_arena *arena, uint16_t slot);
gci_expr *gci_expr_text(gci_arena *arena, gci_view text, size_t at);
gci_expr *gci_expr_integer(gci_arena *arena, gci_int value, size_t at);
gci_expr *gci_expr_small(gci_arena *arena, int64_t value, size_t at);

/* An atom. args are copied. */
gci_expr *gci_expr_apply(gci_arena *arena, char const *name, gci_expr *const *args, size_t count, bool commutative,
                         bool is_integer, size_t at);

/* These are NULL without memory or where the result would be too large; a NULL operand gives NULL. Many operands at once
   take n log n, one after the other they would take n squared. */
gci_expr *gci_expr_sum(gci_arena *arena, gci_expr *const *operands, size_t count);
gci_expr *gci_expr_product(gci_arena *arena, gci_expr *const *operands, size_t count);
gci_expr *gci_expr_add(gci_arena *arena, gci_expr *a, gci_expr *b);
gci_expr *gci_expr_multiply(gci_arena *arena, gci_expr *a, gci_expr *b);
gci_expr *gci_expr_negate(gci_arena *arena, gci_expr *a);
gci_expr *gci_expr_power(gci_arena *arena, gci_expr *base, gci_expr *exponent);
gci_expr *gci_expr_floor_divide(gci_arena *arena, gci_expr *a, gci_expr *b);
gci_expr *gci_expr_modulo(gci_arena *arena, gci_expr *a, gci_expr *b);
/* a / divisor if that is an integer for all values of the symbols; NULL if not. */
gci_expr *gci_expr_divided(gci_arena *arena, gci_expr *a, gci_int divisor);
/* The arguments are integers: nested calls are joined, equal ones kept once, constants folded. name is "max" or "min". */
gci_expr *gci_expr_extreme(gci_arena *arena, char const *name, gci_expr *const *args, size_t count, size_t at);

/* true and the value if it is a constant integer. */
bool gci_expr_is_constant(gci_expr const *expr, gci_int *out_value);
bool gci_expr_equal(gci_expr const *a, gci_expr const *b);

#endif
