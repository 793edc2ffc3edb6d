/*
 * Names that a payload may have inside: those of symbols, and those that rules left out of texts (gcache_graph_text_names).
 *
 * A record's names are pairs: what the producer says, and what counts in its place: "$s0" for the symbol s0, as guards are
 * bound, or "@julia_f_$j0" for a name in a text. Symbols stand first, each kind in order of first use.
 */
#ifndef GCI_CACHE_CANDIDATES_NAMES_H
#define GCI_CACHE_CANDIDATES_NAMES_H

#include "cache/candidates/context.h"

/* What a name is called inside, as hints and guards of this lookup are bound. The view lives as long as the context. */
gci_view gci_context_bound_name(gci_context const *context, gci_view name);

/* The caller's names as a record keeps them. NULL without memory. */
gci_pair *gci_names_of(gci_context const *context, gci_arena *arena, size_t *out_count);

/* true for a name in a text, false for a symbol. */
bool gci_name_is_text(gci_pair const *name);

/* true if the caller has all of the producer's names and no others. A description that is only a key knows none in texts. */
bool gci_names_same(gci_context const *context, gci_record const *record);

/* What the caller calls the symbol that `record`'s producer called `stored`; an empty view if it is no symbol. */
gci_view gci_names_symbol(gci_context const *context, gci_record const *record, gci_view stored);

/* A walk over a record's names, each with what the caller calls it: its own name where the caller doesn't know it. */
typedef struct gci_names_walk {
    gci_context const *context;
    gci_record const *record;
    size_t next;
    size_t near; /* where the caller's name in a text is looked for first */
    gci_view stored, current;
} gci_names_walk;

bool gci_names_next(gci_names_walk *walk);

#endif
