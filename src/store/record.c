#include "store/record.h"

#include "base/check.h"
#include "base/digest.h"

#include <stdio.h>

/* Domain tags: a MAC or an id can't be taken for one of another kind or version. */
static char const id_tag[] = "guardcache-entry-id-1";
static char const mac_tag[] = "guardcache-entry-mac-2";
/* The first form covers the sequence too: good in the cache that made it, and nowhere else. */
static char const local_mac_tag[] = "guardcache-entry-mac-1";

#define ID_BYTES ((GCACHE_ENTRY_ID_SIZE - 1) / 2)
/* Where a head has its sequence. */
#define SEQUENCE_AT (GCACHE_KEY_BYTES + ID_BYTES)
#define SEQUENCE_BYTES sizeof(uint64_t)

void
gci_put_text(gci_buf *buf, gci_view text)
{
    gci_put_bytes(buf, text);
    gci_put_u8(buf, 0);
}

gci_view
gci_get_text(gci_reader *reader)
{
    gci_view text = gci_get_bytes(reader);

    if (gci_get_u8(reader) != 0)
        reader->failed = true;
    return text;
}

static void
put_pairs(gci_buf *buf, gci_pair const *pairs, size_t count)
{
    gci_put_u32(buf, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        gci_put_text(buf, pairs[i].name);
        gci_put_text(buf, pairs[i].value);
    }
}

static void
put_guards(gci_buf *buf, gci_record const *record)
{
    gci_put_u32(buf, (uint32_t)record->guard_count);
    for (size_t i = 0; i < record->guard_count; i++)
        gci_put_text(buf, record->guards[i]);
}

static void
put_attachments(gci_buf *buf, gci_record const *record)
{
    gci_put_u32(buf, (uint32_t)record->attachment_count);
    for (size_t i = 0; i < record->attachment_count; i++) {
        gci_attachment const *attachment = &record->attachments[i];
        gci_put_text(buf, attachment->name);
        gci_buf_append(buf, attachment->sha256, sizeof attachment->sha256);
        gci_put_u64(buf, attachment->size);
        gci_put_u32(buf, attachment->mode);
    }
}

static void
put_signature(gci_buf *buf, gci_signature const *signature)
{
    bool is_signed = signature != NULL && signature->key_id.size != 0;

    gci_put_text(buf, is_signed ? signature->key_id : gci_view_text(""));
    if (!is_signed)
        return;
    gci_buf_append(buf, signature->payload_sha256, sizeof signature->payload_sha256);
    gci_buf_append(buf, signature->mac, sizeof signature->mac);
}

void
gci_record_write(gci_buf *buf, gci_record const *record, gci_signature const *signature)
{
    uint8_t id[ID_BYTES] = { 0 };

    gci_unhex(gci_view_text(record->id), id, sizeof id);
    gci_buf_append(buf, record->key.bytes, sizeof record->key.bytes);
    gci_buf_append(buf, id, sizeof id);
    gci_put_u64(buf, record->sequence);
    gci_put_u64(buf, record->created_ns);
    gci_put_u64(buf, record->compile_ns);
    gci_put_u64(buf, (uint64_t)record->priority);
    gci_put_u32(buf, record->equalities);
    gci_put_u32(buf, record->conjuncts);
    gci_put_u64(buf, record->payload_size);
    gci_put_u32(buf, (uint32_t)record->compression);
    gci_put_text(buf, record->kind);
    gci_put_text(buf, record->space);
    gci_put_text(buf, record->variant);
    gci_put_text(buf, record->label);
    gci_put_text(buf, record->metadata);
    gci_put_text(buf, record->identity);
    gci_put_text(buf, record->program);
    put_guards(buf, record);
    put_pairs(buf, record->names, record->name_count);
    put_pairs(buf, record->requirements, record->requirement_count);
    put_attachments(buf, record);
    put_signature(buf, signature);
}

/* ---- signing ---- */

