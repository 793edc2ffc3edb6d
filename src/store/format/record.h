/*
 * The head of a candidate's frame: everything about it but the payload (docs/formats/entry.md has the byte table).
 *
 * Texts are stored with a zero behind them, so that what is decoded in place can be handed out as C strings.
 */
#ifndef GCI_STORE_FORMAT_RECORD_H
#define GCI_STORE_FORMAT_RECORD_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/fields.h"
#include "store/format/entry.h"

/*
 * What a signed record ends with. key_id empty: not signed.
 *
 * A signature goes wherever its entry goes, so it covers what the entry is: every field and the payload as stored, but not
 * the sequence, which each cache gives anew.
 */
typedef struct gci_signature {
    gci_view key_id;
    uint8_t payload_sha256[32]; /* of the payload as stored */
    uint8_t mac[32];
    size_t covered;             /* of a signature that was read: bytes at the beginning of the head that the MAC covers */
} gci_signature;

/* Appends the head for a record with its signature, NULL for none. Failures show in buf->failed. */
void gci_record_write(gci_buf *buf, gci_record const *record, gci_signature const *signature);

/* Signs a record that is complete but for its sequence. out_signature borrows the key's id. false: no memory. */
bool gci_record_sign(gci_record const *record, gci_view stored, gci_signing_key const *key, gci_signature *out_signature);

/* Decodes a head; arrays live in the arena, views point into head. false: not a record, or no memory (arena->failed). */
bool gci_record_read(gci_view head, gci_arena *arena, gci_record *out_record, gci_signature *out_signature);

/* When the record in a head was made. false: it is too short to be one. */
bool gci_record_created(gci_view head, uint64_t *out_ns);
/* Changes the sequence in a head, which no signature covers. */
void gci_record_set_sequence(char *head, uint64_t sequence);

/* Whether one of the keys made the signature over this head. */
bool gci_signature_verify(gci_view head, gci_signature const *signature, gci_signing_key const *keys, size_t count);

/* Whether these stored bytes are the payload that the signature covers. */
bool gci_signature_covers(gci_signature const *signature, gci_view stored);

/* The id of a record with this payload: 32 hex digits of a SHA-256 over its content. false: libcrypto failed. */
bool gci_record_identify(gci_record *record, gci_view payload);

/* Their byte tables. */
extern gci_fields const gci_record_fields, gci_signature_fields;

#endif
