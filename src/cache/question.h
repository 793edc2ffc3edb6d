/*
 * A lookup's question: which key, which hints, in whose names, with which wishes.
 */
#ifndef GCI_CACHE_QUESTION_H
#define GCI_CACHE_QUESTION_H

#include "cache/cache.h"
#include "guards/guards.h"

typedef struct gci_question {
    gcache *cache;
    gcache_graph *graph;
    gcache_request request; /* the caller's, or the defaults */
    gcache_key key;
    gci_naming naming;
    gci_hints *hints;
    gcache_symbol const *symbols; /* of the graph, in canonical order; the graph's, or in the arena */
    size_t symbol_count;
    gcache_text_name const *text_names; /* those its rules left out of its texts; the graph's */
    size_t text_name_count;
    gci_arena arena;
} gci_question;

/*
 * Reads the caller's arguments. A description that is only a key has no symbols of its own: it speaks with the names of
 * the key's first candidate, and knows no names in texts. request and hints may be NULL. GCACHE_OK; GCACHE_REFUSED: the
 * graph can't be keyed (a bypass, or beyond a limit), key isn't set; or an error. Clear it whatever the status.
 */
gcache_status gci_question_init(gci_question *question, gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                                gcache_request const *request, gcache_error *error);
void gci_question_clear(gci_question *question);

/* What a name is called inside, as hints and guards of this question are bound. The view lives as long as the question. */
gci_view gci_question_bound_name(gci_question const *question, gci_view name);

/*
 * Why a candidate can't be the answer whatever its guards say: VARIANT, NAMES, REQUIREMENT or NONE. *out_requirement is the
 * first one that the caller's `provides` doesn't meet, or NULL; *out_provided is what it has instead, data NULL: nothing.
 */
gcache_reason gci_question_refusal(gci_question const *question, gci_record const *record,
                                   gci_pair const **out_requirement, gci_view *out_provided);

#endif
