/*
 * Leases of a tier in memory. Whoever calls has the tier's lock. A lease that ended leaves its latest token behind, so that
 * tokens grow for as long as the tier lives.
 */
#ifndef GCI_TIER_MEMORY_LEASES_H
#define GCI_TIER_MEMORY_LEASES_H

#include <guardcache/tier.h>

typedef struct gci_memory_lease {
    struct gci_memory_lease *next;
    gcache_tier_lease of;   /* its holder, and the token given out last */
    uint64_t expires_ns;    /* by the steady clock; 0: nobody has it */
} gci_memory_lease;

typedef struct gci_memory_leases {
    gci_memory_lease *first;
    uint64_t count;
} gci_memory_leases;

void gci_memory_leases_clear(gci_memory_leases *leases);

/* TROUBLE: no memory. Who has it already gets it again, with its token. */
gcache_tier_answer gci_memory_leases_take(gci_memory_leases *leases, gcache_tier_lease *lease, uint64_t now);
gcache_tier_answer gci_memory_leases_keep(gci_memory_leases *leases, gcache_tier_lease const *lease, uint64_t now);
gcache_tier_answer gci_memory_leases_release(gci_memory_leases *leases, gcache_tier_lease const *lease, uint64_t now);

/* Whether somebody got a larger token: whether he still has it doesn't matter, he may have published since. fence NULL: no. */
bool gci_memory_leases_fence(gci_memory_leases const *leases, gcache_tier_lease const *fence);

#endif
