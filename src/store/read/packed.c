/* Compression for what is kept outside of entries: the journal's descriptions. */
#include "store/format/compress.h"
#include "store/format/describe.h"
#include "store/read/read.h"

/* Fast: whoever missed waits for it. */
#define PACK_LEVEL 1

bool
gci_store_pack(gci_view bytes, gci_buf *out)
{
    return gci_compress(bytes, PACK_LEVEL, out, NULL) == GCACHE_OK;
}

bool
gci_store_unpack(gci_view packed, uint64_t size, gci_buf *out)
{
    if (size > GCI_DESCRIPTION_MAX || !gci_compressed_size_is(packed, size))
        return false;
    char *room = gci_buf_reserve(out, (size_t)size);
    if (room == NULL || gci_decompress(packed, room, (size_t)size, NULL) != GCACHE_OK)
        return false;
    out->size += (size_t)size;
    return true;
}
