/*
 * What a description's features are, whoever computed its key: of ours its canonical form's, of others its component lines.
 */
#ifndef GCI_CACHE_HANDLE_SKETCHING_H
#define GCI_CACHE_HANDLE_SKETCHING_H

#include "graph/diff/features.h"
#include "store/store.h"

/* false: there are none, or there is no memory. */
bool gci_description_features(gci_description const *description, gci_feature_fn fn, void *state);

/* How the store makes and compares sketches of keys. */
extern gci_sketching const gci_sketching_of_features;

#endif
