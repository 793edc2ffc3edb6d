/* The candidate index with a new frame in place of an equal entry's. */
#include "store/publish/renewal.h"

#include "store/publish/publish.h"

gcache_status
gci_renewal_find(gci_renewal *renewal, gci_store *store, char const *id, gcache_error *error)
{
    gci_pack_draft_frame *frame;

    gcache_status status = gci_pack_draft_load(&renewal->draft, store, error);
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
    gci_frame parts;

    if (renewal->draft.description.size == 0)
        renewal->draft.description = description;
    if (gci_frame_read(frame, &parts) != GCI_FRAME_GOOD || !gci_pack_draft_take(&renewal->draft, &parts, frame))
        return gci_fail_memory(error);
    return gci_write_draft(store, &renewal->draft, out_temporary, out_size, error);
}
