/*
 * The symbolic expressions of a description, and the names its symbols get in the canonical form.
 *
 * Each distinct expression text is read once. A symbol gets its canonical name when an expression that has it is written
 * for the first time: the letter of its class and a number. Where one expression brings several new symbols, their order
 * is by color, a number that depends on all the places they stand in but on nobody's name (colors.c).
 *
 * Invariants:
 *  1. Two symbols never share a canonical name, and symbols of different classes never share a letter.
 *  2. written is set only when all symbols of the expression are named, and doesn't change any more.
 */
#ifndef GCI_GRAPH_EXPRS_H
#define GCI_GRAPH_EXPRS_H

#include "base/arena.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/text/intern.h"
#include "guards/guards.h"

typedef enum gci_form_type {
    GCI_FORM_EXPR,   /* in the language: expr is its normal form */
    GCI_FORM_SYMBOL, /* one symbol alone */
    GCI_FORM_TOKENS  /* not in the language: counts as it is written, symbols renamed */
} gci_form_type;

/* One distinct expression text. */
typedef struct gci_form {
    gci_form_type type;
    gci_view text;
    gci_expr *expr;
    uint32_t *symbols; /* the distinct ones, by number */
    uint32_t symbol_count;
    uint32_t weight;   /* steps of a walk over it */
    bool named;      /* all symbols have names */
    gci_view written; /* the canonical text; a decimal integer if the expression is constant */
} gci_form;

typedef struct gci_symbol {
    gci_view bound;   /* "$s0"; without its first byte the canonical name; data NULL: none yet */
    uint64_t color;
    uint64_t context; /* scratch: of its places in one form, added up */
    uint32_t mark;    /* scratch: the last form that was looked through and has it */
    uint32_t place;   /* scratch: where it is first in that form */
} gci_symbol;

/* Where an expression stands: a number that depends on the place alone. */
typedef struct gci_occurrence {
    uint32_t form;
    uint64_t place;
} gci_occurrence;

/* Lists all occurrences of expressions in the description, in any order. false without memory. */
typedef bool (*gci_occurrences_fn)(void *state, gci_occurrence const **out_items, size_t *out_count);

typedef struct gci_exprs {
    gci_arena arena;
    gci_intern texts; /* numbers are forms' */
    gci_form *forms;
    size_t form_room;
    gci_intern symbols; /* numbers are symbols' */
    gci_symbol *by_symbol;
    uint32_t *order; /* symbols in the order they were named */
    size_t symbol_room, order_room;
    uint32_t named;
    uint32_t class_counts[256]; /* by the first byte of a name */
    uint32_t mark;
    uint32_t rounds_left;       /* of refinement; with work_left, a bound on what it costs */
    uint64_t work_left;         /* steps of refinement, once it has begun */
    uint64_t text_bytes, weight; /* of all forms: the one bounds the other */
    gci_occurrences_fn occurrences;
    void *state;
    bool refined, working;
    bool failed;    /* no memory, or too_large */
    bool too_large; /* the expressions take more steps than their size allows */
} gci_exprs;

/* Up to so many symbols of a form are hashed and named one by one; more are in one go. */
#define GCI_FEW_SYMBOLS 8

/* Of a form with many symbols so many are named, tied as they are, before the others get their names as they come. */
#define GCI_NAMING_PASSES 2

/* A symbol of a form, as symbols are ordered: by hash, equal ones by place. */
typedef struct gci_ranked_symbol {
    uint32_t symbol, at;
    uint64_t hash;
} gci_ranked_symbol;

int gci_ranked_compare(void const *left, void const *right);

void gci_exprs_init(gci_exprs *exprs, gci_occurrences_fn occurrences, void *state);
void gci_exprs_clear(gci_exprs *exprs);

/* The number of an expression's form; GCI_INTERN_NONE if exprs has failed. text must outlive exprs. */
uint32_t gci_exprs_form(gci_exprs *exprs, gci_view text);

/* Names the symbols of a form that have none yet, and gives its canonical text; one without data if exprs has failed. */
gci_view gci_exprs_write(gci_exprs *exprs, uint32_t form);

/* true if all symbols of a form have names. */
bool gci_exprs_named(gci_exprs *exprs, uint32_t form);

/* A hash of a form in which a symbol counts as its color: its canonical name if it has one, else what refinement made
   of it, or its class. */
uint64_t gci_exprs_hash(gci_exprs *exprs, uint32_t form);

/* Gives all symbols colors that tell their places apart, the first time it is called. */
void gci_exprs_refine(gci_exprs *exprs);

/* For colors.c: the color of a symbol at the start of refinement. */
uint64_t gci_exprs_first_color(gci_exprs const *exprs, uint32_t symbol);

/* colors.c: refines the symbols' colors until they tell no more symbols apart, or the rounds or the work are used up. */
void gci_colors_refine(gci_exprs *exprs);

/* The hash of how a form depends on one of its symbols, others as their colors. */
uint64_t gci_exprs_symbol_hash(gci_exprs *exprs, gci_form const *form, uint32_t symbol);

/* How a form depends on each of its symbols, under the present colors: hashes, in the order of form->symbols. */
void gci_exprs_symbol_hashes(gci_exprs *exprs, gci_form const *form, uint64_t *out_hashes);
/* How many steps that takes. */
uint64_t gci_exprs_symbol_work(gci_form const *form);

#endif
