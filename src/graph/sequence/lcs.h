/*
 * The longest common subsequence of two sequences of hashes (Myers 1986, with common ends taken off first).
 */
#ifndef GCI_GRAPH_LCS_H
#define GCI_GRAPH_LCS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GCI_LCS_NONE UINT32_MAX

/*
 * out_match[i] is the place in b of what a[i] is matched with, or GCI_LCS_NONE; matches ascend. Sequences that have more
 * than GCI_LCS_MAX_CHANGES differences are matched greedily, which may miss matches. false without memory.
 */
#define GCI_LCS_MAX_CHANGES 2000
bool gci_lcs(uint64_t const *a, uint32_t a_count, uint64_t const *b, uint32_t b_count, uint32_t *out_match);

#endif
