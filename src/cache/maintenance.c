/*
 * Statistics, verify, repair, gc and doctor: the store's work behind the gate, and config.json beside it.
 */
#include <guardcache/maintenance.h>

#include "base/check.h"
#include "cache/handle/cache.h"
#include "cache/settings/config_file.h"
#include "cache/tiers/tiers.h"
#include "store/publish/side.h"

/* *options becomes the defaults if it is NULL. */
static gcache_status
check_options(gcache *cache, gcache_maintenance_options const **options, gcache_error *error)
{
    static gcache_maintenance_options const defaults = GCACHE_MAINTENANCE_OPTIONS_INIT;

    if (*options == NULL)
        *options = &defaults;
    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    GCI_REQUIRE_INIT(*options, error);
    GCI_REQUIRE((*options)->threads >= 0, error, "%d threads", (*options)->threads);
    return gci_pass(&cache->gate, NULL, GCI_BROWSE, error);
}

/* Looks at the settings, which are no part of the store. Returns how many problems there are: 0 or 1. */
static uint64_t
check_config(gcache *cache, gcache_maintenance_options const *options, bool mend, uint64_t *out_aside)
{
    gcache_error what = { .message = "" }, text = { .message = "" };
    bool aside;

    *out_aside = 0;
    if (gci_config_check(gci_side_directory(cache->store), mend, &aside, &what))
        return 0;
    gci_fail(&text, what.status, "its settings don't count: %s%s", what.message, aside ? ": put aside" : "");
    if (options->problem != NULL)
        options->problem(options->state, GCI_CONFIG_NAME, text.message);
    *out_aside = aside;
    return 1;
}

gcache_status
gcache_verify(gcache *cache, gcache_maintenance_options const *options, gcache_verified *out_verified, gcache_error *error)
{
    gcache_verified unused = GCACHE_VERIFIED_INIT;
    uint64_t aside;

    GCI_REQUIRE_INIT(out_verified, error);
    if (out_verified == NULL)
        out_verified = &unused;
    *out_verified = (gcache_verified)GCACHE_VERIFIED_INIT;
    gcache_status status = check_options(cache, &options, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_store_verify(cache->store, options, out_verified, error);
    out_verified->problems += check_config(cache, options, false, &aside);
    return status;
}

gcache_status
gcache_repair(gcache *cache, gcache_maintenance_options const *options, gcache_repaired *out_repaired, gcache_error *error)
{
    gcache_repaired unused = GCACHE_REPAIRED_INIT;
    uint64_t aside;

    GCI_REQUIRE_INIT(out_repaired, error);
    if (out_repaired == NULL)
        out_repaired = &unused;
    *out_repaired = (gcache_repaired)GCACHE_REPAIRED_INIT;
    gcache_status status = check_options(cache, &options, error);
    if (status == GCACHE_OK)
        status = gci_store_repair(cache->store, options, out_repaired, error);
    if (status == GCACHE_OK) {
        check_config(cache, options, true, &aside);
        out_repaired->quarantined += aside;
    }
    return status;
}

gcache_status
gcache_gc(gcache *cache, gcache_gc_options const *options, gcache_collected *out_collected, gcache_error *error)
{
    static gcache_gc_options const defaults = GCACHE_GC_OPTIONS_INIT;
    gcache_collected unused = GCACHE_COLLECTED_INIT;

    GCI_REQUIRE(cache != NULL, error, "cache is NULL");
    if (options == NULL)
        options = &defaults;
    GCI_REQUIRE_INIT(options, error);
    GCI_REQUIRE_INIT(out_collected, error);
    if (out_collected == NULL)
        out_collected = &unused;
    *out_collected = (gcache_collected)GCACHE_COLLECTED_INIT;
    gcache_status status = gci_pass(&cache->gate, NULL, GCI_BROWSE, error);
    return status == GCACHE_OK ? gci_store_gc(cache->store, options, out_collected, error) : status;
}

gcache_status
gcache_doctor(gcache *cache, gcache_fact_fn fn, void *state, gcache_error *error)
{
    gcache_error what = { .message = "" };
    bool aside;

    GCI_REQUIRE(cache != NULL && fn != NULL, error, "cache or fn is NULL");
    if (!gci_is_open(&cache->gate, GCI_BROWSE)) {
        fn(state, "cache", "switched off", NULL);
        return GCACHE_OK;
    }
    gci_store_facts(cache->store, fn, state);
    gci_tiers_report_facts(cache, fn, state);
    if (!gci_config_check(gci_side_directory(cache->store), false, &aside, &what))
        fn(state, GCI_CONFIG_NAME, what.message, "its settings don't count: guardcache repair puts it aside");
    return GCACHE_OK;
}
