/*
 * How like one description others are: counts of features (features.h) that both have, exact and whole, where sketches estimate.
 */
#ifndef GCI_GRAPH_DIFF_LIKENESS_H
#define GCI_GRAPH_DIFF_LIKENESS_H

#include "graph/diff/features.h"

#include <stddef.h>

/* Hashes of a feature, strict to lenient. */
typedef enum gci_feature_level { GCI_EXACT, GCI_PLACE, GCI_ROUGH, GCI_CONTEXT, GCI_NAME, GCI_FEATURE_LEVELS } gci_feature_level;

/* The features of one description, which others are compared with. */
typedef struct gci_feature_set gci_feature_set;

/* What a comparison found. */
typedef struct gci_likeness {
    size_t stored[GCI_FEATURE_SORTS], asked[GCI_FEATURE_SORTS];
    size_t common[GCI_FEATURE_LEVELS][GCI_FEATURE_SORTS];
} gci_likeness;

/* NULL: no memory. */
gci_feature_set *gci_feature_set_new(void);
void gci_feature_set_free(gci_feature_set *set);

/* gci_feature_fns; state is the set. The first adds to it; the second, between begin and end, counts what the other side has. */
void gci_feature_set_add(void *state, gci_feature const *feature);
void gci_feature_set_meet(void *state, gci_feature const *feature);
void gci_feature_set_begin(gci_feature_set *set);
/* false: there was no memory for all of the set's features. */
bool gci_feature_set_end(gci_feature_set const *set, gci_likeness *out_likeness);

/* Features that differ: a changed one counts once, and so does one that only one side has. */
size_t gci_likeness_differing(gci_likeness const *likeness, gci_feature_level level);

/* What such descriptions mainly consist of: nodes, else lines, else values. */
gci_feature_sort gci_likeness_unit(gci_likeness const *likeness);
/* Of those: how many differ, and how many the side with more of them has. If they aren't kin, nodes that stand elsewhere differ. */
size_t gci_likeness_units(gci_likeness const *likeness, size_t *out_of);

/*
 * Whether the one may have become the other, so that a person learns something from what differs. Not if most units (more than
 * half) have no counterpart even without regard to numbers, a node together with what it refers to; nor if hardly a node (not one
 * in ten) has one with its numbers: graphs of few operations are alike without. Unless few differ by themselves: a third, or
 * half of a small graph, or there at least most operations are the same, for one changed node changes its neighbours too.
 */
bool gci_likeness_is_kin(gci_likeness const *likeness);

#endif
