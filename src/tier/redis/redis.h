/*
 * The tier on a Redis server, or a cluster of them (docs/formats/remote.md: what its keys are called).
 *
 * Needs Redis 5 or later: the scripts ask for the time before they write. What its user has to be permitted: get, set, hget,
 * hset, hgetall, hdel, exists, unlink, del, pexpire, pttl, persist, eval; time, so that tokens grow even if one is forgotten;
 * scan, for walking; info and ping, for statistics; of a cluster: cluster|slots.
 *
 * Threads: any number; each call uses a connection of its own. Nothing is locked, so a fork at any moment leaves nothing locked.
 * Only names are resolved by threads of the tier's own (wire/resolve.h).
 * Processes: a child closes the connections of its parent, but not those of calls beyond GCI_IDLE_SLOTS that were under way at
 * the fork, nor one that was just being made.
 */
#ifndef GCI_TIER_REDIS_REDIS_H
#define GCI_TIER_REDIS_REDIS_H

#include "tier/redis/wire/redis_options.h"

#include <guardcache/tier.h>

/* Texts are copied. Doesn't connect. GCACHE_OK, ERROR_MEMORY, ERROR_ARGUMENT. */
gcache_status gci_redis_open(gci_redis_options const *options, gcache_tier_functions const **out_functions, void **out_tier,
                             gcache_error *error);

#endif
