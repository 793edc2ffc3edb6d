/* Pools, read: a walk over the frames that tells live ones from those that are gone. */
#include "store/pool/pool_file.h"

#include "base/array.h"
#include "store/format/candidate_index.h"
#include "store/pool/pool.h"

#include <stdlib.h>

/* The key's first digits, and zeros. */
static gcache_key
prefix_of(gcache_key const *key, unsigned level)
{
    gcache_key prefix = { { key->bytes[0] } };

    if (level > 0)
        prefix.bytes[1] = key->bytes[1] & 0xf0;
    return prefix;
}

static bool
has_prefix(gci_pool_file const *pool, gcache_key const *key, unsigned level)
{
    gcache_key prefix = prefix_of(key, level);

    return memcmp(&prefix, &pool->prefix, sizeof prefix) == 0;
}

bool
gci_pool_file_take_out(gci_pool_file *pool, gcache_key const *key)
{
    bool any = false;

    for (size_t i = 0; i < pool->count; i++) {
        gci_pool_frame *frame = &pool->frames[i];
        if (!gci_pool_frame_is_of(frame, key))
            continue;
        frame->live = false;
        pool->live -= frame->bytes.size;
        any = true;
    }
    return any;
}

static bool
add_frame(gci_pool_file *pool, gcache_key const *key, gci_frame_type type, gci_view bytes)
{
    if (!GCI_ARRAY_HAS_ROOM(pool, frames))
        return false;
    pool->frames[pool->count++] = (gci_pool_frame){ *key, bytes, type == GCI_FRAME_ENTRY, true };
    pool->live += bytes.size;
    return true;
}

/* Frames that have no business in the pool are passed over: they are dead. */
static bool
take_frame(gci_pool_file *pool, gci_frame const *frame, gci_view bytes, unsigned level)
{
    gcache_key key;

    if (frame->head.size < sizeof key.bytes)
        return true;
    memcpy(key.bytes, frame->head.data, sizeof key.bytes);
    if (!has_prefix(pool, &key, level))
        return true;
    switch (frame->type) {
    case GCI_FRAME_GONE:
        gci_pool_file_take_out(pool, &key);
        return true;
    case GCI_FRAME_ENTRY:
    case GCI_FRAME_DESCRIPTION:
        return add_frame(pool, &key, frame->type, bytes);
    default:
        return true;
    }
}

static bool
take_frames(gci_pool_file *pool, unsigned level)
{
    gci_view bytes = gci_buf_view(&pool->bytes);
    gci_pack_walk walk;
    gci_frame frame;

    gci_pack_state state = gci_pack_begin(bytes, &pool->prefix, &walk);
    if (state == GCI_PACK_TORN)
        return true;
    pool->newer = state == GCI_PACK_NEWER;
    pool->damaged = state == GCI_PACK_BAD;
    while (gci_pack_next(&walk, &frame)) {
        if (!take_frame(pool, &frame, gci_view_of(bytes.data + walk.at, frame.size), level))
            return false;
    }
    pool->newer |= walk.newer;
    pool->damaged |= walk.damaged > 0;
    pool->end = walk.end;
    return true;
}

/* What others appended to a pool costs none of its frames, unless it is out of all proportion. */
#define READ_MAX ((size_t)1 << 20)

static gcache_status
load(gci_store *store, gcache_key const *key, unsigned level, gci_pool_file *out_pool, gcache_error *error)
{
    *out_pool = (gci_pool_file){ .path = gci_path_pool(key, level), .prefix = prefix_of(key, level) };
    gci_buf_init(&out_pool->bytes, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_file_load_existing(store->directory, out_pool->path.text, READ_MAX, &out_pool->bytes, error);
    if (status == GCACHE_ERROR_LIMIT)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: not a pool", out_pool->path.text);
    return status;
}

gcache_status
gci_pool_file_read(gci_store *store, gcache_key const *key, unsigned level, gci_pool_file *out_pool, gcache_error *error)
{
    gcache_status status = load(store, key, level, out_pool, error);

    if (status == GCACHE_OK && !take_frames(out_pool, level))
        status = gci_fail_memory(error);
    return status;
}

/* Frames whose sizes lead to the end of the file, whatever is in them: nothing is torn. */
bool
gci_pool_file_measure(gci_store *store, gcache_key const *key, unsigned level, gci_pool_file *out_pool)
{
    size_t at = GCI_PACK_HEADER;
    gci_pack_walk walk;
    gci_frame frame;

    if (load(store, key, level, out_pool, NULL) != GCACHE_OK)
        return false;
    gci_view bytes = gci_buf_view(&out_pool->bytes);
    if (gci_pack_begin(bytes, &out_pool->prefix, &walk) != GCI_PACK_GOOD)
        return false;
    while (at < bytes.size && gci_frame_look(gci_view_of(bytes.data + at, bytes.size - at), &frame))
        at += frame.size + (gci_frame_has_payload(frame.type) ? (size_t)(frame.payload_size + 7) / 8 * 8 : 0);
    out_pool->end = at;
    return at == bytes.size;
}

void
gci_pool_file_clear(gci_pool_file *pool)
{
    gci_buf_clear(&pool->bytes);
    free(pool->frames);
    *pool = (gci_pool_file){ .count = 0 };
}
