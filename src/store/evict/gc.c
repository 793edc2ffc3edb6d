/* Collection as a user asks for it: strays, a namespace, what is too old, what is over the target, unneeded attachments. */
#include "base/system/clock.h"
#include "store/evict/collect.h"
#include "store/evict/overhead.h"
#include "store/evict/recount.h"
#include "store/evict/references.h"
#include "store/evict/capacity.h"
#include "store/evict/full_disk.h"
#include "store/evict/least_recent.h"
#include "store/evict/victims.h"
#include "store/index/drain.h"
#include "store/index/touch.h"
#include "store/pool/pool.h"

#define WAIT_NS UINT64_C(10000000000)
#define KEY_WAIT_NS UINT64_C(1000000000)
#define SLICE 512

/* ---- evicting ---- */

struct collection {
    gci_store *store;
    gcache_gc_options const *options;
    gcache_collected *out;
    gcache_error *error;
};

/* What would go. What goes is named by whoever takes it out. */
static void
name_victims(struct collection *run, gci_victims const *victims)
{
    for (size_t i = 0; i < victims->count; i++) {
        gci_victim const *going = &victims->items[i];
        if (run->options->victim != NULL)
            run->options->victim(run->options->state, &going->key, going->id, going->bytes);
        run->out->entries++;
        run->out->bytes += going->bytes;
    }
}

static gci_eviction_watch
watch_of(struct collection const *run)
{
    return (gci_eviction_watch){ run->options->progress, run->options->victim, run->options->state };
}

/* How many entries are chosen, however many go at once. */
static uint64_t
count_chosen(struct collection *run, gci_choice const *choice)
{
    gci_choice all = *choice;
    gci_victims victims = { 0 };

    all.limit = (size_t)INT32_MAX;
    uint64_t count = gci_victims_choose(run->store, &all, &victims, NULL) == GCACHE_OK ? victims.count : 0;
    gci_victims_clear(&victims);
    return count;
}

/* Evicts what is chosen. *out_any: it is worth choosing again. */
static gcache_status
evict_chosen(struct collection *run, gci_choice const *choice, gci_eviction const *eviction, bool *out_any)
{
    gci_evicted evicted = { 0 };
    gci_victims victims = { 0 };

    gcache_status status = gci_victims_choose(run->store, choice, &victims, run->error);
    if (status == GCACHE_OK && run->options->dry_run)
        name_victims(run, &victims);
    if (status == GCACHE_OK && !run->options->dry_run) {
        status = gci_evict(run->store, victims.items, victims.count, eviction, &evicted, run->error);
        run->out->entries += evicted.entries;
        run->out->bytes += evicted.bytes;
        gci_drain(run->store, WAIT_NS, NULL);
    }
    *out_any = status == GCACHE_OK && evicted.entries > 0;
    gci_victims_clear(&victims);
    return status;
}

/* Evicts all of a choice, slice after slice. */
static gcache_status
evict_all_chosen(struct collection *run, gci_choice const *choice, gci_eviction const *eviction)
{
    gcache_gc_options const *options = run->options;
    uint64_t before = run->out->entries, total = options->progress != NULL ? count_chosen(run, choice) : 0;
    gcache_status status = GCACHE_OK;

    for (bool any = true; any;) {
        status = evict_chosen(run, choice, eviction, &any);
        if (options->progress != NULL)
            options->progress(options->state, run->out->entries - before, total);
    }
    return status;
}

/* A dry run asks once, for everything; else slice follows slice. */
static size_t
slice_of(struct collection const *run)
{
    return run->options->dry_run ? (size_t)INT32_MAX : SLICE;
}

static gcache_status
evict_namespace(struct collection *run, char const *namespace_)
{
    gci_choice choice = { .of = GCI_OF_NAMESPACE, .namespace_ = namespace_, .limit = slice_of(run), .want = UINT64_MAX };
    gci_eviction eviction = {
        .cause = GCI_EVICTED_GC_NAMESPACE, .want = UINT64_MAX, .wait_ns = KEY_WAIT_NS, .namespace_ = namespace_,
        .watch = watch_of(run)
    };

    return evict_all_chosen(run, &choice, &eviction);
}

