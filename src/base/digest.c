/*
 * Hashes: SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104) from libcrypto, XXH3 from xxHash; hashes and keys in hex.
 */
#include "base/digest.h"

#include "base/check.h"

#include <guardcache/graph.h>

#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>
/*
 * OpenSSL's own SHA-256, not the one behind EVP: that reads the machine's configuration file and loads a provider when it is
 * first used, which takes a fresh process a hundred times as long as its first lookup, and leaves state in the host program.
 * The code that hashes is the same. OpenSSL 3 calls these functions deprecated.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/sha.h>

struct gci_digest {
    SHA256_CTX context;
};

gci_digest *
gci_digest_new(void)
{
    return calloc(1, sizeof(gci_digest));
}

void
gci_digest_free(gci_digest *digest)
{
    free(digest);
}

bool
gci_digest_begin(gci_digest *digest)
{
    return SHA256_Init(&digest->context) == 1;
}

bool
gci_digest_update(gci_digest *digest, void const *data, size_t size)
{
    return size == 0 || SHA256_Update(&digest->context, data, size) == 1;
}

bool
gci_digest_end(gci_digest *digest, uint8_t out_hash[GCI_SHA256_BYTES])
{
    return SHA256_Final(out_hash, &digest->context) == 1;
}

bool
gci_digest_of(gci_digest *digest, gci_view bytes, uint8_t out_hash[GCI_SHA256_BYTES])
{
    return gci_digest_begin(digest) && gci_digest_update(digest, bytes.data, bytes.size) &&
           gci_digest_end(digest, out_hash);
}

/* Half of RFC 2104: the hash of a padded key, xored with `pad`, and bytes. */
static bool
hash_keyed(uint8_t const key[SHA256_CBLOCK], uint8_t pad, gci_view bytes, uint8_t out_hash[GCI_SHA256_BYTES])
{
    uint8_t block[SHA256_CBLOCK];
    gci_digest digest;

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = key[i] ^ pad;
    bool hashed = gci_digest_begin(&digest) && gci_digest_update(&digest, block, sizeof block) &&
                  gci_digest_update(&digest, bytes.data, bytes.size) && gci_digest_end(&digest, out_hash);
    OPENSSL_cleanse(block, sizeof block);
    OPENSSL_cleanse(&digest, sizeof digest);
    return hashed;
}

bool
gci_sha256(gci_view bytes, uint8_t out_hash[GCI_SHA256_BYTES])
{
    gci_digest *digest = gci_digest_new();
    bool hashed = digest != NULL && gci_digest_of(digest, bytes, out_hash);

    gci_digest_free(digest);
    return hashed;
}

bool
gci_digest_of_buf(gci_buf *buf, uint8_t out_hash[GCI_SHA256_BYTES])
{
    bool hashed = !buf->failed && gci_sha256(gci_buf_view(buf), out_hash);

    gci_buf_clear(buf);
    return hashed;
}

bool
gci_hmac_sha256(gci_view key, gci_view bytes, uint8_t out_mac[GCI_SHA256_BYTES])
{
    uint8_t padded[SHA256_CBLOCK] = { 0 }, inner[GCI_SHA256_BYTES];
    gci_digest digest;
    bool good = true;

    if (key.size > sizeof padded)
        good = gci_digest_of(&digest, key, padded);
    else if (key.size != 0)
        memcpy(padded, key.data, key.size);
    good = good && hash_keyed(padded, 0x36, bytes, inner) &&
           hash_keyed(padded, 0x5c, gci_view_of(inner, sizeof inner), out_mac);
    OPENSSL_cleanse(padded, sizeof padded);
    return good;
}

gci_checksum
gci_checksum_of(void const *data, size_t size)
{
    XXH128_hash_t hash = XXH3_128bits(data, size);

    return (gci_checksum){ .low = hash.low64, .high = hash.high64 };
}

uint64_t
gci_hash64(void const *data, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(data, size, seed);
}

void
gci_hex(uint8_t const *bytes, size_t size, char *out_hex)
{
    static char const digits[] = "0123456789abcdef";

    for (size_t i = 0; i < size; i++) {
        out_hex[2 * i] = digits[bytes[i] >> 4];
        out_hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    out_hex[2 * size] = '\0';
}

/* Without a branch, since ids are read and written by the dozen: a digit's value, and this bit that it is one. */
#define DIGIT 0x10u

static uint8_t const digit_of[256] = {
    ['0'] = 0x10, ['1'] = 0x11, ['2'] = 0x12, ['3'] = 0x13, ['4'] = 0x14, ['5'] = 0x15, ['6'] = 0x16, ['7'] = 0x17,
    ['8'] = 0x18, ['9'] = 0x19, ['a'] = 0x1a, ['b'] = 0x1b, ['c'] = 0x1c, ['d'] = 0x1d, ['e'] = 0x1e, ['f'] = 0x1f,
    ['A'] = 0x1a, ['B'] = 0x1b, ['C'] = 0x1c, ['D'] = 0x1d, ['E'] = 0x1e, ['F'] = 0x1f,
};

bool
gci_unhex(gci_view hex, uint8_t *out_bytes, size_t size)
{
    unsigned all = DIGIT;

    if (hex.size != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++) {
        unsigned high = digit_of[(uint8_t)hex.data[2 * i]], low = digit_of[(uint8_t)hex.data[2 * i + 1]];
        out_bytes[i] = (uint8_t)(high << 4 | (low & 15));
        all &= high & low;
    }
    return (all & DIGIT) != 0;
}

/* ---- keys in hex ---- */

void
gcache_key_to_hex(gcache_key const *key, char out_hex[GCACHE_KEY_HEX_SIZE])
{
    gci_hex(key->bytes, sizeof key->bytes, out_hex);
}

gcache_status
gcache_key_from_hex(char const *hex, gcache_key *out_key, gcache_error *error)
{
    gcache_key key;

    GCI_REQUIRE(hex != NULL && out_key != NULL, error, "gcache_key_from_hex needs a text and a result");
    if (!gci_unhex(gci_view_text(hex), key.bytes, sizeof key.bytes))
        return gci_fail(error, GCACHE_ERROR_SYNTAX, "a key is 64 hex digits");
    *out_key = key;
    return GCACHE_OK;
}
