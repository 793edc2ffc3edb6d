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

/* Components of the same name and hash. 0 without memory. */
uint32_t gci_count_equal_components(gci_description const *stored, gci_description const *asked);

#endif
