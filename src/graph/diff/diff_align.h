/*
 * What the files that align two forms share: hashes of values, and alignments that are filled bit by bit.
 */
#ifndef GCI_GRAPH_DIFF_ALIGN_H
#define GCI_GRAPH_DIFF_ALIGN_H

#include "graph/diff/diff_run.h"
#include "graph/sequence/lcs.h"

/* ---- hashes ---- */

/* How references and numbers count. */
typedef struct gci_lens {
    uint64_t const *nodes;     /* what references count as, by position in the graph at hand; NULL: all alike */
    uint32_t count;
    gci_diff_run const *run;   /* instead, references count as what they are aligned with; NULL: they don't */
    bool of_asked;
    bool without_numbers;
} gci_lens;

uint64_t gci_hash_value(gci_value const *value, gci_lens const *how);
/* Of a member whose references all count alike; 0: there is none. */
uint64_t gci_hash_member(gci_value const *map, char const *name);
/* What a node does, whatever it is applied to. */
uint64_t gci_hash_operation(gci_value const *node);
/* A node without what it does: what it is applied to. */
uint64_t gci_hash_rest(gci_value const *node, gci_lens const *how);
/* What a node does, and with how many arguments of which names. */
uint64_t gci_hash_outline(gci_value const *node);
/* What uses each node of a list. NULL without memory. */
uint64_t *gci_hash_uses(gci_value const *nodes);

typedef uint64_t (*gci_hash_fn)(gci_value const *item, uint32_t position, void const *state);
uint64_t *gci_hash_items(gci_value const *list, gci_hash_fn hash, void const *state);

/* ---- alignments ---- */

/* All false without memory. Nothing is aligned yet; to_stored is filled when all of to_asked is. */
bool gci_alignment_new(gci_arena *arena, uint32_t stored_count, uint32_t asked_count, gci_alignment *out);
void gci_alignment_invert(gci_alignment *out);

/* Matches what lies between two matches. false without memory. */
typedef struct gci_gap {
    uint32_t a, a_end, b, b_end;
} gci_gap;
typedef bool (*gci_gap_fn)(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gci_gap between);
bool gci_fill_gaps(gci_alignment *out, gci_gap_fn match, uint64_t const *stored, uint64_t const *asked);
/* By longest common subsequence. */
bool gci_match_equal(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gci_gap g);
/* Where both sides have as many and of the same sort, one by one. */
bool gci_match_in_order(gci_alignment *out, uint64_t const *stored, uint64_t const *asked, gci_gap g);
/* Matches what isn't matched yet by one more kind of hashes. */
bool gci_match_by(gci_alignment *out, gci_gap_fn match, gci_hash_fn hash, gci_value const *stored, void const *of_stored,
                  gci_value const *asked, void const *of_asked);

/* One side's inputs, with what is known of them elsewhere in the form. */
typedef struct gci_ports {
    gci_value const *inputs, *nodes;
    gci_value const *sources; /* of PyTorch's AOT: where each input comes from; NULL: not there */
    uint32_t *placeholders;   /* positions of the nodes that stand for inputs, count of them */
    uint32_t count;
    uint64_t *uses;           /* of nodes */
} gci_ports;

bool gci_ports_find(gci_value const *nodes, gci_ports *out);
void gci_ports_clear(gci_ports *p);

#endif
