/*
 * Text rules at work: the volatile parts of one description's texts are rewritten.
 *
 * A rewriter belongs to one canonicalisation, since ordinals of scope "description" go on from text to text. A pattern
 * that reaches a limit fails the description (ERROR_LIMIT): what can't be normalised must not get a key. The work is counted
 * in the matcher's steps, in proportion to the texts, so that the same description is keyed or refused everywhere.
 */
#ifndef GCI_GRAPH_REWRITE_H
#define GCI_GRAPH_REWRITE_H

#include "base/arena.h"
#include "graph/rules/rules.h"

typedef struct gci_rewriter gci_rewriter;

/* Called for every match that a rule changes. */
typedef void (*gci_rewrite_fn)(void *state, gci_rule const *rule, gci_view from, gci_view to);

/* Called for every whole name in a text that rules with hand_back changed and that isn't private, when all rules are through
   with the text. The views are valid during the call. */
typedef void (*gci_rewrite_name_fn)(void *state, gci_view original, gci_view canonical);

/* rules must outlive it; a lazy set must be used by this rewriter alone. on_change may be NULL. NULL without memory. */
gci_rewriter *gci_rewriter_new(gcache_rules const *rules, gci_rewrite_fn on_change, gci_rewrite_name_fn on_name,
                               void *state);
void gci_rewriter_free(gci_rewriter *rewriter);

/* From here on what rules with module_name take out of a text is put behind it. */
void gci_rewriter_count_module_name(gci_rewriter *rewriter);

/* Applies the rules bound to a place, in their order. *out_text is valid until the next call. */
gcache_status gci_rewriter_apply(gci_rewriter *rewriter, gci_rules_state place, gci_view text, gci_view *out_text,
                                 gcache_error *error);

#endif
