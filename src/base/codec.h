/*
 * Little-endian integers and length-prefixed bytes, written to a gci_buf and read with bounds checks.
 *
 * A gci_reader that runs past its end, or meets a length that can't be, sets `failed` and yields zeros and empty views
 * from then on: a parse of foreign bytes checks once at its end, and before it trusts a count.
 */
#ifndef GCI_BASE_CODEC_H
#define GCI_BASE_CODEC_H

#include "base/buf.h"
#include "base/view.h"

#include <stdint.h>

/* The lowest size bytes of value. */
void gci_put_number(gci_buf *buf, uint64_t value, size_t size);
void gci_put_u8(gci_buf *buf, uint8_t value);
void gci_put_u32(gci_buf *buf, uint32_t value);
void gci_put_u64(gci_buf *buf, uint64_t value);
/* A 32-bit length, then the bytes. */
void gci_put_bytes(gci_buf *buf, gci_view bytes);

typedef struct gci_reader {
    char const *next, *end;
    bool failed;
} gci_reader;

static inline gci_reader
gci_reader_of(gci_view bytes)
{
    char const *first = bytes.data != NULL ? bytes.data : ""; /* nothing is added to NULL, not even zero */

    return (gci_reader){ .next = first, .end = first + bytes.size, .failed = false };
}

static inline size_t
gci_reader_left(gci_reader const *reader)
{
    return (size_t)(reader->end - reader->next);
}

uint64_t gci_get_number(gci_reader *reader, size_t size); /* of up to 8 bytes */
uint8_t gci_get_u8(gci_reader *reader);
uint32_t gci_get_u32(gci_reader *reader);
uint64_t gci_get_u64(gci_reader *reader);
gci_view gci_get_bytes(gci_reader *reader);           /* length-prefixed */
gci_view gci_get_raw(gci_reader *reader, size_t size); /* exactly size bytes */
/* A 32-bit count of items that take at least item_size bytes each: fails if they can't be there. */
uint32_t gci_get_count(gci_reader *reader, size_t item_size);

#endif
