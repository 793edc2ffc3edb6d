/* Changes to a key's candidate index, each between two changes of its generation (shared.h); and entry files removed. */
#include "store/publish/publish.h"

#include "store/format/candidate_index.h"
#include "store/pool/pool.h"

#include <fcntl.h>

uint64_t
gci_cost_of_key(gci_store *store, gcache_key const *key)
{
    return gci_cost_of_path(store, gci_path_pack(key).text) + gci_cost_of_path(store, gci_path_description(key).text);
}

gcache_status
gci_publish_pack(gci_store *store, gcache_key const *key, gci_weight weight, gci_view const *parts, size_t count,
                 gcache_error *error)
{
    gci_path temporary;

    gcache_status status = gci_write_temporary(store, weight, parts, count, &temporary, error);
    if (status == GCACHE_OK)
        status = gci_publish_temporary(store, key, &temporary, gci_views_size(parts, count), error);
    return status;
}

gcache_status
gci_publish_temporary(gci_store *store, gcache_key const *key, gci_path const *temporary, uint64_t size,
                      gcache_error *error)
{
    gci_path place = gci_path_pack(key);
    uint64_t moment = gci_count_moment(store), before = gci_cost_of_path(store, place.text);
    bool pooled = false;

    gci_generation_begin(&store->shared, key);
    gcache_status status = gci_move_into_place(store, temporary, &place, error);
    /* A new one that may not last must not be found now either. */
    if (status != GCACHE_OK && before == 0)
        gci_dir_unlink(store->directory, place.text, NULL);
    /* What a pool says of the key doesn't count from now on; if it stays there, that goes when the key does. */
    if (status == GCACHE_OK && before == 0)
        gci_pool_drop(store, key, &pooled, NULL);
    gci_generation_end(&store->shared, key);
    if (status != GCACHE_OK)
        return status;
    gci_count_change(store, moment, before, gci_disk_cost(size));
    if (before == 0 && !pooled)
        gci_count_keys(store, 1);
    return GCACHE_OK;
}

gcache_status
gci_write_draft(gci_store *store, gci_pack_draft *draft, gci_path *out_temporary, uint64_t *out_size, gcache_error *error)
{
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_PACK_MAX);
    gci_pack_draft_write(draft, &bytes);
    gci_view whole = gci_buf_view(&bytes);
    *out_size = whole.size;
    gcache_status status = bytes.failed ? gci_fail_memory(error)
                                        : gci_write_temporary(store, GCI_WEIGHT_COMMIT, &whole, 1, out_temporary, error);
    gci_buf_clear(&bytes);
    return status;
}

gcache_status
gci_publish_draft(gci_store *store, gci_pack_draft *draft, uint64_t *out_size, gcache_error *error)
{
    gci_path temporary;

    *out_size = 0;
    if (draft->count == 0)
        return gci_remove_pack(store, &draft->key, error);
    gcache_status status = gci_write_draft(store, draft, &temporary, out_size, error);
    return status == GCACHE_OK ? gci_publish_temporary(store, &draft->key, &temporary, *out_size, error) : status;
}

gcache_status
gci_append_pack(gci_store *store, gcache_key const *key, gci_weight weight, uint64_t end, gci_view const *parts,
                size_t count, gcache_error *error)
{
    gci_path place = gci_path_pack(key);
    gci_file file;

    gcache_status status = gci_file_open(store->directory, place.text, O_WRONLY | O_APPEND, &file, error);
    if (status != GCACHE_OK)
        return status;
    gci_generation_begin(&store->shared, key);
    status = gci_file_write(&file, parts, count, error);
    if (status == GCACHE_OK && gci_must_sync(store, weight))
        status = gci_file_sync(&file, error);
    /* What couldn't be written, or may not have reached the disk, must not be found by the next writer. */
    if (status != GCACHE_OK)
        gci_file_truncate(&file, end, NULL);
    gci_generation_end(&store->shared, key);
    gci_file_close(&file);
    if (status == GCACHE_OK)
        gci_count_bytes(store, gci_disk_cost(end + gci_views_size(parts, count)) - gci_disk_cost(end));
    return status;
}

/* *out_freed (may be NULL) is 0 if it wasn't there, which most often is so: then there is nothing to unlink. */
static gcache_status
remove_counted(gci_store *store, gci_path const *path, uint64_t *out_freed, gcache_error *error)
{
    uint64_t moment = gci_count_moment(store);
    struct stat facts = { .st_size = 0 };

    if (out_freed != NULL)
        *out_freed = 0;
    gcache_status status = gci_dir_stat(store->directory, path->text, &facts, NULL);
    if (status == GCACHE_ERROR_NOT_FOUND)
        return GCACHE_OK;
    status = gci_dir_unlink(store->directory, path->text, error);
    if (status != GCACHE_OK)
        return status;
    uint64_t freed = gci_cost_of_facts(&facts);
    gci_count_change(store, moment, freed, 0);
    if (out_freed != NULL)
        *out_freed = freed;
    return GCACHE_OK;
}

gcache_status
gci_remove_pack(gci_store *store, gcache_key const *key, gcache_error *error)
{
    gci_path pack = gci_path_pack(key), description = gci_path_description(key);

    bool pooled;

    gci_generation_begin(&store->shared, key);
    gcache_status status = remove_counted(store, &pack, NULL, error);
    if (status == GCACHE_OK)
        status = gci_pool_drop(store, key, &pooled, error);
    gci_generation_end(&store->shared, key);
    if (status != GCACHE_OK)
        return status;
    gci_count_keys(store, -1);
    return remove_counted(store, &description, NULL, error);
}

gcache_status
gci_remove_entry(gci_store *store, gcache_key const *key, char const *id, uint64_t *out_freed, gcache_error *error)
{
    gci_path path = gci_path_entry(key, id);

    return remove_counted(store, &path, out_freed, error);
}

