/*
 * Ed25519 (RFC 8032) by libcrypto, which has it behind EVP only.
 *
 * In a library context of our own: the default one would read the machine's configuration file when it is first used, and with
 * it whatever the host program configured. It is made by the first who needs it, and stays until the process ends.
 */
#include "base/signing/ed25519.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stdatomic.h>

static pthread_once_t context_once = PTHREAD_ONCE_INIT;
static OSSL_LIB_CTX *context;
static _Atomic uint64_t verifications;

static void
make_context(void)
{
    context = OSSL_LIB_CTX_new();
}

/* NULL: no memory. */
static OSSL_LIB_CTX *
own_context(void)
{
    pthread_once(&context_once, make_context);
    return context;
}

static EVP_PKEY *
private_key(uint8_t const seed[GCI_ED25519_SEED])
{
    OSSL_LIB_CTX *own = own_context();

    return own != NULL ? EVP_PKEY_new_raw_private_key_ex(own, "ED25519", NULL, seed, GCI_ED25519_SEED) : NULL;
}

bool
gci_ed25519_public(uint8_t const seed[GCI_ED25519_SEED], uint8_t out_public[GCI_ED25519_PUBLIC])
{
    EVP_PKEY *key = private_key(seed);
    size_t size = GCI_ED25519_PUBLIC;
    bool made = key != NULL && EVP_PKEY_get_raw_public_key(key, out_public, &size) == 1 && size == GCI_ED25519_PUBLIC;

    EVP_PKEY_free(key);
    return made;
}

bool
gci_ed25519_sign(uint8_t const seed[GCI_ED25519_SEED], gci_view bytes, uint8_t out_signature[GCI_ED25519_SIGNATURE])
{
    EVP_PKEY *key = private_key(seed);
    EVP_MD_CTX *signer = key != NULL ? EVP_MD_CTX_new() : NULL;
    size_t size = GCI_ED25519_SIGNATURE;

    bool made = signer != NULL && EVP_DigestSignInit_ex(signer, NULL, NULL, own_context(), NULL, key, NULL) == 1 &&
                EVP_DigestSign(signer, out_signature, &size, (unsigned char const *)bytes.data, bytes.size) == 1 &&
                size == GCI_ED25519_SIGNATURE;
    EVP_MD_CTX_free(signer);
    EVP_PKEY_free(key);
    return made;
}

bool
gci_ed25519_verify(uint8_t const public_key[GCI_ED25519_PUBLIC], gci_view bytes,
                   uint8_t const signature[GCI_ED25519_SIGNATURE])
{
    OSSL_LIB_CTX *own = own_context();

    atomic_fetch_add_explicit(&verifications, 1, memory_order_relaxed);
    EVP_PKEY *key = own != NULL ? EVP_PKEY_new_raw_public_key_ex(own, "ED25519", NULL, public_key, GCI_ED25519_PUBLIC) : NULL;
    EVP_MD_CTX *verifier = key != NULL ? EVP_MD_CTX_new() : NULL;
    bool good = verifier != NULL && EVP_DigestVerifyInit_ex(verifier, NULL, NULL, own, NULL, key, NULL) == 1 &&
                EVP_DigestVerify(verifier, signature, GCI_ED25519_SIGNATURE, (unsigned char const *)bytes.data,
                                 bytes.size) == 1;
    EVP_MD_CTX_free(verifier);
    EVP_PKEY_free(key);
    return good;
}

uint64_t
gci_ed25519_verifications(void)
{
    return atomic_load_explicit(&verifications, memory_order_relaxed);
}

bool
gci_random_secret(uint8_t *out_bytes, size_t size)
{
    OSSL_LIB_CTX *own = own_context();

    return own != NULL && RAND_priv_bytes_ex(own, out_bytes, size, 0) == 1;
}

void
gci_cleanse(void *bytes, size_t size)
{
    if (bytes != NULL)
        OPENSSL_cleanse(bytes, size);
}
