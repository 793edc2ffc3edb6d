/*
 * SHA-256 and HMAC-SHA-256 (libcrypto) for what must be trusted, XXH3-128 for what may rot.
 *
 * A gci_digest is used by one thread at a time, for one hash after the other.
 */
#ifndef GCI_BASE_DIGEST_H
#define GCI_BASE_DIGEST_H

#include "base/buf.h"
#include "base/view.h"

#include <stdint.h>

#define GCI_SHA256_BYTES 32

typedef struct gci_digest gci_digest;

/* NULL: no memory. */
gci_digest *gci_digest_new(void);
void gci_digest_free(gci_digest *digest);

/* Begin, any number of updates, end. false: libcrypto failed; the rest may be skipped or not. */
bool gci_digest_begin(gci_digest *digest);
bool gci_digest_update(gci_digest *digest, void const *data, size_t size);
bool gci_digest_end(gci_digest *digest, uint8_t out_hash[GCI_SHA256_BYTES]);

/* The three in one. */
bool gci_digest_of(gci_digest *digest, gci_view bytes, uint8_t out_hash[GCI_SHA256_BYTES]);

/* Without a digest at hand. false: libcrypto or memory failed. */
bool gci_sha256(gci_view bytes, uint8_t out_hash[GCI_SHA256_BYTES]);

/* SHA-256 of what a buffer holds, which is cleared. false: libcrypto or the buffer failed. */
bool gci_digest_of_buf(gci_buf *buf, uint8_t out_hash[GCI_SHA256_BYTES]);

bool gci_hmac_sha256(gci_view key, gci_view bytes, uint8_t out_mac[GCI_SHA256_BYTES]);

typedef struct gci_checksum {
    uint64_t low, high;
} gci_checksum;

/* XXH3-128 with seed 0. */
gci_checksum gci_checksum_of(void const *data, size_t size);

/* XXH3-64, for hash tables. */
uint64_t gci_hash64(void const *data, size_t size, uint64_t seed);

/* What a name of up to GCI_SHORT_NAME bytes begins and ends with: beside its size, that is all of it. */
#define GCI_SHORT_NAME 16

typedef struct gci_ends {
    uint64_t first, last;
} gci_ends;

static inline gci_ends
gci_ends_of(gci_view name)
{
    gci_ends ends = { 0, 0 };

    if (name.size >= 8) {
        memcpy(&ends.first, name.data, 8);
        memcpy(&ends.last, name.data + name.size - 8, 8);
    } else if (name.size >= 4) {
        memcpy(&ends.first, name.data, 4);
        memcpy(&ends.last, name.data + name.size - 4, 4);
    } else {
        for (size_t i = 0; i < name.size; i++)
            ends.first = ends.first << 8 | (uint8_t)name.data[i];
    }
    return ends;
}

/* gci_view_equal without a call for short names, as most are. */
static inline bool
gci_name_equal(gci_view a, gci_view b)
{
    if (a.size != b.size || a.size > GCI_SHORT_NAME)
        return gci_view_equal(a, b);
    gci_ends x = gci_ends_of(a), y = gci_ends_of(b);
    return x.first == y.first && x.last == y.last;
}

/* The same for names, most of which are a few bytes, for which one multiplication does. Never leaves the process. */
static inline uint64_t
gci_hash_name(gci_view name)
{
    if (name.size > GCI_SHORT_NAME)
        return gci_hash64(name.data, name.size, 0);
    gci_ends ends = gci_ends_of(name);
    unsigned __int128 product = (unsigned __int128)(ends.first ^ UINT64_C(0x9E3779B97F4A7C15)) *
                                (ends.last ^ (name.size + UINT64_C(0xD6E8FEB86659FD93)));
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
}

/* One more number mixed into a hash that never leaves the process. */
static inline uint64_t
gci_mix(uint64_t a, uint64_t b)
{
    a ^= b + UINT64_C(0x9E3779B97F4A7C15) + (a << 6) + (a >> 2);
    a = (a ^ (a >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    a = (a ^ (a >> 27)) * UINT64_C(0x94D049BB133111EB);
    return a ^ (a >> 31);
}

/* 2*size hex digits and a terminating zero. */
void gci_hex(uint8_t const *bytes, size_t size, char *out_hex);

/* Reads 2*size hex digits of either case. */
bool gci_unhex(gci_view hex, uint8_t *out_bytes, size_t size);

#endif
