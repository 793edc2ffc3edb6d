/*
 * The canonical form of a description: what counts, written so that equal means equal (docs/formats/canonical.md).
 */
#ifndef GCI_GRAPH_CANON_H
#define GCI_GRAPH_CANON_H

#include "graph/describe/canonical.h"
#include "graph/rules/rules.h"

/* Called for what a rule (or the format itself: rule NULL) leaves out or changes. to.data is NULL for what is left out. */
typedef void (*gci_trace_fn)(void *state, char const *path, gci_rule const *rule, gci_view from, gci_view to);

/*
 * Normalises a finished description. GCACHE_OK, GCACHE_REFUSED (a rule's bypass), or an error. With keep_bytes the
 * components' bytes are kept; without, they are hashed as they are written and forgotten. trace may be NULL; with it every
 * step is reported.
 */
gcache_status gci_canonical_make(gcache_graph const *graph, bool keep_bytes, gci_trace_fn trace, void *trace_state,
                                 gci_canonical **out_canon, gcache_error *error);

#endif
