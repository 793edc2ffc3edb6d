#include "store/format/frame.h"

#include "base/check.h"
#include "base/codec.h"

static char const magic[8] = { '\x89', 'G', 'C', 'R', '\r', '\n', '\x1a', '\n' };
static char const zeros[8];

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

bool
gci_frame_has_payload(gci_frame_type type)
{
    switch (type) {
#define X(name, number, payload)                                                                      \
    case GCI_FRAME_##name:                                                                            \
        return payload;
        GCI_FRAME_TYPE_MAP(X)
#undef X
    }
    return false;
}

static bool
is_type(uint16_t number)
{
    switch (number) {
#define X(name, value, payload)                                                                       \
    case value:                                                                                       \
        return true;
        GCI_FRAME_TYPE_MAP(X)
#undef X
    default:
        return false;
    }
}

static gci_checksum
get_checksum(gci_reader *reader)
{
    uint64_t low = gci_get_u64(reader), high = gci_get_u64(reader);

    return (gci_checksum){ .low = low, .high = high };
}

static void
put_checksum(gci_buf *buf, gci_checksum sum)
{
    gci_put_u64(buf, sum.low);
    gci_put_u64(buf, sum.high);
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

/* frame = prologue head checksum, see the table in frame.h */
gci_frame_state
gci_frame_read_head(gci_view bytes, gci_frame *out_frame)
{
    gci_reader reader = gci_reader_of(bytes);
    size_t known = bytes.size < sizeof magic ? bytes.size : sizeof magic;

    *out_frame = (gci_frame){ 0 };
    if (bytes.size == 0 || memcmp(bytes.data, magic, known) != 0)
        return is_all_zero(bytes) ? GCI_FRAME_TORN : GCI_FRAME_BAD;
    gci_get_raw(&reader, known);
    uint16_t version = gci_get_u16(&reader), type = gci_get_u16(&reader);
    uint32_t head_size = gci_get_u32(&reader);
    out_frame->payload_size = gci_get_u64(&reader);
    out_frame->payload_checksum = get_checksum(&reader);
    out_frame->evicted_ns = gci_get_u64(&reader);
    if (reader.failed)
        return GCI_FRAME_TORN;
    bool newer = version > GCI_FRAME_VERSION;
    if (version == 0 || (!newer && !is_type(type)) || head_size > GCI_HEAD_MAX || head_size % 8 != 0 ||
        out_frame->payload_size > GCI_PAYLOAD_MAX)
        return GCI_FRAME_BAD;
    out_frame->type = (gci_frame_type)type;
    out_frame->head = gci_get_raw(&reader, head_size);
    gci_checksum stored = get_checksum(&reader);
    if (reader.failed)
        return GCI_FRAME_TORN;
    out_frame->size = GCI_FRAME_OVERHEAD + head_size;
    gci_checksum sum = gci_checksum_of(bytes.data, GCI_FRAME_PROLOGUE + (size_t)head_size);
    if (!same_checksum(stored, sum))
        return GCI_FRAME_BAD;
    return newer ? GCI_FRAME_NEWER : GCI_FRAME_GOOD;
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
        if (memcmp(bytes.data + at, magic, sizeof magic) != 0)
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
    gci_buf_append(buf, magic, sizeof magic);
    gci_put_u16(buf, GCI_FRAME_VERSION);
    gci_put_u16(buf, (uint16_t)start->type);
    gci_put_u32(buf, 0); /* the head's size, known at the end */
    gci_put_u64(buf, start->payload_size);
    put_checksum(buf, start->payload_checksum);
    gci_put_u64(buf, start->evicted_ns);
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
    for (int i = 0; i < 4; i++)
        buf->data[begin + 12 + (size_t)i] = (char)(uint8_t)(head_size >> (8 * i));
    put_checksum(buf, gci_checksum_of(buf->data + begin, buf->size - begin));
}
