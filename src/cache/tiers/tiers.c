/* Opening and closing the tiers of a cache. */
#include "cache/tiers/tiers.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "cache/tiers/account.h"
#include "cache/tiers/fleet_lease.h"
#include "cache/tiers/upload.h"
#include "tier/url.h"

#include <stdlib.h>

static gcache_status
add(gci_tiers *tiers, gcache_status opened, gci_tier *tier, gcache_error *error)
{
    if (opened != GCACHE_OK)
        return opened;
    if (tiers->count == GCI_TIERS_MAX) {
        gci_tier_free(tier);
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "more than %d tiers: each may cost a lookup its time-out", GCI_TIERS_MAX);
    }
    tiers->items[tiers->count++] = tier;
    return GCACHE_OK;
}

static gcache_status
open_all(gci_tiers *tiers, gcache_options const *options, gcache_error *error)
{
    gci_view rest = gci_view_text(options->tiers), url;
    gcache_status status = gci_tier_urls_check(rest, error);
    gci_tier *tier;

    while (status == GCACHE_OK && gci_tier_url_next(&rest, &url)) {
        status = gci_tier_open(url, options->trust, &tier, error);
        status = add(tiers, status, tier, error);
    }
    for (size_t i = 0; status == GCACHE_OK && i < options->user_tier_count; i++) {
        status = gci_tier_adopt(&options->user_tiers[i], &tier, error);
        status = add(tiers, status, tier, error);
    }
    return status;
}

unsigned
gci_tiers_writable(gci_tiers const *tiers)
{
    unsigned writable = 0;

    for (size_t i = 0; i < tiers->count; i++)
        writable |= tiers->items[i]->read_only ? 0 : 1U << i;
    return writable;
}

static void
listen(gcache *cache)
{
    gci_tiers *tiers = cache->tiers;

    tiers->told_ns = gci_clock_steady_ns();
    tiers->forks = gci_store_forks(cache->store);
    for (size_t i = 0; i < tiers->count; i++) {
        tiers->items[i]->changed = gci_account_changed;
        tiers->items[i]->changed_state = cache;
    }
}

gcache_status
gci_tiers_open(gcache *cache, gcache_options const *options, gcache_error *error)
{
    gci_view rest = gci_view_text(options->tiers), url;

    if (cache->store == NULL || (options->user_tier_count == 0 && !gci_tier_url_next(&rest, &url)))
        return GCACHE_OK;
    cache->tiers = calloc(1, sizeof *cache->tiers);
    if (cache->tiers == NULL)
        return gci_fail_memory(error);
    gcache_status status = open_all(cache->tiers, options, error);
    listen(cache);
    if (status != GCACHE_OK || !gci_is_open(&cache->gate, GCI_STORE))
        return status;
    cache->tiers->uploads = gci_uploads_new(cache);
    cache->tiers->keeper = gci_keeper_new();
    return cache->tiers->uploads != NULL && cache->tiers->keeper != NULL ? GCACHE_OK : gci_fail_memory(error);
}

void
gci_tiers_close(gcache *cache)
{
    gci_tiers *tiers = cache->tiers;
    uint64_t wait_ns = cache->options.flush_ns != 0 ? cache->options.flush_ns : GCACHE_FLUSH_DEFAULT_NS;

    if (tiers == NULL)
        return;
    gci_uploads_free(tiers->uploads, wait_ns);
    gci_keeper_free(tiers->keeper);
    gci_account_end(cache);
    for (size_t i = 0; i < tiers->count; i++)
        gci_tier_free(tiers->items[i]);
    free(tiers);
    cache->tiers = NULL;
}
