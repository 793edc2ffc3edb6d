/*
 * zstd behind two functions: the only room where zstd.h is known.
 */
#ifndef GCI_STORE_FORMAT_COMPRESS_H
#define GCI_STORE_FORMAT_COMPRESS_H

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>

/* Appends raw, compressed, to out. ERROR_MEMORY, ERROR_INTERNAL. */
gcache_status gci_compress(gci_view raw, int level, gci_buf *out, gcache_error *error);

/* Fills exactly size bytes from stored; anything else in there is ERROR_CORRUPT. */
gcache_status gci_decompress(gci_view stored, void *out_raw, size_t size, gcache_error *error);

/* Whether stored says of itself that it holds size bytes, and can: asked before room is made for them. */
bool gci_compressed_size_is(gci_view stored, uint64_t size);

/* The library's version as text. Static storage. */
char const *gci_compress_version(void);

#endif
