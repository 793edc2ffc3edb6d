/*
 * The tokens of an expression that isn't in the guard language: it counts as it is written, symbols renamed.
 */
#ifndef GCI_GRAPH_TOKENS_H
#define GCI_GRAPH_TOKENS_H

#include "base/view.h"

#include <stdint.h>

/* Is the whole text a name that is no word of the language? */
bool gci_is_symbol(gci_view text);

/* token := name | any other byte, spaces around it. *out_symbol: it is a name, and no '(' follows. */
gci_view gci_next_token(gci_view text, size_t *at, bool *out_symbol);

#endif
