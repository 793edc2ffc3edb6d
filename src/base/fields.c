/* Writes and reads values by their field tables. */
#include "base/fields.h"

#include "base/check.h"

#include <endian.h>

/* The largest number that is hex digits in memory. */
#define HEX_BYTES_MAX 32
/* The fewest bytes of a text: its length and its zero. */
#define TEXT_LEAST 5

static gci_field const text_fields[] = { { GCI_FIELD_TEXT, "text", "", .at = 0 } };
static gci_field const u32_fields[] = { { GCI_FIELD_NUMBER, "number", "", .size = 4, .width = 4, .most = UINT32_MAX } };
static gci_field const u64_fields[] = { { GCI_FIELD_NUMBER, "number", "", .size = 8, .width = 8, .most = UINT64_MAX } };

static gci_field const checksum_fields[] = {
    GCI_NUMBER(gci_checksum, low, 8, "low", ""),
    GCI_NUMBER(gci_checksum, high, 8, "high", ""),
};

gci_fields const gci_text_item = GCI_FIELDS("text", gci_view, text_fields);
gci_fields const gci_u32_item = GCI_FIELDS("u32", uint32_t, u32_fields);
gci_fields const gci_u64_item = GCI_FIELDS("u64", uint64_t, u64_fields);
gci_fields const gci_checksum_item = GCI_FIELDS("checksum", gci_checksum, checksum_fields);

/* ---- what is in memory ---- */

static uint64_t
load_number(char const *at, size_t width)
{
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;

    switch (width) {
    case 1:
        memcpy(&u8, at, width);
        return u8;
    case 2:
        memcpy(&u16, at, width);
        return u16;
    case 4:
        memcpy(&u32, at, width);
        return u32;
    default:
        GCI_ASSERT(width == sizeof u64);
        memcpy(&u64, at, width);
        return u64;
    }
}

static void
store_number(char *at, size_t width, uint64_t value)
{
    uint8_t u8 = (uint8_t)value;
    uint16_t u16 = (uint16_t)value;
    uint32_t u32 = (uint32_t)value;

    memcpy(at, width == 1 ? (void const *)&u8 : width == 2 ? (void const *)&u16 : width == 4 ? (void const *)&u32 : &value,
           width);
}

static void const *
load_pointer(char const *at)
{
    void const *pointer;

    memcpy(&pointer, at, sizeof pointer);
    return pointer;
}

static gci_view
load_text(gci_field const *field, char const *at)
{
    if (field->type == GCI_FIELD_TEXT)
        return *(gci_view const *)(void const *)at;
    return gci_view_text(field->type == GCI_FIELD_STRING ? load_pointer(at) : at);
}

static void
store_text(gci_field const *field, char *at, gci_view text)
{
    if (field->type == GCI_FIELD_TEXT) {
        memcpy(at, &text, sizeof text);
    } else if (field->type == GCI_FIELD_STRING) {
        memcpy(at, &text.data, sizeof text.data);
    } else {
        size_t size = text.size < field->width ? text.size : field->width - 1;
        memcpy(at, text.data, size);
        at[size] = '\0';
    }
}

/* ---- writing ---- */

static void
put_number(gci_buf *buf, gci_field const *field, char const *at)
{
    uint64_t value = load_number(at, field->width);

    buf->failed |= field->size < sizeof value && value >> (8 * field->size) != 0;
    gci_put_number(buf, value, field->size);
}

/* At once, since most of a record is texts. */
static void
put_text(gci_buf *buf, gci_view text)
{
    uint32_t size = htole32((uint32_t)text.size);

    if (text.size > UINT32_MAX) {
        buf->failed = true;
        return;
    }
    char *room = gci_buf_reserve(buf, sizeof size + text.size + 1);
    if (room == NULL)
        return;
    memcpy(room, &size, sizeof size);
    if (text.size != 0)
        memcpy(room + sizeof size, text.data, text.size);
    room[sizeof size + text.size] = '\0';
    buf->size += sizeof size + text.size + 1;
}

