/*
 * Inside a selector: its segments and the candidates that wait for one.
 *
 * Invariants:
 *  1. Every candidate is in exactly one segment or in `fresh`, and in by_id under its number.
 *  2. Segments get smaller from first to last, each at most a quarter of the one before when it was made.
 *  3. `generation` grows with every change, from 1: what a memo knows of an older one is void.
 */
#ifndef GCI_GUARDS_SELECTOR_H
#define GCI_GUARDS_SELECTOR_H

#include "guards/select/segment.h"

/* With a factor of four, 32 * 4**12 candidates fit; a key holds 1,000 by default. */
#define GCI_MAX_SEGMENTS 16

struct gci_selector {
    gci_tables tables;
    gci_segment *segments[GCI_MAX_SEGMENTS];
    uint32_t segment_count;
    gci_chosen *fresh[GCI_INDEX_LEAST]; /* best first */
    uint32_t fresh_count;
    gci_chosen **by_id;
    size_t id_room, count;
    uint64_t generation;
};

/* Asks the memo; false: it doesn't know. */
bool gci_memo_find(gci_memo const *memo, gci_selector const *selector, gci_selecting const *asked, gci_selection *out);
void gci_memo_keep(gci_memo *memo, gci_selector const *selector, gci_selecting const *asked, gci_selection selection);

#endif
