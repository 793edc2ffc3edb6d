/* A pass of eviction: the longest unused go, a slice after the other, until enough is free. */
#include "store/evict/least_recent.h"

#include "store/evict/references.h"
#include "store/evict/victims.h"
#include "store/index/drain.h"
#include "store/index/touch.h"
#include "store/pool/pool.h"

/* So many are chosen at once. */
#define SLICE 512
/* A pass doesn't wait for a busy key: others can go. Only if none could, it waits for as long as a file takes to sync. */
#define KEY_GLANCE_NS UINT64_C(1000000)
#define KEY_WAIT_NS UINT64_C(1000000000)
#define DRAIN_WAIT_NS UINT64_C(2000000000)

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
evict_until_freed(struct pass *pass, uint64_t want)
{
    gci_eviction_watch const *watch = &pass->eviction.watch;
    gcache_status status = GCACHE_OK;

    for (bool any = true; any && pass->out->bytes < want;) {
        status = evict_slice(pass, want - pass->out->bytes, &any);
        if (watch->progress != NULL)
            watch->progress(watch->state, pass->out->bytes, want);
    }
    if (pass->out->bytes < want)
        status = evict_by_files(pass, want - pass->out->bytes);
    return status;
}

/* Where there are attachments, those that nobody refers to go first: entries alone may be the least of it. Who refers to the
   others is kept in *out; NULL: that can't be found out, and attachments stay. */
static gci_references *
sweep_attachments(struct pass *pass, gci_references *out)
{
    uint64_t removed = 0;

    if (gci_attachments_cost(pass->store) == 0 || gci_references_find(pass->store, out, NULL) != GCACHE_OK)
        return NULL;
    gci_references_sweep(pass->store, out, GCI_ATTACHMENT_PRESSED_NS, false, &removed, &pass->out->bytes, NULL);
    return out;
}

gcache_status
gci_evict_least_recent(gci_store *store, uint64_t want, int cause, gci_eviction_watch watch, gci_evicted *out_evicted,
                       gcache_error *error)
{
    struct pass pass = { .store = store, .out = out_evicted, .error = error,
                         .eviction = { .cause = cause, .wait_ns = KEY_GLANCE_NS, .watch = watch } };
    gci_references references = { 0 };

    *out_evicted = (gci_evicted){ 0 };
    gci_flush_touches(store);
    pass.eviction.references = sweep_attachments(&pass, &references);
    gcache_status status = evict_until_freed(&pass, want);
    if (out_evicted->bytes == 0 && out_evicted->failed > 0) {
        out_evicted->failed = 0;
        pass.eviction.wait_ns = KEY_WAIT_NS;
        status = evict_until_freed(&pass, want);
    }
    gci_references_clear(&references);
    gci_pools_compact(store);
    return out_evicted->bytes > 0 ? GCACHE_OK : status;
}
