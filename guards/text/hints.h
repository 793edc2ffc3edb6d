/*
 * Hints as callers give them, and what names are called inside.
 */
#ifndef GCI_GUARDS_HINTS_H
#define GCI_GUARDS_HINTS_H

#include "base/arena.h"
#include "base/digest.h"
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

/* Most lookups have no more hints than these: they take no memory. */
#define GCI_HINTS_FEW 16

/* Not to be copied: items may be its own few. */
typedef struct gci_hints {
    gci_arena arena;
    gci_hint *items;
    size_t count;
    uint64_t names_id; /* of the names they were read with, in their order (gci_hints_read_known); 0: others */
    gci_view const *shown; /* for each item what people call it, as in "x.size(0)", or an empty view; NULL: nothing is known */
    bool const *sizes; /* for each item whether it is known to be a size, which is never negative; NULL: nothing is known */
    gci_hint few[GCI_HINTS_FEW];
} gci_hints;

/* What people call a hint: what is known of it, else its name. */
static inline gci_view
gci_hint_shown(gci_hints const *hints, size_t i)
{
    return hints->shown != NULL && hints->shown[i].size != 0 ? hints->shown[i] : hints->items[i].name;
}

/* No hints yet. */
void gci_hints_init(gci_hints *hints);
void gci_hints_clear(gci_hints *hints);

/*
 * Reads the caller's hints into ones without any. The caller's names must outlive them. ERROR_ARGUMENT for a malformed literal
 * or a name given twice (after renaming too).
 */
gcache_status gci_hints_read(gci_hints *hints, gcache_hints const *source, gci_naming naming, gcache_error *error);

/* Names of hints with what they are after renaming: made once, never changed, for any number of readers. */
typedef struct gci_hint_names gci_hint_names;

/* Those of hints that were read. The bound names must outlive them, but for those that no renaming changed. One block, to be
   freed with free(). NULL: no memory. */
gci_hint_names *gci_hint_names_of(gci_hints const *hints);

/* As gci_hints_read, for integers that have just these names. false: they haven't, and nothing was read. */
bool gci_hints_read_known(gci_hints *hints, gcache_hints const *source, gci_hint_names const *known);

/* The value bound to a name, whose gci_hash_name is hash, or NULL. */
gci_number const *gci_hints_find_hashed(gci_hints const *hints, gci_view bound, uint64_t hash);

static inline gci_number const *
gci_hints_find(gci_hints const *hints, gci_view bound)
{
    return gci_hints_find_hashed(hints, bound, gci_hash_name(bound));
}

#endif
