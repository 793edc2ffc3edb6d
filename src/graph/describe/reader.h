/*
 * The part of reading a description that the builder shares.
 */
#ifndef GCI_GRAPH_READER_H
#define GCI_GRAPH_READER_H

#include "graph/describe/typed.h"

/* Adds a component that is a typed tree; a well-known one must have its type. */
bool gci_read_component(gci_typing const *typing, gci_view name, gci_value *value);

#endif
