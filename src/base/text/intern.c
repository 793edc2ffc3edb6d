/*
 * A set of texts: open addressing over numbers, at most half full.
 */
#include "base/text/intern.h"

#include "base/digest.h"

#include <stdlib.h>

#define FIRST_SLOTS 32

void
gci_intern_clear(gci_intern *set)
{
    free(set->texts);
    free(set->slots);
    *set = (gci_intern){ .count = 0 };
}

void
gci_intern_reset(gci_intern *set)
{
    if (set->count != 0)
        memset(set->slots, 0, set->slot_room * sizeof *set->slots);
    set->count = 0;
}

static uint32_t *
find_slot(gci_intern const *set, gci_view text)
{
    size_t slot = (size_t)gci_hash_name(text) & (set->slot_room - 1);

    while (set->slots[slot] != 0 && !gci_name_equal(set->texts[set->slots[slot] - 1], text))
        slot = (slot + 1) & (set->slot_room - 1);
    return &set->slots[slot];
}

uint32_t
gci_intern_find(gci_intern const *set, gci_view text)
{
    if (set->count == 0)
        return GCI_INTERN_NONE;
    uint32_t slot = *find_slot(set, text);
    return slot != 0 ? slot - 1 : GCI_INTERN_NONE;
}

/* More slots, and the texts put back into them. */
static bool
grow(gci_intern *set, size_t room)
{
    uint32_t *slots = calloc(room, sizeof *slots);
    gci_view *texts = realloc(set->texts, room / 2 * sizeof *texts);

    if (texts != NULL)
        set->texts = texts;
    if (slots == NULL || texts == NULL || room / 2 >= GCI_INTERN_NONE) {
        free(slots);
        return false;
    }
    free(set->slots);
    set->slots = slots;
    set->slot_room = room;
    set->text_room = (uint32_t)(room / 2);
    for (uint32_t i = 0; i < set->count; i++)
        *find_slot(set, set->texts[i]) = i + 1;
    return true;
}

bool
gci_intern_reserve(gci_intern *set, uint32_t count)
{
    size_t room = FIRST_SLOTS;

    while (room / 2 < count)
        room *= 2;
    return count <= set->text_room || grow(set, room);
}

uint32_t
gci_intern_add(gci_intern *set, gci_view text, bool *out_new)
{
    if (set->count == set->text_room && !grow(set, set->slot_room == 0 ? FIRST_SLOTS : set->slot_room * 2))
        return GCI_INTERN_NONE;
    uint32_t *slot = find_slot(set, text);
    *out_new = *slot == 0;
    if (*out_new) {
        set->texts[set->count++] = text;
        *slot = set->count;
    }
    return *slot - 1;
}
