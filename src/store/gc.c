#include "base/clock.h"
#include "store/attach.h"
#include "store/drain.h"
#include "store/evict.h"
#include "store/touch.h"
#include "store/verify.h"
#include "store/victims.h"

#include <stdio.h>

#define WAIT_NS UINT64_C(10000000000)
#define SLICE 512

bool
gci_is_old(struct stat const *facts)
{
    uint64_t changed = (uint64_t)facts->st_mtim.tv_sec * 1000000000u + (uint64_t)facts->st_mtim.tv_nsec;
    uint64_t now = gci_clock_wall_ns();

    return now > changed && now - changed > GCI_OLD_NS;
}

/* ---- left-over temporary files ---- */

struct strays {
    gci_store *store;
    char const *folder;
    bool dry;
    uint64_t count;
};

static int
remove_stray(void *state, char const *name)
{
    struct strays *strays = state;
    struct stat facts;
    char path[300];

    snprintf(path, sizeof path, "%s/%.255s", strays->folder, name);
    if (gci_dir_stat(strays->store->directory, path, &facts, NULL) != GCACHE_OK || !gci_is_old(&facts))
        return 0;
    if (strays->dry || gci_dir_unlink(strays->store->directory, path, NULL) == GCACHE_OK)
        strays->count++;
    return 0;
}

/* Leases that nobody holds any more lie beside those that somebody does: an old file's holder has long gone. */
static uint64_t
remove_strays(gci_store *store, bool dry)
{
    struct strays strays = { .store = store, .folder = "tmp", .dry = dry };

    gci_dir_each(store->directory, "tmp", remove_stray, &strays, NULL);
    return strays.count;
}

/* ---- evicting ---- */

struct collection {
    gci_store *store;
    gci_gc_options const *options;
    gci_collected *out;
    gcache_error *error;
};

static void
name_victims(struct collection *run, gci_victims const *victims)
{
    for (size_t i = 0; i < victims->count; i++) {
        gci_victim const *going = &victims->items[i];
        if (run->options->victim != NULL)
            run->options->victim(run->options->state, &going->key, going->id, going->bytes);
        if (run->options->dry_run) {
            run->out->evicted++;
            run->out->bytes += going->bytes;
        }
    }
}

/* Evicts what is chosen; *out_any tells whether it is worth choosing again. */
static gcache_status
evict_chosen(struct collection *run, gci_choice const *choice, int cause, bool *out_any)
{
    uint64_t before = run->out->evicted;
    gci_victims victims = { 0 };

    gcache_status status = gci_victims_choose(run->store, choice, &victims, run->error);
    if (status == GCACHE_OK)
        name_victims(run, &victims);
    if (status == GCACHE_OK && !run->options->dry_run) {
        status = gci_evict(run->store, victims.items, victims.count, cause, &run->out->evicted, &run->out->bytes,
                           run->error);
        if (status == GCACHE_OK)
            status = gci_drain(run->store, WAIT_NS, run->error);
    }
    *out_any = status == GCACHE_OK && run->out->evicted > before && !run->options->dry_run;
    gci_victims_clear(&victims);
    return status;
}

/* A dry run asks once, for everything; else slice follows slice. */
static size_t
slice_of(struct collection const *run)
{
    return run->options->dry_run ? (size_t)INT32_MAX : SLICE;
}

static gcache_status
evict_space(struct collection *run, char const *space)
{
    gci_choice choice = { .of = GCI_OF_SPACE, .space = space, .limit = slice_of(run), .want = UINT64_MAX };
    gcache_status status = GCACHE_OK;

    for (bool any = true; any;)
        status = evict_chosen(run, &choice, GCI_EVICTED_BY_HAND, &any);
    return status;
}

static gcache_status
evict_aged(struct collection *run, uint64_t max_age_ns)
{
    uint64_t now = gci_clock_wall_ns();
    gci_choice choice = { .of = GCI_UNUSED_SINCE, .since_ns = now - max_age_ns, .limit = slice_of(run),
                          .want = UINT64_MAX };
    gcache_status status = GCACHE_OK;

    for (bool any = max_age_ns != 0 && max_age_ns < now; any;)
        status = evict_chosen(run, &choice, GCI_EVICTED_AGE, &any);
    return status;
}

static gcache_status
evict_down_to(struct collection *run, uint64_t target)
{
    _Atomic uint64_t *bytes = &run->store->shared.head->bytes;
    gci_choice choice = { .limit = slice_of(run) };
    gcache_status status = GCACHE_OK;
    uint64_t now;

    /* Read once: others evict as well. */
    for (bool any = true; any && (now = atomic_load(bytes)) > target;) {
        choice.want = now - target;
        status = evict_chosen(run, &choice, GCI_EVICTED_SIZE, &any);
    }
    return status;
}

static gcache_status
collect(struct collection *run)
{
    gci_gc_options const *options = run->options;
    gci_store *store = run->store;
    uint64_t cap = store->options.max_bytes;
    uint64_t target = options->target_bytes != 0 ? options->target_bytes : cap == UINT64_MAX ? cap : cap - cap / 10;

    gci_flush_touches(store);
    gcache_status status = gci_drain(store, WAIT_NS, run->error);
    if (status == GCACHE_OK)
        gci_recount(store);
    if (status == GCACHE_OK && options->space != NULL)
        status = evict_space(run, options->space);
    if (status == GCACHE_OK)
        status = evict_aged(run, options->max_age_ns != 0 ? options->max_age_ns : store->options.max_age_ns);
    if (status == GCACHE_OK)
        status = evict_down_to(run, target);
    if (status == GCACHE_OK)
        status = gci_attachments_sweep(store, options->dry_run, &run->out->attachments, run->error);
    if (status == GCACHE_OK)
        run->out->stray = remove_strays(store, options->dry_run);
    return status;
}

gcache_status
gci_store_gc(gci_store *store, gci_gc_options const *options, gci_collected *out_collected, gcache_error *error)
{
    struct collection run = { .store = store, .options = options, .out = out_collected, .error = error };
    gci_file lock;

    gci_store_enter(store);
    *out_collected = (gci_collected){ 0 };
    if (store->read_only)
        return gci_fail(error, GCACHE_ERROR_READ_ONLY, "%s: the cache is read-only", store->directory.name);
    gcache_status status = gci_evictor_lock(store, WAIT_NS, &lock, error);
    if (status != GCACHE_OK)
        return status;
    status = collect(&run);
    gci_file_close(&lock);
    out_collected->left_bytes = atomic_load(&store->shared.head->bytes);
    return status;
}
