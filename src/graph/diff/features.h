/*
 * What a canonical form consists of, as a multiset of features: one a node, an input, a line of a longer text, and a leaf of
 * anything else. Two forms differ in as many features as a reader would name differences, wherever in the forms they stand:
 * a node is known without its name, its position and what it refers to, so that one inserted node is one difference and not a
 * change of every reference behind it. The number of a symbol doesn't count either, since one more symbol renumbers others.
 *
 * Each feature is hashed several times, from strict to lenient.
 */
#ifndef GCI_GRAPH_DIFF_FEATURES_H
#define GCI_GRAPH_DIFF_FEATURES_H

#include "base/view.h"

#include <stdbool.h>
#include <stdint.h>

/* Sorts of features, and what people call several of them. */
#define GCI_FEATURE_SORT_MAP(X)                                                                       \
    X(NODE, "nodes")                                                                                  \
    X(LINE, "lines")   /* of a text with several */                                                   \
    X(INPUT, "inputs")                                                                                \
    X(LEAF, "values")  /* an option, a version, a constant: with its path, but for positions in lists */ \
    X(PORT, "placeholders") /* which the inputs describe; and what the forms of a kind have in common */

typedef enum gci_feature_sort {
#define X(name, text) GCI_FEATURE_##name,
    GCI_FEATURE_SORT_MAP(X)
#undef X
    GCI_FEATURE_SORTS
} gci_feature_sort;

char const *gci_feature_sort_name(gci_feature_sort sort);

typedef struct gci_feature {
    uint64_t exact;   /* all of it */
    uint64_t place;   /* and where it stands among nodes, inputs or lines: of as many differences those in place are nearer */
    uint64_t rough;   /* without numbers: the same with other sizes and constants */
    uint64_t context; /* of a node: rough, and what it refers to as well; else rough */
    uint64_t name;    /* of a node: operation and target; of a value in a form: its path; else rough */
    gci_feature_sort sort;
} gci_feature;

typedef void (*gci_feature_fn)(void *state, gci_feature const *feature);

/* Calls fn for each feature of a canonical form. false: it is none, or there is no memory. */
bool gci_features_each(gci_view canonical, gci_feature_fn fn, void *state);

/* The features of a line that somebody else described: a name, and a text or, without one, a hash. */
void gci_features_of_line(gci_view name, gci_view text, gci_view hash, gci_feature_fn fn, void *state);

#endif
