/* Eviction, key by key: mark the victims, remember them in a tombstone, publish what is left, remove the files. */
#include "store/evict/evict.h"

#include "base/arena.h"
#include "base/system/clock.h"
#include "base/digest.h"
#include "store/evict/collect.h"
#include "store/evict/references.h"
#include "store/evict/victims.h"
#include "store/format/candidate_index.h"
#include "store/format/record.h"
#include "store/index/drain.h"
#include "store/index/tombstones.h"
#include "store/index/touch.h"
#include "store/pool/pool.h"
#include "store/publish/draft.h"
#include "store/publish/mend.h"
#include "store/publish/publish.h"

#include <stdlib.h>

/* Asked for by hand, it waits for as long as a file takes to sync. */
#define KEY_WAIT_NS UINT64_C(1000000000)

/* ---- one key ---- */

/* The victims of one key, under its lock. */
struct cull {
    gci_store *store;
    gci_victim const *victims;
    size_t count;
    gci_eviction const *eviction;
    gci_pack_draft draft;
    uint64_t now_ns;
    uint64_t evicted, bytes, hits;
    uint64_t stored_ns, used_ns; /* the earliest, the latest of those that go; 0: not known */
    uint64_t cost; /* what the candidate index and the description take, before and then after */
    gcache_error *error;
};

/* What its row said when it was chosen, its frame has to say too. */
static bool
may_go(struct cull const *cull, gci_pack_draft_frame const *frame)
{
    gci_eviction const *eviction = cull->eviction;

    return (eviction->before_ns == 0 || frame->created_ns < eviction->before_ns) &&
           (eviction->namespace_ == NULL || gci_view_is(frame->namespace_, eviction->namespace_));
}

/* Turns the victims' frames into EVICTED ones. */
static void
mark_victims(struct cull *cull)
{
    for (size_t i = 0; i < cull->count; i++) {
        gci_pack_draft_frame *frame = gci_pack_draft_find(&cull->draft, cull->victims[i].id);
        if (frame == NULL || frame->type == GCI_FRAME_EVICTED || !may_go(cull, frame))
            continue;
        frame->type = GCI_FRAME_EVICTED;
        frame->evicted_ns = cull->now_ns;
        cull->evicted++;
        cull->hits += cull->victims[i].hits;
        if (cull->stored_ns == 0 || frame->created_ns < cull->stored_ns)
            cull->stored_ns = frame->created_ns;
        if (cull->victims[i].used_ns > cull->used_ns)
            cull->used_ns = cull->victims[i].used_ns;
    }
}

static bool
put_tombstone(struct cull *cull, gcache_key const *key)
{
    gci_tombstone tombstone = { .key = *key, .evicted_ns = cull->now_ns, .entries = (uint32_t)cull->evicted,
                                .hits = (uint32_t)cull->hits, .cause = (gci_eviction_cause)cull->eviction->cause,
                                .left = (uint32_t)gci_pack_draft_live(&cull->draft), .stored_ns = cull->stored_ns,
                                .used_ns = cull->used_ns,
                                .evicted_bytes = gci_store_counted(cull->store, GCI_COUNT_EVICTED_BYTES) };

    return gci_tombstone_put(cull->store, &tombstone);
}

/* A key without live candidates goes whole. */
static gcache_status
publish_remaining(struct cull *cull, gcache_key const *key)
{
    uint64_t size;

    if (gci_pack_draft_live(&cull->draft) == 0) {
        cull->cost = 0;
        return gci_remove_pack(cull->store, key, cull->error);
    }
    gcache_status status = gci_publish_draft(cull->store, &cull->draft, &size, cull->error);
    if (status == GCACHE_OK)
        cull->cost += gci_disk_cost(size) - gci_disk_cost(cull->draft.pack.size);
    return status;
}

/* Whether a victim's file and row are to go: not those of an entry that stays. One without a frame goes too; but if its
   row chose it (by age, by namespace), only when its file isn't there: no frame could confirm the choice. */
