/*
 * Records: written, read, signed, and named by their content. docs/formats/entry.md has the byte table.
 *
 * The MAC is HMAC-SHA-256 (RFC 2104), made and compared as libcrypto and RFC 2104 section 5 advise: whole, in constant time.
 * The other signature is Ed25519 (RFC 8032): who can verify it can't make it.
 */
#include "store/format/record.h"

#include "base/check.h"
#include "base/digest.h"
#include "base/signing/ed25519.h"
#include "store/format/frame.h"

#include <endian.h>

/* Domain tags: a MAC, a signature or an id can't be taken for one of another kind or version. */
static char const mac_tag[] = "guardcache-entry-mac-2", ed25519_tag[] = "guardcache-entry-ed25519-1";

/* Where a head has its sequence: behind key and id. */
#define SEQUENCE_AT (GCACHE_KEY_BYTES + (GCACHE_ENTRY_ID_SIZE - 1) / 2)
#define SEQUENCE_BYTES sizeof(uint64_t)

/* ---- what a record consists of ---- */

static gci_field const pair_fields[] = {
    GCI_TEXT(gci_pair, name, "name", ""),
    GCI_TEXT(gci_pair, value, "value", ""),
};
gci_fields const gci_pair_item = GCI_FIELDS("pair", gci_pair, pair_fields);

static gci_field const delta_fields[] = {
    GCI_STRING(gcache_delta, name, "name", ""),
    GCI_NUMBER(gcache_delta, value, 8, "value", "signed"),
};
static gci_fields const delta_item = GCI_FIELDS("delta", gcache_delta, delta_fields);

static gci_field const attachment_fields[] = {
    GCI_TEXT(gci_attachment, name, "name", ""),
    GCI_BYTES(gci_attachment, sha256, "SHA-256", ""),
    GCI_NUMBER(gci_attachment, size, 8, "size", ""),
    GCI_NUMBER(gci_attachment, mode, 4, "mode", "permission bits"),
};
static gci_fields const attachment_item = GCI_FIELDS("attachment", gci_attachment, attachment_fields);

#define KEY GCI_BYTES(gci_record, key, "key", "")
#define PRIORITY GCI_NUMBER(gci_record, priority, 8, "priority", "signed")
#define VARIANT GCI_TEXT(gci_record, variant, "variant", "")
#define GUARDS GCI_LIST(gci_record, guards, guard_count, &gci_text_item, "guards", "")
#define NAMES                                                                                         \
    GCI_LIST(gci_record, names, name_count, &gci_pair_item, "names",                                  \
             "of symbols the producer's name and, behind `$`, the canonical one; then of names in texts " \
             "([rules.md](rules.md), `hand_back`) the producer's and, behind `@`, what counts in its place")
#define REQUIREMENTS                                                                                  \
    GCI_LIST(gci_record, requirements, requirement_count, &gci_pair_item, "requirements", "")
#define IDENTITY GCI_TEXT(gci_record, identity, "identity", "stands for the payload in the id; empty: the payload itself")
#define ATTACHMENTS GCI_LIST(gci_record, attachments, attachment_count, &attachment_item, "attachments", "")

static gci_field const record_fields[] = {
    KEY,
    GCI_HEX(gci_record, id, "id", "see below"),
    GCI_NUMBER(gci_record, sequence, 8, "sequence", "larger is newer, within the key; from 1"),
    GCI_NUMBER(gci_record, created_ns, 8, "created", "ns since 1970"),
    GCI_NUMBER(gci_record, compile_ns, 8, "compile time", "ns"),
    PRIORITY,
    GCI_NUMBER(gci_record, equalities, 4, "equalities", "specificity: what rank needs"),
    GCI_NUMBER(gci_record, conjuncts, 4, "conjuncts", "the same"),
    GCI_NUMBER(gci_record, payload_size, 8, "payload size", "as the caller gave it"),
    GCI_NUMBER_UP_TO(gci_record, compression, 1, GCI_ZSTD, "compression", "0 raw, 1 zstd"),
    GCI_TEXT(gci_record, kind, "kind", ""),
    GCI_TEXT(gci_record, namespace_, "namespace", ""),
    VARIANT,
    GCI_TEXT(gci_record, label, "label", ""),
    GCI_TEXT(gci_record, metadata, "metadata", ""),
    IDENTITY,
    GCI_TEXT(gci_record, program, "program", "the guards compiled"),
    GUARDS,
    NAMES,
    REQUIREMENTS,
    ATTACHMENTS,
    GCI_LIST(gci_record, deltas, delta_count, &delta_item, "deltas", "of the compiler's counters, applied again on a hit"),
};
gci_fields const gci_record_fields = GCI_FIELDS("record", gci_record, record_fields);

static gci_field const signature_fields[] = {
    GCI_TEXT(gci_signature, key_id, "key id", "of the key it is signed with"),
    GCI_BYTES(gci_signature, payload_sha256, "SHA-256", "of the payload as stored"),
    GCI_BYTES(gci_signature, mac, "MAC", "see below"),
};
gci_fields const gci_signature_fields = GCI_FIELDS("signature", gci_signature, signature_fields);

