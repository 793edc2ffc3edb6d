/*
 * The functions of the tier, as gcache_tier_functions has them.
 */
#ifndef GCI_TIER_REDIS_REDIS_CALLS_H
#define GCI_TIER_REDIS_REDIS_CALLS_H

#include <guardcache/tier.h>

/* redis_read.c */
gcache_tier_answer gci_redis_list(void *tier, gcache_tier_call *call, gcache_key const *key, gcache_object_fn each, void *state);
gcache_tier_answer gci_redis_fetch(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count,
                                   gcache_object_fn each, void *state);

/* redis_write.c */
gcache_tier_answer gci_redis_publish(void *tier, gcache_tier_call *call, gcache_object const *objects, size_t count);
gcache_tier_answer gci_redis_touch(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count);
gcache_tier_answer gci_redis_remove(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count);
gcache_tier_answer gci_redis_share(void *tier, gcache_tier_call *call, gcache_object const *value, gcache_object_fn each,
                                   void *state);

/* redis_leases.c */
gcache_tier_answer gci_redis_lease(void *tier, gcache_tier_call *call, gcache_tier_lease *lease);
gcache_tier_answer gci_redis_keep(void *tier, gcache_tier_call *call, gcache_tier_lease const *lease);
gcache_tier_answer gci_redis_release(void *tier, gcache_tier_call *call, gcache_tier_lease const *lease);

/* redis_overview.c */
gcache_tier_answer gci_redis_walk(void *tier, gcache_tier_call *call, char cursor[GCACHE_TIER_CURSOR_SIZE],
                                  gcache_tier_key_fn each, void *state);
gcache_tier_answer gci_redis_statistics(void *tier, gcache_tier_call *call, gcache_tier_number_fn each, void *state);

#endif
