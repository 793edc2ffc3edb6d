/*
 * zstd (RFC 8878). Making a context takes longer than using it for a small payload, so the process keeps one of each sort:
 * whoever comes while another thread has it makes one for himself.
 */
#include "store/format/compress.h"

#include "base/check.h"

#include <stdatomic.h>
#include <zstd.h>
#include <zstd_errors.h>

/* What a large payload at a high level grew to isn't kept: level 3 needs less, level 19 eighty megabytes. */
#define KEPT_BYTES_MAX ((size_t)4 << 20)

static _Atomic(ZSTD_CCtx *) spare_compressor;
static _Atomic(ZSTD_DCtx *) spare_decompressor;

static void
keep_compressor(ZSTD_CCtx *context)
{
    ZSTD_CCtx *none = NULL;

    if (ZSTD_sizeof_CCtx(context) > KEPT_BYTES_MAX || !atomic_compare_exchange_strong(&spare_compressor, &none, context))
        ZSTD_freeCCtx(context);
}

static void
keep_decompressor(ZSTD_DCtx *context)
{
    ZSTD_DCtx *none = NULL;

    if (!atomic_compare_exchange_strong(&spare_decompressor, &none, context))
        ZSTD_freeDCtx(context);
}

gcache_status
gci_compress(gci_view raw, int level, gci_buf *out, gcache_error *error)
{
    size_t bound = ZSTD_compressBound(raw.size);
    char *room = ZSTD_isError(bound) ? NULL : gci_buf_reserve(out, bound);
    ZSTD_CCtx *context = room != NULL ? atomic_exchange(&spare_compressor, NULL) : NULL;

    if (room != NULL && context == NULL)
        context = ZSTD_createCCtx();
    if (context == NULL)
        return gci_fail_memory(error);
    size_t size = ZSTD_compressCCtx(context, room, bound, raw.data, raw.size, level);
    keep_compressor(context);
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
    ZSTD_DCtx *context = atomic_exchange(&spare_decompressor, NULL);

    if (context == NULL && (context = ZSTD_createDCtx()) == NULL)
        return gci_fail_memory(error);
    size_t got = ZSTD_decompressDCtx(context, out_raw, size, stored.data, stored.size);
    keep_decompressor(context);
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
