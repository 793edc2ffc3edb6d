/* Keys in pools, found and listed. */
#include "store/pool/pool.h"

#include "base/array.h"
#include "store/format/candidate_index.h"
#include "store/pool/pool_file.h"

#include <stdlib.h>

/* ---- one key ---- */

/* What it has of the key, if that is an entry. A pool that is damaged or newer might have had more. */
static gcache_status
take_key(gci_pool_file const *pool, gcache_key const *key, gci_buf *out_image, gcache_error *error)
{
    bool stored = false;

    out_image->size = 0;
    for (size_t i = 0; i < pool->count; i++) {
        if (!gci_pool_frame_is_of(&pool->frames[i], key))
            continue;
        if (out_image->size == 0)
            gci_pack_put_header(out_image, key);
        gci_buf_append_view(out_image, pool->frames[i].bytes);
        stored |= pool->frames[i].is_entry;
    }
    if (out_image->failed)
        return gci_fail_memory(error);
    if (stored)
        return GCACHE_OK;
    if (pool->damaged)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: damaged pool", pool->path.text);
    if (pool->newer)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: of a newer version", pool->path.text);
    return GCACHE_ERROR_NOT_FOUND;
}

/* Pools of a folder that weren't there, above them how many had been made in the whole cache by then. */
#define MADE_SHIFT 17

static uint32_t
pool_bit(gcache_key const *key, int level)
{
    return level == 0 ? 1 : UINT32_C(2) << (key->bytes[1] >> 4);
}

static uint64_t
pools_made(gci_store const *store)
{
    return atomic_load(&store->shared.head->pools_made) << MADE_SHIFT >> MADE_SHIFT;
}

static uint32_t
absent_pools(gci_store const *store, gcache_key const *key, uint64_t made)
{
    uint64_t seen = atomic_load_explicit(&store->absent_pools[key->bytes[0]], memory_order_relaxed);

    return atomic_load(&store->shared.usable) && seen >> MADE_SHIFT == made ? (uint32_t)seen & GCI_POOLS_ALL : 0;
}

/* made was read before the pool was looked for. */
static void
note_absent(gci_store *store, gcache_key const *key, int level, uint64_t made)
{
    uint64_t seen = made << MADE_SHIFT | absent_pools(store, key, made) | pool_bit(key, level);

    atomic_store_explicit(&store->absent_pools[key->bytes[0]], seen, memory_order_relaxed);
}

void
gci_pools_forget_absent(gci_store *store)
{
    for (unsigned number = 0; number < GCI_SHARDS; number++)
        atomic_store_explicit(&store->absent_pools[number], 0, memory_order_relaxed);
}

/* In a large cache the first is full, and most keys lie behind it; in a small one there is no other. Only to_look uses what is
   shared: a handle's first lookup comes before that is mapped. */
static gcache_status
find_in_pools(gci_store *store, gcache_key const *key, bool to_look, gci_buf *out_image, int *out_level, gcache_error *error)
{
    uint64_t made = to_look ? pools_made(store) : 0;
    uint32_t absent = to_look ? absent_pools(store, key, made) : 0;
    gcache_status first = GCACHE_ERROR_NOT_FOUND;
    gci_pool_file pool;

    for (*out_level = GCI_POOL_LEVELS - 1; *out_level >= 0; --*out_level) {
        gcache_error *why = first == GCACHE_ERROR_NOT_FOUND ? error : NULL;
        if (absent & pool_bit(key, *out_level))
            continue;
        gcache_status status = gci_pool_file_read(store, key, (unsigned)*out_level, &pool, why);
        if (to_look && status == GCACHE_OK && pool.bytes.size == 0)
            note_absent(store, key, *out_level, made);
        if (status == GCACHE_OK)
            status = take_key(&pool, key, out_image, why);
        gci_pool_file_clear(&pool);
        if (status == GCACHE_OK)
            return GCACHE_OK;
        if (first == GCACHE_ERROR_NOT_FOUND)
            first = status;
    }
    return first;
}

gcache_status
gci_pool_load(gci_store *store, gcache_key const *key, gci_buf *out_image, int *out_level, gcache_error *error)
{
    return find_in_pools(store, key, false, out_image, out_level, error);
}

gcache_status
gci_pool_look(gci_store *store, gcache_key const *key, gci_buf *out_image, int *out_level, gcache_error *error)
{
    return find_in_pools(store, key, true, out_image, out_level, error);
}

gcache_status
gci_pack_load(gci_store *store, gcache_key const *key, gci_buf *out_image, int *out_level, gcache_error *error)
{
    *out_level = GCI_POOL_NONE;
    gcache_status status = gci_file_load_existing(store->directory, gci_path_pack(key).text, GCI_PACK_MAX, out_image, error);
    if (status != GCACHE_OK || out_image->size > 0)
        return status;
    status = gci_pool_load(store, key, out_image, out_level, error);
    return status == GCACHE_ERROR_NOT_FOUND ? GCACHE_OK : status;
}