/* The MAC over a head's bytes up to where it stands; `travels`: with zeros for the sequence. */
static bool
make_mac(gci_view covered, bool travels, gci_signing_key const *key, uint8_t out_mac[32])
{
    gci_buf bytes;

    if (covered.size < SEQUENCE_AT + SEQUENCE_BYTES)
        return false;
    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    gci_buf_append(&bytes, travels ? mac_tag : local_mac_tag, sizeof mac_tag);
    gci_buf_append_view(&bytes, covered);
    if (!bytes.failed && travels)
        memset(bytes.data + sizeof mac_tag + SEQUENCE_AT, 0, SEQUENCE_BYTES);
    bool made = !bytes.failed && gci_hmac_sha256(key->secret, gci_buf_view(&bytes), out_mac);
    gci_buf_clear(&bytes);
    return made;
}

static bool
hash_stored(gci_view stored, uint8_t out_hash[GCI_SHA256_BYTES])
{
    gci_digest *digest = gci_digest_new();
    bool hashed = digest != NULL && gci_digest_of(digest, stored, out_hash);

    gci_digest_free(digest);
    return hashed;
}

bool
gci_record_sign(gci_record const *record, gci_view stored, gci_signing_key const *key, gci_signature *out_signature)
{
    gci_buf head;

    *out_signature = (gci_signature){ .key_id = gci_view_text(key->id) };
    if (!hash_stored(stored, out_signature->payload_sha256))
        return false;
    gci_buf_init(&head, GCI_BUF_NO_LIMIT);
    gci_record_write(&head, record, out_signature);
    bool made = !head.failed && make_mac(gci_view_of(head.data, head.size - sizeof out_signature->mac), true, key,
                                         out_signature->mac);
    gci_buf_clear(&head);
    return made;
}

