/*
 * A binding: what hints bind a selector's names to.
 */
#include "guards/select/selector.h"

#include "guards/text/hints.h"

#include <stdlib.h>

#define CACHE_LINE 64

/* On cache lines of their own: a name's value is read right after it was written, which takes longer across two lines. */
static int64_t *
new_registers(size_t count)
{
    size_t size = count * sizeof(int64_t);

    return aligned_alloc(CACHE_LINE, (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
}

gci_binding *
gci_binding_new(gci_selector const *selector)
{
    gci_binding *b = calloc(1, sizeof *b);
    size_t slots = selector->slot_count;

    if (b == NULL)
        return NULL;
    b->selector = selector;
    b->numbers = malloc((slots + 1) * sizeof(gci_number const *));
    b->frame.registers = new_registers(GCI_FRAME_SLOTS + slots);
    b->frame.odd = malloc((slots + 1) * sizeof *b->frame.odd);
    b->frame.rows = malloc((slots + GCI_MAX_WATCHED_HAZARDS) * sizeof(gci_bits const *));
    gci_memo_init(&b->memo, selector->slot_count);
    if (b->numbers != NULL && b->frame.registers != NULL && b->frame.odd != NULL && b->frame.rows != NULL)
        return b;
    gci_binding_free(b);
    return NULL;
}

void
gci_binding_free(gci_binding *binding)
{
    if (binding == NULL)
        return;
    free((void *)binding->numbers);
    free(binding->frame.registers);
    free(binding->frame.odd);
    free((void *)binding->frame.rows);
    gci_memo_clear(&binding->memo);
    free(binding);
}

/* The slot of its name. */
static uint32_t
bind_hint(gci_binding *b, gci_hint const *hint)
{
    uint32_t slot = gci_selector_find_slot(b->selector, hint->hash, hint->bound);

    if (slot == GCI_MAX_SLOTS)
        return slot;
    b->is_shadowed = b->is_shadowed || b->selector->slots[slot].is_callee;
    b->numbers[slot] = &hint->value;
    if (gci_number_is_small(hint->value))
        b->frame.registers[GCI_FRAME_SLOTS + slot] = hint->value.i;
    return slot;
}

/* All are integers, as they were: only values have changed since the names were resolved. */
static void
bind_known(gci_binding *b, gci_hints const *hints)
{
    for (size_t i = 0; i < hints->count; i++) {
        uint32_t slot = b->slots_of_hints[i];
        if (slot == GCI_MAX_SLOTS)
            continue;
        b->numbers[slot] = &hints->items[i].value;
        b->frame.registers[GCI_FRAME_SLOTS + slot] = hints->items[i].value.i;
    }
}

static void
bind_anew(gci_binding *binding, gci_hints const *hints)
{
    gci_selector const *selector = binding->selector;
    gci_name_frame *frame = &binding->frame;

    binding->is_shadowed = false;
    frame->odd_count = 0;
    for (uint32_t i = 0; i < selector->slot_count; i++) {
        binding->numbers[i] = NULL;
        frame->registers[GCI_FRAME_SLOTS + i] = 0;
    }
    for (size_t i = 0; i < hints->count; i++) {
        uint32_t slot = bind_hint(binding, &hints->items[i]);
        if (hints->names_id != 0)
            binding->slots_of_hints[i] = (uint16_t)slot;
    }
    binding->names_id = hints->names_id;
    for (uint32_t i = 0; i < selector->slot_count; i++)
        if (selector->slots[i].is_name && (binding->numbers[i] == NULL || !gci_number_is_small(*binding->numbers[i])))
            frame->odd[frame->odd_count++] = (uint16_t)i;
    binding->is_plain = !binding->is_shadowed && frame->odd_count == 0;
}

void
gci_binding_set(gci_binding *binding, gci_hints const *hints)
{
    binding->hints = hints;
    if (hints->names_id != 0 && hints->names_id == binding->names_id)
        bind_known(binding, hints);
    else
        bind_anew(binding, hints);
}
