/*
 * What every room does with an open cache: looks at its store though it is switched off, and says what trouble means.
 */
#include "cache/handle/cache.h"

gcache_status
gci_look_begin(gcache const *cache, gci_store **out_store, gcache_error *error)
{
    gcache_options const *given = &cache->options;
    gci_store_options options = { .read_only = true, .max_size = given->max_size, .memory_bytes = given->memory_bytes,
                                  .trust = given->trust, .log = given->log, .log_state = given->log_state };

    *out_store = cache->store;
    if (cache->store != NULL || cache->directory == NULL)
        return GCACHE_OK;
    gcache_status status = gci_store_open(cache->directory, &options, out_store, error);
    if (status == GCACHE_OK)
        return GCACHE_OK;
    *out_store = NULL;
    return status == GCACHE_ERROR_NOT_FOUND ? GCACHE_OK : status;
}

void
gci_look_end(gcache const *cache, gci_store *store)
{
    if (store != cache->store)
        gci_store_close(store);
}

gcache_status
gci_trouble(gcache const *cache, gcache_error const *trouble, gcache_error *error)
{
    if (!cache->strict)
        return GCACHE_MISS;
    if (error != NULL)
        *error = *trouble;
    return trouble->status;
}

char const *
gci_pairs_value(gcache_pair const *pairs, size_t count, gci_view name)
{
    for (size_t i = 0; i < count; i++)
        if (gci_view_is(name, pairs[i].name))
            return pairs[i].value;
    return NULL;
}
