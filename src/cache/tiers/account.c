/* Counts of tiers on their way to the journal, and their changes to log and listener: see account.h. */
#include "cache/tiers/account.h"

#include "base/system/clock.h"
#include "cache/journal/events.h"
#include "cache/journal/journal_writer.h"

/* What is new, which is told from now on. */
static uint64_t
take(_Atomic uint64_t *count, _Atomic uint64_t *told)
{
    uint64_t now, then = atomic_load(told);

    do {
        now = atomic_load(count);
        if (now <= then)
            return 0;
    } while (!atomic_compare_exchange_weak(told, &then, now));
    return now - then;
}

static bool
take_all(gci_tiers *tiers, size_t tier, uint64_t out_new[GCACHE_TIER_COUNT_COUNT])
{
    bool any = false;

    for (size_t i = 0; i < GCACHE_TIER_COUNT_COUNT; i++) {
        out_new[i] = take(&tiers->items[tier]->counts[i], &tiers->told[tier][i]);
        any |= out_new[i] != 0;
    }
    return any;
}

static void
write_all(gcache *cache)
{
    uint64_t counts[GCACHE_TIER_COUNT_COUNT];

    for (size_t i = 0; cache->journal && i < cache->tiers->count; i++) {
        if (take_all(cache->tiers, i, counts))
            gci_journal_tier(cache, cache->tiers->items[i]->shown, counts);
    }
}

void
gci_account_begin(gcache *cache)
{
    gci_tiers *tiers = cache->tiers;
    uint32_t forks = gci_store_forks(cache->store);
    uint64_t counts[GCACHE_TIER_COUNT_COUNT];

    if (atomic_load_explicit(&tiers->forks, memory_order_relaxed) == forks || atomic_exchange(&tiers->forks, forks) == forks)
        return;
    for (size_t i = 0; i < tiers->count; i++)
        take_all(tiers, i, counts);
}

void
gci_account_go_on(gcache *cache)
{
    gci_tiers *tiers = cache->tiers;
    uint64_t now = gci_clock_steady_ns(), last = atomic_load_explicit(&tiers->told_ns, memory_order_relaxed);

    if (now - last >= GCI_ACCOUNT_EACH_NS && atomic_compare_exchange_strong(&tiers->told_ns, &last, now))
        write_all(cache);
}

void
gci_account_end(gcache *cache)
{
    gci_account_begin(cache);
    write_all(cache);
}

void
gci_account_changed(void *state, char const *line)
{
    gcache *cache = state;
    gcache_event event = { .kind = GCACHE_EVENT_TIER, .text = line };

    if (cache->options.log != NULL)
        cache->options.log(cache->options.log_state, line);
    gci_report_event(cache, &event);
}
