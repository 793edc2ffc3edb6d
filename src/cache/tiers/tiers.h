/*
 * The tiers of an open cache: opened with it, asked after the directory has missed, written to after it has stored.
 *
 * Threads: any. Fork: a child goes on with the tiers, but not with what its parent had on its way to them (upload.h).
 */
#ifndef GCI_CACHE_TIERS_TIERS_H
#define GCI_CACHE_TIERS_TIERS_H

#include "cache/handle/cache.h"
#include "tier/tier.h"
#include "tier/url.h"

#include <guardcache/maintenance.h>

typedef struct gci_uploads gci_uploads;

typedef struct gci_tiers {
    gci_tier *items[GCI_TIERS_MAX];
    size_t count;
    gci_uploads *uploads; /* NULL: nothing is stored, here or there */
    atomic_bool said_no_backend; /* the log has it (tuning/tier_rows.c) */
    struct gci_keeper *keeper; /* likewise: of leases */
    _Atomic uint64_t told[GCI_TIERS_MAX][GCACHE_TIER_COUNT_COUNT]; /* of their counts, that the journal knows of (account.h) */
    _Atomic uint64_t told_ns;  /* when it was told last */
    _Atomic uint32_t forks;    /* of the store, when that was known last */
} gci_tiers;

/* Opens what the options name. Nothing is connected to. The store is open. ERROR_ARGUMENT: what is wrong with a URL, or there are
   too many; ERROR_MEMORY. */
gcache_status gci_tiers_open(gcache *cache, gcache_options const *options, gcache_error *error);
/* Waits for uploads as long as the options say, and closes the tiers. The store is still open. */
void gci_tiers_close(gcache *cache);

/* For doctor: each tier is asked once whether it is there. */
void gci_tiers_report_facts(gcache *cache, gcache_fact_fn fn, void *state);
/* A gcache_tier_number_fn for those who only want to know whether a tier answers. */
void gci_tier_ignore_number(void *state, char const *name, uint64_t value);

/* A bit for each that is written to. */
unsigned gci_tiers_writable(gci_tiers const *tiers);

#endif