static gcache_status
evict_aged(struct collection *run, uint64_t max_age_ns, gci_eviction_cause cause)
{
    uint64_t now = gci_clock_wall_ns(), since = now - max_age_ns;
    gci_choice choice = { .of = GCI_UNUSED_SINCE, .since_ns = since, .limit = slice_of(run), .want = UINT64_MAX };
    gci_eviction eviction = { .cause = (int)cause, .want = UINT64_MAX, .wait_ns = KEY_WAIT_NS, .before_ns = since,
                              .watch = watch_of(run) };

    return max_age_ns != 0 && max_age_ns < now ? evict_all_chosen(run, &choice, &eviction) : GCACHE_OK;
}

static uint64_t
target_of(struct collection *run, uint64_t bytes)
{
    gci_store *store = run->store;
    uint64_t cap = gci_enforced_cap(store, bytes);

    if (run->options->target_bytes != 0)
        return run->options->target_bytes;
    if (cap > store->options.max_size)
        gci_store_log(store, "%s: holds %llu bytes; the max-size of %llu given to this program doesn't shrink it: "
                             "`guardcache gc --target` does, and `guardcache config max-size`",
                      store->directory.name, (unsigned long long)bytes, (unsigned long long)store->options.max_size);
    return gci_low_watermark(cap);
}

/* By what a count says that is there now. */
static gcache_status
evict_down_to_target(struct collection *run)
{
    gci_recounted counted;
    gci_evicted evicted;

    gcache_status status = run->options->dry_run ? gci_count_files(run->store, &counted, run->error)
                                                 : gci_recount(run->store, &counted, run->error);
    uint64_t target = status == GCACHE_OK ? target_of(run, counted.bytes) : 0;
    if (status != GCACHE_OK || counted.bytes <= target)
        return status;
    if (run->options->dry_run) {
        gci_choice choice = { .limit = slice_of(run), .want = counted.bytes - target };
        bool any;
        return evict_chosen(run, &choice, NULL, &any);
    }
    bool over_cap = run->options->target_bytes == 0 && counted.bytes > gci_enforced_cap(run->store, counted.bytes);
    status = gci_evict_least_recent(run->store, counted.bytes - target, over_cap ? GCI_EVICTED_SIZE : GCI_EVICTED_GC, watch_of(run),
                                    &evicted, run->error);
    run->out->entries += evicted.entries;
    run->out->bytes += evicted.bytes;
    return status;
}

/* On a full disk draining fails; what rows don't know of yet is found by its files. */
static void
settle(gci_store *store, bool dry_run)
{
    if (!dry_run && gci_space_is_short(store)) {
        gci_overhead_shrink(store);
        return;
    }
    gci_drain(store, WAIT_NS, NULL);
    if (!dry_run)
        gci_index_truncate_wal(&store->index, WAIT_NS);
}

static gcache_status
collect(struct collection *run)
{
    gcache_gc_options const *options = run->options;
    gci_store *store = run->store;

    gci_flush_touches(store);
    run->out->stray = gci_strays_remove(store, options->dry_run);
    settle(store, options->dry_run);
    gcache_status status = options->namespace_ != NULL ? evict_namespace(run, options->namespace_) : GCACHE_OK;
    if (status == GCACHE_OK)
        status = options->max_age_ns != 0 ? evict_aged(run, options->max_age_ns, GCI_EVICTED_GC_AGE)
                                          : evict_aged(run, store->options.max_age_ns, GCI_EVICTED_AGE);
    gci_pools_compact(store);
    if (status == GCACHE_OK)
        status = evict_down_to_target(run);
    if (status == GCACHE_OK)
        status = gci_attachments_sweep(store, options->dry_run, &run->out->attachments, run->error);
    settle(store, options->dry_run);
    return status;
}

gcache_status
gci_store_gc(gci_store *store, gcache_gc_options const *options, gcache_collected *out_collected, gcache_error *error)
{
    struct collection run = { .store = store, .options = options, .out = out_collected, .error = error };
    gci_file lock;

    gci_store_enter(store);
    *out_collected = (gcache_collected)GCACHE_COLLECTED_INIT;
    if (store->read_only)
        return gci_store_check_writable(store, error);
    gcache_status status = gci_evictor_lock(store, WAIT_NS, &lock, error);
    if (status != GCACHE_OK)
        return status;
    status = collect(&run);
    gci_file_unlock_and_close(&lock);
    out_collected->left_bytes = gci_usage_bytes(store);
    return status;
}
