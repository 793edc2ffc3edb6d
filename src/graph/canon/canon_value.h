/*
 * Values in canonical form, and the members of maps on their way into it.
 */
#ifndef GCI_GRAPH_CANON_VALUE_H
#define GCI_GRAPH_CANON_VALUE_H

#include "graph/canon/canon_run.h"

void gci_canon_value(gci_canon_run *run, gci_value const *value, gci_rules_state place);
void gci_canon_text(gci_canon_run *run, gci_view text, gci_rules_state place);

/*
 * A map's members in canonical order, without those that rules leave out, on the scratch stack: gci_canon_members pushes
 * them and gives the mark, gci_canon_member_at reads one (the stack may have moved), gci_canon_members_pop ends it.
 */
typedef struct gci_canon_member {
    gci_view name;
    gci_value const *value;
    gci_rules_state place;
} gci_canon_member;

size_t gci_canon_members(gci_canon_run *run, gci_value const *map, gci_rules_state place, uint32_t *out_count);
void gci_canon_push_member(gci_canon_run *run, gci_view name, gci_value const *value, gci_rules_state place,
                           uint32_t *count);
void gci_canon_sort_members(gci_canon_run *run, size_t mark, uint32_t count);

static inline gci_canon_member
gci_canon_member_at(gci_canon_run const *run, size_t mark, uint32_t index)
{
    gci_canon_member member;

    memcpy(&member, run->members.data + mark + index * sizeof member, sizeof member);
    return member;
}

static inline void
gci_canon_members_pop(gci_canon_run *run, size_t mark)
{
    run->members.size = mark;
}

/* The sizes of a plain tensor, by the numbers of their texts. */
void gci_canon_sizes(gci_canon_run *run, uint32_t const *numbers, uint32_t rank);

#endif