static void
put_hex(gci_buf *buf, char const *digits, size_t size)
{
    uint8_t bytes[HEX_BYTES_MAX] = { 0 };

    gci_unhex(gci_view_of(digits, 2 * size), bytes, size);
    gci_buf_append(buf, bytes, size);
}

static void
put_items(gci_buf *buf, gci_fields const *item, char const *items, uint64_t count)
{
    for (uint64_t i = 0; i < count && !buf->failed; i++)
        gci_fields_write(buf, item, items + i * item->size);
}

static void
put_sum(gci_buf *buf, size_t begin, bool wide)
{
    if (buf->failed)
        return;
    char const *bytes = buf->data + begin;
    size_t size = buf->size - begin;
    gci_checksum sum = wide ? gci_checksum_of(bytes, size) : (gci_checksum){ gci_hash64(bytes, size, 0), 0 };
    gci_put_u64(buf, sum.low);
    if (wide)
        gci_put_u64(buf, sum.high);
}

/* begin: where the value begins in buf. */
static void
put_field(gci_buf *buf, gci_field const *field, char const *value, size_t begin)
{
    char const *at = value + field->at;
    uint64_t count;

    switch (field->type) {
    case GCI_FIELD_NUMBER:
        put_number(buf, field, at);
        break;
    case GCI_FIELD_BYTES:
        gci_buf_append(buf, at, field->size);
        break;
    case GCI_FIELD_CONSTANT:
        gci_buf_append(buf, field->bytes, field->size);
        break;
    case GCI_FIELD_HEX:
        put_hex(buf, at, field->size);
        break;
    case GCI_FIELD_TEXT:
    case GCI_FIELD_STRING:
    case GCI_FIELD_CHARS:
        put_text(buf, load_text(field, at));
        break;
    case GCI_FIELD_STRUCT:
        gci_fields_write(buf, field->item, at);
        break;
    case GCI_FIELD_OPTION:
        count = load_pointer(at) != NULL;
        gci_put_u8(buf, (uint8_t)count);
        put_items(buf, field->item, load_pointer(at), count);
        break;
    case GCI_FIELD_LIST:
        count = load_number(value + field->count_at, field->width);
        gci_put_u32(buf, (uint32_t)count);
        put_items(buf, field->item, load_pointer(at), count);
        break;
    case GCI_FIELD_SUM64:
    case GCI_FIELD_SUM128:
        put_sum(buf, begin, field->type == GCI_FIELD_SUM128);
        break;
    }
}

void
gci_fields_write(gci_buf *buf, gci_fields const *fields, void const *value)
{
    size_t begin = buf->size;

    for (size_t i = 0; i < fields->count; i++)
        put_field(buf, &fields->fields[i], value, begin);
}

/* ---- reading ---- */

static size_t
field_least(gci_field const *field)
{
    switch (field->type) {
    case GCI_FIELD_NUMBER:
    case GCI_FIELD_BYTES:
    case GCI_FIELD_CONSTANT:
    case GCI_FIELD_HEX:
        return field->size;
    case GCI_FIELD_TEXT:
    case GCI_FIELD_STRING:
    case GCI_FIELD_CHARS:
        return TEXT_LEAST;
    case GCI_FIELD_STRUCT:
        return gci_fields_least(field->item);
    case GCI_FIELD_OPTION:
        return 1;
    case GCI_FIELD_LIST:
        return 4;
    case GCI_FIELD_SUM64:
        return 8;
    case GCI_FIELD_SUM128:
        return 16;
    }
    return 0;
}

size_t
gci_fields_least(gci_fields const *fields)
{
    size_t least = 0;

    for (size_t i = 0; i < fields->count; i++)
        least += field_least(&fields->fields[i]);
    return least;
}

static void
get_number(gci_reader *reader, gci_field const *field, char *at)
{
    uint64_t value = gci_get_number(reader, field->size);

    reader->failed |= value > field->most;
    store_number(at, field->width, value);
}

static void
get_raw(gci_reader *reader, void *at, size_t size)
{
    gci_view bytes = gci_get_raw(reader, size);

    memset(at, 0, size);
    memcpy(at, bytes.data, bytes.size);
}

