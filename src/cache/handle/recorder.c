/*
 * The set of names a run has used: a hash table of lists in an arena.
 */
#include "cache/handle/recorder.h"

#include "base/check.h"
#include "base/digest.h"
#include "cache/handle/cache.h"

#include <guardcache/artifacts.h>
#include <stdlib.h>

/* Names of everything a long run uses, and the caller's artifacts. */
#define NOTES_BYTES_MAX ((size_t)1 << 30)

bool
gci_recorder_init(gci_recorder *recorder)
{
    gci_arena_init(&recorder->arena, NOTES_BYTES_MAX);
    return gci_fork_mutex_init(&recorder->mutex);
}

static void
empty(gci_recorder *recorder)
{
    recorder->recording = false;
    recorder->dirty = false;
    free(recorder->buckets);
    recorder->buckets = NULL;
    recorder->count = 0;
    gci_arena_clear(&recorder->arena);
}

void
gci_recorder_clear(gci_recorder *recorder)
{
    empty(recorder);
    gci_fork_mutex_destroy(&recorder->mutex);
}

static void
lock(gci_recorder *recorder)
{
    if (gci_fork_mutex_lock(&recorder->mutex))
        empty(recorder);
}

/* ---- notes ---- */

static gci_used **
bucket_of(gci_recorder *recorder, gci_used_kind kind, gci_view first, gci_view second)
{
    uint64_t hash = gci_hash64(second.data, second.size, gci_hash64(first.data, first.size, kind));

    return &recorder->buckets[hash % GCI_USED_BUCKETS];
}

/* The item of that name, made if need be; NULL: no memory. */
static gci_used *
item_of(gci_recorder *recorder, gci_used_kind kind, gci_view first, gci_view second)
{
    gci_used **bucket = bucket_of(recorder, kind, first, second);

    for (gci_used *item = *bucket; item != NULL; item = item->next) {
        if (item->kind == kind && gci_view_equal(item->first, first) && gci_view_equal(item->second, second))
            return item;
    }
    gci_used *item = GCI_ARENA_NEW(&recorder->arena, gci_used);
    if (item == NULL)
        return NULL;
    *item = (gci_used){ *bucket, kind, gci_arena_copy(&recorder->arena, first), gci_arena_copy(&recorder->arena, second),
                        { NULL, 0 } };
    if (item->first.data == NULL || item->second.data == NULL)
        return NULL;
    *bucket = item;
    recorder->count++;
    return item;
}

bool
gci_recorder_note(gci_recorder *recorder, gci_used_kind kind, gci_view first, gci_view second, bool is_new)
{
    bool first_time = false;

    if (!atomic_load_explicit(&recorder->recording, memory_order_relaxed))
        return false;
    lock(recorder);
    if (recorder->buckets != NULL) {
        size_t before = recorder->count;
        item_of(recorder, kind, first, second);
        first_time = recorder->count != before;
        if (is_new)
            recorder->dirty = true;
    }
    gci_fork_mutex_unlock(&recorder->mutex);
    return first_time;
}

/* The caller's arena gets copies: ours may go away. */
static bool
copy_item(gci_used const *item, gci_arena *arena, gci_used *out)
{
    *out = (gci_used){ NULL, item->kind, gci_arena_copy(arena, item->first), gci_arena_copy(arena, item->second),
                       gci_arena_copy(arena, item->bytes) };
    return !arena->failed;
}

bool
gci_recorder_snapshot(gci_recorder *recorder, gci_arena *arena, gci_used **out_items, size_t *out_count)
{
    bool done = true;

    lock(recorder);
    *out_count = 0;
    *out_items = gci_arena_array(arena, recorder->count, sizeof **out_items);
    done = *out_items != NULL;
    for (size_t i = 0; done && recorder->buckets != NULL && i < GCI_USED_BUCKETS; i++) {
        for (gci_used const *item = recorder->buckets[i]; done && item != NULL; item = item->next)
            done = copy_item(item, arena, &(*out_items)[(*out_count)++]);
    }
    gci_fork_mutex_unlock(&recorder->mutex);
    return done;
}

gcache_status
gci_recorder_start(gci_recorder *recorder, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    lock(recorder);
    if (recorder->buckets != NULL)
        status = gci_fail(error, GCACHE_ERROR_ARGUMENT, "artifacts are being noted already");
    else if ((recorder->buckets = calloc(GCI_USED_BUCKETS, sizeof *recorder->buckets)) == NULL)
        status = gci_fail_memory(error);
    else
        recorder->recording = true;
    gci_fork_mutex_unlock(&recorder->mutex);
    return status;
}

/* ---- the public side ---- */

gcache_status
gcache_artifacts_begin(gcache *cache, gcache_error *error)
{
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    return gci_recorder_start(&cache->recorder, error);
}

void
gcache_artifacts_end(gcache *cache)
{
    if (cache == NULL)
        return;
    lock(&cache->recorder);
    empty(&cache->recorder);
    gci_fork_mutex_unlock(&cache->recorder.mutex);
}

bool
gcache_artifacts_dirty(gcache *cache)
{
    return cache != NULL && cache->recorder.dirty;
}

gcache_status
gcache_artifacts_add(gcache *cache, char const *kind, char const *name, void const *bytes, size_t size,
                     gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    GCI_REQUIRE(cache != NULL && kind != NULL && name != NULL, error, "cache, kind or name is NULL");
    GCI_REQUIRE(bytes != NULL || size == 0, error, "bytes is NULL");
    gci_recorder *recorder = &cache->recorder;
    lock(recorder);
    if (recorder->buckets == NULL) {
        status = gci_fail(error, GCACHE_ERROR_ARGUMENT, "no artifacts are being noted");
    } else {
        gci_view copy = gci_arena_copy(&recorder->arena, gci_view_of(bytes, size));
        gci_used *item = item_of(recorder, GCI_USED_ARTIFACT, gci_view_text(kind), gci_view_text(name));
        if (copy.data == NULL || item == NULL)
            status = gci_fail_memory(error);
        else
            item->bytes = copy;
        recorder->dirty = true;
    }
    gci_fork_mutex_unlock(&recorder->mutex);
    return status;
}
