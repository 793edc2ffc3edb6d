/* Entries that came from tiers, stored here. */
#include "cache/tiers/arrival.h"

#include "store/read/foreign.h"

void
gci_arrival_store(gcache *cache, gci_arrival const *arrival)
{
    gcache_error trouble = { 0 };
    gci_inserted inserted;
    bool inlined;

    if (arrival->set == NULL || !gci_is_open(&cache->gate, GCI_STORE))
        return;
    gci_view stored = gci_foreign_inlined(arrival->candidate, &inlined);
    gci_portable entry = gci_foreign_portable(arrival->candidate, inlined ? stored : gci_buf_view(&arrival->payload));
    gci_description const *description =
        arrival->description != NULL ? gci_stored_description_get(arrival->description) : NULL;
    gcache_status status = gci_store_adopt(cache->store, &entry, description, &inserted, &trouble);
    if (status != GCACHE_OK && cache->options.log != NULL)
        cache->options.log(cache->options.log_state, trouble.message);
}

size_t
gci_arrival_size(gci_arrival const *arrival)
{
    return arrival->set != NULL ? arrival->payload.size : 0;
}

void
gci_arrival_clear(gci_arrival *arrival)
{
    if (arrival->set == NULL)
        return;
    gci_candidates_release(arrival->set);
    gci_buf_clear(&arrival->payload);
    gci_stored_description_free(arrival->description);
    arrival->set = NULL;
}
