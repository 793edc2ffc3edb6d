/*
 * Building a selector: names get slots, programs move to one frame, and with many lists there is an index.
 */
#include "guards/select/selector.h"

#include "base/check.h"
#include "guards/text/hints.h"

#include <stdlib.h>

/* ---- slots ---- */

uint32_t
gci_selector_find_slot(gci_selector const *selector, uint64_t hash, gci_view name)
{
    for (uint64_t place = hash;; place++) {
        uint32_t slot = selector->slot_places[place & selector->slot_mask];
        if (slot == 0)
            return GCI_MAX_SLOTS;
        if (selector->slots[slot - 1].hash == hash && gci_view_equal(selector->slots[slot - 1].name, name))
            return slot - 1;
    }
}

/* NULL: there are too many. */
static gci_slot *
intern_slot(gci_selector *s, gci_view name)
{
    uint64_t hash = gci_hash_name(name), place = hash;
    uint32_t slot = gci_selector_find_slot(s, hash, name);

    if (slot != GCI_MAX_SLOTS || s->slot_count == GCI_MAX_SLOTS)
        return slot != GCI_MAX_SLOTS ? &s->slots[slot] : NULL;
    while (s->slot_places[place & s->slot_mask] != 0)
        place++;
    s->slots[s->slot_count] = (gci_slot){ .name = name, .hash = hash };
    s->slot_places[place & s->slot_mask] = ++s->slot_count;
    return &s->slots[s->slot_count - 1];
}

static bool
make_room(gci_selector *s, gci_guards const *const *lists)
{
    size_t names = 0, places = 16;

    for (uint32_t i = 0; i < s->count; i++)
        names += lists[i]->program.name_count + lists[i]->program.callee_count;
    names = names < GCI_MAX_SLOTS ? names : GCI_MAX_SLOTS;
    while (places <= 2 * names)
        places *= 2;
    s->lists = gci_arena_array(&s->arena, s->count, sizeof *s->lists);
    s->slots = gci_arena_array(&s->arena, names, sizeof *s->slots);
    s->slot_places = gci_arena_array(&s->arena, places, sizeof *s->slot_places);
    s->slot_mask = (uint32_t)places - 1;
    return !s->arena.failed;
}

/* ---- lists on the frame ---- */

static bool
place_names(gci_selector *s, gci_placed_list *list)
{
    gci_program const *program = &list->guards->program;
    gci_slot *slot;

    list->slots = gci_arena_array(&s->arena, program->name_count, sizeof *list->slots);
    for (uint32_t i = 0; i < program->name_count && list->slots != NULL; i++) {
        if ((slot = intern_slot(s, program->names[i].name)) == NULL)
            return false;
        slot->is_name = true;
        list->slots[i] = (uint16_t)(slot - s->slots);
    }
    for (uint32_t i = 0; i < program->callee_count; i++) {
        if ((slot = intern_slot(s, program->callees[i])) == NULL)
            return false;
        slot->is_callee = true;
    }
    return list->slots != NULL;
}

static uint16_t
on_frame(gci_placed_list const *list, uint16_t r)
{
    uint32_t names = list->guards->program.name_count;

    return (uint16_t)(r < names ? GCI_FRAME_SLOTS + list->slots[r] : r - names);
}

static bool
place_code(gci_selector *s, gci_placed_list *list)
{
    gci_program const *program = &list->guards->program;

    if (program->exact_only)
        return true;
    list->code = gci_arena_alloc(&s->arena, program->code_count * sizeof *list->code);
    for (uint32_t at = 0; list->code != NULL && at < program->code_count; at++) {
        gci_instruction *i = &list->code[at];
        *i = program->code[at];
        unsigned registers = gci_opcode_shape(i->op).registers;
        i->a = registers >= 1 ? on_frame(list, i->a) : i->a;
        i->b = registers >= 2 ? on_frame(list, i->b) : i->b;
        i->c = registers >= 3 ? on_frame(list, i->c) : i->c;
    }
    return list->code != NULL;
}

static bool
place_lists(gci_selector *s, gci_guards const *const *lists)
{
    for (uint32_t i = 0; i < s->count; i++) {
        s->lists[i].guards = lists[i];
        if (!place_names(s, &s->lists[i]) || !place_code(s, &s->lists[i]))
            return false;
    }
    return true;
}

/* ---- the whole ---- */

static bool
make_index(gci_selector *s)
{
    gci_filters filters;
    bool done = gci_filters_init(&filters, s->count, s->slot_count, &s->arena);

    for (uint32_t i = 0; i < s->count && done; i++)
        done = gci_filters_add(&filters, s->lists[i].guards, s->lists[i].slots);
    done = done && gci_filter_index_make(&filters, &s->arena, &s->index);
    gci_filters_clear(&filters);
    return done;
}

gci_selector *
gci_selector_new(gci_guards const *const *lists, size_t count)
{
    gci_selector *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    GCI_ASSERT(count < GCI_NO_CANDIDATE);
    gci_arena_init(&s->arena, SIZE_MAX / 2);
    s->count = (uint32_t)count;
    if (make_room(s, lists) && place_lists(s, lists) && (count < GCI_INDEX_LEAST || make_index(s)))
        return s;
    gci_selector_free(s);
    return NULL;
}

void
gci_selector_free(gci_selector *selector)
{
    if (selector == NULL)
        return;
    gci_arena_clear(&selector->arena);
    free(selector);
}

size_t
gci_selector_size(gci_selector const *selector)
{
    return sizeof *selector + selector->arena.total;
}
