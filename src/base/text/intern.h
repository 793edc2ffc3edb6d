/*
 * A set of texts, numbered in the order they were added. It borrows the texts.
 */
#ifndef GCI_BASE_TEXT_INTERN_H
#define GCI_BASE_TEXT_INTERN_H

#include "base/view.h"

#include <stdint.h>

typedef struct gci_intern {
    gci_view *texts; /* by number */
    uint32_t *slots; /* 1 + number, or 0; open addressing, at most half full */
    uint32_t count, text_room;
    size_t slot_room;
} gci_intern;

#define GCI_INTERN_NONE UINT32_MAX

void gci_intern_clear(gci_intern *set);

/* Forgets all texts but keeps the memory. */
void gci_intern_reset(gci_intern *set);

/* Makes room for count texts in all; false without memory. */
bool gci_intern_reserve(gci_intern *set, uint32_t count);

/* The number of a text, or GCI_INTERN_NONE. */
uint32_t gci_intern_find(gci_intern const *set, gci_view text);

/* The number of a text, which is added if it is new; GCI_INTERN_NONE without memory. */
uint32_t gci_intern_add(gci_intern *set, gci_view text, bool *out_new);

#endif
