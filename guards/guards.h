/*
 * The face of the guard engine: values, hints, compiled guard lists, shape expressions. Nobody includes around it, but
 * for select.h (choosing among many lists) and implies.h (one list implying another).
 *
 * A guard list is compiled once (parse, normal form, program) and is immutable afterwards: any number of threads may
 * evaluate it. The meaning is Python's, exactly; README.md is the reference of the language.
 */
#ifndef GCI_GUARDS_GUARDS_H
#define GCI_GUARDS_GUARDS_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "base/view.h"

#include <guardcache/guard.h>
#include <guardcache/hints.h>

/* ---- names ---- */

/*
 * What a name in a guard, a hint or an expression is called inside: symbols of the description become canonical names, so
 * that guards recorded with one naming are evaluated with another's hints. name is the identifier (`s0`, or t0 for
 * `L['t0']`). The view handed back must live as long as what is compiled or bound with it. A NULL function keeps names.
 */
typedef struct gci_naming {
    gci_view (*rename)(void const *state, gci_view name);
    void const *state;
} gci_naming;

/* ---- hints ---- */

typedef struct gci_hints gci_hints;

/* Reads the caller's hints: ERROR_ARGUMENT for a malformed literal or a name given twice (after renaming too). */
gcache_status gci_hints_new(gcache_hints const *hints, gci_naming naming, gci_hints **out_hints, gcache_error *error);
void gci_hints_free(gci_hints *hints);

size_t gci_hints_count(gci_hints const *hints);
/* The name as the caller gave it. */
gci_view gci_hints_name(gci_hints const *hints, size_t index);
/* Writes the value as Python would print it. */
void gci_hints_write(gci_hints const *hints, size_t index, gci_buf *out);

/* ---- guard lists ---- */

typedef struct gci_guards gci_guards;

gcache_status gci_guards_compile(gci_view const *texts, size_t count, gci_naming naming, gci_guards **out_guards,
                                 gcache_error *error);
void gci_guards_free(gci_guards *guards);

/* The compiled form as bytes, for an entry; loading verifies everything, hostile bytes give ERROR_CORRUPT. */
void gci_guards_save(gci_guards const *guards, gci_buf *out);
gcache_status gci_guards_load(gci_view bytes, gci_guards **out_guards, gcache_error *error);

/* The verdict of a list for hints. Never fails: out of memory is the exception MemoryError, as in Python. */
gcache_truth gci_guards_eval(gci_guards const *guards, gci_hints const *hints, gcache_verdict *out_verdict);

/* The verdict of one guard of the list alone, for explain. */
gcache_truth gci_guards_eval_one(gci_guards const *guards, size_t index, gci_hints const *hints,
                                 gcache_verdict *out_verdict);

/* What rank needs: more equalities first, then more conjuncts. */
typedef struct gci_specificity {
    uint32_t equalities, conjuncts;
} gci_specificity;
gci_specificity gci_guards_specificity(gci_guards const *guards);

/* Listings: gcache_guards_show's two forms. */
void gci_guards_show(gci_guards const *guards, gcache_guards_form form, gci_buf *out);

/*
 * Explains guard `index` for hints, for people: the decisive part of it and its arithmetic, as
 *   part    "L['t0'] % 8 == 0"       the failing conjunct of a conjunction, the guard itself otherwise
 *   values  "12 % 8 = 4"             both sides substituted and computed; "" where nothing is to be computed
 * Also for a guard that raises: the part that raises.
 */
void gci_guards_explain(gci_guards const *guards, size_t index, gci_hints const *hints, gci_buf *out_part,
                        gci_buf *out_values);

/* The names the list reads, in order of first use: renamed (as bound) and as the text has them. */
size_t gci_guards_name_count(gci_guards const *guards);
gci_view gci_guards_name(gci_guards const *guards, size_t index);
gci_view gci_guards_text_name(gci_guards const *guards, size_t index);
/* Whether a name, as bound, is among them. */
bool gci_guards_reads(gci_guards const *guards, gci_view bound_name);

size_t gci_guards_count(gci_guards const *guards);
gci_view gci_guards_text(gci_guards const *guards, size_t index);

/*
 * The smallest change of hints that would make the list hold: "t0=8" or "t0=16 t1=128". As few hints as possible are changed:
 * one, or with several up to three, which takes some milliseconds to find. false where it is not determined (then nothing
 * is written): always determined are lists of comparisons of affine expressions and of their remainders by a known number.
 *
 * *work is what the search may spend on looking at conditions, and less afterwards: of what several lists have in common.
 * NULL: as much as one list ever gets, about a tenth of a second.
 */
bool gci_guards_nearest(gci_guards const *guards, gci_hints const *hints, bool several, size_t *work, gci_buf *out);

/* ---- shape expressions, for canonical forms ---- */

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
 * Tells every place of a symbol (an identifier that no `(` follows) in the normal form: a hash of what stands around it,
 * under `color`, which is the same for places that are interchangeable, and where the symbol was in the text. A symbol that is
 * used twice is told of twice. false without memory.
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
