/* The candidate index with a new frame in place of an equal entry's. */
#include "store/publish/renewal.h"

#include "store/format/candidate_index.h"
#include "store/pool/pool.h"
#include "store/publish/publish.h"

void
gci_renewal_init(gci_renewal *renewal, gcache_key const *key)
{
    *renewal = (gci_renewal){ .found = false };
    gci_buf_init(&renewal->pack, GCI_BUF_NO_LIMIT);
    gci_pack_draft_init(&renewal->draft, key);
}

void
gci_renewal_clear(gci_renewal *renewal)
{
    gci_buf_clear(&renewal->pack);
    gci_pack_draft_clear(&renewal->draft);
}

gcache_status
gci_renewal_find(gci_renewal *renewal, gci_store *store, char const *id, gcache_error *error)
{
    gci_pack_draft_frame *frame;
    int level;

    gcache_status status = gci_pack_load(store, &renewal->draft.key, &renewal->pack, &level, error);
    if (status == GCACHE_OK)
        status = gci_pack_draft_take_pack(&renewal->draft, gci_buf_view(&renewal->pack), error);
    if (status != GCACHE_OK)
        return status;
    frame = gci_pack_draft_find(&renewal->draft, id);
    renewal->found = frame != NULL && frame->type != GCI_FRAME_EVICTED;
    if (!renewal->found)
        return GCACHE_OK;
    renewal->former = frame->type;
    frame->dropped = true;
    return GCACHE_OK;
}

gcache_status
gci_renewal_write(gci_renewal *renewal, gci_store *store, gci_view frame, gci_view description, gci_path *out_temporary,
                  uint64_t *out_size, gcache_error *error)
{
    gcache_status status;
    gci_frame parts;
    gci_buf bytes;

    if (renewal->draft.description.size == 0)
        renewal->draft.description = description;
    if (gci_frame_read(frame, &parts) != GCI_FRAME_GOOD || !gci_pack_draft_take(&renewal->draft, &parts, frame))
        return gci_fail_memory(error);
    gci_buf_init(&bytes, GCI_PACK_MAX);
    gci_pack_draft_write(&renewal->draft, &bytes);
    gci_view whole = gci_buf_view(&bytes);
    *out_size = whole.size;
    status = bytes.failed ? gci_fail_memory(error)
                          : gci_write_temporary(store, GCI_WEIGHT_COMMIT, &whole, 1, out_temporary, error);
    gci_buf_clear(&bytes);
    return status;
}
