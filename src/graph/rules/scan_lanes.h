/*
 * Many bytes of a text looked at at once.
 */
#ifndef GCI_GRAPH_SCAN_LANES_H
#define GCI_GRAPH_SCAN_LANES_H

#include "graph/rules/scan_program.h"

/* Can this processor look at many places at once? */
bool gci_scan_lanes_work(void);

/* Advances *at, which isn't the text's start, to the first lanes that have pairs of marks, and says which; 0: none up to `last`
   have. Behind the lanes at `last` there must be GCI_SCAN_LEAD bytes. */
uint32_t gci_scan_pairs(gci_scan const *scan, uint8_t const *text, size_t *at, size_t last);

/* The first place from `at` on whose byte isn't of the set, or is behind the last full lanes. */
size_t gci_scan_run_end(gci_scan const *scan, gci_scan_set const *set, gci_view text, size_t at);

/* Behind the last byte before `at` that is of the set; or of those from `first` on that aren't full lanes. */
size_t gci_scan_behind_last(gci_scan const *scan, gci_scan_set const *set, uint8_t const *text, size_t first, size_t at);

#endif
