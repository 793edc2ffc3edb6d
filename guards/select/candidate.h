/*
 * A candidate of a selector: its list, its program on the selector's frame, and what the index may rely on.
 */
#ifndef GCI_GUARDS_CANDIDATE_H
#define GCI_GUARDS_CANDIDATE_H

#include "guards/select/dimension.h"
#include "guards/program/program.h"
#include "guards/normal/normal.h"
#include "guards/select/select.h"

/* low <= dimension <= high, or the list is false. */
typedef struct gci_filter {
    uint32_t dimension;
    int64_t low, high;
} gci_filter;

typedef struct gci_chosen {
    gci_guards const *guards;
    gci_rank rank;
    uint32_t id;
    gci_instruction *code; /* on a frame; NULL: only the exact path runs it */
    uint16_t *slots;       /* of the program's names */
    gci_filter *filters;   /* of distinct dimensions */
    uint32_t *hazards;     /* dimensions; while one is 0 or unknown the filters say nothing */
    uint32_t filter_count, hazard_count;
} gci_chosen;

/* More of either than this are left out; fewer filters only filter less, with too many hazards there are none. */
#define GCI_MAX_FILTERS 64
#define GCI_MAX_HAZARDS 16

/* What a selector knows of names and expressions. Slots and dimensions are never given back. */
typedef struct gci_slot {
    gci_view name; /* as hints are bound */
    uint64_t hash;
    bool is_name, is_callee;
} gci_slot;

typedef struct gci_tables {
    gci_arena arena;
    gci_slot *slots;
    uint32_t *slot_places; /* open addressing by hash: 1 + slot */
    gci_dimension *dimensions;
    uint32_t slot_count, slot_room, slot_mask, dimension_count, dimension_room;
} gci_tables;

/* Registers have 16-bit numbers, and slots come behind those that programs compute in. */
#define GCI_MAX_SLOTS 4096

/* A key's candidates share their expressions; beyond this many a new one isn't used for filtering. */
#define GCI_MAX_DIMENSIONS 1024

void gci_tables_init(gci_tables *tables);
void gci_tables_clear(gci_tables *tables);

/* The slot of a name, or GCI_MAX_SLOTS. */
uint32_t gci_tables_find_slot(gci_tables const *tables, uint64_t hash, gci_view name);

/* Fills in everything but guards, id and rank; tables grow. */
gcache_status gci_chosen_prepare(gci_chosen *chosen, gci_tables *tables, gcache_error *error);
void gci_chosen_clear(gci_chosen *chosen);

#endif
