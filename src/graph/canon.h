/*
 * The canonical form of a description: what counts, written so that equal means equal (docs/formats/canonical.md).
 */
#ifndef GCI_GRAPH_CANON_H
#define GCI_GRAPH_CANON_H

#include "base/error.h"
#include "base/view.h"
#include "graph/rules.h"

#include <guardcache/graph.h>

/* What canonicalisation found out. Immutable once made, so that any number of threads may read it. */
typedef struct gci_canonical gci_canonical;

/*
 * Normalises a finished description. GCACHE_OK, GCACHE_REFUSED (a rule's bypass), or an error. With keep_bytes the
 * components' bytes are kept; without, they are hashed as they are written and forgotten.
 */
gcache_status gci_canonical_make(gcache_graph const *graph, bool keep_bytes, gci_canonical **out_canon,
                                 gcache_error *error);
void gci_canonical_free(gci_canonical *canon);

/* Components in the order of their names' bytes. */
size_t gci_canonical_count(gci_canonical const *canon);
gcache_component const *gci_canonical_components(gci_canonical const *canon);

/* Symbols in order of first use. */
gcache_symbol const *gci_canonical_symbols(gci_canonical const *canon, size_t *out_count);

/* What ordinal rules with hand_back renamed. */
gcache_text_name const *gci_canonical_text_names(gci_canonical const *canon, size_t *out_count);

/* "$s0" for a symbol, else a view without data. */
gci_view gci_canonical_bound_name(gci_canonical const *canon, gci_view name);

/* The whole form, one CBOR item; a view without data if the bytes weren't kept. */
gci_view gci_canonical_bytes(gci_canonical const *canon);

void gci_canonical_rules_hash(gci_canonical const *canon, uint8_t out_hash[GCI_SHA256_BYTES]);

/* Told of what a rule (or the format itself: rule NULL) leaves out or changes. to.data is NULL for what is left out. */
typedef void (*gci_trace_fn)(void *state, char const *path, gci_rule const *rule, gci_view from, gci_view to);

/* Normalises once more and tells of every step. */
gcache_status gci_canonical_trace(gcache_graph const *graph, gci_trace_fn fn, void *state, gcache_error *error);

#endif
