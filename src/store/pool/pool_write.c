/* Pools, changed: keys added and taken out, what is dead or damaged cleared away. All under the pool's lock. */
#include "store/format/candidate_index.h"
#include "store/pool/pool.h"
#include "store/pool/pool_file.h"
#include "store/state/files.h"

#include <fcntl.h>

/* ---- writing anew ---- */

static gcache_status
remove_pool(gci_store *store, gci_pool_file const *pool, gcache_error *error)
{
    uint64_t moment = gci_count_moment(store);
    gcache_status status = gci_dir_unlink(store->directory, pool->path.text, error);

    if (status == GCACHE_OK)
        gci_count_change(store, moment, gci_disk_cost(pool->bytes.size), 0);
    return status;
}

/* A new pool, or one in the place of what was read. */
static gcache_status
write_anew(gci_store *store, gci_pool_file const *pool, gci_weight weight, gci_view bytes, gcache_error *error)
{
    uint64_t moment = gci_count_moment(store);
    gci_path temporary;

    gcache_status status = gci_write_temporary(store, weight, &bytes, 1, &temporary, error);
    if (status == GCACHE_OK)
        status = gci_move_into_place(store, &temporary, &pool->path, error);
    if (status == GCACHE_OK)
        gci_count_change(store, moment, gci_disk_cost(pool->bytes.size), gci_disk_cost(bytes.size));
    /* A new one that may not last must not be found now either. */
    else if (pool->bytes.size == 0)
        gci_dir_unlink(store->directory, pool->path.text, NULL);
    return status;
}

/* Leaves its live frames. They are durable, and stay so. */
static gcache_status
compact(gci_store *store, gci_pool_file const *pool, gcache_error *error)
{
    gcache_status status;
    gci_buf bytes;

    if (pool->live == 0)
        return remove_pool(store, pool, error);
    gci_buf_init(&bytes, GCI_POOL_MAX);
    gci_pack_put_header(&bytes, &pool->prefix);
    for (size_t i = 0; i < pool->count; i++) {
        if (pool->frames[i].live)
            gci_buf_append_view(&bytes, pool->frames[i].bytes);
    }
    status = bytes.failed ? gci_fail_memory(error)
                          : write_anew(store, pool, GCI_WEIGHT_COMMIT, gci_buf_view(&bytes), error);
    gci_buf_clear(&bytes);
    return status;
}

/* Copies what is damaged aside before it is cleared away. What a newer version wrote stays as it is. */
static gcache_status
mend(gci_store *store, gci_pool_file const *pool, gcache_error *error)
{
    if (pool->newer)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: of a newer version", pool->path.text);
    gcache_status status = gci_quarantine_bytes(store, pool->path.text, gci_buf_view(&pool->bytes), "damaged pool", error);
    return status == GCACHE_OK ? compact(store, pool, error) : status;
}

/* Reads a pool that is to be changed, after what was damaged in it is put aside: *out_damaged counts. */
static gcache_status
read_whole(gci_store *store, gcache_key const *key, unsigned level, gci_pool_file *out_pool, size_t *out_damaged,
           gcache_error *error)
{
    gcache_status status = gci_pool_file_read(store, key, level, out_pool, error);

    if (status == GCACHE_ERROR_CORRUPT)
        status = gci_quarantine_file(store, out_pool->path.text, "not a pool", error);
    else if (status == GCACHE_OK && out_pool->damaged)
        status = mend(store, out_pool, error);
    else
        return status;
    if (status != GCACHE_OK)
        return status;
    ++*out_damaged;
    gci_pool_file_clear(out_pool);
    return gci_pool_file_read(store, key, level, out_pool, error);
}

/* ---- adding ---- */

/* Cuts off what a write left that didn't finish, and appends. On an error the pool is as it was. */
static gcache_status
append(gci_store *store, gci_pool_file const *pool, gci_view const *parts, size_t count, gcache_error *error)
{
    uint64_t moment = gci_count_moment(store), size = pool->end;
    gci_file file;

    gcache_status status = gci_file_open(store->directory, pool->path.text, O_WRONLY | O_APPEND, &file, error);
    if (status != GCACHE_OK)
        return status;
    if (pool->bytes.size > pool->end)
        status = gci_file_truncate(&file, pool->end, error);
    if (status == GCACHE_OK)
        status = gci_file_write(&file, parts, count, error);
    if (status != GCACHE_OK)
        gci_file_truncate(&file, pool->end, NULL);
    gci_file_close(&file);
    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    if (status == GCACHE_OK)
        gci_count_change(store, moment, gci_disk_cost(pool->bytes.size), gci_disk_cost(size));
    return status;
}

static gcache_status
begin_pool(gci_store *store, gci_pool_file const *pool, gci_view const *parts, size_t count, gcache_error *error)
{
    gcache_status status;
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_POOL_MAX);
    gci_pack_put_header(&bytes, &pool->prefix);
    for (size_t i = 0; i < count; i++)
        gci_buf_append_view(&bytes, parts[i]);
    status = bytes.failed ? gci_fail_memory(error)
                          : write_anew(store, pool, GCI_WEIGHT_LIGHT, gci_buf_view(&bytes), error);
    gci_buf_clear(&bytes);
    atomic_fetch_add(&store->shared.head->pools_made, 1);
    return status;
}

