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
    gcache_signing_algorithm algorithm;
    uint8_t payload_sha256[32]; /* of the payload as stored */
    union {
        uint8_t mac[32];        /* of HMAC-SHA-256 */
        uint8_t ed25519[64];
    };
    size_t covered;             /* of a signature that was read: bytes at the beginning of the head that it covers */
} gci_signature;

/* The version of the frames that a record with this signature goes into (frame.h). */
uint16_t gci_record_version(gci_signature const *signature);

/* Appends the head for a record with its signature, NULL for none. Failures show in buf->failed. */
void gci_record_write(gci_buf *buf, gci_record const *record, gci_signature const *signature);

/* The first of the keys that can sign; NULL: none can. */
gci_signing_key const *gci_signing_key_first(gci_signing_key const *keys, size_t count);

/* Signs a record that is complete but for its sequence. out_signature borrows the key's id. false: no memory, or
   libcrypto failed. */
bool gci_record_sign(gci_record const *record, gci_view stored, gci_signing_key const *key, gci_signature *out_signature);

/* Says how many bytes of a head that ends with this signature it covers. */
void gci_signature_set_covered(gci_signature *signature, size_t head_size);

/* Decodes a head; arrays live in the arena, views point into head. false: not a record, or no memory (arena->failed). */
bool gci_record_read(gci_view head, gci_arena *arena, gci_record *out_record, gci_signature *out_signature);

/* When the record in a head was made. false: it is too short to be one. */
bool gci_record_created(gci_view head, uint64_t *out_ns);
/* Changes the sequence in a head, which no signature covers. */
void gci_record_set_sequence(char *head, uint64_t sequence);

/* Whether the one of the keys that the signature names made it over this head, by the algorithm of that key: a signature of
   another kind is a forgery. */
bool gci_signature_verify(gci_view head, gci_signature const *signature, gci_signing_key const *keys, size_t count);

/* Whether these stored bytes are the payload that the signature covers. */
bool gci_signature_covers(gci_signature const *signature, gci_view stored);

/* The id of a record with this payload: 32 hex digits of a SHA-256 over its content. false: libcrypto failed. */
bool gci_record_identify(gci_record *record, gci_view payload);

/* Their byte tables. */
extern gci_fields const gci_record_fields, gci_signature_fields, gci_ed25519_fields;

#endif
