/*
 * The tree of a guard, as it is written: nothing is folded or reordered here.
 *
 * Operators of equal precedence that are written in a row are one node with many children (`a + b - c`), so that the
 * depth of a tree is its nesting, bounded by GCI_GUARD_MAX_DEPTH, however long the text is. Children are linked by
 * `next`; a child's `joint` is the operator that stands before it.
 */
#ifndef GCI_GUARDS_AST_H
#define GCI_GUARDS_AST_H

#include "base/error.h"
#include "guards/value/functions.h"

typedef enum gci_ast_kind {
    GCI_AST_NUMBER,    /* number */
    GCI_AST_NAME,      /* name: s0 */
    GCI_AST_HINT,      /* name: L['t0'] */
    GCI_AST_CHAIN,     /* children joined by arithmetic operators of one precedence, from left to right */
    GCI_AST_POWER,     /* base ** exponent */
    GCI_AST_UNARY,     /* joint of the child is NEG, POS or INVERT */
    GCI_AST_NOT,       /* not child */
    GCI_AST_COMPARE,   /* children joined by comparisons */
    GCI_AST_AND,       /* children */
    GCI_AST_OR,        /* children */
    GCI_AST_IF,        /* condition, value, other value */
    GCI_AST_CALL,      /* callee, arguments */
    GCI_AST_ATTRIBUTE, /* child.name */
    GCI_AST_TUPLE      /* children */
} gci_ast_kind;

typedef struct gci_ast gci_ast;

struct gci_ast {
    uint8_t kind;
    uint8_t joint;       /* gci_operator before this child */
    bool parenthesised;  /* begin and end include the parentheses */
    uint16_t slot;       /* of a name: its register in a compilation; set by compile_list.c */
    uint32_t begin, end; /* bytes of the text */
    uint32_t count;      /* of children */
    uint32_t class;      /* equal trees of a compilation have equal classes; set by classes.h */
    gci_ast *first, *next;
    union {
        gci_number number;
        gci_view name;
    };
};

/*
 * Parses one guard. The tree lives in the arena and points into text. NULL with an error: ERROR_SYNTAX and ERROR_LIMIT
 * have the column (from 1, in bytes).
 */
gci_ast *gci_ast_parse(gci_view text, gci_arena *arena, gcache_error *error);

/* The function that a call names, plainly or as an attribute of its module; NULL if there is none. */
gci_function const *gci_ast_called(gci_ast const *call);

/* Eq(a, b) and its kin: a comparison under another name. */
bool gci_ast_is_called_comparison(gci_ast const *node, gci_operator *out);

/* The text of a node. */
static inline gci_view
gci_ast_text(gci_ast const *node, gci_view text)
{
    return gci_view_of(text.data + node->begin, node->end - node->begin);
}

#endif