static void
get_hex(gci_reader *reader, char *digits, size_t size)
{
    uint8_t bytes[HEX_BYTES_MAX];

    get_raw(reader, bytes, size);
    gci_hex(bytes, size, digits);
}

static void
get_constant(gci_reader *reader, gci_field const *field)
{
    gci_view bytes = gci_get_raw(reader, field->size);

    reader->failed |= !gci_view_equal(bytes, gci_view_of(field->bytes, field->size));
}

static gci_view
get_text(gci_reader *reader)
{
    gci_view text = gci_get_bytes(reader);

    reader->failed |= gci_get_u8(reader) != 0;
    return reader->failed ? (gci_view)GCI_VIEW("") : text;
}

/* NULL: damage or no memory. A list of nothing is there. */
static char *
get_items(gci_reader *reader, gci_fields const *item, gci_arena *arena, size_t count)
{
    char *items = reader->failed ? NULL : gci_arena_array(arena, count, item->size);

    reader->failed |= items == NULL;
    for (size_t i = 0; i < count && !reader->failed; i++)
        gci_fields_read(reader, item, arena, items + i * item->size);
    return items;
}

static void
get_option(gci_reader *reader, gci_field const *field, gci_arena *arena, char *at)
{
    uint8_t count = gci_get_u8(reader);

    reader->failed |= count > 1;
    char const *item = count == 1 ? get_items(reader, field->item, arena, 1) : NULL;
    memcpy(at, &item, sizeof item);
}

static void
get_list(gci_reader *reader, gci_field const *field, gci_arena *arena, char *value)
{
    size_t count = gci_get_count(reader, gci_fields_least(field->item));
    char const *items = get_items(reader, field->item, arena, count);

    memcpy(value + field->at, &items, sizeof items);
    store_number(value + field->count_at, field->width, items != NULL ? count : 0);
}

/* begin: where the value begins in the input. */
static void
check_sum(gci_reader *reader, char const *begin, bool wide)
{
    size_t size = (size_t)(reader->next - begin);
    uint64_t low = gci_get_u64(reader), high = wide ? gci_get_u64(reader) : 0;

    if (reader->failed)
        return;
    gci_checksum sum = wide ? gci_checksum_of(begin, size) : (gci_checksum){ gci_hash64(begin, size, 0), 0 };
    reader->failed = sum.low != low || sum.high != high;
}

static void
get_field(gci_reader *reader, gci_field const *field, gci_arena *arena, char *value, char const *begin)
{
    char *at = value + field->at;

    switch (field->type) {
    case GCI_FIELD_NUMBER:
        get_number(reader, field, at);
        break;
    case GCI_FIELD_BYTES:
        get_raw(reader, at, field->size);
        break;
    case GCI_FIELD_CONSTANT:
        get_constant(reader, field);
        break;
    case GCI_FIELD_HEX:
        get_hex(reader, at, field->size);
        break;
    case GCI_FIELD_TEXT:
    case GCI_FIELD_STRING:
    case GCI_FIELD_CHARS:
        store_text(field, at, get_text(reader));
        break;
    case GCI_FIELD_STRUCT:
        gci_fields_read(reader, field->item, arena, at);
        break;
    case GCI_FIELD_OPTION:
        get_option(reader, field, arena, at);
        break;
    case GCI_FIELD_LIST:
        get_list(reader, field, arena, value);
        break;
    case GCI_FIELD_SUM64:
    case GCI_FIELD_SUM128:
        check_sum(reader, begin, field->type == GCI_FIELD_SUM128);
        break;
    }
}

void
gci_fields_read(gci_reader *reader, gci_fields const *fields, gci_arena *arena, void *out_value)
{
    char const *begin = reader->next;

    for (size_t i = 0; i < fields->count; i++)
        get_field(reader, &fields->fields[i], arena, out_value, begin);
}

bool
gci_fields_read_all(gci_view bytes, gci_fields const *fields, gci_arena *arena, void *out_value)
{
    gci_reader reader = gci_reader_of(bytes);

    gci_fields_read(&reader, fields, arena, out_value);
    return !reader.failed && gci_reader_left(&reader) == 0;
}
