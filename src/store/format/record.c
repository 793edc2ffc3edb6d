/*
 * Records: written, read, signed, and named by their content. docs/formats/entry.md has the byte table.
 *
 * The MAC is HMAC-SHA-256 (RFC 2104), made and compared as libcrypto and RFC 2104 section 5 advise: whole, in constant time.
 */
#include "store/format/record.h"

#include "base/check.h"
#include "base/digest.h"

#include <endian.h>

/* Domain tags: a MAC or an id can't be taken for one of another kind or version. */
static char const mac_tag[] = "guardcache-entry-mac-2";

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

/* What a record ends with. */
typedef struct ending {
    gci_signature const *signature;
} ending;

static gci_field const ending_fields[] = {
    GCI_OPTION(ending, signature, &gci_signature_fields, "signature", ""),
};
static gci_fields const ending_item = GCI_FIELDS("ending", ending, ending_fields);

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
    gci_fields_write(buf, &ending_item, &(ending){ is_signed ? signature : NULL });
}

bool
gci_record_read(gci_view head, gci_arena *arena, gci_record *out_record, gci_signature *out_signature)
{
    gci_reader reader = gci_reader_of(head);
    ending end = { NULL };

    *out_record = (gci_record){ 0 };
    *out_signature = (gci_signature){ .key_id = GCI_VIEW("") };
    gci_fields_read(&reader, &gci_record_fields, arena, out_record);
    gci_fields_read(&reader, &ending_item, arena, &end);
    if (reader.failed)
        return false;
    if (end.signature != NULL) {
        *out_signature = *end.signature;
        out_signature->covered = (size_t)(reader.next - head.data) - sizeof out_signature->mac;
    }
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

/* The MAC over a head's bytes up to where it stands, with zeros for the sequence. */
static bool
make_mac(gci_view covered, gci_signing_key const *key, uint8_t out_mac[32])
{
    gci_buf bytes;

    if (covered.size < SEQUENCE_AT + SEQUENCE_BYTES)
        return false;
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gci_buf_append(&bytes, mac_tag, sizeof mac_tag);
    gci_buf_append_view(&bytes, covered);
    if (!bytes.failed)
        memset(bytes.data + sizeof mac_tag + SEQUENCE_AT, 0, SEQUENCE_BYTES);
    bool made = !bytes.failed && gci_hmac_sha256(key->secret, gci_buf_view(&bytes), out_mac);
    gci_buf_clear(&bytes);
    return made;
}

bool
gci_record_sign(gci_record const *record, gci_view stored, gci_signing_key const *key, gci_signature *out_signature)
{
    gci_buf head;

    *out_signature = (gci_signature){ .key_id = gci_view_text(key->id) };
    if (!gci_sha256(stored, out_signature->payload_sha256))
        return false;
    gci_buf_init(&head, GCI_BUF_NO_LIMIT);
    gci_record_write(&head, record, out_signature);
    bool made = !head.failed && make_mac(gci_view_of(head.data, head.size - sizeof out_signature->mac), key,
                                         out_signature->mac);
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
is_made_by(gci_signing_key const *key, gci_view covered, gci_signature const *signature)
{
    uint8_t mac[32];

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
