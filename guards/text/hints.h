/*
 * Hints as callers give them, and what names are called inside.
 */
#ifndef GCI_GUARDS_HINTS_H
#define GCI_GUARDS_HINTS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/view.h"
#include "guards/value/number.h"

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

typedef struct gci_hint {
    gci_view name;  /* as the caller gave it */
    gci_view bound; /* after renaming: what programs ask for */
    uint64_t hash;  /* of bound */
    gci_number value;
} gci_hint;

typedef struct gci_hints {
    gci_arena arena;
    gci_hint *items;
    size_t count;
} gci_hints;

/* Reads the caller's hints: ERROR_ARGUMENT for a malformed literal or a name given twice (after renaming too). */
gcache_status gci_hints_new(gcache_hints const *hints, gci_naming naming, gci_hints **out_hints, gcache_error *error);
void gci_hints_free(gci_hints *hints);

/* The same for names of programs and of hints. */
uint64_t gci_name_hash(gci_view name);

/* The value bound to a name, or NULL. */
gci_number const *gci_hints_find(gci_hints const *hints, gci_view bound);

#endif
