/*
 * Making room: reservations below the cap, candidates under a key, and what a file system, its inodes or a quota still allow.
 */
#include "store/evict/capacity.h"

#include "base/system/clock.h"
#include "store/directory/layout.h"
#include "store/evict/overhead.h"
#include "store/evict/recount.h"
#include "store/evict/references.h"
#include "store/evict/victims.h"
#include "store/index/drain.h"
#include "store/index/sizes.h"
#include "store/index/touch.h"
#include "store/pool/pool.h"

/* So many are chosen at once. */
#define SLICE 512
/* A pass doesn't wait for a busy key: others can go. Only if none could, it waits for as long as a file takes to sync. */
#define KEY_WAIT_NS UINT64_C(1000000)
#define KEY_PATIENCE_NS UINT64_C(1000000000)
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

/* ---- the longest unused ---- */

struct pass {
    gci_store *store;
    gci_eviction eviction;
    gci_evicted *out;
    gcache_error *error;
};

struct neighbours {
    gci_store *store;
    gci_victims victims;
};

static bool
add_neighbour(void *state, gcache_key const *key)
{
    struct neighbours *all = state;
    size_t count = all->victims.count;

    if (count > 0 && memcmp(&all->victims.items[count - 1].key, key, sizeof *key) == 0)
        return true;
    return gci_victims_of_key(all->store, key, SIZE_MAX, &all->victims, NULL) == GCACHE_OK;
}

/* On a full disk a pool can't be written anew without those who go: it gives its blocks back when all of it goes. */
static void
take_whole_pool(struct pass *pass, gci_victims *victims)
{
    struct neighbours all = { .store = pass->store };

    for (size_t i = 0; i < victims->count && all.victims.count == 0; i++)
        gci_pool_neighbours(pass->store, &victims->items[i].key, add_neighbour, &all);
    if (all.victims.count == 0)
        return;
    gci_victims_clear(victims);
    *victims = all.victims;
    pass->eviction.want = UINT64_MAX;
}

/* One slice. *out_any: there were victims to try. */
static gcache_status
evict_slice(struct pass *pass, uint64_t want, bool *out_any)
{
    bool full = pass->eviction.cause == GCI_EVICTED_SPACE;
    gci_choice choice = { .limit = SLICE, .want = want, .skip = pass->out->failed + (full ? pass->out->idle : 0) };
    gci_victims victims = { 0 };

    gcache_status status = gci_drain(pass->store, DRAIN_WAIT_NS, NULL);
    if (status == GCACHE_OK)
        status = gci_victims_choose(pass->store, &choice, &victims, NULL);
    *out_any = status == GCACHE_OK && victims.count > 0;
    pass->eviction.want = want;
    if (*out_any && full)
        take_whole_pool(pass, &victims);
    if (*out_any)
        status = gci_evict(pass->store, victims.items, victims.count, &pass->eviction, pass->out, pass->error);
    gci_victims_clear(&victims);
    return status;
}

/* What no row knows of, or all, if index.db can't be used. */
static gcache_status
evict_by_files(struct pass *pass, uint64_t want)
{
    gci_victims victims = { 0 };

    gcache_status status = gci_victims_by_files(pass->store, want, &victims, pass->error);
    pass->eviction.want = want;
    if (status == GCACHE_OK)
        status = gci_evict(pass->store, victims.items, victims.count, &pass->eviction, pass->out, pass->error);
    gci_victims_clear(&victims);
    return status;
}

static gcache_status
evict_patiently(struct pass *pass, uint64_t want)
{
    gcache_status status = GCACHE_OK;

    for (bool any = true; any && pass->out->bytes < want;)
        status = evict_slice(pass, want - pass->out->bytes, &any);
    if (pass->out->bytes < want)
        status = evict_by_files(pass, want - pass->out->bytes);
    return status;
}

/* Where there are attachments, who refers to them is found out first: entries alone may be the least of it. If that can't be
   done, attachments stay. */
static gci_references *
find_references(struct pass *pass, gci_references *room)
{
    uint64_t removed = 0;

    if (gci_attachments_cost(pass->store) == 0 || gci_references_find(pass->store, room, NULL) != GCACHE_OK)
        return NULL;
    gci_references_sweep(pass->store, room, GCI_ATTACHMENT_PRESSED_NS, false, &removed, &pass->out->bytes, NULL);
    return room;
}

