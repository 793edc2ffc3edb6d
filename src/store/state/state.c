/*
 * What all rooms above this one do with an open store: write lines to its log, count, enter it. The roof, which opens and closes
 * it, is store.c.
 */
#include "store/state/state.h"

#include "base/system/clock.h"
#include "base/visible.h"
#include "store/directory/layout.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void
gci_store_log(gci_store *store, char const *format, ...)
{
    char line[512];
    va_list arguments;

    if (store->options.log == NULL)
        return;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    gci_visible_make(line, sizeof line);
    store->options.log(store->options.log_state, line);
}

gcache_status
gci_store_check_place(gci_store const *store, gcache_error *error)
{
    return gci_dir_still_named(store->directory) ? GCACHE_OK : gci_layout_fail_gone(store->directory, error);
}

char const *
gci_store_network(gci_store *store)
{
    char const *network = atomic_load_explicit(&store->network, memory_order_relaxed);

    if (network == NULL) {
        network = gci_dir_network(store->directory);
        if (network == NULL)
            network = store->options.network ? "as if on a network" : "";
        atomic_store_explicit(&store->network, network, memory_order_relaxed);
    }
    return network[0] != '\0' ? network : NULL;
}

gcache_status
gci_store_check_writable(gci_store const *store, gcache_error *error)
{
    return store->read_only ? gci_fail(error, GCACHE_ERROR_READ_ONLY, "%s: the cache is read-only", store->directory.name)
                            : GCACHE_OK;
}

void
gci_store_count(gci_store *store, gci_store_counter counter, uint64_t more)
{
    atomic_fetch_add_explicit(&store->counts[counter], more, memory_order_relaxed);
}

uint64_t
gci_store_counted(gci_store const *store, gci_store_counter counter)
{
    return atomic_load(&store->shared.head->counters[counter]) + atomic_load(&store->counts[counter]);
}

/* Counts are gathered in the process, so that hits of many processes don't fight for one cache line. */
void
gci_store_flush_counts(gci_store *store)
{
    if (store->read_only)
        return;
    for (size_t i = 0; i < GCI_COUNT_COUNT; i++) {
        uint64_t count = atomic_exchange(&store->counts[i], 0);
        if (count != 0)
            atomic_fetch_add(&store->shared.head->counters[i], count);
    }
}

/* ---- trust ---- */

_Static_assert(GCI_SHARDS == 64 * sizeof((gci_store *)0)->trusted_shards / sizeof(uint64_t), "a bit a shard");

gci_dir
gci_trust_unsigned(gci_store *store)
{
    gci_dir dir = store->directory;

    dir.owners = &store->unsigned_owners;
    return dir;
}

gcache_status
gci_trust_key(gci_store *store, gcache_key const *key, gcache_error *error)
{
    _Atomic uint64_t *word = &store->trusted_shards[key->bytes[0] / 64];
    uint64_t bit = UINT64_C(1) << (key->bytes[0] % 64);

    if ((atomic_load_explicit(word, memory_order_relaxed) & bit) != 0)
        return GCACHE_OK;
    gcache_status status = gci_trust_folders(store->directory, gci_path_pack(key).text, error);
    if (status == GCACHE_OK)
        atomic_fetch_or(word, bit);
    return status;
}

/* ---- entering ---- */

/* Locks and connections of the parent are forgotten; what it counted and gathered, it will write itself. */
static void
after_fork(gci_store *store)
{
    atomic_store(&store->process, getpid());
    atomic_fetch_add(&store->forks, 1);
    gci_key_locks_after_fork(&store->locks);
    gci_segment_after_fork(&store->segment);
    gci_journal_after_fork(&store->journal);
    gci_index_after_fork(&store->index);
    gci_leases_after_fork(&store->leases);
    gci_usage_after_fork(store);
    gci_memory_after_fork(&store->memory);
    pthread_mutex_init(&store->touch_mutex, NULL);
    pthread_mutex_init(&store->warming, NULL);
    gci_buf_init(&store->touches, store->touches.limit);
    for (size_t i = 0; i < GCI_COUNT_COUNT; i++)
        atomic_store(&store->counts[i], 0);
}

/* Without a mark every call would have to ask for the process id; that is what a mark without a page does. */
static void
warm_up(gci_store *store)
{
    uint64_t now = gci_clock_coarse_ns();

    gci_fork_mark_open(&store->fork);
    if (gci_store_network(store) == NULL)
        gci_shared_map(&store->shared, store->directory, store->read_only);
    gci_memory_widen(&store->memory);
    if (!store->read_only && (gci_store_network(store) != NULL || !gci_layout_has_tag(store->directory)))
        gci_layout_complete(store->directory, NULL);
    atomic_store(&store->checked_ns, now);
    atomic_store(&store->touched_ns, now);
    atomic_store_explicit(&store->warm, true, memory_order_release);
}

/* Forked before anything was shared: only these may have been held by a thread that isn't there. */
void
gci_store_notice_process(gci_store *store)
{
    pid_t here = getpid();

    if (atomic_exchange(&store->process, here) == here)
        return;
    atomic_fetch_add(&store->forks, 1);
    pthread_mutex_init(&store->warming, NULL);
    pthread_mutex_init(&store->touch_mutex, NULL);
    gci_journal_after_fork(&store->journal);
}

static void
warm_up_once(gci_store *store)
{
    gci_store_notice_process(store);
    pthread_mutex_lock(&store->warming);
    if (!atomic_load(&store->warm))
        warm_up(store);
    pthread_mutex_unlock(&store->warming);
}

void
gci_store_enter_slowly(gci_store *store)
{
    if (!atomic_load_explicit(&store->warm, memory_order_acquire))
        warm_up_once(store);
    if (!gci_fork_mark_is_child(&store->fork))
        return;
    if (gci_fork_mark_begin(&store->fork)) {
        after_fork(store);
        gci_fork_mark_settle(&store->fork);
    }
}
