/* Leases in a list: a test has a handful. */
#include "tier/memory/leases.h"

#include <stdlib.h>
#include <string.h>

static gci_memory_lease *
find(gci_memory_leases const *leases, gcache_tier_lease const *like)
{
    gci_memory_lease *lease = leases->first;

    while (lease != NULL && (memcmp(&lease->of.key, &like->key, sizeof like->key) != 0 ||
                             strcmp(lease->of.name, like->name) != 0))
        lease = lease->next;
    return lease;
}

static gci_memory_lease *
add(gci_memory_leases *leases, gcache_tier_lease const *like)
{
    gci_memory_lease *lease = calloc(1, sizeof *lease);

    if (lease == NULL)
        return NULL;
    lease->of = *like;
    lease->of.token = 0;
    lease->next = leases->first;
    leases->first = lease;
    leases->count++;
    return lease;
}

void
gci_memory_leases_clear(gci_memory_leases *leases)
{
    while (leases->first != NULL) {
        gci_memory_lease *lease = leases->first;
        leases->first = lease->next;
        free(lease);
    }
}

static uint64_t
end_of(uint64_t now, uint64_t ttl_ns)
{
    return ttl_ns < UINT64_MAX - now ? now + ttl_ns : UINT64_MAX;
}

gcache_tier_answer
gci_memory_leases_take(gci_memory_leases *leases, gcache_tier_lease *lease, uint64_t now)
{
    gci_memory_lease *place = find(leases, lease);
    bool held = place != NULL && place->expires_ns > now, ours = held && strcmp(place->of.holder, lease->holder) == 0;

    if (held && !ours)
        return GCACHE_TIER_MISS;
    if (place == NULL)
        place = add(leases, lease);
    if (place == NULL)
        return GCACHE_TIER_TROUBLE;
    memcpy(place->of.holder, lease->holder, sizeof place->of.holder);
    place->of.token += !ours;
    place->expires_ns = end_of(now, lease->ttl_ns);
    lease->token = place->of.token;
    return GCACHE_TIER_HIT;
}

/* NULL: it is lost. */
static gci_memory_lease *
find_ours(gci_memory_leases *leases, gcache_tier_lease const *lease, uint64_t now)
{
    gci_memory_lease *place = find(leases, lease);
    bool ours = place != NULL && place->expires_ns > now && place->of.token == lease->token &&
                strcmp(place->of.holder, lease->holder) == 0;

    return ours ? place : NULL;
}

gcache_tier_answer
gci_memory_leases_keep(gci_memory_leases *leases, gcache_tier_lease const *lease, uint64_t now)
{
    gci_memory_lease *place = find_ours(leases, lease, now);

    if (place == NULL)
        return GCACHE_TIER_MISS;
    place->expires_ns = end_of(now, lease->ttl_ns);
    return GCACHE_TIER_HIT;
}

gcache_tier_answer
gci_memory_leases_release(gci_memory_leases *leases, gcache_tier_lease const *lease, uint64_t now)
{
    gci_memory_lease *place = find_ours(leases, lease, now);

    if (place == NULL)
        return GCACHE_TIER_MISS;
    place->expires_ns = 0;
    return GCACHE_TIER_HIT;
}

bool
gci_memory_leases_fence(gci_memory_leases const *leases, gcache_tier_lease const *fence)
{
    gci_memory_lease *place = fence != NULL ? find(leases, fence) : NULL;

    return place != NULL && place->of.token > fence->token;
}