bool
gci_signature_covers(gci_signature const *signature, gci_view stored)
{
    uint8_t hash[GCI_SHA256_BYTES];

    return hash_stored(stored, hash) && memcmp(hash, signature->payload_sha256, sizeof hash) == 0;
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

    return (make_mac(covered, true, key, mac) && same_mac(mac, signature->mac)) ||
           (make_mac(covered, false, key, mac) && same_mac(mac, signature->mac));
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

/* ---- reading ---- */

/* The smallest a text can take: its length and its zero. */
#define TEXT_MIN 5

/* pairs = count (name value)* */
static gci_pair const *
get_pairs(gci_reader *reader, gci_arena *arena, size_t *out_count)
{
    *out_count = gci_get_count(reader, 2 * TEXT_MIN);
    gci_pair *pairs = gci_arena_array(arena, *out_count, sizeof *pairs);

    for (size_t i = 0; pairs != NULL && i < *out_count; i++) {
        pairs[i].name = gci_get_text(reader);
        pairs[i].value = gci_get_text(reader);
    }
    return pairs;
}

/* guards = count text* */
static gci_view const *
get_guards(gci_reader *reader, gci_arena *arena, size_t *out_count)
{
    *out_count = gci_get_count(reader, TEXT_MIN);
    gci_view *guards = gci_arena_array(arena, *out_count, sizeof *guards);

    for (size_t i = 0; guards != NULL && i < *out_count; i++)
        guards[i] = gci_get_text(reader);
    return guards;
}

/* attachments = count (name sha256 size mode)* */
static gci_attachment const *
get_attachments(gci_reader *reader, gci_arena *arena, size_t *out_count)
{
    *out_count = gci_get_count(reader, TEXT_MIN + 32 + 8 + 4);
    gci_attachment *attachments = gci_arena_array(arena, *out_count, sizeof *attachments);

    for (size_t i = 0; attachments != NULL && i < *out_count; i++) {
        attachments[i].name = gci_get_text(reader);
        gci_view hash = gci_get_raw(reader, sizeof attachments[i].sha256);
        memcpy(attachments[i].sha256, hash.data, hash.size);
        attachments[i].size = gci_get_u64(reader);
        attachments[i].mode = gci_get_u32(reader);
    }
    return attachments;
}

/* signature = "" | key_id sha256 mac */
static void
get_signature(gci_reader *reader, gci_view head, gci_signature *out)
{
    *out = (gci_signature){ .key_id = gci_get_text(reader) };
    if (out->key_id.size == 0)
        return;
    gci_view hash = gci_get_raw(reader, sizeof out->payload_sha256);
    memcpy(out->payload_sha256, hash.data, hash.size);
    out->covered = (size_t)(reader->next - head.data);
    gci_view mac = gci_get_raw(reader, sizeof out->mac);
    memcpy(out->mac, mac.data, mac.size);
}

static void
get_numbers(gci_reader *reader, gci_record *out)
{
    out->sequence = gci_get_u64(reader);
    out->created_ns = gci_get_u64(reader);
    out->compile_ns = gci_get_u64(reader);
    out->priority = (int64_t)gci_get_u64(reader);
    out->equalities = gci_get_u32(reader);
    out->conjuncts = gci_get_u32(reader);
    out->payload_size = gci_get_u64(reader);
    uint32_t compression = gci_get_u32(reader);
    if (compression > GCI_ZSTD)
        reader->failed = true;
    out->compression = (gci_compression)compression;
}

/* head = key id numbers texts guards names requirements attachments signature zeros */
bool
gci_record_read(gci_view head, gci_arena *arena, gci_record *out_record, gci_signature *out_signature)
{
    gci_reader reader = gci_reader_of(head);

    *out_record = (gci_record){ 0 };
    gci_view key = gci_get_raw(&reader, sizeof out_record->key.bytes);
    gci_view id = gci_get_raw(&reader, ID_BYTES);
    if (reader.failed)
        return false;
    memcpy(out_record->key.bytes, key.data, key.size);
    gci_hex((uint8_t const *)id.data, id.size, out_record->id);
    get_numbers(&reader, out_record);
    out_record->kind = gci_get_text(&reader);
    out_record->space = gci_get_text(&reader);
    out_record->variant = gci_get_text(&reader);
    out_record->label = gci_get_text(&reader);
    out_record->metadata = gci_get_text(&reader);
    out_record->identity = gci_get_text(&reader);
    out_record->program = gci_get_text(&reader);
    out_record->guards = get_guards(&reader, arena, &out_record->guard_count);
    out_record->names = get_pairs(&reader, arena, &out_record->name_count);
    out_record->requirements = get_pairs(&reader, arena, &out_record->requirement_count);
    out_record->attachments = get_attachments(&reader, arena, &out_record->attachment_count);
    get_signature(&reader, head, out_signature);
    return !reader.failed && !arena->failed && gci_reader_left(&reader) < 8;
}

/* ---- the id ---- */

/* What makes two entries equal: not when, how long, or for whom it was compiled. */
static void
put_identity(gci_buf *buf, gci_record const *record, gci_view payload)
{
    gci_buf_append(buf, id_tag, sizeof id_tag);
    gci_buf_append(buf, record->key.bytes, sizeof record->key.bytes);
    gci_put_u64(buf, (uint64_t)record->priority);
    gci_put_text(buf, record->variant);
    put_guards(buf, record);
    put_pairs(buf, record->names, record->name_count);
    put_pairs(buf, record->requirements, record->requirement_count);
    gci_put_text(buf, record->identity);
    if (record->identity.size != 0)
        return;
    put_attachments(buf, record);
    gci_checksum sum = gci_checksum_of(payload.data, payload.size);
    gci_put_u64(buf, sum.low);
    gci_put_u64(buf, sum.high);
    gci_put_u64(buf, payload.size);
}

bool
gci_record_identify(gci_record *record, gci_view payload)
{
    uint8_t hash[GCI_SHA256_BYTES];
    gci_digest *digest = gci_digest_new();
    gci_buf bytes;

    gci_buf_init(&bytes, GCI_BUF_NO_LIMIT);
    put_identity(&bytes, record, payload);
    bool made = digest != NULL && !bytes.failed && gci_digest_of(digest, gci_buf_view(&bytes), hash);
    if (made)
        gci_hex(hash, ID_BYTES, record->id);
    gci_buf_clear(&bytes);
    gci_digest_free(digest);
    return made;
}
