/*
 * Did you mean? Of words that are offered one by one, the one that is nearest to what was written.
 *
 * Near is what a slip of the fingers makes: the distance of Damerau and Levenshtein between neighbours (a letter too many, too
 * few or another one, two letters swapped; each counts 1), up to a third of the letters that were written and at least 1. The
 * beginning of a word is as near as one slip. Of equally near words the one offered first is meant.
 */
#ifndef GCI_BASE_TEXT_SIMILAR_H
#define GCI_BASE_TEXT_SIMILAR_H

#include "base/view.h"

typedef struct gci_similar {
    gci_view written;
    char const *word; /* the nearest so far, as it was offered; NULL: none is near */
    size_t distance;  /* what a nearer one must stay below */
} gci_similar;

gci_similar gci_similar_to(gci_view written);
void gci_similar_offer(gci_similar *similar, char const *word);

/* By value, so that it can stand among the arguments of printf. */
typedef struct gci_similar_text {
    char text[64];
} gci_similar_text;

/* "; did you mean --graph?", where `before` is what stands before the word; "" if no word is near. */
gci_similar_text gci_similar_question(gci_similar const *similar, char const *before);

#endif