static gci_field const ed25519_fields[] = {
    GCI_TEXT(gci_signature, key_id, "key id", "of the key it is signed with"),
    GCI_BYTES(gci_signature, payload_sha256, "SHA-256", "of the payload as stored"),
    GCI_BYTES(gci_signature, ed25519, "signature", "see below"),
};
gci_fields const gci_ed25519_fields = GCI_FIELDS("Ed25519 signature", gci_signature, ed25519_fields);

/* What a record may end with: the byte that says so, what follows, its last field's size, and what they came with. */
typedef struct ending {
    uint8_t number;
    gci_fields const *fields;
    size_t size;
    uint16_t version;
} ending;

enum { NOT_SIGNED = 0 };

static ending const endings[GCACHE_SIGNING_COUNT] = {
    [GCACHE_SIGNING_HMAC] = { 1, &gci_signature_fields, GCI_SIZE_OF(gci_signature, mac), GCI_FRAME_FIRST_VERSION },
    [GCACHE_SIGNING_ED25519] = { 2, &gci_ed25519_fields, GCI_SIZE_OF(gci_signature, ed25519), 2 },
};

uint16_t
gci_record_version(gci_signature const *signature)
{
    return signature->key_id.size != 0 ? endings[signature->algorithm].version : GCI_FRAME_FIRST_VERSION;
}

void
gci_signature_set_covered(gci_signature *signature, size_t head_size)
{
    size_t size = endings[signature->algorithm].size;

    signature->covered = head_size > size ? head_size - size : 0;
}

/* What makes two entries equal: not when, how long, or for whom they were compiled. */
static gci_field const identity_fields[] = {
    GCI_CONSTANT("guardcache-entry-id-1\0", "tag", ""), KEY, PRIORITY, VARIANT, GUARDS, NAMES, REQUIREMENTS, IDENTITY,
};
static gci_fields const identity_item = GCI_FIELDS("identity", gci_record, identity_fields);

/* And without a name for the content, the content. */
static gci_field const content_fields[] = { ATTACHMENTS };
static gci_fields const content_item = GCI_FIELDS("content", gci_record, content_fields);

void
gci_record_write(gci_buf *buf, gci_record const *record, gci_signature const *signature)
{
    bool is_signed = signature != NULL && signature->key_id.size != 0;

    gci_fields_write(buf, &gci_record_fields, record);
    gci_put_u8(buf, is_signed ? endings[signature->algorithm].number : NOT_SIGNED);
    if (is_signed)
        gci_fields_write(buf, endings[signature->algorithm].fields, signature);
}

/* ending = 0 | 1 signature | 2 Ed25519 signature */
static void
read_ending(gci_reader *reader, gci_signature *out)
{
    uint8_t number = gci_get_u8(reader);
    size_t algorithm = 0;

    if (number == NOT_SIGNED)
        return;
    while (algorithm < GCACHE_SIGNING_COUNT && endings[algorithm].number != number)
        algorithm++;
    reader->failed |= algorithm == GCACHE_SIGNING_COUNT;
    if (reader->failed)
        return;
    out->algorithm = (gcache_signing_algorithm)algorithm;
    gci_fields_read(reader, endings[algorithm].fields, NULL, out);
}

bool
gci_record_read(gci_view head, gci_arena *arena, gci_record *out_record, gci_signature *out_signature)
{
    gci_reader reader = gci_reader_of(head);

    *out_record = (gci_record){ 0 };
    *out_signature = (gci_signature){ .key_id = GCI_VIEW("") };
    gci_fields_read(&reader, &gci_record_fields, arena, out_record);
    read_ending(&reader, out_signature);
    if (reader.failed)
        return false;
    if (out_signature->key_id.size != 0)
        gci_signature_set_covered(out_signature, (size_t)(reader.next - head.data));
    return gci_reader_left(&reader) < 8;
}

/* ---- without decoding ---- */

#define CREATED_AT (SEQUENCE_AT + SEQUENCE_BYTES)

bool
gci_record_created(gci_view head, uint64_t *out_ns)
{
    uint64_t stored;

    if (head.size < CREATED_AT + sizeof stored)
        return false;
    memcpy(&stored, head.data + CREATED_AT, sizeof stored);
    *out_ns = le64toh(stored);
    return true;
}

void
gci_record_set_sequence(char *head, uint64_t sequence)
{
    uint64_t stored = htole64(sequence);

    memcpy(head + SEQUENCE_AT, &stored, sizeof stored);
}

/* ---- signing ---- */

/* What is signed: a tag and the head's bytes up to the signature, with zeros for the sequence. Clear it. false: no memory, or
   not a head. */
