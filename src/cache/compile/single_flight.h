/*
 * One compile under way, so that the storing of many can be put off and done together.
 */
#ifndef GCI_CACHE_COMPILE_SINGLE_FLIGHT_H
#define GCI_CACHE_COMPILE_SINGLE_FLIGHT_H

#include "cache/candidates/trace.h"
#include "cache/compile/meeting.h"
#include "cache/handle/awaited.h"
#include "cache/lookup/cache_insert.h"

#include <guardcache/compile.h>

typedef struct gci_product gci_product;

struct gcache_compile {
    gcache *cache;
    gcache_graph *graph;
    gcache_hints const *hints;
    gcache_compile_options options;
    gci_call call;         /* what of them the gate asks for */
    void *state;           /* of the callbacks */
    gci_missed *missed;    /* what the journal writes down of the latest lookup; NULL: nothing */
    gcache_result *result;
    gcache_error *error;
    gci_lease *lease;      /* NULL: there is none to be had, or none is needed */
    gci_fleet_lease *fleet_lease; /* the same among hosts */
    bool waits_for_nobody; /* the thread is compiling something else, which others may be waiting for */
    bool goes_alone;       /* the lease isn't to be had for it */
    gci_awaited awaited;   /* while it has a lease */
    bool is_question;      /* of a group; then it has a name: */
    bool is_decided;       /* and this was decided */
    gci_meeting_name question;
    gci_product *product;  /* what was compiled, until it is handed out */
    uint64_t start_ns;     /* of the compile */
    gci_insert insert;     /* of the product; its status says whether it is to be committed */
};

/*
 * Looks up, and on a miss takes the lease or waits for it. options, result and error have to stay until the end. GCACHE_MISS:
 * compile. GCACHE_HIT or an error: it has ended.
 */
gcache_status gci_compile_begin(gcache_compile *c);

/*
 * Begins and, on a miss, compiles: all but storing. GCACHE_OK: commit `insert`, if gci_compile_is_to_commit, and call
 * gci_compile_end. Anything else: it has ended.
 */
gcache_status gci_compile_call(gcache_compile *c, gcache_compile_fn compile);

/* false: something speaks against storing what was compiled. */
bool gci_compile_is_to_commit(gcache_compile const *c);

/* For whoever ends it in another thread: from here on anybody may wait for the lease, the present thread included. */
void gci_compile_hand_over(gcache_compile *c);

/* After the commit. GCACHE_MISS, ERROR_MEMORY, or with strict why it couldn't be stored. */
gcache_status gci_compile_end(gcache_compile *c);

#endif
