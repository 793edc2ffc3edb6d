/*
 * Where the description of a key lies: in its candidate index if it is small, else in a file of its own.
 */
#include "store/read/stored_description.h"

#include "store/format/describe.h"
#include "store/index/drain.h"
#include "store/memory/candidates.h"
#include "store/publish/publish.h"
#include "store/read/load.h"
#include "store/state/state.h"

static gcache_status
read_file(gci_store *store, gcache_key const *key, gci_stored_description **out, gcache_error *error)
{
    gci_path path = gci_path_description(key);
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_trust_key(store, key, error);
    if (status == GCACHE_OK)
        status = gci_file_load(store->directory, path.text, GCI_DESCRIPTION_MAX, &bytes, error);
    if (status == GCACHE_OK)
        status = gci_description_read(key, gci_buf_view(&bytes), out, error);
    gci_buf_clear(&bytes);
    return status;
}

/* From the candidate index if it is there, else from its own file. */
static gcache_status
read_stored(gci_store *store, gcache_key const *key, gci_stored_description **out, gcache_error *error)
{
    gci_candidates *set = NULL;
    gcache_status status;

    if (gci_read_current(store, key, &set, NULL) == GCI_FOUND && gci_inside(set)->description.size > 0) {
        status = gci_description_read(key, gci_inside(set)->description, out, error);
    } else {
        status = read_file(store, key, out, error);
    }
    gci_candidates_release(set);
    return status;
}

gci_found
gci_read_description(gci_store *store, gcache_key const *key, gci_stored_description **out_description,
                     gcache_error *error)
{
    *out_description = NULL;
    switch (read_stored(store, key, out_description, error)) {
    case GCACHE_OK:
        return GCI_FOUND;
    case GCACHE_ERROR_NOT_FOUND:
        return GCI_ABSENT;
    /* Larger than any that is written. */
    case GCACHE_ERROR_LIMIT:
    case GCACHE_ERROR_CORRUPT:
        return GCI_CORRUPT;
    default:
        return gci_unreadable(store);
    }
}

bool
gci_sketch_stored(gci_store *store, gcache_key const *key, gci_key_sketch *out_sketch)
{
    gci_sketching const *sketching = store->options.sketching;
    gci_stored_description *stored = NULL;

    if (sketching == NULL || gci_store_description(store, key, &stored, NULL) != GCI_FOUND)
        return false;
    gci_description const *description = gci_stored_description_get(stored);
    out_sketch->is_keyed = description->canonical.size == 0;
    out_sketch->kind = gci_sketch_kind(description->kind, out_sketch->is_keyed);
    bool made = sketching->make(description, out_sketch->bytes);
    gci_stored_description_free(stored);
    return made;
}

gci_found
gci_store_description(gci_store *store, gcache_key const *key, gci_stored_description **out_description,
                      gcache_error *error)
{
    gci_path path = gci_path_description(key);

    gci_store_enter(store);
    gci_found found = gci_read_description(store, key, out_description, error);
    /* One in the candidate index is put aside with it. */
    if (found == GCI_CORRUPT && !store->read_only)
        gci_quarantine_file(store, path.text, "damaged description", NULL);
    return found;
}
