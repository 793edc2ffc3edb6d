/*
 * Sketches: how many features two canonical forms differ in, estimated from 128 bytes each.
 *
 * A count sketch, which is what Alon, Matias and Szegedy, "The space complexity of approximating the frequency moments" (STOC
 * 1996), call tug-of-war, in the form with buckets of Charikar, Chen and Farach-Colton, "Finding frequent items in data streams"
 * (ICALP 2002): each feature of a multiset adds +1 or -1, by a bit of its hash, to one of the buckets, by others. The sketch of a
 * multiset is a sum over it, so the difference of two sketches is the sketch of the features that one has and the other lacks,
 * and the sum of its absolute values is their number as long as few of them share a bucket: exact for a handful of differences,
 * whatever the size of the forms, where a MinHash of this size can't tell one of 3,000 features from three. Features that meet in
 * a bucket may cancel, never add up: the estimate is a lower bound. Sums wrap modulo 256, and so does their difference.
 *
 * 96 buckets hold the features as they are, 16 those without numbers (features.h), which tell a changed constant from another
 * node, and 16 those with their place, which tell one of many equal layers from the others: they decide only between sketches that
 * are as near else, since one inserted node moves all that follow.
 */
#ifndef GCI_GRAPH_DIFF_SKETCH_H
#define GCI_GRAPH_DIFF_SKETCH_H

#include "graph/diff/features.h"

#define GCI_SKETCH_BYTES 128

typedef struct gci_sketch {
    uint8_t sums[GCI_SKETCH_BYTES];
} gci_sketch;

/* A gci_feature_fn: state is a gci_sketch, zeros at first. */
void gci_sketch_add(void *state, gci_feature const *feature);

/* An estimate to compare with others. */
unsigned gci_sketch_distance(gci_sketch const *a, gci_sketch const *b);

/* In about how many features forms of that distance differ. */
unsigned gci_sketch_estimate(unsigned distance);

/* The fewest features (gci_likeness_differing) in which forms of that distance can differ. */
unsigned gci_sketch_least(unsigned distance);

#endif