static bool
is_to_remove(struct cull *cull, gcache_key const *key, char const *id)
{
    gci_pack_draft_frame *frame = gci_pack_draft_find(&cull->draft, id);
    bool chosen_by_row = cull->eviction->before_ns != 0 || cull->eviction->namespace_ != NULL;

    if (frame != NULL)
        return frame->type == GCI_FRAME_EVICTED;
    return !chosen_by_row || gci_cost_of_path(cull->store, gci_path_entry(key, id).text) == 0;
}

static void
remove_files(struct cull *cull, gcache_key const *key)
{
    for (size_t i = 0; i < cull->count; i++) {
        char const *id = cull->victims[i].id;
        uint64_t freed;
        if (!is_to_remove(cull, key, id))
            continue;
        gci_remove_entry(cull->store, key, id, &freed, NULL);
        cull->bytes += freed;
        gci_note_removal(cull->store, key, id, cull->cost);
    }
}

/* Of the entries that went just now. */
static void
drop_attachments(struct cull *cull)
{
    gci_signature signature;
    gci_record record;
    gci_frame frame;
    gci_arena arena;

    for (size_t i = 0; cull->eviction->references != NULL && i < cull->draft.count; i++) {
        gci_pack_draft_frame const *gone = &cull->draft.frames[i];
        if (gone->type != GCI_FRAME_EVICTED || gone->evicted_ns != cull->now_ns)
            continue;
        gci_arena_init(&arena, GCI_BUF_NO_LIMIT);
        if (gci_frame_read_head(gone->bytes, &frame) == GCI_FRAME_GOOD &&
            gci_record_read(frame.head, &arena, &record, &signature)) {
            for (size_t j = 0; j < record.attachment_count; j++)
                gci_references_drop(cull->store, cull->eviction->references, record.attachments[j].sha256, &cull->bytes);
        }
        gci_arena_clear(&arena);
    }
}

static gcache_status
cull_key(struct cull *cull, gcache_key const *key)
{
    gci_store *store = cull->store;
    gci_buf const *pack = &cull->draft.pack;

    gcache_status status = gci_pack_draft_load(&cull->draft, store, cull->error);
    if (status != GCACHE_OK)
        return status;
    uint64_t before = gci_cost_of_path(store, gci_path_description(key).text) +
                      (cull->draft.level != GCI_POOL_NONE ? pack->size - GCI_PACK_HEADER : gci_disk_cost(pack->size));
    cull->cost = before;
    mark_victims(cull);
    /* Before anything goes: what went without a tombstone looks lost. */
    bool remembered = cull->evicted > 0 && put_tombstone(cull, key);
    if (cull->evicted > 0)
        status = publish_remaining(cull, key);
    if (status != GCACHE_OK) {
        if (remembered)
            gci_tombstone_remove(store, key);
        return status;
    }
    /* On a full disk there is room for it only now, or not even now: then rows that speak of it can't be told from losses. */
    if (cull->evicted > 0 && !remembered && !put_tombstone(cull, key))
        gci_word_set(&store->shared.head->unnoted_s, cull->now_ns / GCI_SECOND_NS);
    gci_count_entries(store, -(int64_t)cull->evicted);
    cull->bytes = before > cull->cost ? before - cull->cost : 0;
    remove_files(cull, key);
    drop_attachments(cull);
    return GCACHE_OK;
}

static void
report_evicted(struct cull const *cull)
{
    gci_store *store = cull->store;

    gci_store_count(store, GCI_COUNT_EVICTIONS, cull->evicted);
    gci_store_count(store, GCI_COUNT_EVICTED_BYTES, cull->bytes);
    if (cull->evicted > 0 && store->options.event != NULL)
        store->options.event(store->options.event_state, &(gci_store_event){ .kind = GCI_STORE_EVICTED, .key = &cull->victims->key,
                                                                    .entries = cull->evicted, .bytes = cull->bytes,
                                                                    .cause = cull->eviction->cause });
}