gcache_status
gci_evict_least_recent(gci_store *store, uint64_t want, int cause, gci_evicted *out_evicted, gcache_error *error)
{
    struct pass pass = { .store = store, .out = out_evicted, .error = error,
                         .eviction = { .cause = cause, .wait_ns = KEY_WAIT_NS } };
    gci_references references = { 0 };

    *out_evicted = (gci_evicted){ 0 };
    gci_flush_touches(store);
    pass.eviction.references = find_references(&pass, &references);
    gcache_status status = evict_patiently(&pass, want);
    if (out_evicted->bytes == 0 && out_evicted->failed > 0) {
        out_evicted->failed = 0;
        pass.eviction.wait_ns = KEY_PATIENCE_NS;
        status = evict_patiently(&pass, want);
    }
    gci_references_clear(&references);
    gci_pools_compact(store);
    return out_evicted->bytes > 0 ? GCACHE_OK : status;
}

/* ---- below the cap ---- */

/* Without a shared table only the rows say what others have added; they are read now and then. */
#define ESTIMATE_EVERY 32

static void
estimate_if_alone(gci_store *store)
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

/* A count that finds room, or that was outrun by inserts beside it, is made again: at the cap they don't go on for long. */
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
        status = gci_evict_least_recent(store, counted.bytes + others + need - target, GCI_EVICTED_SIZE, &evicted, error);
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
            status = shrink(store, need, error);
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
    if (store->options.max_size == UINT64_MAX)
        return GCACHE_OK;
    if (need > store->options.max_size)
        return fail_cap(store, need, error);
    estimate_if_alone(store);
    bool reserved = gci_reserve_if_free(store, need);
    clear_leftovers(store);
    return reserved ? GCACHE_OK : reserve_at_cap(store, need, error);
}

/* ---- under a key ---- */

/* Of a full key's candidates one in so many goes at a time: its candidate index is written anew for each time. */
#define ROOM_SHARE 16

gcache_status
gci_make_room_under_key(gci_store *store, gcache_key const *key, size_t count, gcache_error *error)
{
    size_t most = store->options.max_candidates, places = count - most + most / ROOM_SHARE + 1;
    gci_choice choice = { .of = GCI_OF_KEY, .key = key, .limit = places, .want = UINT64_MAX };
    gci_eviction eviction = { .cause = GCI_EVICTED_OVER_CAP, .want = UINT64_MAX, .wait_ns = KEY_PATIENCE_NS };
    gci_victims victims = { 0 };
    gci_evicted evicted = { 0 };

    gci_flush_touches(store);
    gcache_status status = gci_drain(store, DRAIN_WAIT_NS, NULL);
    if (status == GCACHE_OK)
        status = gci_victims_choose(store, &choice, &victims, NULL);
    if (status != GCACHE_OK || victims.count == 0)
        status = gci_victims_of_key(store, key, places, &victims, error);
    if (status == GCACHE_OK)
        status = gci_evict(store, victims.items, victims.count, &eviction, &evicted, error);
    gci_victims_clear(&victims);
    if (status == GCACHE_OK && evicted.entries == 0)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "the key has %zu candidates, the most that is allowed", count);
    return status;
}

/* ---- on the disk ---- */

/* An eviction of so many entries must have freed an inode, if inodes were short. After one that didn't help there is no
   other for so long. */
#define FUTILE_ENTRIES 16
#define FUTILE_S 60
#define SHORT_BYTES ((uint64_t)64 << 10)

/* An insert makes an entry file, perhaps the folder it lies in, and a candidate index: an inode each. */
#define NAMES 3

static gcache_status
make_probes(gci_store *store, gci_path const paths[NAMES], uint64_t size, bool *out_nameless, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    gci_file file;

    for (int i = 0; status == GCACHE_OK && i < NAMES; i++) {
        status = gci_layout_create(store->directory, paths[i].text, O_WRONLY | O_CREAT | O_EXCL, &file, error);
        *out_nameless = status != GCACHE_OK;
        if (status == GCACHE_OK && i == NAMES - 1)
            status = gci_file_allocate(&file, size, error);
        gci_file_close(&file);
    }
    return status;
}

