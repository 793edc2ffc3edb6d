/*
 * Rule sets: what of a description is volatile. docs/formats/rules.md is the reference of the format.
 *
 * A set is read once and immutable afterwards; any number of threads may use it. Its paths are compiled to one
 * deterministic automaton, so that a walk over a description takes one step a member and asks the state it is in.
 */
#ifndef GCI_GRAPH_RULES_H
#define GCI_GRAPH_RULES_H

#include "base/buf.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/view.h"
#include "kinds/kinds.h"

#include <guardcache/graph.h>

/* State 0 is where no rule can apply any more, whatever follows: walks don't ask further. */
typedef uint16_t gci_rules_state;
#define GCI_RULES_INERT 0

gci_rules_state gci_rules_start(gcache_rules const *rules);
gci_rules_state gci_rules_member(gcache_rules const *rules, gci_rules_state state, gci_view name);
gci_rules_state gci_rules_item(gcache_rules const *rules, gci_rules_state state, uint32_t index);

typedef struct gci_rule gci_rule;

/* The rule that drops what is at this place, or NULL. */
gci_rule const *gci_rules_drop(gcache_rules const *rules, gci_rules_state state);

/* The rows of its advice.json; none for a set without one, or for NULL. */
gci_advice const *gci_rules_advice(gcache_rules const *rules, size_t *out_count);

/* true if text rules are bound to this place. */
bool gci_rules_has_text(gcache_rules const *rules, gci_rules_state state);

/* The path or name a rule is known by, and its reason. */
gci_view gci_rule_name(gci_rule const *rule);
gci_view gci_rule_why(gci_rule const *rule);

/* The set of a kind, compiled in or loaded; kinds without one have that of "generic". lazy: for one use alone. */
gcache_status gci_rules_of_kind(gci_view kind, bool lazy, gcache_rules **out_rules, gcache_error *error);

/* The set that was loaded for a kind at run time, or NULL. */
gcache_rules const *gci_rules_loaded(gci_view kind);

#endif
