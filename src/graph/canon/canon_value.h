/*
 * Values in canonical form, and the members of maps on their way into it.
 */
#ifndef GCI_GRAPH_CANON_VALUE_H
#define GCI_GRAPH_CANON_VALUE_H

#include "graph/canon/canon_run.h"

void gci_canon_value(gci_canon_run *run, gci_value const *value, gci_rules_state place);

/* A member of a map on its way into the form. */
typedef struct gci_canon_member {
    gci_view name;
    gci_value const *value;
    gci_rules_state place;
} gci_canon_member;

/* Pushes a member on the scratch stack (run->members), unless a rule leaves it out; a map's members. */
void gci_canon_push_member(gci_canon_run *run, gci_view name, gci_value const *value, gci_rules_state place,
                           uint32_t *count);
void gci_canon_push_members(gci_canon_run *run, gci_value const *map, gci_rules_state place, uint32_t *count);

/* Writes a member's value, in the path of which the member is; and the one that does it for ordinary values. */
typedef void gci_put_member_fn(gci_canon_run *run, gci_canon_member const *member);
void gci_canon_put_member(gci_canon_run *run, gci_canon_member const *member);

/* Writes the map of the members that were pushed since mark, in canonical order, and takes them off the stack. */
void gci_canon_put_members(gci_canon_run *run, size_t mark, uint32_t count, gci_put_member_fn *put);

/* The sizes of a plain tensor, by the numbers of their texts. */
void gci_canon_sizes(gci_canon_run *run, uint32_t const *numbers, uint32_t rank);

#endif
