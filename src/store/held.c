/* Payloads as counted objects: handed out while their entry is evicted, or long after. */
#include "base/check.h"
#include "base/file.h"
#include "store/run.h"

#include <stdlib.h>

static struct gci_held_payload *
held_of(gci_payload *payload)
{
    return (struct gci_held_payload *)payload;
}

static void
free_base(gci_payload_hold hold, void *base, size_t base_size)
{
    if (hold == GCI_HOLD_MALLOC)
        free(base);
    else if (hold == GCI_HOLD_MAP)
        gci_file_unmap(base, base_size);
}

gci_payload *
gci_payload_new(gci_payload_hold hold, void *base, size_t base_size, gci_view bytes)
{
    struct gci_held_payload *held = calloc(1, sizeof *held);

    GCI_ASSERT(hold != GCI_HOLD_RUN);
    if (held == NULL) {
        free_base(hold, base, base_size);
        return NULL;
    }
    held->payload = (gci_payload){ bytes.data, bytes.size };
    held->hold = hold;
    held->base = base;
    held->base_size = base_size;
    atomic_store(&held->references, 1);
    return &held->payload;
}

gci_payload *
gci_payload_retain(gci_payload *payload)
{
    struct gci_held_payload *held = held_of(payload);

    if (held->hold == GCI_HOLD_RUN)
        gci_run_retain(held->run);
    else
        atomic_fetch_add_explicit(&held->references, 1, memory_order_relaxed);
    return payload;
}

void
gci_payload_release(gci_payload *payload)
{
    struct gci_held_payload *held = held_of(payload);

    if (held == NULL)
        return;
    if (held->hold == GCI_HOLD_RUN) {
        gci_run_release(held->run);
    } else if (atomic_fetch_sub_explicit(&held->references, 1, memory_order_acq_rel) == 1) {
        free_base(held->hold, held->base, held->base_size);
        gci_account_close(&held->account);
        free(held);
    }
}

void
gci_payload_keep(gci_candidate *candidate, gci_payload *payload)
{
    struct gci_held_payload *held = held_of(payload), *expected = NULL;

    GCI_ASSERT(held->hold != GCI_HOLD_RUN && held->account.budget == NULL);
    gci_payload_retain(payload);
    gci_account_open(&held->account, gci_run_inside(candidate->run)->account.budget, held->base_size);
    /* If another thread was faster, this one stays with its reader and counts until then. */
    if (!atomic_compare_exchange_strong(&candidate->place->payload, &expected, held))
        gci_payload_release(payload);
}

gci_payload *
gci_payload_kept(gci_candidate *candidate)
{
    struct gci_candidate_place *place = candidate->place;
    struct gci_held_payload *held = atomic_load_explicit(&place->payload, memory_order_acquire);

    if (held == NULL && place->in_pack && candidate->record.compression == GCI_RAW)
        held = &place->own;
    return held != NULL ? gci_payload_retain(&held->payload) : NULL;
}
