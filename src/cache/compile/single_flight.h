/*
 * One gcache_get_or_compile under way, so that the storing of many can be put off and done together.
 */
#ifndef GCI_CACHE_COMPILE_SINGLE_FLIGHT_H
#define GCI_CACHE_COMPILE_SINGLE_FLIGHT_H

#include "cache/candidates/trace.h"
#include "cache/lookup/cache_insert.h"

#include <guardcache/compile.h>

typedef struct gci_product gci_product;

typedef struct gci_compile {
    gcache *cache;
    gcache_graph *graph;
    gcache_hints const *hints;
    gcache_compile_options options;
    gci_wish wish;         /* what of them the gate asks for */
    gcache_compile_fn compile;
    void *state;
    gci_missed *missed;    /* what the journal writes down of the latest lookup; NULL: nothing */
    gcache_result *result;
    gcache_error *error;
    gci_lease *lease;      /* NULL: there is none to be had, or none is needed */
    gci_product *product;  /* what was compiled, until it is handed out */
    gci_insert insert;     /* of the product; its status says whether it is to be committed */
} gci_compile;

/*
 * Looks up and, on a miss, compiles: all but storing. options, result and error have to stay until the end.
 * true: commit `insert` and call gci_compile_end. false: it has ended, with *out_status.
 */
bool gci_compile_begin(gci_compile *c, gcache_status *out_status);

/* For whoever ends it in another thread: from here on anybody may wait for the lease, the present thread included. */
void gci_compile_hand_over(gci_compile *c);

/* After the commit. GCACHE_MISS, ERROR_MEMORY, or with strict why it couldn't be stored. */
gcache_status gci_compile_end(gci_compile *c);

#endif