static bool
has_gone(struct cull *cull, char const *id)
{
    gci_pack_draft_frame const *frame = gci_pack_draft_find(&cull->draft, id);

    return frame != NULL && frame->type == GCI_FRAME_EVICTED && frame->evicted_ns == cull->now_ns;
}

static void
name_victims(struct cull *cull)
{
    gci_eviction_watch const *watch = &cull->eviction->watch;

    for (size_t i = 0; watch->victim != NULL && i < cull->count; i++) {
        gci_victim const *victim = &cull->victims[i];
        if (has_gone(cull, victim->id))
            watch->victim(watch->state, &victim->key, victim->id, victim->bytes);
    }
}

static gcache_status
evict_of_key(gci_store *store, gci_victim const *victims, size_t count, gci_eviction const *eviction,
             gci_evicted *inout_evicted, gcache_error *error)
{
    struct cull cull = { .store = store, .victims = victims, .count = count, .eviction = eviction, .error = error,
                         .now_ns = gci_clock_wall_ns() };

    gcache_status status = gci_key_lock(&store->locks, &victims->key, eviction->wait_ns, error);
    if (status != GCACHE_OK)
        return status;
    gci_pack_draft_init(&cull.draft, &victims->key);
    status = cull_key(&cull, &victims->key);
    gci_key_unlock(&store->locks, &victims->key);
    if (status == GCACHE_OK)
        name_victims(&cull);
    gci_pack_draft_clear(&cull.draft);
    inout_evicted->entries += cull.evicted;
    inout_evicted->idle += status == GCACHE_OK && cull.evicted == 0 ? count : 0;
    inout_evicted->bytes += cull.bytes;
    report_evicted(&cull);
    return status;
}

gcache_status
gci_evict(gci_store *store, gci_victim const *victims, size_t count, gci_eviction const *eviction,
          gci_evicted *inout_evicted, gcache_error *error)
{
    uint64_t before = inout_evicted->bytes;
    gcache_status first = GCACHE_OK;

    for (size_t begin = 0, end; begin < count && inout_evicted->bytes - before < eviction->want; begin = end) {
        for (end = begin + 1; end < count && memcmp(&victims[end].key, &victims[begin].key, sizeof(gcache_key)) == 0;)
            end++;
        gcache_status status = evict_of_key(store, victims + begin, end - begin, eviction, inout_evicted,
                                            first == GCACHE_OK ? error : NULL);
        if (status != GCACHE_OK)
            inout_evicted->failed += end - begin;
        /* What a newer version wrote stays, and keeps nothing else from going. */
        if (first == GCACHE_OK && status != GCACHE_ERROR_FORMAT)
            first = status;
    }
    return first;
}

gcache_status
gci_store_evict(gci_store *store, gcache_key const *key, char const *id, gcache_error *error)
{
    gci_eviction eviction = { .cause = GCI_EVICTED_BY_HAND, .want = UINT64_MAX, .wait_ns = KEY_WAIT_NS };
    gci_victim victim = { .key = *key };
    gci_evicted evicted = { 0 };

    gci_store_enter(store);
    if (store->read_only)
        return gci_store_check_writable(store, error);
    memcpy(victim.id, id, sizeof victim.id);
    gcache_status status = gci_evict(store, &victim, 1, &eviction, &evicted, error);
    gci_pools_compact(store);
    if (status == GCACHE_OK && evicted.failed > 0)
        return GCACHE_ERROR_FORMAT;
    if (status == GCACHE_OK && evicted.entries == 0)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "no entry %s under the key", id);
    return status;
}

gcache_status
gci_evictor_lock(gci_store *store, uint64_t wait_ns, gci_file *out_lock, gcache_error *error)
{
    return gci_lock_take(store->directory, "locks/evict", GCI_LOCK_EXCLUSIVE, wait_ns, out_lock, error);
}
