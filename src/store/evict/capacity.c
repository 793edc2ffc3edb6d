/* Room below the cap: reservations, and evictions where they don't fit; and room under a key. */
#include "store/evict/capacity.h"

#include "base/system/clock.h"
#include "store/evict/least_recent.h"
#include "store/evict/recount.h"
#include "store/evict/victims.h"
#include "store/index/drain.h"
#include "store/index/sizes.h"
#include "store/index/touch.h"

/* A full key waits for as long as a file takes to sync. */
#define KEY_WAIT_NS UINT64_C(1000000000)
/* At the cap an insert waits this long for another process's pass, and looks so often whether there is room by now: who
   evicts does it for those who wait as well. */
#define EVICTOR_WAIT_NS UINT64_C(10000000000)
#define EVICTOR_LOOK_NS UINT64_C(10000000)
#define DRAIN_WAIT_NS UINT64_C(2000000000)

uint64_t
gci_low_watermark(uint64_t cap)
{
    return cap == UINT64_MAX ? cap : cap - cap / 10;
}

uint64_t
gci_enforced_cap(gci_store *store, uint64_t bytes)
{
    uint64_t cap = store->options.max_size;

    if (cap == UINT64_MAX || bytes <= cap + cap / 10 || store->options.own_cap == NULL)
        return cap;
    uint64_t own = store->options.own_cap(store->name);
    return own > cap ? own : cap;
}

/* ---- below the cap ---- */

/* Without a shared table only the rows say what others have added; they are read now and then. */
#define ESTIMATE_EVERY 32

static void
estimate_if_not_shared(gci_store *store)
{
    gci_index_size totals;

    if (atomic_load(&store->shared.usable) || atomic_fetch_add(&store->uncounted, 1) % ESTIMATE_EVERY != 0)
        return;
    if (gci_drain(store, DRAIN_WAIT_NS, NULL) == GCACHE_OK && gci_index_sizes(store, &totals, NULL) == GCACHE_OK)
        gci_word_set(&store->shared.head->bytes, totals.bytes);
}

bool
gci_reserve_if_free(gci_store *store, uint64_t need)
{
    uint64_t bound;

    if (store->options.max_size == UINT64_MAX)
        return true;
    gci_usage_reserve(store, need);
    if (gci_usage_bound(store, &bound) && bound <= store->options.max_size)
        return true;
    gci_usage_release(store, need);
    return false;
}

void
gci_unreserve(gci_store *store, uint64_t need)
{
    if (store->options.max_size != UINT64_MAX)
        gci_usage_release(store, need);
}

static gcache_status
fail_cap(gci_store *store, uint64_t need, gcache_error *error)
{
    return gci_fail(error, GCACHE_ERROR_NO_SPACE, "%s: %llu bytes don't fit under the cap of %llu", store->directory.name,
                    (unsigned long long)need, (unsigned long long)store->options.max_size);
}

static gcache_status
fail_others(gci_store *store, uint64_t bytes, gcache_error *error)
{
    return gci_fail(error, GCACHE_ERROR_NO_SPACE,
                    "%s: holds %llu bytes, and the max-size given to this program is %llu: nothing is stored, and nothing "
                    "evicted (`guardcache config max-size` sets the cache's own)",
                    store->directory.name, (unsigned long long)bytes, (unsigned long long)store->options.max_size);
}

/* So often is counted anew when there was room by the count but others took it: at the cap they don't go on for long. */
#define COUNTS 8

/* By the holder of the evict lock. BUSY: what others have under way leaves no room. */
static gcache_status
shrink(gci_store *store, uint64_t need, gcache_error *error)
{
    uint64_t cap = store->options.max_size, low = gci_low_watermark(cap), target = need <= low ? low : cap;
    gci_evicted evicted;

    for (int i = 0; i < COUNTS; i++) {
        gci_recounted counted;
        gcache_status status = gci_recount(store, &counted, error);
        if (status != GCACHE_OK || gci_reserve_if_free(store, need))
            return status;
        uint64_t others = gci_usage_reserved(store);
        if (counted.bytes + others + need <= cap)
            continue;
        if (gci_enforced_cap(store, counted.bytes) > cap)
            return fail_others(store, counted.bytes, error);
        if (others + need > cap)
            return GCACHE_ERROR_BUSY;
        status = gci_evict_least_recent(store, counted.bytes + others + need - target, GCI_EVICTED_SIZE,
                                        (gci_eviction_watch){ 0 }, &evicted, error);
        if (gci_reserve_if_free(store, need))
            return GCACHE_OK;
        if (evicted.bytes == 0)
            return status != GCACHE_OK ? status : fail_cap(store, need, error);
    }
    return GCACHE_ERROR_BUSY;
}

