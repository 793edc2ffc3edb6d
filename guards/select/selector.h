/*
 * Inside a selector: lists moved to one frame, what is known of names and expressions, and the index.
 *
 * A frame is a row of registers that all programs of a selector compute in; the values of the names, in slots, stand
 * behind them.
 */
#ifndef GCI_GUARDS_SELECTOR_H
#define GCI_GUARDS_SELECTOR_H

#include "guards/program/program.h"
#include "guards/select/filter_index.h"
#include "guards/select/select.h"

/* A list as it is tried. */
typedef struct gci_placed_list {
    gci_instruction *code; /* on a frame; NULL: only the exact path runs it */
    uint16_t *slots;       /* of the program's names */
    gci_guards const *guards;
} gci_placed_list;

typedef struct gci_slot {
    gci_view name; /* as hints are bound */
    uint64_t hash;
    bool is_name, is_callee;
} gci_slot;

struct gci_selector {
    gci_arena arena;
    gci_placed_list *lists;
    gci_slot *slots;
    uint32_t *slot_places; /* open addressing by hash: 1 + slot */
    uint32_t count, slot_count, slot_mask;
    gci_filter_index *index; /* NULL: lists are tried one by one */
};

/* Registers have 16-bit numbers, and slots come behind those that programs compute in. */
#define GCI_MAX_SLOTS 4096

/* The slot of a name, or GCI_MAX_SLOTS. */
uint32_t gci_selector_find_slot(gci_selector const *selector, uint64_t hash, gci_view name);

/* Recent answers. Equal values of all slots, and equal eligibility, have one answer. */
typedef struct gci_memo {
    char *answers; /* NULL: nothing is remembered */
    uint32_t width; /* values of each */
    size_t stride;
} gci_memo;

/* Remembers nothing without memory, or for too many names. */
void gci_memo_init(gci_memo *memo, uint32_t width);
void gci_memo_clear(gci_memo *memo);
bool gci_memo_find(gci_memo const *memo, int64_t const *values, uint64_t eligibility, gci_selection *out);
void gci_memo_keep(gci_memo *memo, int64_t const *values, uint64_t eligibility, gci_selection selection);

struct gci_binding {
    gci_selector const *selector;
    gci_hints const *hints;
    gci_number const **numbers; /* by slot; NULL: not bound */
    gci_name_frame frame;
    bool is_shadowed;           /* a hint has the name of a function */
    bool is_plain;              /* no hint has, and all names are bound to integers */
    uint64_t names_id;          /* of the hints' names that slots_of_hints is for; 0: of none */
    uint16_t slots_of_hints[GCI_HINTS_FEW]; /* GCI_MAX_SLOTS: no list reads it */
    gci_memo memo;
};

#endif
