/*
 * The head of a candidate's frame: everything about it but the payload (docs/formats/entry.md has the byte table).
 *
 * Texts are stored with a zero behind them, so that what is decoded in place can be handed out as C strings.
 */
#ifndef GCI_STORE_RECORD_H
#define GCI_STORE_RECORD_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/codec.h"
#include "store/store.h"

/* What a signed record ends with. key_id empty: not signed. */
typedef struct gci_signature {
    gci_view key_id;
    uint8_t payload_sha256[32]; /* of the payload as stored */
    uint8_t mac[32];
    size_t covered;             /* bytes at the beginning of the head that the MAC covers */
} gci_signature;

/*
 * Appends the head for a record. With a signing key (not NULL), payload_sha256 and the MAC are added.
 * Failures show in buf->failed.
 */
void gci_record_write(gci_buf *buf, gci_record const *record, gci_signing_key const *key,
                      uint8_t const payload_sha256[32]);

/* Decodes a head; arrays live in the arena, views point into head. false: not a record, or no memory (arena->failed). */
bool gci_record_read(gci_view head, gci_arena *arena, gci_record *out_record, gci_signature *out_signature);

/* Whether one of the keys made the signature over this head. */
bool gci_signature_verify(gci_view head, gci_signature const *signature, gci_signing_key const *keys, size_t count);

/* The id of a record with this payload: 32 hex digits of a SHA-256 over its content. false: libcrypto failed. */
bool gci_record_identify(gci_record *record, gci_view payload);

/* A length, the bytes, and a zero that isn't counted. */
void gci_put_text(gci_buf *buf, gci_view text);
gci_view gci_get_text(gci_reader *reader);

#endif
