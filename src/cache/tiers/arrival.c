/* Entries that came from tiers, stored here. */
#include "cache/tiers/arrival.h"

#include "store/read/foreign.h"

gci_stored_description *
gci_description_from(gcache_object const *object, gcache_key const *key)
{
    gci_stored_description *description = NULL;
    gci_frame frame;
    gcache_key of;

    if (gci_frame_read(gci_view_of(object->bytes, object->size), &frame) != GCI_FRAME_GOOD ||
        frame.type != GCI_FRAME_DESCRIPTION || gci_description_take(&frame, &of, &description, NULL) != GCACHE_OK ||
        memcmp(&of, key, sizeof of) == 0)
        return description;
    gci_stored_description_free(description);
    return NULL;
}

typedef struct describing {
    gcache_key const *key;
    gci_stored_description *description; /* NULL: it isn't to be had */
} describing;

static int
take_description(void *state, gcache_object const *object)
{
    describing *d = state;

    d->description = gci_description_from(object, d->key);
    return 1;
}

static gci_stored_description *
fetch_description(gci_tier *tier, gcache_key const *key)
{
    gcache_object wanted = { .kind = GCACHE_OBJECT_DESCRIPTION, .key = *key };
    describing d = { .key = key };
    gci_asking asking;

    if (gci_asking_begin(&asking, tier, GCI_ASK_TO_READ, 0))
        GCI_ASK(&asking, fetch, &wanted, 1, take_description, &d);
    gci_asking_end(&asking);
    return d.description;
}

gcache_status
gci_arrival_store(gcache *cache, gci_arrival const *arrival)
{
    gcache_error trouble = { 0 };
    gci_inserted inserted;
    bool inlined;

    if (arrival->set == NULL || !gci_is_open(&cache->gate, GCI_STORE))
        return GCACHE_REFUSED;
    gci_view stored = gci_foreign_inlined(arrival->candidate, &inlined);
    gci_portable entry = gci_foreign_portable(arrival->candidate, inlined ? stored : gci_buf_view(&arrival->payload));
    gci_stored_description *later =
        arrival->describing != NULL ? fetch_description(arrival->describing, &arrival->candidate->record.key) : NULL;
    gci_stored_description *description = later != NULL ? later : arrival->description;
    gcache_status status = gci_store_adopt(cache->store, &entry,
                                           description != NULL ? gci_stored_description_get(description) : NULL, &inserted,
                                           &trouble);
    gci_stored_description_free(later);
    if (status != GCACHE_OK && cache->options.log != NULL)
        cache->options.log(cache->options.log_state, trouble.message);
    return status;
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
