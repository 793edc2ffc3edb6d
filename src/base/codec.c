#include "base/codec.h"

#include "base/check.h"

static void
put_little_endian(gci_buf *buf, uint64_t value, size_t size)
{
    char bytes[8];

    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(uint8_t)(value >> (8 * i));
    gci_buf_append(buf, bytes, size);
}

void
gci_put_u8(gci_buf *buf, uint8_t value)
{
    put_little_endian(buf, value, 1);
}

void
gci_put_u16(gci_buf *buf, uint16_t value)
{
    put_little_endian(buf, value, 2);
}

void
gci_put_u32(gci_buf *buf, uint32_t value)
{
    put_little_endian(buf, value, 4);
}

void
gci_put_u64(gci_buf *buf, uint64_t value)
{
    put_little_endian(buf, value, 8);
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

static uint64_t
get_little_endian(gci_reader *reader, size_t size)
{
    gci_view bytes = gci_get_raw(reader, size);
    uint64_t value = 0;

    for (size_t i = 0; i < bytes.size; i++)
        value |= (uint64_t)(uint8_t)bytes.data[i] << (8 * i);
    return value;
}

uint8_t
gci_get_u8(gci_reader *reader)
{
    return (uint8_t)get_little_endian(reader, 1);
}

uint16_t
gci_get_u16(gci_reader *reader)
{
    return (uint16_t)get_little_endian(reader, 2);
}

uint32_t
gci_get_u32(gci_reader *reader)
{
    return (uint32_t)get_little_endian(reader, 4);
}

uint64_t
gci_get_u64(gci_reader *reader)
{
    return get_little_endian(reader, 8);
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
