/*
 * Leases of a whole fleet: of all hosts that share a tier, one compiles and the others wait.
 *
 * A lease runs out by itself when its holder hasn't been heard of for the tier's lease_ns (10 s): whoever dies or is cut off is
 * followed by another. So a holder must be heard of while it compiles: a thread keeps all leases of a handle. One who is stopped
 * and goes on when another leads already can't publish over him: publishing names the lease's token, and the tier compares it
 * with the latest (Kleppmann, "How to do distributed locking", 2016).
 *
 * Threads: any. Fork: a child has none of its parent's leases, and gives none back.
 */
#ifndef GCI_CACHE_TIERS_FLEET_LEASE_H
#define GCI_CACHE_TIERS_FLEET_LEASE_H

#include "cache/tiers/tiers.h"

typedef struct gci_keeper gci_keeper;
typedef struct gci_fleet_lease gci_fleet_lease;

gci_keeper *gci_keeper_new(void);
/* All leases were released. NULL is accepted. */
void gci_keeper_free(gci_keeper *keeper);

/*
 * Takes the lease called name (any bytes), which belongs to the key, of the first tier that has leases. HIT: it is ours; MISS:
 * somebody else has it; TROUBLE: there is no such tier, or it is in trouble: nobody is waited for.
 */
gcache_tier_answer gci_fleet_lease_take(gcache *cache, gcache_key const *key, gci_view name, gci_fleet_lease **out_lease);
/* NULL is accepted. By any thread. */
void gci_fleet_lease_release(gci_fleet_lease *lease);

/* What publishing to the lease's tier, which is returned, has to name: then and later. */
gci_tier const *gci_fleet_lease_fence(gci_fleet_lease const *lease, gcache_tier_lease *out_fence);

#endif
