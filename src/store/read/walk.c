/* A walk over all keys. */
#include "store/pool/pool.h"
#include "store/read/read.h"
#include "store/state/state.h"

struct walk {
    gci_key_fn fn;
    void *state;
};

/* MISS: fn wants no more. */
static gcache_status
visit_key(void *state, gci_shard_key const *key)
{
    struct walk *walk = state;

    return key->has_pack && walk->fn(walk->state, &key->key) != 0 ? GCACHE_MISS : GCACHE_OK;
}

gcache_status
gci_store_each_key(gci_store *store, gci_key_fn fn, void *state, gcache_error *error)
{
    struct walk walk = { fn, state };
    gcache_status status = GCACHE_OK;

    gci_store_enter(store);
    for (unsigned number = 0; status == GCACHE_OK && number < GCI_SHARDS; number++)
        status = gci_pool_shard_each(store, number, visit_key, &walk, error);
    return status == GCACHE_MISS ? GCACHE_OK : status;
}