/* MISS: it has no room, or is of a newer version. */
static gcache_status
add_to_level(gci_store *store, gcache_key const *key, unsigned level, gci_view const *parts, size_t count, gci_path *out_place,
             gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    size_t size = 0, damaged = 0;
    gci_pool_file pool;

    for (size_t i = 0; i < count; i++)
        size += parts[i].size;
    if (!gci_pool_file_measure(store, key, level, &pool)) {
        gci_pool_file_clear(&pool);
        status = read_whole(store, key, level, &pool, &damaged, error);
    }
    size_t end = pool.end != 0 ? pool.end : GCI_PACK_HEADER;
    if (status == GCACHE_OK && (pool.newer || end + size > GCI_POOL_MAX))
        status = GCACHE_MISS;
    else if (status == GCACHE_OK && pool.end == 0)
        status = begin_pool(store, &pool, parts, count, error);
    else if (status == GCACHE_OK)
        status = append(store, &pool, parts, count, error);
    *out_place = pool.path;
    gci_pool_file_clear(&pool);
    return status;
}

gcache_status
gci_pool_sync(gci_store *store, gci_path const *place, gcache_error *error)
{
    gci_file file;

    /* Written anew since, it is durable; and empty, it was removed. */
    gcache_status status = gci_file_open_existing(store->directory, place->text, O_WRONLY, &file, error);
    if (status != GCACHE_OK || file.fd < 0)
        return status;
    status = gci_file_sync(&file, error);
    gci_file_close(&file);
    return status;
}

gcache_status
gci_pool_add(gci_store *store, gcache_key const *key, int level, gci_weight weight, gci_view const *parts, size_t count,
             gci_path *out_place, gcache_error *error)
{
    unsigned first = level == GCI_POOL_ANY ? 0 : (unsigned)level, last = level == GCI_POOL_ANY ? GCI_POOL_LEVELS - 1 : first;
    gcache_status status = GCACHE_MISS;
    bool dropped;

    /* A writer that was stopped keeps nobody from storing: there are files of one's own. */
    if (gci_pool_lock(&store->locks, key, GCI_KEY_LOCK_WAIT_NS, NULL) != GCACHE_OK)
        return GCACHE_MISS;
    gci_generation_begin(&store->shared, key);
    for (unsigned at = first; status == GCACHE_MISS && at <= last; at++)
        status = add_to_level(store, key, at, parts, count, out_place, error);
    gci_generation_end(&store->shared, key);
    gci_pool_unlock(&store->locks, key);
    if (status != GCACHE_OK)
        return status;
    gci_count_keys(store, level == GCI_POOL_ANY ? 1 : 0);
    if (gci_must_sync(store, weight))
        status = gci_pool_sync(store, out_place, error);
    if (status == GCACHE_OK || level != GCI_POOL_ANY)
        return status;
    /* What may not have reached the disk must not be found. */
    gci_generation_begin(&store->shared, key);
    gci_pool_drop(store, key, &dropped, NULL);
    gci_generation_end(&store->shared, key);
    gci_count_keys(store, dropped ? -1 : 0);
    return status;
}

/* ---- taking out ---- */

/* A GONE frame of so many bytes: behind the key stand zeros. */
#define GONE_SIZE (GCI_FRAME_OVERHEAD + GCACHE_KEY_BYTES)

static void
write_gone(gci_buf *out, gcache_key const *key, size_t size)
{
    size_t begin = gci_frame_begin(out, &(gci_frame_start){ .type = GCI_FRAME_GONE });

    gci_buf_append(out, key->bytes, sizeof key->bytes);
    for (size_t left = size - GONE_SIZE; left > 0; left -= 8)
        gci_buf_append(out, "\0\0\0\0\0\0\0", 8);
    gci_frame_end(out, begin);
}

static gcache_status
append_gone(gci_store *store, gci_pool_file const *pool, gcache_key const *key, gcache_error *error)
{
    gcache_status status;
    gci_buf frame;

    gci_buf_init(&frame, GCI_POOL_MAX);
    write_gone(&frame, key, GONE_SIZE);
    gci_view bytes = gci_buf_view(&frame);
    status = frame.failed ? gci_fail_memory(error) : append(store, pool, &bytes, 1, error);
    gci_buf_clear(&frame);
    return status;
}

/* On a full disk, what goes must not need room first: each frame of the key is overwritten by a GONE frame of its size. */
static gcache_status
overwrite_gone(gci_store *store, gci_pool_file const *pool, gcache_key const *key, gcache_error *error)
{
    gci_file file;
    gci_buf frame;

    gcache_status status = gci_file_open(store->directory, pool->path.text, O_WRONLY, &file, error);
    if (status != GCACHE_OK)
        return status;
    gci_buf_init(&frame, GCI_POOL_MAX);
    for (size_t i = 0; status == GCACHE_OK && i < pool->count; i++) {
        gci_view bytes = pool->frames[i].bytes;
        if (memcmp(&pool->frames[i].key, key, sizeof *key) != 0)
            continue;
        frame.size = 0;
        write_gone(&frame, key, bytes.size);
        status = frame.failed ? gci_fail_memory(error)
                              : gci_file_write_at(&file, gci_buf_view(&frame), (uint64_t)(bytes.data - pool->bytes.data), error);
    }
    gci_buf_clear(&frame);
    gci_file_close(&file);
    return status;
}

