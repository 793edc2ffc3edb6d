/*
 * How two descriptions differ, whether they are at hand or stored under a key.
 */
#ifndef GCI_CACHE_CANDIDATES_COMPARE_H
#define GCI_CACHE_CANDIDATES_COMPARE_H

#include "graph/diff/diff.h"
#include "store/store.h"

/*
 * Keys of ours are compared by their canonical forms, keys that somebody else computed by their component lines.
 * GCACHE_OK, ERROR_ARGUMENT (one of each sort: there is nothing to compare), ERROR_CORRUPT, ERROR_MEMORY.
 */
gcache_status gci_compare(gci_description const *stored, gci_description const *asked, size_t max_items,
                          gci_diff **out_diff, gcache_error *error);

/* By component lines whosever the keys are: where a canonical form isn't known. As gci_compare. */
gcache_status gci_compare_components(gci_description const *stored, gci_description const *asked, size_t max_items,
                                     gci_diff **out_diff, gcache_error *error);

/* Components of the same name and hash, and inputs of the same hash that stand for one another. 0 without memory. */
uint32_t gci_count_equal_components(gci_description const *stored, gci_description const *asked);

/*
 * input_lines.c: pairs the inputs that are component lines, `example_inputs[2]: f32[4, 16][16, 1]cpu`. Their numbers say nothing
 * by themselves, since a size that became symbolic is one more input before the others. of_stored[i] is the asked line that
 * stands for the stored component i, of_asked[i] the other way round, NULL where there is none; what is no input stays as it is.
 * A symbol never stands for a tensor, and a tensor for another only where it is certain enough which is which. false without
 * memory.
 */
bool gci_pair_input_lines(gci_description const *stored, gci_description const *asked, gci_component const **of_stored,
                          gci_component const **of_asked);

#endif
