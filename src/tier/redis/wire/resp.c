/*
 * RESP2 written and read. We have our own because Debian's hiredis 0.14 has no TLS, raises SIGPIPE and knows no deadlines; and it
 * would take memory for whatever a size claims.
 */
#include "tier/redis/wire/resp.h"

#include "base/array.h"
#include "base/check.h"

/* What is received at once. A key's heads mostly fit. */
#define ROOM_MIN ((size_t)16 << 10)
/* What is reserved for a bulk that was announced: most payloads then arrive where they stay. */
#define ROOM_MAX ((size_t)16 << 20)
/* What is received at once of what is dropped. */
#define ROOM_DROPPED ((size_t)256 << 10)
/* The shortest value, "+\r\n". */
#define VALUE_BYTES_MIN 3
/* "-9223372036854775808" */
#define INTEGER_CHARS_MAX 20

/* ---- writing ---- */

void
gci_resp_begin(gci_buf *buf, size_t arguments)
{
    gci_buf_format(buf, "*%zu" GCI_RESP_END, arguments);
}

void
gci_resp_argument_head(gci_buf *buf, size_t size)
{
    gci_buf_format(buf, "$%zu" GCI_RESP_END, size);
}

/* ---- a reader ---- */

bool
gci_resp_reader_init(gci_resp_reader *reader, size_t wanted, gci_resp_limits limits)
{
    *reader = (gci_resp_reader){ .limits = limits, .wanted = wanted };
    gci_buf_init(&reader->input, GCI_BUF_NO_LIMIT); /* the limit is that of all bytes, kept or not */
    reader->starts = calloc(wanted != 0 ? wanted : 1, sizeof *reader->starts);
    if (reader->starts == NULL)
        reader->fault = "out of memory";
    return reader->starts != NULL;
}

void
gci_resp_reader_clear(gci_resp_reader *reader)
{
    gci_buf_clear(&reader->input);
    free(reader->values);
    free(reader->starts);
    *reader = (gci_resp_reader){ 0 };
}

gci_view
gci_resp_bytes(gci_resp_reader const *reader, gci_resp_value const *value)
{
    bool has_bytes = value->type == GCI_RESP_TEXT || value->type == GCI_RESP_ERROR || value->type == GCI_RESP_BULK;

    return has_bytes ? gci_view_of(reader->input.data + value->at, (size_t)value->size) : gci_view_of(NULL, 0);
}

size_t
gci_resp_next(gci_resp_reader const *reader, size_t index)
{
    for (uint64_t pending = 1; pending != 0 && index < reader->count; pending--, index++) {
        if (reader->values[index].type == GCI_RESP_ARRAY)
            pending += reader->values[index].size;
    }
    return index;
}

bool
gci_resp_integer(gci_view text, int64_t *out_integer)
{
    bool negative = text.size != 0 && text.data[0] == '-';
    uint64_t most = negative ? (uint64_t)INT64_MAX + 1 : (uint64_t)INT64_MAX, number = 0;

    if (text.size == (size_t)negative || text.size > INTEGER_CHARS_MAX)
        return false;
    for (size_t i = negative; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9')
            return false;
        uint64_t digit = (uint64_t)(text.data[i] - '0');
        if (number > (most - digit) / 10)
            return false;
        number = number * 10 + digit;
    }
    *out_integer = negative ? (int64_t)(0 - number) : (int64_t)number;
    return true;
}

/* ---- reading ---- */

static bool
fail(gci_resp_reader *reader, char const *fault)
{
    reader->fault = fault;
    return false;
}

static bool
fail_large(gci_resp_reader *reader, char const *fault)
{
    reader->is_too_large = true;
    return fail(reader, fault);
}

/* One more value stands in the open array; with its last one it is complete itself. */
static void
close_arrays(gci_resp_reader *reader)
{
    while (reader->depth > 0 && --reader->left[reader->depth - 1] == 0)
        reader->depth--;
    if (reader->depth == 0)
        reader->replies++;
}

static bool
add(gci_resp_reader *reader, gci_resp_value value)
{
    if (reader->count == GCI_RESP_VALUES_MAX)
        return fail_large(reader, "its reply has too many elements");
    if (!GCI_ARRAY_HAS_ROOM(reader, values))
        return fail(reader, "out of memory");
    if (reader->depth == 0)
        reader->starts[reader->replies] = reader->count;
    reader->values[reader->count++] = value;
    if (value.type != GCI_RESP_ARRAY || value.size == 0)
        close_arrays(reader);
    return true;
}

static bool
add_array(gci_resp_reader *reader, int64_t count, size_t line_end)
{
    uint64_t left = reader->limits.total - reader->total + (reader->input.size - line_end);

    if (count < -1)
        return fail(reader, "its reply has a negative count");
    reader->at = line_end;
    if (count == -1)
        return add(reader, (gci_resp_value){ .type = GCI_RESP_NIL });
    if ((uint64_t)count > left / VALUE_BYTES_MIN || (uint64_t)count > GCI_RESP_VALUES_MAX - reader->count)
        return fail_large(reader, "its reply has too many elements");
    if (count != 0 && reader->depth == GCI_RESP_DEPTH_MAX)
        return fail(reader, "its reply is nested too deeply");
    if (!add(reader, (gci_resp_value){ .type = GCI_RESP_ARRAY, .size = (uint64_t)count }))
        return false;
    if (count != 0)
        reader->left[reader->depth++] = (uint64_t)count;
    return true;
}

