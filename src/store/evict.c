#include "store/evict.h"

#include "base/clock.h"
#include "base/digest.h"
#include "store/attach.h"
#include "store/drain.h"
#include "store/mend.h"
#include "store/pack.h"
#include "store/publish.h"
#include "store/rewrite.h"
#include "store/tombstones.h"
#include "store/touch.h"
#include "store/victims.h"

#include <stdlib.h>

/* Eviction begins at the high watermark, with a slice now and then, so that the cap itself is hardly ever met, and ends at
   the low one: what is left in between is how long inserts go on undisturbed. */
#define HIGH(cap) ((cap) - (cap) / 20)
#define LOW(cap) ((cap) - (cap) / 10)
/* A slice takes some ten milliseconds, one insert in hundreds. */
#define SLICE 512
/* A key's lock is held for as long as a file takes to sync. */
#define KEY_WAIT_NS UINT64_C(1000000000)
/* At the cap an insert waits this long for another process's slice, and looks so often whether there is room by now: who
   evicts does it for those who wait as well. */
#define EVICTOR_WAIT_NS UINT64_C(5000000000)
#define EVICTOR_LOOK_NS UINT64_C(10000000)
#define DRAIN_WAIT_NS UINT64_C(2000000000)
#define RECOUNT_WAIT_NS UINT64_C(200000000)

/* What all processes have counted, as far as it is known here. */
static uint64_t
count_of(gci_store *store, gci_store_counter counter)
{
    return atomic_load(&store->shared.head->counters[counter]) + atomic_load(&store->counts[counter]);
}

gci_fullness
gci_store_fullness(gci_store *store, bool settle)
{
    gci_store_enter(store);
    return (gci_fullness){ .bytes = atomic_load(&store->shared.head->bytes),
                           .max_bytes = store->options.max_bytes,
                           .evicted_bytes = count_of(store, GCI_COUNT_EVICTED_BYTES),
                           .least_recent_ns = gci_store_least_recent_ns(store, settle),
                           .evictions = count_of(store, GCI_COUNT_EVICTIONS),
                           .asked_again = count_of(store, GCI_COUNT_ASKED_AGAIN) };
}

/* ---- one key ---- */

/* The victims of one key, under its lock. */
struct cull {
    gci_store *store;
    gci_victim const *victims;
    size_t count;
    gci_draft draft;
    gci_buf pack;
    int cause;
    uint64_t now_ns;
    uint64_t evicted, bytes, hits;
    uint64_t stored_ns, used_ns; /* the earliest, the latest of those that go; 0: not known */
    uint64_t cost; /* what the candidate index and the description take, before and then after */
    gcache_error *error;
};

