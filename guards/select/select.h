/*
 * Choosing among many guard lists: the first, by rank, that holds for given hints.
 *
 * Rank is (priority, equalities, conjuncts, sequence), larger first, so that the answer doesn't depend on how it is found.
 * The answer, and what a miss is told, are those of trying every candidate in rank order with gci_guards_eval:
 *
 *  1. The index only filters. A candidate it passes over is certainly false: it relies on conjuncts of integer comparisons
 *     that stand before the first one that may raise, and only while the divisors before them aren't zero.
 *  2. A name that isn't bound, or not to an integer, takes the candidates that read it out of the filter.
 *  3. Everything the index lets through is evaluated as a whole, in rank order.
 *
 * Few candidates are tried one by one. From GCI_INDEX_LEAST on they lie in segments with an index each; new ones gather
 * in a short list that becomes a segment when it is full, and segments of like size merge.
 *
 * Threads: a selector that isn't changed may be asked by any number of threads, each with a binding and a memo of its
 * own. Inserting and removing need it alone.
 */
#ifndef GCI_GUARDS_SELECT_H
#define GCI_GUARDS_SELECT_H

#include "guards/program/list.h"

/* Below this many candidates trying each is as fast as asking an index. */
#define GCI_INDEX_LEAST 32

typedef struct gci_selector gci_selector;

typedef struct gci_rank {
    int64_t priority;
    gci_specificity specificity;
    uint64_t sequence; /* newer is larger; distinct */
} gci_rank;

/* < 0: a comes first. */
int gci_rank_compare(gci_rank const *a, gci_rank const *b);

/* NULL without memory. */
gci_selector *gci_selector_new(void);
void gci_selector_free(gci_selector *selector);

/*
 * Adds a list under the caller's number, which should be small: tables are indexed by it. guards must outlive the
 * selector. ERROR_ARGUMENT: the number is taken; ERROR_LIMIT: more names than a selector holds; ERROR_MEMORY.
 */
gcache_status gci_selector_insert(gci_selector *selector, uint32_t id, gci_guards const *guards, gci_rank rank,
                                  gcache_error *error);
/* false: there is none of this number. */
bool gci_selector_remove(gci_selector *selector, uint32_t id);
size_t gci_selector_count(gci_selector const *selector);
/* The bytes it takes, about. */
size_t gci_selector_size(gci_selector const *selector);

/* Merges all segments into one, which is a little faster to ask: after inserting many. */
gcache_status gci_selector_compact(gci_selector *selector, gcache_error *error);

/* What hints bind a selector's names to, ready to be asked with. It borrows the hints. */
typedef struct gci_binding {
    int64_t *frame;                    /* registers to compute in, then the names' values */
    struct gci_number const **numbers; /* by slot; NULL: not bound */
    uint16_t *odd;                     /* slots that aren't bound to integers */
    struct gci_row const **rows;       /* room for a cursor */
    size_t odd_count, room;
    bool is_shadowed;                  /* a hint has the name of a function */
    bool is_plain;                     /* no hint has, and all names are bound to integers */
    gci_hints const *hints;
} gci_binding;

/* Zero-initialise it, bind it again and again, clear it. false: no memory. */
bool gci_binding_set(gci_binding *binding, gci_selector const *selector, gci_hints const *hints);
void gci_binding_clear(gci_binding *binding);

/* Remembers answers of one selector for recent hints. One thread's, and of no use after the selector. NULL without memory. */
typedef struct gci_memo gci_memo;
gci_memo *gci_memo_new(void);
void gci_memo_free(gci_memo *memo);

typedef struct gci_selecting {
    gci_binding *binding;
    /* Whether a candidate may be chosen at all, its guards aside. NULL: all may. */
    bool (*eligible)(void *state, uint32_t id);
    void *state;
    gci_memo *memo;       /* may be NULL */
    uint64_t eligibility; /* for the memo: equal numbers mean that eligible gives equal answers */
} gci_selecting;

#define GCI_NO_CANDIDATE UINT32_MAX

typedef struct gci_selection {
    uint32_t id;                 /* the best candidate that holds, or GCI_NO_CANDIDATE */
    bool some_false, some_raise; /* of a miss: eligible candidates whose guards are false, or raise */
} gci_selection;

gci_selection gci_select(gci_selector const *selector, gci_selecting const *asked);

/*
 * Tries every eligible candidate in rank order and tells what came out; the answer is that of gci_select.
 * ERROR_MEMORY: nothing was told.
 */
typedef void (*gci_verdict_fn)(void *state, uint32_t id, gcache_verdict const *verdict);
gcache_status gci_select_traced(gci_selector const *selector, gci_selecting const *asked, gci_verdict_fn tell, void *state,
                                gci_selection *out_selection, gcache_error *error);

#endif
