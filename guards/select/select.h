/*
 * Choosing among many guard lists: the first, in the caller's order, that holds for given hints.
 *
 * The result is that of trying every list in order with gci_guards_eval; this holds for a miss too:
 *
 *  1. The index only filters. A list that it skips is certainly false: it relies on conjuncts of integer comparisons
 *     that stand before the first one that may raise, and only while the divisors before them aren't zero.
 *  2. A name that isn't bound, or not to an integer, takes the lists that read it out of the filter.
 *  3. Everything the index lets through is evaluated as a whole, in order.
 *
 * Few lists are tried one by one; from GCI_INDEX_LEAST on there is an index.
 *
 * Threads: a selector is built once and never changes. Any number of threads may use it, each with its own binding.
 */
#ifndef GCI_GUARDS_SELECT_H
#define GCI_GUARDS_SELECT_H

#include "guards/program/list.h"

/* Below this many lists trying each is as fast as an index. */
#define GCI_INDEX_LEAST 32

typedef struct gci_selector gci_selector;

/* lists are in the order they are tried, and must outlive the selector. NULL: no memory, or more names than a selector holds. */
gci_selector *gci_selector_new(gci_guards const *const *lists, size_t count);
void gci_selector_free(gci_selector *selector);
/* The bytes it takes, about. */
size_t gci_selector_size(gci_selector const *selector);

/* One thread's use of one selector: what hints bind its names to, registers, and recent results. */
typedef struct gci_binding gci_binding;

/* NULL without memory. */
gci_binding *gci_binding_new(gci_selector const *selector);
void gci_binding_free(gci_binding *binding);
/* The binding borrows the hints. */
void gci_binding_set(gci_binding *binding, gci_hints const *hints);

typedef struct gci_select_request {
    /* Whether a list may be selected, whatever its guards say. NULL: all may. */
    bool (*eligible)(void const *state, uint32_t place);
    void const *state;
    bool remember;        /* look in the memo first, and keep the result there */
    uint64_t eligibility; /* for the memo: equal numbers mean that eligible returns the same */
} gci_select_request;

#define GCI_NO_CANDIDATE UINT32_MAX

typedef struct gci_selection {
    uint32_t place;              /* of the first list that holds, or GCI_NO_CANDIDATE */
    bool some_false, some_raise; /* of a miss: eligible lists that are false, or raise */
} gci_selection;

gci_selection gci_select(gci_binding *binding, gci_select_request const *request);

#endif
