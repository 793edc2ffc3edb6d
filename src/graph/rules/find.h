/*
 * A short text looked for in a long one, by its rarest bytes.
 */
#ifndef GCI_GRAPH_FIND_H
#define GCI_GRAPH_FIND_H

#include "base/view.h"

/* Is the part anywhere in the text? In time by the text's size, whatever they are. */
bool gci_find(gci_view text, gci_view part);

/* How many of a thousand bytes are this one, more or less, in texts that compilers write. */
unsigned gci_byte_frequency(unsigned c);

#endif