/* Turns the victims' frames into EVICTED ones. */
static void
mark_victims(struct cull *cull)
{
    for (size_t i = 0; i < cull->count; i++) {
        gci_draft_frame *frame = gci_draft_find(&cull->draft, cull->victims[i].id);
        if (frame == NULL || frame->type == GCI_FRAME_EVICTED)
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

static void
put_tombstone(struct cull *cull, gcache_key const *key)
{
    gci_tombstone tombstone = { .key = *key, .evicted_ns = cull->now_ns, .entries = (uint32_t)cull->evicted,
                                .hits = (uint32_t)cull->hits, .cause = (uint32_t)cull->cause,
                                .left = (uint32_t)gci_draft_live(&cull->draft), .stored_ns = cull->stored_ns,
                                .used_ns = cull->used_ns,
                                .evicted_bytes = count_of(cull->store, GCI_COUNT_EVICTED_BYTES) };

    gci_tombstone_put(cull->store, &tombstone);
}

static gcache_status
publish_remaining(struct cull *cull, gcache_key const *key)
{
    gci_buf bytes;

    if (gci_draft_live(&cull->draft) == 0) {
        cull->cost = 0;
        return gci_remove_pack(cull->store, key, cull->error);
    }
    gci_buf_init(&bytes, GCI_PACK_MAX);
    gci_draft_write(&cull->draft, &bytes);
    gci_view whole = gci_buf_view(&bytes);
    gcache_status status = bytes.failed
                               ? gci_fail_memory(cull->error)
                               : gci_publish_pack(cull->store, key, GCI_WEIGHT_COMMIT, &whole, 1, cull->error);
    if (status == GCACHE_OK)
        cull->cost += gci_disk_cost(whole.size) - gci_disk_cost(cull->pack.size);
    gci_buf_clear(&bytes);
    return status;
}

static gcache_status
cull_key(struct cull *cull, gcache_key const *key)
{
    gci_store *store = cull->store;

    gcache_status status = gci_file_load_existing(store->directory, gci_path_pack(key).text, GCI_PACK_MAX, &cull->pack,
                                                  cull->error);
    if (status == GCACHE_OK && !gci_draft_take_pack(&cull->draft, gci_buf_view(&cull->pack)))
        status = gci_fail_memory(cull->error);
    if (status != GCACHE_OK)
        return status;
    uint64_t before = gci_cost_of_path(store, gci_path_description(key).text) + gci_disk_cost(cull->pack.size);
    cull->cost = before;
    mark_victims(cull);
    if (cull->evicted > 0)
        status = publish_remaining(cull, key);
    if (status != GCACHE_OK)
        return status;
    /* Afterwards: on a full disk there is room for it only now. */
    if (cull->evicted > 0)
        put_tombstone(cull, key);
    gci_shared_add(&store->shared.head->entries, -(int64_t)cull->evicted);
    cull->bytes = before > cull->cost ? before - cull->cost : 0;
    for (size_t i = 0; i < cull->count; i++) {
        uint64_t freed;
        gci_remove_entry(store, key, cull->victims[i].id, &freed, NULL);
        cull->bytes += freed;
        gci_note_removal(store, key, cull->victims[i].id, cull->cost);
    }
    return GCACHE_OK;
}

static gcache_status
evict_of_key(gci_store *store, gci_victim const *victims, size_t count, int cause, uint64_t *out_evicted,
             uint64_t *out_bytes, gcache_error *error)
{
    struct cull cull = { .store = store, .victims = victims, .count = count, .cause = cause, .error = error,
                         .now_ns = gci_clock_wall_ns() };

    gcache_status status = gci_key_lock(&store->locks, &victims->key, KEY_WAIT_NS, error);
    if (status != GCACHE_OK)
        return status;
    gci_draft_init(&cull.draft, &victims->key);
    gci_buf_init(&cull.pack, GCI_BUF_NO_LIMIT);
    status = cull_key(&cull, &victims->key);
    gci_buf_clear(&cull.pack);
    gci_draft_clear(&cull.draft);
    gci_key_unlock(&store->locks, &victims->key);
    *out_evicted += cull.evicted;
    *out_bytes += cull.bytes;
    gci_store_count(store, GCI_COUNT_EVICTIONS, cull.evicted);
    gci_store_count(store, GCI_COUNT_EVICTED_BYTES, cull.bytes);
    if (cull.evicted > 0 && store->options.news != NULL)
        store->options.news(store->options.news_state, &(gci_news){ .kind = GCI_NEWS_EVICTED, .key = &victims->key,
                                                                    .entries = cull.evicted, .bytes = cull.bytes,
                                                                    .cause = cause });
    return status;
}

gcache_status
gci_evict(gci_store *store, gci_victim const *victims, size_t count, int cause, uint64_t *out_evicted,
          uint64_t *out_bytes, gcache_error *error)
{
    gcache_status first = GCACHE_OK;

    for (size_t begin = 0, end; begin < count; begin = end) {
        for (end = begin + 1; end < count && memcmp(&victims[end].key, &victims[begin].key, sizeof(gcache_key)) == 0;)
            end++;
        gcache_status status = evict_of_key(store, victims + begin, end - begin, cause, out_evicted, out_bytes,
                                            first == GCACHE_OK ? error : NULL);
        if (first == GCACHE_OK)
            first = status;
    }
    return first;
}

gcache_status
gci_store_evict(gci_store *store, gcache_key const *key, char const *id, gcache_error *error)
{
    gci_victim victim = { .key = *key };
    uint64_t evicted = 0, bytes = 0;

    gci_store_enter(store);
    if (store->read_only)
        return gci_fail(error, GCACHE_ERROR_READ_ONLY, "%s: the cache is read-only", store->directory.name);
    memcpy(victim.id, id, sizeof victim.id);
    gcache_status status = gci_evict(store, &victim, 1, GCI_EVICTED_BY_HAND, &evicted, &bytes, error);
    if (status == GCACHE_OK && evicted == 0)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "no entry %s under the key", id);
    return status;
}

/* ---- room ---- */

static uint64_t
used_bytes(gci_store *store)
{
    return atomic_load(&store->shared.head->bytes) + atomic_load(&store->shared.head->reserved);
}

bool
gci_reserve(gci_store *store, uint64_t need)
{
    gci_shared_add(&store->shared.head->reserved, (int64_t)need);
    if (store->options.max_bytes == UINT64_MAX || used_bytes(store) <= store->options.max_bytes)
        return true;
    gci_unreserve(store, need);
    return false;
}

void
gci_unreserve(gci_store *store, uint64_t need)
{
    gci_shared_add(&store->shared.head->reserved, -(int64_t)need);
}

/* Evicts the longest unused until `want` bytes are freed, at most a slice. By the holder of the evict lock. */
static gcache_status
evict_slice(gci_store *store, uint64_t want, int cause, uint64_t *out_evicted, gcache_error *error)
{
    gci_victims victims = { 0 };
    uint64_t bytes = 0;

    gci_flush_touches(store);
    gcache_status status = gci_drain(store, DRAIN_WAIT_NS, NULL);
    if (status == GCACHE_OK)
        status = gci_victims_choose(store, &(gci_choice){ .limit = SLICE, .want = want }, &victims, NULL);
    if (status != GCACHE_OK)
        status = gci_victims_by_files(store, want, &victims, error);
    if (status == GCACHE_OK)
        status = gci_evict(store, victims.items, victims.count, cause, out_evicted, &bytes, error);
    gci_victims_clear(&victims);
    return status;
}

void
gci_recount(gci_store *store)
{
    gci_totals totals;

    if (gci_key_lock_all(&store->locks, RECOUNT_WAIT_NS, NULL) != GCACHE_OK)
        return;
    if (gci_drain(store, DRAIN_WAIT_NS, NULL) == GCACHE_OK && gci_victims_totals(store, &totals, NULL) == GCACHE_OK) {
        atomic_store(&store->shared.head->bytes, totals.bytes + gci_attachments_cost(store));
        atomic_store(&store->shared.head->entries, totals.entries);
        atomic_store(&store->shared.head->keys, totals.keys);
        atomic_store(&store->shared.head->reserved, 0);
    }
    gci_key_unlock_all(&store->locks);
}

/* Without a shared table nobody tells us what others have added: the cap is kept to within so many inserts of each. */
#define RECOUNT_EVERY 32

static void
recount_if_alone(gci_store *store)
{
    if (!atomic_load(&store->shared.usable) && atomic_fetch_add(&store->uncounted, 1) % RECOUNT_EVERY == 0)
        gci_recount(store);
}

static gcache_status
fail_cap(gci_store *store, uint64_t need, gcache_error *error)
{
    return gci_fail(error, GCACHE_ERROR_NO_SPACE, "%s: %llu bytes don't fit under the cap of %llu", store->directory.name,
                    (unsigned long long)need, (unsigned long long)store->options.max_bytes);
}

/* By the holder of the evict lock. */
static gcache_status
shrink(gci_store *store, uint64_t need, uint64_t cap, gcache_error *error)
{
    bool recounted = false;

    while (used_bytes(store) + need > cap) {
        uint64_t evicted = 0, over = used_bytes(store) + need - LOW(cap);
        gcache_status status = evict_slice(store, over, GCI_EVICTED_SIZE, &evicted, error);
        if (status != GCACHE_OK)
            return status;
        if (evicted > 0)
            continue;
        if (recounted)
            return fail_cap(store, need, error);
        gci_recount(store);
        recounted = true;
    }
    return GCACHE_OK;
}

gcache_status
gci_evictor_lock(gci_store *store, uint64_t wait_ns, gci_file *out_lock, gcache_error *error)
{
    gcache_status status = gci_file_open(store->directory, "locks/evict", O_RDWR | O_CREAT, out_lock, error);

    if (status != GCACHE_OK)
        return status;
    status = gci_file_lock(out_lock, GCI_LOCK_EXCLUSIVE, wait_ns, error);
    if (status != GCACHE_OK)
        gci_file_close(out_lock);
    return status;
}

static gcache_status
make_room_at_cap(gci_store *store, uint64_t need, uint64_t cap, gcache_error *error)
{
    gci_file lock;

    for (uint64_t waited = 0; waited < EVICTOR_WAIT_NS; waited += EVICTOR_LOOK_NS) {
        gcache_status status = gci_evictor_lock(store, EVICTOR_LOOK_NS, &lock, NULL);
        if (status == GCACHE_OK) {
            status = shrink(store, need, cap, error);
            gci_file_close(&lock);
            return status;
        }
        if (status != GCACHE_ERROR_BUSY)
            break;
        if (used_bytes(store) + need <= cap)
            return GCACHE_OK;
    }
    return gci_fail(error, GCACHE_ERROR_NO_SPACE, "%s: full, and somebody else is making room for too long",
                    store->directory.name);
}

gcache_status
gci_make_room(gci_store *store, uint64_t need, gcache_error *error)
{
    uint64_t cap = store->options.max_bytes, evicted = 0;
    gci_file lock;

    if (cap == UINT64_MAX)
        return GCACHE_OK;
    if (need > cap)
        return fail_cap(store, need, error);
    recount_if_alone(store);
    uint64_t wanted = used_bytes(store) + need;
    if (wanted > cap)
        return make_room_at_cap(store, need, cap, error);
    if (wanted <= HIGH(cap) || gci_evictor_lock(store, 0, &lock, NULL) != GCACHE_OK)
        return GCACHE_OK;
    evict_slice(store, wanted - LOW(cap), GCI_EVICTED_SIZE, &evicted, NULL);
    gci_file_close(&lock);
    return GCACHE_OK;
}

/* Of a full key's candidates one in so many goes at a time: its candidate index is written anew for each time. */
#define SEATS_SHARE 16

gcache_status
gci_make_seats(gci_store *store, gcache_key const *key, size_t count, gcache_error *error)
{
    size_t most = store->options.max_candidates, seats = count - most + most / SEATS_SHARE + 1;
    gci_choice choice = { .of = GCI_OF_KEY, .key = key, .limit = seats, .want = UINT64_MAX };
    gci_victims victims = { 0 };
    uint64_t evicted = 0, bytes = 0;

    gci_flush_touches(store);
    gcache_status status = gci_drain(store, DRAIN_WAIT_NS, error);
    if (status == GCACHE_OK)
        status = gci_victims_choose(store, &choice, &victims, error);
    if (status == GCACHE_OK)
        status = gci_evict(store, victims.items, victims.count, GCI_EVICTED_CROWD, &evicted, &bytes, error);
    gci_victims_clear(&victims);
    if (status == GCACHE_OK && evicted == 0)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "the key has %zu candidates, the most that is allowed", count);
    return status;
}

gcache_status
gci_evict_for_space(gci_store *store, uint64_t need, gcache_error *error)
{
    uint64_t evicted = 0;
    gci_file lock;

    gcache_status status = gci_evictor_lock(store, EVICTOR_WAIT_NS, &lock, error);
    if (status != GCACHE_OK)
        return status;
    status = evict_slice(store, 4 * need, GCI_EVICTED_SPACE, &evicted, error);
    gci_file_close(&lock);
    return status == GCACHE_OK && evicted == 0 ? gci_fail(error, GCACHE_ERROR_NO_SPACE, "nothing to evict") : status;
}
