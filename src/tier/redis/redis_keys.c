/* What objects are called on a Redis server. */
#include "tier/redis/redis_keys.h"

#include "base/check.h"
#include "tier/redis/nodes.h"

#include <stdio.h>

#define MS_NS UINT64_C(1000000)
/* Redis adds it to its clock in milliseconds; a thousand years are for ever. */
#define TTL_MS_MAX UINT64_C(31536000000000)

static gci_redis_key
with_slot(gci_redis_key key)
{
    key.slot = gci_redis_slot(gci_view_text(key.text));
    return key;
}

gci_redis_key
gci_redis_key_of(char const *prefix, gcache_object const *object)
{
    char hex[GCACHE_KEY_HEX_SIZE];
    gci_redis_key key;

    gcache_key_to_hex(&object->key, hex);
    switch (object->kind) {
    case GCACHE_OBJECT_HEAD:
        snprintf(key.text, sizeof key.text, "%s:1:{%s}:h", prefix, hex);
        break;
    case GCACHE_OBJECT_DESCRIPTION:
        snprintf(key.text, sizeof key.text, "%s:1:{%s}:d", prefix, hex);
        break;
    case GCACHE_OBJECT_PAYLOAD:
        snprintf(key.text, sizeof key.text, "%s:1:{%s}:p:%s", prefix, hex, object->name);
        break;
    default:
        snprintf(key.text, sizeof key.text, "%s:1:%s:%s", prefix, object->kind == GCACHE_OBJECT_ATTACHMENT ? "a" : "v",
                 object->name);
        break;
    }
    return with_slot(key);
}

gci_redis_key
gci_redis_key_of_lease(char const *prefix, gcache_tier_lease const *lease, char letter)
{
    char hex[GCACHE_KEY_HEX_SIZE];
    gci_redis_key key;

    gcache_key_to_hex(&lease->key, hex);
    snprintf(key.text, sizeof key.text, "%s:1:{%s}:%c:%s", prefix, hex, letter, lease->name);
    return with_slot(key);
}

void
gci_redis_pattern(char const *prefix, char out_pattern[GCI_REDIS_PATTERN_SIZE])
{
    size_t at = 0;

    GCI_ASSERT(strlen(prefix) <= GCI_REDIS_PREFIX_MAX);
    for (; *prefix != '\0'; prefix++) {
        if (strchr("*?[]\\^", *prefix) != NULL)
            out_pattern[at++] = '\\';
        out_pattern[at++] = *prefix;
    }
    snprintf(out_pattern + at, GCI_REDIS_PATTERN_SIZE - at, ":1:{*}:h");
}

bool
gci_redis_key_read(char const *prefix, gci_view name, gcache_key *out_key)
{
    gcache_object head = { .kind = GCACHE_OBJECT_HEAD };
    size_t before = strlen(prefix) + strlen(":1:{");
    char hex[GCACHE_KEY_HEX_SIZE] = "";

    if (name.size != before + sizeof hex - 1 + strlen("}:h"))
        return false;
    memcpy(hex, name.data + before, sizeof hex - 1);
    if (memchr(hex, 0, sizeof hex - 1) != NULL || gcache_key_from_hex(hex, &head.key, NULL) != GCACHE_OK)
        return false;
    *out_key = head.key;
    gci_redis_key again = gci_redis_key_of(prefix, &head);
    return gci_view_is(name, again.text);
}

uint64_t
gci_redis_ttl_ms(uint64_t ttl_ns)
{
    uint64_t ms = ttl_ns / MS_NS + (ttl_ns % MS_NS != 0);

    return ms < TTL_MS_MAX ? ms : TTL_MS_MAX;
}

bool
gci_redis_is_name(gci_view name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (gci_hex_digit(name.data[i]) < 0 || (name.data[i] >= 'A' && name.data[i] <= 'F'))
            return false;
    }
    return name.size >= 1 && name.size < GCACHE_OBJECT_NAME_SIZE;
}
