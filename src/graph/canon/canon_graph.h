/*
 * Graphs and inputs in canonical form.
 */
#ifndef GCI_GRAPH_CANON_GRAPH_H
#define GCI_GRAPH_CANON_GRAPH_H

#include "graph/canon/canon_run.h"

void gci_canon_graph(gci_canon_run *run, gci_subgraph const *graph, gci_rules_state place);
void gci_canon_inputs(gci_canon_run *run, gci_rules_state place);

#endif