/* Half of it may be dead; so may all that a frame of 96 bytes more doesn't fit into. */
static bool
is_sparse(gci_pool_file const *pool)
{
    return pool->live < pool->end / 2 || pool->end + GONE_SIZE > GCI_POOL_MAX;
}

static gcache_status
drop_from_level(gci_store *store, gcache_key const *key, unsigned level, bool *out_dropped, gcache_error *error)
{
    gci_pool_file pool;
    size_t damaged = 0;

    gcache_status status = read_whole(store, key, level, &pool, &damaged, error);
    *out_dropped = status == GCACHE_OK && gci_pool_file_take_out(&pool, key);
    if (*out_dropped && pool.newer)
        status = gci_fail(error, GCACHE_ERROR_FORMAT, "%s: of a newer version", pool.path.text);
    else if (*out_dropped)
        status = is_sparse(&pool) ? compact(store, &pool, error) : append_gone(store, &pool, key, error);
    if (*out_dropped && status == GCACHE_ERROR_NO_SPACE)
        status = overwrite_gone(store, &pool, key, error);
    gci_pool_file_clear(&pool);
    if (status == GCACHE_OK && *out_dropped)
        atomic_fetch_or(&store->emptier_pools[key->bytes[0] / 64], UINT64_C(1) << key->bytes[0] % 64);
    return status;
}

/* Most keys lie in none: a look without the lock says so. */
static bool
is_in_pool(gci_store *store, gcache_key const *key)
{
    gci_buf image;
    int level;

    gci_buf_init(&image, GCI_BUF_NO_LIMIT);
    bool found = gci_pool_load(store, key, &image, &level, NULL) != GCACHE_ERROR_NOT_FOUND;
    gci_buf_clear(&image);
    return found;
}

gcache_status
gci_pool_drop(gci_store *store, gcache_key const *key, bool *out_dropped, gcache_error *error)
{
    *out_dropped = false;
    if (!is_in_pool(store, key))
        return GCACHE_OK;
    gcache_status status = gci_pool_lock(&store->locks, key, GCI_KEY_LOCK_WAIT_NS, error);
    if (status != GCACHE_OK)
        return status;
    for (unsigned level = 0; status == GCACHE_OK && level < GCI_POOL_LEVELS; level++) {
        bool dropped;
        status = drop_from_level(store, key, level, &dropped, error);
        *out_dropped |= dropped;
    }
    gci_pool_unlock(&store->locks, key);
    /* Nobody is handed anything of it. */
    return status == GCACHE_ERROR_UNTRUSTED ? GCACHE_OK : status;
}

/* ---- clearing away ---- */

gcache_status
gci_pool_mend(gci_store *store, gcache_key const *key, size_t *out_damaged, gcache_error *error)
{
    gcache_status status = gci_pool_lock(&store->locks, key, GCI_KEY_LOCK_WAIT_NS, error);

    *out_damaged = 0;
    if (status != GCACHE_OK)
        return status;
    for (unsigned level = 0; status == GCACHE_OK && level < GCI_POOL_LEVELS; level++) {
        gci_pool_file pool;
        status = read_whole(store, key, level, &pool, out_damaged, error);
        gci_pool_file_clear(&pool);
    }
    gci_pool_unlock(&store->locks, key);
    return status;
}

/* Where that frees nothing it is left for a time when it does. */
static void
compact_level(gci_store *store, gcache_key const *key, unsigned level)
{
    gci_pool_file pool;

    if (gci_pool_file_read(store, key, level, &pool, NULL) == GCACHE_OK && pool.end != 0 && !pool.damaged && !pool.newer &&
        gci_disk_cost(GCI_PACK_HEADER + pool.live) < gci_disk_cost(pool.bytes.size))
        compact(store, &pool, NULL);
    gci_pool_file_clear(&pool);
}

static void
compact_folder(gci_store *store, uint8_t number)
{
    gcache_key key = { { number } };

    if (gci_pool_lock(&store->locks, &key, GCI_KEY_LOCK_WAIT_NS, NULL) != GCACHE_OK)
        return;
    compact_level(store, &key, 0);
    for (unsigned digit = 0; digit < 16; digit++) {
        key.bytes[1] = (uint8_t)(digit << 4);
        compact_level(store, &key, 1);
    }
    gci_pool_unlock(&store->locks, &key);
}

void
gci_pools_compact(gci_store *store)
{
    for (unsigned number = 0; number < GCI_SHARDS; number++) {
        uint64_t bit = UINT64_C(1) << number % 64;
        if (atomic_fetch_and(&store->emptier_pools[number / 64], ~bit) & bit)
            compact_folder(store, (uint8_t)number);
    }
}
