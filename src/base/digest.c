#include "base/digest.h"

#include "base/check.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdlib.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

struct gci_digest {
    EVP_MD *algorithm;
    EVP_MD_CTX *context;
};

gci_digest *
gci_digest_new(void)
{
    gci_digest *digest = calloc(1, sizeof *digest);

    if (digest == NULL)
        return NULL;
    digest->algorithm = EVP_MD_fetch(NULL, "SHA2-256", NULL);
    digest->context = EVP_MD_CTX_new();
    if (digest->algorithm == NULL || digest->context == NULL) {
        gci_digest_free(digest);
        return NULL;
    }
    return digest;
}

void
gci_digest_free(gci_digest *digest)
{
    if (digest == NULL)
        return;
    EVP_MD_CTX_free(digest->context);
    EVP_MD_free(digest->algorithm);
    free(digest);
}

bool
gci_digest_begin(gci_digest *digest)
{
    return EVP_DigestInit_ex2(digest->context, digest->algorithm, NULL) == 1;
}

bool
gci_digest_update(gci_digest *digest, void const *data, size_t size)
{
    return size == 0 || EVP_DigestUpdate(digest->context, data, size) == 1;
}

bool
gci_digest_end(gci_digest *digest, uint8_t out_hash[GCI_SHA256_BYTES])
{
    unsigned size = 0;

    return EVP_DigestFinal_ex(digest->context, out_hash, &size) == 1 && size == GCI_SHA256_BYTES;
}

bool
gci_digest_of(gci_digest *digest, gci_view bytes, uint8_t out_hash[GCI_SHA256_BYTES])
{
    return gci_digest_begin(digest) && gci_digest_update(digest, bytes.data, bytes.size) &&
           gci_digest_end(digest, out_hash);
}

bool
gci_hmac_sha256(gci_view key, gci_view bytes, uint8_t out_mac[GCI_SHA256_BYTES])
{
    size_t size = 0;
    char const *data = bytes.size != 0 ? bytes.data : "";

    return EVP_Q_mac(NULL, "HMAC", NULL, "SHA2-256", NULL, key.data, key.size, (unsigned char const *)data, bytes.size,
                     out_mac, GCI_SHA256_BYTES, &size) != NULL &&
           size == GCI_SHA256_BYTES;
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

static int
hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool
gci_unhex(gci_view hex, uint8_t *out_bytes, size_t size)
{
    if (hex.size != 2 * size)
        return false;
    for (size_t i = 0; i < size; i++) {
        int high = hex_value(hex.data[2 * i]), low = hex_value(hex.data[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out_bytes[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}