/* Whether an insert of that size can be made now: that is what the file system, its inodes and quotas, have to allow.
   *out_nameless: not even empty files. */
static gcache_status
probe(gci_store *store, uint64_t size, bool *out_nameless, gcache_error *error)
{
    gci_path paths[NAMES];

    for (int i = 0; i < NAMES; i++)
        paths[i] = gci_path_temporary();
    gcache_status status = make_probes(store, paths, size, out_nameless, error);
    for (int i = 0; i < NAMES; i++)
        gci_dir_unlink(store->directory, paths[i].text, NULL);
    return status;
}

/* The same, after room was made for names where that costs no entry. */
static gcache_status
probe_pruned(gci_store *store, uint64_t size, bool *out_nameless, gcache_error *error)
{
    gcache_status status = probe(store, size, out_nameless, error);

    if (status != GCACHE_ERROR_NO_SPACE || !*out_nameless)
        return status;
    gci_layout_prune(store->directory);
    return probe(store, size, out_nameless, error);
}

static bool
was_futile(gci_store *store)
{
    uint64_t then, now = gci_clock_wall_ns() / 1000000000u;

    return gci_word_get(&store->shared.head->futile_s, &then) && then <= now && now - then < FUTILE_S;
}

/* Whether all that could go would be enough. How many names attachments take isn't counted. */
static bool
could_fit(gci_store *store, uint64_t need, bool nameless)
{
    gci_recounted counted;
    uint64_t free_bytes, free_names = gci_dir_free_names(store->directory);

    if (gci_count_files(store, &counted, NULL) != GCACHE_OK)
        return false;
    if (nameless)
        return free_names >= NAMES || counted.attachments > 0 || free_names + counted.names >= NAMES;
    return gci_dir_free_bytes(store->directory, &free_bytes, NULL) != GCACHE_OK || free_bytes + counted.bytes >= need;
}

/* By the holder of the evict lock: as many bytes as are needed, or one entry after the other where names are short; twice
   that at most. */
static gcache_status
evict_until_it_fits(gci_store *store, uint64_t need, gcache_error *error)
{
    gci_evicted all = { 0 }, evicted;
    bool nameless;

    gcache_status status = probe_pruned(store, need, &nameless, error);
    if (status == GCACHE_ERROR_NO_SPACE && !could_fit(store, need, nameless))
        return status;
    while (status == GCACHE_ERROR_NO_SPACE && (nameless ? all.entries < FUTILE_ENTRIES : all.bytes < 2 * need)) {
        if (gci_evict_least_recent(store, nameless ? 1 : need, GCI_EVICTED_SPACE, &evicted, NULL) != GCACHE_OK ||
            evicted.bytes == 0)
            break;
        all.entries += evicted.entries;
        all.bytes += evicted.bytes;
        /* What was written about it may take what was freed. */
        gci_overhead_settle(store);
        status = probe_pruned(store, need, &nameless, error);
    }
    if (status == GCACHE_ERROR_NO_SPACE)
        gci_word_set(&store->shared.head->futile_s, gci_clock_wall_ns() / 1000000000u);
    return status;
}

bool
gci_space_is_short(gci_store *store)
{
    bool nameless;

    return probe(store, SHORT_BYTES, &nameless, NULL) == GCACHE_ERROR_NO_SPACE;
}

gcache_status
gci_evict_for_space(gci_store *store, uint64_t need, gcache_error *error)
{
    bool nameless;
    gci_file lock;

    gcache_status status = gci_evictor_lock(store, EVICTOR_WAIT_NS, &lock, error);
    if (status != GCACHE_OK)
        return status;
    gci_strays_remove(store, false);
    /* Making index.db small takes as long as reading all keys: that is tried again when an eviction is. */
    bool futile = was_futile(store);
    if (!futile)
        gci_overhead_shrink(store);
    status = futile ? probe_pruned(store, need, &nameless, error) : evict_until_it_fits(store, need, error);
    gci_file_unlock_and_close(&lock);
    return status;
}