static bool
put_signed(gci_buf *out, char const *tag, size_t tag_size, gci_view covered)
{
    gci_buf_init(out, GCI_BUF_NO_LIMIT);
    if (covered.size < SEQUENCE_AT + SEQUENCE_BYTES)
        return false;
    gci_buf_append(out, tag, tag_size);
    gci_buf_append_view(out, covered);
    if (!out->failed)
        memset(out->data + tag_size + SEQUENCE_AT, 0, SEQUENCE_BYTES);
    return !out->failed;
}

static bool
make_mac(gci_view covered, gci_signing_key const *key, uint8_t out_mac[32])
{
    gci_buf bytes;

    bool made = put_signed(&bytes, mac_tag, sizeof mac_tag, covered) &&
                gci_hmac_sha256(key->secret, gci_buf_view(&bytes), out_mac);
    gci_buf_clear(&bytes);
    return made;
}

static bool
make_ed25519(gci_view covered, gci_signing_key const *key, uint8_t out_signature[GCI_ED25519_SIGNATURE])
{
    gci_buf bytes;

    GCI_ASSERT(key->secret.size == GCI_ED25519_SEED);
    bool made = put_signed(&bytes, ed25519_tag, sizeof ed25519_tag, covered) &&
                gci_ed25519_sign((uint8_t const *)key->secret.data, gci_buf_view(&bytes), out_signature);
    gci_buf_clear(&bytes);
    return made;
}

gci_signing_key const *
gci_signing_key_first(gci_signing_key const *keys, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (keys[i].secret.size != 0)
            return &keys[i];
    }
    return NULL;
}

bool
gci_record_sign(gci_record const *record, gci_view stored, gci_signing_key const *key, gci_signature *out_signature)
{
    gci_buf head;

    *out_signature = (gci_signature){ .key_id = gci_view_text(key->id), .algorithm = key->algorithm };
    if (!gci_sha256(stored, out_signature->payload_sha256))
        return false;
    gci_buf_init(&head, GCI_BUF_NO_LIMIT);
    gci_record_write(&head, record, out_signature);
    gci_signature_set_covered(out_signature, head.size);
    gci_view covered = gci_view_of(head.data, out_signature->covered);
    bool made = !head.failed && (key->algorithm == GCACHE_SIGNING_ED25519
                                     ? make_ed25519(covered, key, out_signature->ed25519)
                                     : make_mac(covered, key, out_signature->mac));
    gci_buf_clear(&head);
    return made;
}

bool
gci_signature_covers(gci_signature const *signature, gci_view stored)
{
    uint8_t hash[GCI_SHA256_BYTES];

    return gci_sha256(stored, hash) && memcmp(hash, signature->payload_sha256, sizeof hash) == 0;
}

/* In constant time: how much of a MAC was right must not show. */
static bool
same_mac(uint8_t const a[32], uint8_t const b[32])
{
    unsigned difference = 0;

    for (size_t i = 0; i < 32; i++)
        difference |= (unsigned)(a[i] ^ b[i]);
    return difference == 0;
}

static bool
is_signed_by(gci_signing_key const *key, gci_view covered, gci_signature const *signature)
{
    gci_buf bytes;

    bool good = put_signed(&bytes, ed25519_tag, sizeof ed25519_tag, covered) &&
                gci_ed25519_verify(key->public_key, gci_buf_view(&bytes), signature->ed25519);
    gci_buf_clear(&bytes);
    return good;
}

static bool
is_made_by(gci_signing_key const *key, gci_view covered, gci_signature const *signature)
{
    uint8_t mac[32];

    if (key->algorithm != signature->algorithm)
        return false;
    if (key->algorithm == GCACHE_SIGNING_ED25519)
        return is_signed_by(key, covered, signature);
    return make_mac(covered, key, mac) && same_mac(mac, signature->mac);
}

bool
gci_signature_verify(gci_view head, gci_signature const *signature, gci_signing_key const *keys, size_t count)
{
    if (signature->key_id.size == 0)
        return false;
    GCI_ASSERT(signature->covered <= head.size);
    for (size_t i = 0; i < count; i++) {
        if (gci_view_is(signature->key_id, keys[i].id))
            return is_made_by(&keys[i], gci_view_of(head.data, signature->covered), signature);
    }
    return false;
}

/* ---- the id ---- */

static void
put_identity(gci_buf *buf, gci_record const *record, gci_view payload)
{
    gci_fields_write(buf, &identity_item, record);
    if (record->identity.size != 0)
        return;
    gci_fields_write(buf, &content_item, record);
    gci_checksum sum = gci_checksum_of(payload.data, payload.size);
    gci_put_u64(buf, sum.low);
    gci_put_u64(buf, sum.high);
    gci_put_u64(buf, payload.size);
}

bool
gci_record_identify(gci_record *record, gci_view payload)
{
    uint8_t hash[GCI_SHA256_BYTES];
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    put_identity(&bytes, record, payload);
    bool made = gci_digest_of_buf(&bytes, hash);
    if (made)
        gci_hex(hash, (sizeof record->id - 1) / 2, record->id);
    return made;
}
