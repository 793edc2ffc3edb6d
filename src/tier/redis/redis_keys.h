/*
 * What objects are called on a Redis server (docs/formats/remote.md), and times to live as its commands take them.
 */
#ifndef GCI_TIER_REDIS_REDIS_KEYS_H
#define GCI_TIER_REDIS_REDIS_KEYS_H

#include "tier/redis/redis.h"
#include "tier/redis/wire/resp.h"

/* Longer prefixes are refused. */
#define GCI_REDIS_PREFIX_MAX 128
/* PREFIX ":1:{" 64 digits "}:p:" 64 digits, and a zero. */
#define GCI_REDIS_KEY_SIZE (GCI_REDIS_PREFIX_MAX + 4 + 64 + 4 + 64 + 1)

typedef struct gci_redis_key {
    char text[GCI_REDIS_KEY_SIZE];
    unsigned slot;
} gci_redis_key;

/* Of an object; all heads of a key are in one. */
gci_redis_key gci_redis_key_of(char const *prefix, gcache_object const *object);
/* letter 'l': of the lease; 'f': of its tokens. */
gci_redis_key gci_redis_key_of_lease(char const *prefix, gcache_tier_lease const *lease, char letter);

/* What SCAN is to match: the heads of all keys. */
#define GCI_REDIS_PATTERN_SIZE (2 * GCI_REDIS_PREFIX_MAX + 16)
void gci_redis_pattern(char const *prefix, char out_pattern[GCI_REDIS_PATTERN_SIZE]);
/* Which key the heads under a name belong to. false: it is no name of heads. */
bool gci_redis_key_read(char const *prefix, gci_view name, gcache_key *out_key);

/* Milliseconds, at least 1; 0 for 0, which is for ever. */
uint64_t gci_redis_ttl_ms(uint64_t ttl_ns);

/* Whether it is 1 to 64 lower-case hex digits. */
bool gci_redis_is_name(gci_view name);

#endif