void
gci_pool_neighbours(gci_store *store, gcache_key const *key, gci_pool_key_fn fn, void *state)
{
    gci_pool_file pool;
    gci_buf image;
    int level;

    gci_buf_init(&image, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_pool_load(store, key, &image, &level, NULL);
    gci_buf_clear(&image);
    if (status != GCACHE_OK)
        return;
    if (gci_pool_file_read(store, key, (unsigned)level, &pool, NULL) == GCACHE_OK) {
        for (size_t i = 0; i < pool.count; i++) {
            if (pool.frames[i].live && pool.frames[i].is_entry && !fn(state, &pool.frames[i].key))
                break;
        }
    }
    gci_pool_file_clear(&pool);
}

/* ---- all pools of a folder ---- */

static int
note_pool(void *state, char const *name)
{
    char id[GCACHE_ENTRY_ID_SIZE];
    uint32_t *which = state;
    gcache_key key;

    if (gci_name_read(name, &key, id) == GCI_NAME_POOL)
        *which |= gci_pool_bit(name);
    return 0;
}

/* Those of a folder that can't be listed are all asked for: whoever opens them says why. */
static uint32_t
pools_there(gci_store *store, unsigned number)
{
    gci_path folder = gci_path_shard(&(gcache_key){ { (uint8_t)number } });
    uint32_t which = 0;

    gcache_status status = gci_dir_each(store->directory, folder.text, note_pool, &which, NULL);
    return status == GCACHE_OK || status == GCACHE_ERROR_NOT_FOUND ? which : GCI_POOLS_ALL;
}

/* Calls fn with each of these pools, whether it is there or not. */
typedef gcache_status (*pool_fn)(void *state, gci_pool_file const *pool, gcache_status status);

static gcache_status
each_pool(gci_store *store, unsigned number, uint32_t which, pool_fn fn, void *state)
{
    gcache_status status = GCACHE_OK;

    for (unsigned i = 0; status == GCACHE_OK && which >> i != 0; i++) {
        if ((which >> i & 1) == 0)
            continue;
        gcache_key key = { { (uint8_t)number, (uint8_t)(i == 0 ? 0 : (i - 1) << 4) } };
        gci_pool_file pool;
        gcache_status read = gci_pool_file_read(store, &key, i > 0, &pool, NULL);
        status = fn(state, &pool, read);
        gci_pool_file_clear(&pool);
    }
    return status;
}

struct keys {
    gcache_key *items;
    size_t count, capacity;
};

static gcache_status
list_keys(void *state, gci_pool_file const *pool, gcache_status status)
{
    struct keys *keys = state;

    for (size_t i = 0; i < pool->count; i++) {
        gcache_key const *key = &pool->frames[i].key;
        bool listed = keys->count > 0 && memcmp(&keys->items[keys->count - 1], key, sizeof *key) == 0;
        if (!pool->frames[i].live || !pool->frames[i].is_entry || listed)
            continue;
        if (!GCI_ARRAY_HAS_ROOM(keys, items))
            return GCACHE_ERROR_MEMORY;
        keys->items[keys->count++] = *key;
    }
    return status == GCACHE_ERROR_MEMORY ? status : GCACHE_OK;
}

gcache_status
gci_pool_shard_each(gci_store *store, unsigned number, gci_shard_key_fn fn, void *state, gcache_error *error)
{
    struct keys keys = { NULL, 0, 0 };

    gcache_status status = each_pool(store, number, pools_there(store, number), list_keys, &keys);
    if (status == GCACHE_OK)
        status = gci_shard_each(store->directory, number, keys.items, keys.count, fn, state, error);
    else
        gci_fail_memory(error);
    free(keys.items);
    return status;
}

uint64_t
gci_pool_keys(gci_store *store, unsigned number, uint32_t which)
{
    struct keys keys = { NULL, 0, 0 };

    each_pool(store, number, which, list_keys, &keys);
    free(keys.items);
    return keys.count;
}

struct check {
    gci_pool_trouble_fn fn;
    void *state;
};

static gcache_status
check_pool(void *state, gci_pool_file const *pool, gcache_status status)
{
    struct check *check = state;

    if (status == GCACHE_OK && pool->damaged)
        status = GCACHE_ERROR_CORRUPT;
    else if (status == GCACHE_OK && pool->newer)
        status = GCACHE_ERROR_FORMAT;
    if (status != GCACHE_OK)
        check->fn(check->state, &pool->prefix, &pool->path, status);
    return GCACHE_OK;
}

void
gci_pool_check(gci_store *store, unsigned number, gci_pool_trouble_fn fn, void *state)
{
    each_pool(store, number, pools_there(store, number), check_pool, &(struct check){ fn, state });
}
