/* Frames: written, and told apart from torn and damaged ones. See frame.h. */
#include "store/format/frame.h"

#include "base/check.h"

#include <endian.h>

#define MAGIC "\x89GCR\r\n\x1a\n"
#define MAGIC_BYTES (sizeof MAGIC - 1)
#define HEAD_SIZE_AT 12

static char const zeros[8];

/* What stands before the head. */
typedef struct prologue {
    uint16_t version, type;
    uint32_t head_size;
    uint64_t payload_size;
    gci_checksum payload_checksum;
    uint64_t evicted_ns;
} prologue;

static gci_field const prologue_fields[] = {
    GCI_CONSTANT(MAGIC, "magic", "`89 47 43 52 0d 0a 1a 0a` (`.GCR....`)"),
    GCI_NUMBER(prologue, version, 2, "version", "1, or 2 if an Ed25519 signature is in it"),
    GCI_NUMBER(prologue, type, 2, "type", ""),
    GCI_NUMBER(prologue, head_size, 4, "H", "size of the head, a multiple of 8, at most 16 MiB"),
    GCI_NUMBER(prologue, payload_size, 8, "P", "size of the payload as stored, at most 64 GiB"),
    GCI_STRUCT(prologue, payload_checksum, &gci_checksum_item, "XXH3-128", "of the payload as stored"),
    GCI_NUMBER(prologue, evicted_ns, 8, "evicted", "ns since 1970; 0 unless the type is EVICTED"),
};
gci_fields const gci_prologue_fields = GCI_FIELDS("prologue", prologue, prologue_fields);

static size_t
padded(size_t size)
{
    return (size + 7) / 8 * 8;
}

gci_view
gci_frame_padding(uint64_t size)
{
    return gci_view_of(zeros, (size_t)(-size & 7));
}

typedef struct type_facts {
    bool exists, has_payload;
} type_facts;

static type_facts
facts_of(unsigned type)
{
    static type_facts const facts[] = {
#define X(name, number, payload) [number] = { true, payload },
        GCI_FRAME_TYPE_MAP(X)
#undef X
    };

    return type < sizeof facts / sizeof *facts ? facts[type] : (type_facts){ false, false };
}

bool
gci_frame_has_payload(gci_frame_type type)
{
    return facts_of(type).has_payload;
}

static bool
same_checksum(gci_checksum a, gci_checksum b)
{
    return a.low == b.low && a.high == b.high;
}

/* A file system may extend a file before it writes the bytes: what a crash left then reads as zeros. */
static bool
is_all_zero(gci_view bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        if (bytes.data[i] != 0)
            return false;
    }
    return true;
}

static bool
is_possible(prologue const *p)
{
    return p->version != 0 && (p->version > GCI_FRAME_VERSION || facts_of(p->type).exists) && p->head_size <= GCI_HEAD_MAX &&
           p->head_size % 8 == 0 && p->payload_size <= GCI_PAYLOAD_MAX;
}

/* frame = prologue head checksum */
gci_frame_state
gci_frame_read_head(gci_view bytes, gci_frame *out_frame)
{
    gci_reader reader = gci_reader_of(bytes);
    gci_checksum stored;
    prologue p;

    *out_frame = (gci_frame){ 0 };
    if (bytes.size == 0 || memcmp(bytes.data, MAGIC, bytes.size < MAGIC_BYTES ? bytes.size : MAGIC_BYTES) != 0)
        return is_all_zero(bytes) ? GCI_FRAME_TORN : GCI_FRAME_BAD;
    gci_fields_read(&reader, &gci_prologue_fields, NULL, &p);
    if (reader.failed)
        return GCI_FRAME_TORN;
    if (!is_possible(&p))
        return GCI_FRAME_BAD;
    *out_frame = (gci_frame){ .type = (gci_frame_type)p.type, .version = p.version,
                              .head = gci_get_raw(&reader, p.head_size), .payload_size = p.payload_size,
                              .payload_checksum = p.payload_checksum, .evicted_ns = p.evicted_ns,
                              .size = GCI_FRAME_OVERHEAD + p.head_size };
    gci_fields_read(&reader, &gci_checksum_item, NULL, &stored);
    if (reader.failed)
        return GCI_FRAME_TORN;
    if (!same_checksum(stored, gci_checksum_of(bytes.data, GCI_FRAME_PROLOGUE + (size_t)p.head_size)))
        return GCI_FRAME_BAD;
    return p.version > GCI_FRAME_VERSION ? GCI_FRAME_NEWER : GCI_FRAME_GOOD;
}