static gcache_status
reserve_at_cap(gci_store *store, uint64_t need, gcache_error *error)
{
    uint64_t begin = gci_clock_steady_ns();
    gci_file lock;

    do {
        gcache_status status = gci_evictor_lock(store, EVICTOR_LOOK_NS, &lock, error);
        if (status == GCACHE_OK) {
            /* Others may have counted, or made room, before the lock was given. */
            status = gci_reserve_if_free(store, need) ? GCACHE_OK : shrink(store, need, error);
            gci_file_unlock_and_close(&lock);
        }
        if (status != GCACHE_ERROR_BUSY)
            return status;
        if (gci_reserve_if_free(store, need))
            return GCACHE_OK;
    } while (gci_clock_steady_ns() - begin < EVICTOR_WAIT_NS);
    return gci_fail(error, GCACHE_ERROR_NO_SPACE, "%s: full, and others take what is freed, or make room for too long",
                    store->directory.name);
}

/* Somebody died with an insert under way: what it left goes on counting until it is swept. */
static void
clear_leftovers(gci_store *store)
{
    gci_recounted counted;
    gci_file lock;

    if (!atomic_load(&store->usage.leftovers) || gci_evictor_lock(store, 0, &lock, NULL) != GCACHE_OK)
        return;
    gci_recount(store, &counted, NULL);
    gci_file_unlock_and_close(&lock);
}

gcache_status
gci_reserve(gci_store *store, uint64_t need, gcache_error *error)
{
    if (store->options.max_size == UINT64_MAX) {
        if (atomic_load(&store->shared.usable))
            gci_recount_before_storing(store);
        return GCACHE_OK;
    }
    if (need > store->options.max_size)
        return fail_cap(store, need, error);
    estimate_if_not_shared(store);
    bool reserved = gci_reserve_if_free(store, need);
    clear_leftovers(store);
    return reserved ? GCACHE_OK : reserve_at_cap(store, need, error);
}

/* ---- under a key ---- */

/* Of a full key's candidates one in so many goes at a time: its candidate index is written anew for each time. */
#define ROOM_SHARE 16

/* The longest unused by their rows, or, where rows don't say or are behind, by the files. */
static gcache_status
evict_under_key(gci_store *store, gcache_key const *key, size_t places, bool by_rows, gci_evicted *out_evicted,
                gcache_error *error)
{
    gci_choice choice = { .of = GCI_OF_KEY, .key = key, .limit = places, .want = UINT64_MAX };
    gci_eviction eviction = { .cause = GCI_EVICTED_KEY_FULL, .want = UINT64_MAX, .wait_ns = KEY_WAIT_NS };
    gci_victims victims = { 0 };

    *out_evicted = (gci_evicted){ 0 };
    gcache_status status = by_rows ? gci_victims_choose(store, &choice, &victims, NULL)
                                   : gci_victims_of_key(store, key, places, &victims, error);
    if (status == GCACHE_OK)
        status = gci_evict(store, victims.items, victims.count, &eviction, out_evicted, error);
    gci_victims_clear(&victims);
    return status;
}

gcache_status
gci_make_room_under_key(gci_store *store, gcache_key const *key, size_t count, gcache_error *error)
{
    size_t most = store->options.max_candidates, places = count - most + most / ROOM_SHARE + 1;
    gci_evicted evicted = { 0 };

    gci_flush_touches(store);
    gcache_status status = gci_drain(store, DRAIN_WAIT_NS, NULL);
    if (status == GCACHE_OK)
        status = evict_under_key(store, key, places, true, &evicted, NULL);
    if (evicted.entries == 0)
        status = evict_under_key(store, key, places, false, &evicted, error);
    /* None went, and none refused to: others have made room meanwhile. */
    if (status == GCACHE_OK && evicted.entries == 0 && evicted.failed > 0)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "the key has %zu candidates, the most that is allowed", count);
    return evicted.entries > 0 ? GCACHE_OK : status;
}
