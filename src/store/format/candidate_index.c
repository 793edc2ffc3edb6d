/* Candidate indexes: their header, and the walk over their frames. See candidate_index.h. */
#include "store/format/candidate_index.h"

#include "base/check.h"
#include "base/fields.h"

#define PACK_VERSION 1

typedef struct header {
    uint32_t version, size;
    gcache_key key;
} header;

static gci_field const header_fields[] = {
    GCI_CONSTANT("\x89GCP\r\n\x1a\n", "magic", "`89 47 43 50 0d 0a 1a 0a` (`.GCP....`)"),
    GCI_NUMBER(header, version, 4, "version", "1"),
    GCI_NUMBER(header, size, 4, "size", "of the header, 64"),
    GCI_BYTES(header, key, "key", ""),
    GCI_SUM128("sum", ""),
};
gci_fields const gci_pack_header_fields = GCI_FIELDS("candidate index", header, header_fields);

/* What a file system writes at once: after a power cut a page is there or is zeros. */
#define PAGE 4096

void
gci_pack_put_header(gci_buf *buf, gcache_key const *key)
{
    gci_fields_write(buf, &gci_pack_header_fields, &(header){ PACK_VERSION, GCI_PACK_HEADER, *key });
}

static bool
is_zero(char const *bytes, size_t size)
{
    return size == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, size - 1) == 0);
}

gci_pack_state
gci_pack_begin(gci_view bytes, gcache_key const *key, gci_pack_walk *out_walk)
{
    gci_reader reader = gci_reader_of(bytes);
    header read;

    *out_walk = (gci_pack_walk){ .bytes = bytes, .at = GCI_PACK_HEADER, .next = GCI_PACK_HEADER, .end = GCI_PACK_HEADER };
    if (bytes.size < GCI_PACK_HEADER || is_zero(bytes.data, GCI_PACK_HEADER))
        return GCI_PACK_TORN;
    gci_fields_read(&reader, &gci_pack_header_fields, NULL, &read);
    if (reader.failed)
        return GCI_PACK_BAD;
    if (read.version > PACK_VERSION)
        return GCI_PACK_NEWER;
    bool good = read.version == PACK_VERSION && read.size == GCI_PACK_HEADER;
    return good && memcmp(&read.key, key, sizeof read.key) == 0 ? GCI_PACK_GOOD : GCI_PACK_BAD;
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
