/*
 * What an index may rely on, list by list: bounds of dimensions, and what makes them unsure. Needed until the index is
 * made.
 */
#ifndef GCI_GUARDS_FILTERS_H
#define GCI_GUARDS_FILTERS_H

#include "guards/normal/normal.h"
#include "guards/select/dimension.h"

/* low <= dimension <= high, or the list is false. */
typedef struct gci_filter {
    uint32_t dimension;
    int64_t low, high;
} gci_filter;

typedef struct gci_list_filters {
    gci_filter *filters; /* of distinct dimensions */
    uint32_t *hazards;   /* dimensions; while one is 0 or unknown the filters say nothing */
    uint16_t const *slots; /* that the list reads */
    uint32_t filter_count, hazard_count, slot_count;
} gci_list_filters;

/* More of either than this are left out; fewer filters only filter less, with too many hazards there are none. */
#define GCI_MAX_FILTERS 64
#define GCI_MAX_HAZARDS 16

/* A key's candidates share their expressions; beyond this many a new one isn't used for filtering. */
#define GCI_MAX_DIMENSIONS 1024

typedef struct gci_filters {
    gci_arena arena;
    gci_arena *kept; /* where the dimensions' code goes */
    gci_list_filters *lists;
    gci_dimension *dimensions;
    gci_normal *normals; /* what the dimensions' expressions are part of */
    uint32_t count, dimension_count, normal_count, slot_count;
} gci_filters;

/* false: no memory. Clear it in any case. */
bool gci_filters_init(gci_filters *filters, uint32_t count, uint32_t slot_count, gci_arena *kept);
void gci_filters_clear(gci_filters *filters);

/* Takes the next list in. slots are those it reads. false: no memory. */
bool gci_filters_add(gci_filters *filters, gci_guards const *guards, uint16_t const *slots);

#endif
