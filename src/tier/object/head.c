/* Heads of candidates in tiers: written from an entry's frame, read and checked. The byte table is in docs/formats/remote.md. */
#include "tier/object/head.h"

#include "base/check.h"

#define ID_BYTES ((GCACHE_ENTRY_ID_SIZE - 1) / 2)

typedef struct header {
    uint64_t expires_ns;
    uint8_t payload_sha256[32];
} header;

static gci_field const header_fields[] = {
    GCI_CONSTANT("GCHEAD01", "magic", "`GCHEAD01`; another number: another version"),
    GCI_NUMBER(header, expires_ns, 8, "expires", "ns since 1970; 0: never"),
    GCI_BYTES(header, payload_sha256, "SHA-256", "of the payload as stored"),
    GCI_SUM64("XXH3-64", "of the bytes before"),
};
gci_fields const gci_remote_head_fields = GCI_FIELDS("remote head", header, header_fields);

#define MAGIC_BYTES 8
/* What all versions begin with. */
#define FAMILY "GCHEAD"

static void
put_frame(gci_buf *buf, gci_frame_type type, gci_frame const *of, uint64_t evicted_ns)
{
    gci_frame_start start = { type, of->payload_size, of->payload_checksum, evicted_ns, of->version };

    size_t begin = gci_frame_begin(buf, &start);
    gci_buf_append_view(buf, of->head);
    gci_frame_end(buf, begin);
}

bool
gci_remote_head_write(gci_buf *buf, gci_view frame, uint64_t expires_ns, gci_view *out_payload)
{
    header h = { .expires_ns = expires_ns };
    gci_frame entry;

    *out_payload = gci_view_of(NULL, 0);
    if (gci_frame_read(frame, &entry) != GCI_FRAME_GOOD || entry.type != GCI_FRAME_ENTRY ||
        !gci_sha256(entry.payload, h.payload_sha256))
        return false;
    gci_fields_write(buf, &gci_remote_head_fields, &h);
    if (entry.payload.size <= GCI_INLINE_MAX) {
        gci_buf_append(buf, frame.data, entry.size);
    } else {
        put_frame(buf, GCI_FRAME_REFERENCE, &entry, 0);
        *out_payload = entry.payload;
    }
    return !buf->failed;
}

size_t
gci_remote_head_bury(gci_buf *buf, gci_remote_head const *head, uint64_t evicted_ns, uint64_t expires_ns)
{
    header h = { .expires_ns = expires_ns };

    memcpy(h.payload_sha256, head->payload_sha256, sizeof h.payload_sha256);
    gci_fields_write(buf, &gci_remote_head_fields, &h);
    size_t at = buf->size;
    put_frame(buf, GCI_FRAME_EVICTED, &head->frame, evicted_ns);
    return at;
}

/* Every record begins with its key and its id. */
static bool
is_of(gci_view record, gcache_object const *object)
{
    uint8_t id[ID_BYTES];

    return record.size > GCACHE_KEY_BYTES + ID_BYTES && memcmp(record.data, object->key.bytes, GCACHE_KEY_BYTES) == 0 &&
           gci_unhex(gci_view_text(object->name), id, ID_BYTES) &&
           memcmp(record.data + GCACHE_KEY_BYTES, id, ID_BYTES) == 0;
}

static gci_head_state
read_frame(gci_view bytes, gcache_object const *object, gci_remote_head *out)
{
    gci_frame_state state = gci_frame_read(bytes, &out->frame);

    if (state == GCI_FRAME_NEWER)
        return GCI_HEAD_NEWER;
    bool is_candidate = state == GCI_FRAME_GOOD &&
                        (out->frame.type == GCI_FRAME_ENTRY || out->frame.type == GCI_FRAME_REFERENCE ||
                         out->frame.type == GCI_FRAME_EVICTED);
    if (!is_candidate || !is_of(out->frame.head, object))
        return GCI_HEAD_BAD;
    out->bytes = gci_view_of(bytes.data, out->frame.size);
    return GCI_HEAD_GOOD;
}

gci_head_state
gci_remote_head_read(gcache_object const *object, gci_remote_head *out_head)
{
    gci_view bytes = gci_view_of(object->bytes, object->size);
    gci_reader reader = gci_reader_of(bytes);
    header h;

    gci_fields_read(&reader, &gci_remote_head_fields, NULL, &h);
    if (reader.failed) {
        bool foreign = bytes.size >= MAGIC_BYTES && memcmp(bytes.data, FAMILY, sizeof FAMILY - 1) == 0 &&
                       memcmp(bytes.data, "GCHEAD01", MAGIC_BYTES) != 0;
        return foreign ? GCI_HEAD_NEWER : GCI_HEAD_BAD;
    }
    out_head->expires_ns = h.expires_ns;
    memcpy(out_head->payload_sha256, h.payload_sha256, sizeof h.payload_sha256);
    return read_frame(gci_view_of(reader.next, gci_reader_left(&reader)), object, out_head);
}

void
gci_remote_payload_name(gci_remote_head const *head, char out_name[GCACHE_OBJECT_NAME_SIZE])
{
    gci_hex(head->payload_sha256, sizeof head->payload_sha256, out_name);
}
