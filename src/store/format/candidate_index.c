#include "store/format/candidate_index.h"

#include "base/check.h"
#include "base/codec.h"

#define PACK_VERSION 1
#define CHECKED 48

static char const magic[8] = { '\x89', 'G', 'C', 'P', '\r', '\n', '\x1a', '\n' };

/* What a file system writes at once: after a power cut a page is there or is zeros. */
#define PAGE 4096

void
gci_pack_put_header(gci_buf *buf, gcache_key const *key)
{
    size_t begin = buf->size;

    gci_buf_append(buf, magic, sizeof magic);
    gci_put_u32(buf, PACK_VERSION);
    gci_put_u32(buf, GCI_PACK_HEADER);
    gci_buf_append(buf, key->bytes, sizeof key->bytes);
    if (buf->failed)
        return;
    gci_checksum sum = gci_checksum_of(buf->data + begin, CHECKED);
    gci_put_u64(buf, sum.low);
    gci_put_u64(buf, sum.high);
}

static bool
is_zero(char const *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

/* header = magic version size key checksum */
gci_pack_state
gci_pack_begin(gci_view bytes, gcache_key const *key, gci_pack_walk *out_walk)
{
    gci_reader reader = gci_reader_of(bytes);

    *out_walk = (gci_pack_walk){ .bytes = bytes, .at = GCI_PACK_HEADER, .next = GCI_PACK_HEADER, .end = GCI_PACK_HEADER };
    gci_view begin = gci_get_raw(&reader, sizeof magic);
    uint32_t version = gci_get_u32(&reader), size = gci_get_u32(&reader);
    gci_view named = gci_get_raw(&reader, sizeof key->bytes);
    uint64_t low = gci_get_u64(&reader), high = gci_get_u64(&reader);
    if (reader.failed || is_zero(bytes.data, GCI_PACK_HEADER))
        return GCI_PACK_TORN;
    gci_checksum sum = gci_checksum_of(bytes.data, CHECKED);
    if (memcmp(begin.data, magic, sizeof magic) != 0 || sum.low != low || sum.high != high)
        return GCI_PACK_BAD;
    if (version > PACK_VERSION)
        return GCI_PACK_NEWER;
    bool good = version == PACK_VERSION && size == GCI_PACK_HEADER;
    return good && memcmp(named.data, key->bytes, sizeof key->bytes) == 0 ? GCI_PACK_GOOD : GCI_PACK_BAD;
}

gci_pack_walk
gci_pack_continue(gci_view appended)
{
    return (gci_pack_walk){ .bytes = appended };
}

/* Whether a page of the bytes from `at` on never reached the disk. */
static bool
lacks_page(gci_view bytes, size_t at)
{
    while (at < bytes.size) {
        size_t end = (at / PAGE + 1) * PAGE;
        if (end > bytes.size)
            end = bytes.size;
        if (end - at >= GCI_FRAME_OVERHEAD && is_zero(bytes.data + at, end - at))
            return true;
        at = end;
    }
    return false;
}

bool
gci_pack_next(gci_pack_walk *walk, gci_frame *out_frame)
{
    GCI_ASSERT(walk->next % 8 == 0);
    walk->at = walk->next;
    if (walk->at >= walk->bytes.size)
        return false;
    gci_view rest = gci_view_of(walk->bytes.data + walk->at, walk->bytes.size - walk->at);
    gci_frame_state state = gci_frame_read(rest, out_frame);
    if (state != GCI_FRAME_GOOD) {
        size_t found = gci_frame_find(walk->bytes, walk->at + 8, &walk->newer);
        bool last = found == walk->bytes.size;
        if (state == GCI_FRAME_NEWER)
            walk->newer = true;
        else if (last && (state == GCI_FRAME_TORN || lacks_page(walk->bytes, walk->at)))
            walk->torn = true;
        else
            walk->damaged++;
        if (last)
            return false;
        walk->at = found;
        rest = gci_view_of(walk->bytes.data + found, walk->bytes.size - found);
        gci_frame_read(rest, out_frame);
    }
    walk->next = walk->end = walk->at + out_frame->size;
    return true;
}
