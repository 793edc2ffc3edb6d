/*
 * A lookup's context: which key, which hints, in whose names, with which request.
 */
#ifndef GCI_CACHE_CANDIDATES_CONTEXT_H
#define GCI_CACHE_CANDIDATES_CONTEXT_H

#include "cache/handle/cache.h"
#include "graph/graph.h"
#include "guards/guards.h"

typedef struct gci_context {
    gcache *cache;
    gcache_graph *graph;
    gcache_request request; /* the caller's, or the defaults */
    gcache_key key;
    gci_naming naming;
    gci_graph_names names; /* the graph's; of a keyed one in the arena */
    gcache_error const *damage; /* what was found of the key was damaged and is put aside: why; NULL: nothing was */
    gci_arena arena;
    gci_hints hints;
    bool at_once; /* as in gci_call */
    gcache_hints const *given; /* what they were read from; the caller's, during the call */
} gci_context;

/*
 * Reads the caller's arguments. A description that is only a key has no symbols of its own: it speaks with the names of
 * the key's first candidate, and knows no names in texts. request and hints may be NULL. GCACHE_OK; GCACHE_REFUSED: the
 * graph can't be keyed (a bypass, or beyond a limit), key isn't set; or an error. Clear it whatever the status.
 */
gcache_status gci_context_init(gci_context *context, gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                                gcache_request const *request, gcache_error *error);
/* The same when candidates are found elsewhere of a key that the store knows nothing of: a description that is only a key takes
   the names of the first. GCACHE_OK, or what reading hints returns. */
gcache_status gci_context_learn_names(gci_context *context, gci_candidates const *set, gcache_error *error);
void gci_context_clear(gci_context *context);

#endif
