/* zstd (RFC 8878), through one context for each call. */
#include "store/format/compress.h"

#include "base/check.h"

#include <zstd.h>
#include <zstd_errors.h>

gcache_status
gci_compress(gci_view raw, int level, gci_buf *out, gcache_error *error)
{
    size_t bound = ZSTD_compressBound(raw.size);
    char *room = ZSTD_isError(bound) ? NULL : gci_buf_reserve(out, bound);

    if (room == NULL)
        return gci_fail_memory(error);
    size_t size = ZSTD_compress(room, bound, raw.data, raw.size, level);
    if (ZSTD_isError(size)) {
        bool memory = ZSTD_getErrorCode(size) == ZSTD_error_memory_allocation;
        return memory ? gci_fail_memory(error)
                      : gci_fail(error, GCACHE_ERROR_INTERNAL, "zstd: %s", ZSTD_getErrorName(size));
    }
    GCI_ASSERT(size <= bound);
    out->size += size;
    return GCACHE_OK;
}

gcache_status
gci_decompress(gci_view stored, void *out_raw, size_t size, gcache_error *error)
{
    size_t got = ZSTD_decompress(out_raw, size, stored.data, stored.size);

    if (ZSTD_isError(got)) {
        bool memory = ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation;
        return memory ? gci_fail_memory(error)
                      : gci_fail(error, GCACHE_ERROR_CORRUPT, "zstd: %s", ZSTD_getErrorName(got));
    }
    return got == size ? GCACHE_OK : gci_fail(error, GCACHE_ERROR_CORRUPT, "zstd: %zu bytes instead of %zu", got, size);
}

/* A block takes 4 bytes at least, 3 of head and one that is repeated, and unfolds to 128 KiB at most. */
#define MOST_PER_BYTE ((uint64_t)32 << 10)

bool
gci_compressed_size_is(gci_view stored, uint64_t size)
{
    return size / MOST_PER_BYTE <= stored.size && ZSTD_getFrameContentSize(stored.data, stored.size) == size;
}

char const *
gci_compress_version(void)
{
    return ZSTD_versionString();
}