/* A bulk that isn't kept: what has arrived of it is passed over, what hasn't will be dropped. */
static bool
leave_out(gci_resp_reader *reader, uint64_t size, size_t line_end)
{
    uint64_t all = size + sizeof GCI_RESP_END - 1;
    size_t here = reader->input.size - line_end;

    reader->at = all < here ? line_end + (size_t)all : reader->input.size;
    reader->dropping = all < here ? 0 : all - here;
    return add(reader, (gci_resp_value){ .type = GCI_RESP_LEFT_OUT, .size = size });
}

/* false: a fault, or more bytes have to arrive. */
static bool
add_bulk(gci_resp_reader *reader, int64_t size, size_t line_end)
{
    size_t here = reader->input.size - line_end, end = sizeof GCI_RESP_END - 1;
    uint64_t left = reader->limits.total - reader->total + here;

    if (size < -1)
        return fail(reader, "its reply has a negative size");
    if (size == -1) {
        reader->at = line_end;
        return add(reader, (gci_resp_value){ .type = GCI_RESP_NIL });
    }
    if (left < end || (uint64_t)size > left - end)
        return fail_large(reader, "its reply is too large");
    if ((uint64_t)size > reader->limits.keep)
        return leave_out(reader, (uint64_t)size, line_end);
    if (here < (uint64_t)size + end) {
        reader->missing = (uint64_t)size + end - here;
        return false;
    }
    if (memcmp(reader->input.data + line_end + size, GCI_RESP_END, end) != 0)
        return fail(reader, "its reply isn't RESP2");
    reader->at = line_end + (size_t)size + end;
    return add(reader, (gci_resp_value){ .type = GCI_RESP_BULK, .at = line_end, .size = (uint64_t)size });
}

/* line: what follows the type's character. */
static bool
add_by_type(gci_resp_reader *reader, char type, gci_view line, size_t line_end)
{
    int64_t number = 0;

    if (type == '+' || type == '-') {
        reader->at = line_end;
        size_t at = (size_t)(line.data - reader->input.data);
        return add(reader, (gci_resp_value){ .type = type == '+' ? GCI_RESP_TEXT : GCI_RESP_ERROR, .at = at, .size = line.size });
    }
    if ((type != ':' && type != '$' && type != '*') || !gci_resp_integer(line, &number))
        return fail(reader, "its reply isn't RESP2");
    if (type == '$')
        return add_bulk(reader, number, line_end);
    if (type == '*')
        return add_array(reader, number, line_end);
    reader->at = line_end;
    return add(reader, (gci_resp_value){ .type = GCI_RESP_INTEGER, .integer = number });
}

/* Reads one value. false: a fault, or more bytes have to arrive. */
static bool
read_value(gci_resp_reader *reader)
{
    size_t here = reader->input.size - reader->at;

    reader->missing = 0;
    if (here == 0 || reader->dropping != 0)
        return false;
    char const *begin = reader->input.data + reader->at;
    size_t looked = here < GCI_RESP_LINE_MAX ? here : GCI_RESP_LINE_MAX;
    char const *end = memchr(begin, '\n', looked);
    if (end == NULL && here >= GCI_RESP_LINE_MAX)
        return fail(reader, "its reply isn't RESP2");
    if (end == NULL)
        return false;
    if (end - begin < 2 || end[-1] != '\r')
        return fail(reader, "its reply isn't RESP2");
    gci_view line = gci_view_of(begin + 1, (size_t)(end - begin) - 2);
    return add_by_type(reader, begin[0], line, (size_t)(end + 1 - reader->input.data));
}

char *
gci_resp_room(gci_resp_reader *reader, size_t *out_room)
{
    uint64_t wanted = reader->missing;
    size_t room = wanted < ROOM_MIN ? ROOM_MIN : wanted > ROOM_MAX ? ROOM_MAX : (size_t)wanted;

    if (reader->dropping > ROOM_DROPPED)
        room = ROOM_DROPPED;
    char *place = gci_buf_reserve(&reader->input, room);
    if (place == NULL)
        reader->fault = "out of memory";
    *out_room = room;
    return place;
}

bool
gci_resp_arrived(gci_resp_reader *reader, size_t size)
{
    GCI_ASSERT(size <= reader->input.capacity - reader->input.size);
    if (reader->fault != NULL)
        return false;
    if (size > reader->limits.total - reader->total)
        return fail_large(reader, "its reply is too large");
    reader->total += size;
    if (reader->dropping != 0) {
        size_t dropped = size < reader->dropping ? size : (size_t)reader->dropping;
        char *place = reader->input.data + reader->input.size;
        memmove(place, place + dropped, size - dropped);
        reader->dropping -= dropped;
        size -= dropped;
    }
    reader->input.size += size;
    while (!gci_resp_complete(reader) && read_value(reader))
        continue;
    return reader->fault == NULL;
}
