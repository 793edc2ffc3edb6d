/* Little-endian integers and length-prefixed bytes: see codec.h. */
#include "base/codec.h"

#include "base/check.h"

#include <endian.h>

void
gci_put_number(gci_buf *buf, uint64_t value, size_t size)
{
    uint64_t bytes = htole64(value);

    GCI_ASSERT(size <= sizeof bytes);
    char *room = gci_buf_reserve(buf, size);
    if (room == NULL)
        return;
    if (size == sizeof bytes)
        memcpy(room, &bytes, sizeof bytes);
    else if (size == sizeof(uint32_t))
        memcpy(room, &bytes, sizeof(uint32_t));
    else
        for (size_t i = 0; i < size; i++)
            room[i] = ((char const *)&bytes)[i];
    buf->size += size;
}

void
gci_put_u8(gci_buf *buf, uint8_t value)
{
    gci_put_number(buf, value, sizeof value);
}

void
gci_put_u32(gci_buf *buf, uint32_t value)
{
    gci_put_number(buf, value, sizeof value);
}

void
gci_put_u64(gci_buf *buf, uint64_t value)
{
    gci_put_number(buf, value, sizeof value);
}

void
gci_put_bytes(gci_buf *buf, gci_view bytes)
{
    if (bytes.size > UINT32_MAX) {
        buf->failed = true;
        return;
    }
    gci_put_u32(buf, (uint32_t)bytes.size);
    gci_buf_append_view(buf, bytes);
}

gci_view
gci_get_raw(gci_reader *reader, size_t size)
{
    if (reader->failed || size > gci_reader_left(reader)) {
        reader->failed = true;
        return (gci_view){ "", 0 };
    }
    gci_view bytes = gci_view_of(reader->next, size);
    reader->next += size;
    return bytes;
}

uint64_t
gci_get_number(gci_reader *reader, size_t size)
{
    gci_view bytes = gci_get_raw(reader, size);
    uint64_t value = 0;

    GCI_ASSERT(size <= sizeof value);
    memcpy(&value, bytes.data, bytes.size);
    return le64toh(value);
}

uint8_t
gci_get_u8(gci_reader *reader)
{
    return (uint8_t)gci_get_number(reader, 1);
}

uint32_t
gci_get_u32(gci_reader *reader)
{
    return (uint32_t)gci_get_number(reader, 4);
}

uint64_t
gci_get_u64(gci_reader *reader)
{
    return gci_get_number(reader, 8);
}

gci_view
gci_get_bytes(gci_reader *reader)
{
    uint32_t size = gci_get_u32(reader);

    return gci_get_raw(reader, size);
}

uint32_t
gci_get_count(gci_reader *reader, size_t item_size)
{
    GCI_ASSERT(item_size > 0);
    uint32_t count = gci_get_u32(reader);
    if (reader->failed || count > gci_reader_left(reader) / item_size) {
        reader->failed = true;
        return 0;
    }
    return count;
}
