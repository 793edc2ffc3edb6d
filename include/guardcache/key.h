/*
 * guardcache/key.h - the key of a description: a SHA-256 value.
 *
 * The key is a Merkle hash: SHA-256 over the domain tag "guardcache-key", the format version, the kind, the hash of
 * the rule set, the namespace and every component's name and hash, each length-prefixed (docs/formats/canonical.md).
 *
 * Threads: pure functions.
 */
#ifndef GUARDCACHE_KEY_H
#define GUARDCACHE_KEY_H

#include <guardcache/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GCACHE_KEY_BYTES 32
#define GCACHE_KEY_HEX_SIZE 65 /* 64 digits and the terminating zero */

typedef struct gcache_key {
    uint8_t bytes[GCACHE_KEY_BYTES];
} gcache_key;

/* Writes the key as 64 lower-case hex digits and a terminating zero. */
GCACHE_API void gcache_key_to_hex(gcache_key const *key, char out_hex[GCACHE_KEY_HEX_SIZE]);

/* Reads exactly 64 hex digits of either case. GCACHE_OK or GCACHE_ERROR_SYNTAX; *out_key is untouched on error. */
GCACHE_API gcache_status gcache_key_from_hex(char const *hex, gcache_key *out_key, gcache_error *error);

#ifdef __cplusplus
}
#endif
#endif
