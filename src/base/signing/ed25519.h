/*
 * Ed25519 (RFC 8032) by libcrypto: signatures that whoever has the public key can verify, and only who has the seed can make.
 */
#ifndef GCI_BASE_SIGNING_ED25519_H
#define GCI_BASE_SIGNING_ED25519_H

#include "base/view.h"

#include <stdbool.h>
#include <stdint.h>

#define GCI_ED25519_SEED 32
#define GCI_ED25519_PUBLIC 32
#define GCI_ED25519_SIGNATURE 64

/* The public key that belongs to a seed. false, here and below: libcrypto or memory failed. */
bool gci_ed25519_public(uint8_t const seed[GCI_ED25519_SEED], uint8_t out_public[GCI_ED25519_PUBLIC]);

bool gci_ed25519_sign(uint8_t const seed[GCI_ED25519_SEED], gci_view bytes, uint8_t out_signature[GCI_ED25519_SIGNATURE]);

/* false also if it isn't their signature. Takes 170 us, whatever the size: two thousand times what an HMAC takes. */
bool gci_ed25519_verify(uint8_t const public_key[GCI_ED25519_PUBLIC], gci_view bytes,
                        uint8_t const signature[GCI_ED25519_SIGNATURE]);

/* How often this process has verified one: what tests count. */
uint64_t gci_ed25519_verifications(void);

/* Random bytes for a new key. false: there are none. */
bool gci_random_secret(uint8_t *out_bytes, size_t size);

/* Zeros that no compiler takes out, over a secret that isn't needed any more. */
void gci_cleanse(void *bytes, size_t size);

#endif
