/*
 * What canonicalisation found out about a description: components, symbols, names, the form's bytes. The description keeps
 * it. Immutable once made, so that any number of threads may read it.
 */
#ifndef GCI_GRAPH_CANONICAL_H
#define GCI_GRAPH_CANONICAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/digest.h"
#include "base/text/intern.h"

#include <guardcache/graph.h>
#include <stdatomic.h>

typedef struct gci_canonical {
    gci_arena arena;               /* of all texts and arrays */
    uint64_t id;                   /* no other of this process has it */
    gcache_component *components;  /* in the order of their names' bytes */
    size_t count;
    gcache_symbol *symbols;        /* in order of first use; a canonical name has '$' before it */
    gci_intern symbol_names;       /* numbers are those of symbols */
    gci_buf text_names;            /* gcache_text_name's: what ordinal rules with hand_back renamed */
    gcache_key rules_hash;
    _Atomic(void *) remembered;    /* gci_graph_remember */
    gci_buf bytes; /* the whole form, one CBOR item; empty if it wasn't to be kept */
} gci_canonical;

/* NULL without memory. */
gci_canonical *gci_canonical_new(void);
void gci_canonical_free(gci_canonical *canon);

#endif