bool
gci_frame_look(gci_view bytes, gci_frame *out_frame)
{
    gci_reader reader = gci_reader_of(bytes);
    prologue p;

    gci_fields_read(&reader, &gci_prologue_fields, NULL, &p);
    *out_frame = (gci_frame){ .type = (gci_frame_type)p.type, .version = p.version, .payload_size = p.payload_size,
                              .size = GCI_FRAME_OVERHEAD + (size_t)p.head_size };
    return !reader.failed && p.version >= GCI_FRAME_FIRST_VERSION && p.version <= GCI_FRAME_VERSION &&
           facts_of(p.type).exists;
}

gci_frame_state
gci_frame_read(gci_view bytes, gci_frame *out_frame)
{
    gci_frame_state state = gci_frame_read_head(bytes, out_frame);

    if (state != GCI_FRAME_GOOD || !gci_frame_has_payload(out_frame->type))
        return state;
    size_t at = out_frame->size, size = padded((size_t)out_frame->payload_size);
    if (size > bytes.size - at)
        return GCI_FRAME_TORN;
    out_frame->payload = gci_view_of(bytes.data + at, (size_t)out_frame->payload_size);
    out_frame->size += size;
    gci_checksum sum = gci_checksum_of(out_frame->payload.data, out_frame->payload.size);
    gci_view padding = gci_view_of(bytes.data + at + out_frame->payload.size, size - out_frame->payload.size);
    return same_checksum(sum, out_frame->payload_checksum) && is_all_zero(padding) ? GCI_FRAME_GOOD : GCI_FRAME_BAD;
}

size_t
gci_frame_find(gci_view bytes, size_t from, bool *inout_newer)
{
    gci_frame frame;

    GCI_ASSERT(from % 8 == 0);
    for (size_t at = from; at + GCI_FRAME_OVERHEAD <= bytes.size; at += 8) {
        if (memcmp(bytes.data + at, MAGIC, MAGIC_BYTES) != 0)
            continue;
        gci_frame_state state = gci_frame_read(gci_view_of(bytes.data + at, bytes.size - at), &frame);
        if (state == GCI_FRAME_GOOD)
            return at;
        *inout_newer |= state == GCI_FRAME_NEWER;
    }
    return bytes.size;
}

size_t
gci_frame_begin(gci_buf *buf, gci_frame_start const *start)
{
    size_t begin = buf->size;

    GCI_ASSERT(begin % 8 == 0 || buf->failed);
    /* The head's size is known at the end. */
    gci_fields_write(buf, &gci_prologue_fields,
                     &(prologue){ .version = start->version != 0 ? start->version : GCI_FRAME_FIRST_VERSION,
                                  .type = (uint16_t)start->type, .payload_size = start->payload_size,
                                  .payload_checksum = start->payload_checksum, .evicted_ns = start->evicted_ns });
    return begin;
}

void
gci_frame_end(gci_buf *buf, size_t begin)
{
    gci_buf_append_view(buf, gci_frame_padding(buf->size));
    if (buf->failed)
        return;
    size_t head_size = buf->size - begin - GCI_FRAME_PROLOGUE;
    if (head_size > GCI_HEAD_MAX) {
        buf->failed = true;
        return;
    }
    uint32_t stored_size = htole32((uint32_t)head_size);
    memcpy(buf->data + begin + HEAD_SIZE_AT, &stored_size, sizeof stored_size);
    gci_checksum sum = gci_checksum_of(buf->data + begin, buf->size - begin);
    gci_fields_write(buf, &gci_checksum_item, &sum);
}
