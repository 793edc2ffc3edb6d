/*
 * What a reader of an explanation can do about a miss: one sentence or two, only where it is known to help, in the words of
 * the user's own framework.
 */
#ifndef GCI_CACHE_EXPLAIN_ADVICE_H
#define GCI_CACHE_EXPLAIN_ADVICE_H

#include "cache/explain/explanation.h"

/* Writes nothing where no advice is known. */
void gci_write_advice(gci_explained const *explained, gci_buf *out);

#endif
