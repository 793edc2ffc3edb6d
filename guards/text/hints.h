/*
 * Hints as callers give them, and what names are called inside.
 */
#ifndef GCI_GUARDS_HINTS_H
#define GCI_GUARDS_HINTS_H

#include "base/buf.h"
#include "base/error.h"
#include "base/view.h"

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

#endif
