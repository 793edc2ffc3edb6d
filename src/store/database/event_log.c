/* The segment: events appended to one file, and read from it. See event_log.h. */
#include "store/database/event_log.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "store/directory/layout.h"
#include "store/directory/paths.h"

#include <fcntl.h>

#define NAME "segment"

typedef struct file_header {
    uint64_t nonce;
} file_header;

static gci_field const file_fields[] = {
    GCI_CONSTANT("GCSEGM\0\1", "magic", "`GCSEGM` 00 01"),
    GCI_NUMBER(file_header, nonce, 8, "nonce", "another one each time it is emptied"),
};
gci_fields const gci_segment_fields = GCI_FIELDS("segment", file_header, file_fields);

/* An append takes microseconds: somebody who holds the lock for longer is emptying the file, was kept from running by many
   others, or was stopped. What was looked up isn't worth waiting for, nor is a removal, since a row without an entry is noticed
   when it is to be evicted; an entry whose insert isn't written down can't be. */
#define HINT_WAIT_NS UINT64_C(50000000)
#define INSERT_WAIT_NS UINT64_C(2000000000)

void
gci_segment_init(gci_segment *segment, gci_dir dir)
{
    *segment = (gci_segment){ .dir = dir, .file = GCI_FILE_NONE };
    gci_turns_init(&segment->appending);
}

void
gci_segment_close(gci_segment *segment)
{
    gci_file_close(&segment->file);
    gci_turns_clear(&segment->appending);
}

void
gci_segment_after_fork(gci_segment *segment)
{
    gci_file_close(&segment->file);
    gci_turns_init(&segment->appending);
}

/* ---- the file ---- */

static gcache_status
size_of(gci_file const *file, uint64_t *out_size, gcache_error *error)
{
    struct stat facts;

    gcache_status status = gci_file_stat(file, &facts, error);
    *out_size = status == GCACHE_OK ? (uint64_t)facts.st_size : 0;
    return status;
}

/* Empties the file, before it gets its new nonce: who reads without the lock never takes old events for new ones. Not down to
   nothing, after which ext4 writes a file out when it is closed. Under its exclusive lock; not one that was opened to append,
   which writes to the end only. */
static gcache_status
write_header(gci_file const *file, gcache_error *error)
{
    gci_buf header;

    gci_buf_init(&header, 64);
    gci_fields_write(&header, &gci_segment_fields, &(file_header){ gci_clock_wall_ns() });
    gcache_status status = header.failed ? gci_fail_memory(error)
                                         : gci_file_truncate(file, GCI_SEGMENT_HEADER, error);
    if (status == GCACHE_OK)
        status = gci_file_write_at(file, gci_buf_view(&header), 0, error);
    gci_buf_clear(&header);
    return status;
}

/* Empties the file if its size is at least `from` and at most `to`, and nobody appends to it within wait_ns. */
static gcache_status
empty(gci_dir dir, uint64_t from, uint64_t to, uint64_t wait_ns, gcache_error *error)
{
    gci_file file;
    uint64_t size;

    gcache_status status = gci_file_open(dir, NAME, O_RDWR, &file, error);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_lock(&file, GCI_LOCK_EXCLUSIVE, wait_ns, error);
    if (status == GCACHE_OK)
        status = size_of(&file, &size, error);
    if (status == GCACHE_OK && from <= size && size <= to && gci_file_still_named(&file))
        status = write_header(&file, error);
    gci_file_unlock_and_close(&file);
    return status;
}

/* One attempt to have the file open, whole and locked. *out_again: it was replaced meanwhile, or has a header now. */
static gcache_status
open_and_lock(gci_segment *segment, uint64_t wait_ns, bool *out_again, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    struct stat facts = { 0 };

    *out_again = false;
    if (segment->file.fd < 0)
        status = gci_layout_create(segment->dir, NAME, O_WRONLY | O_CREAT | O_APPEND, &segment->file, error);
    if (status == GCACHE_OK)
        status = gci_file_lock(&segment->file, GCI_LOCK_SHARED, wait_ns, error);
    if (status != GCACHE_OK)
        return status;
    bool named = gci_file_stat_named(&segment->file, &facts);
    segment->size = (uint64_t)facts.st_size;
    if (named && segment->size >= GCI_SEGMENT_HEADER && segment->size <= GCI_SEGMENT_MAX)
        return status;
    gci_file_unlock(&segment->file);
    if (!named)
        gci_file_close(&segment->file);
    else if (segment->size > GCI_SEGMENT_MAX)
        return gci_fail(error, GCACHE_ERROR_LIMIT, "%s/" NAME ": nobody drains it", segment->dir.name);
    else
        status = empty(segment->dir, 0, GCI_SEGMENT_HEADER - 1, wait_ns, error);
    *out_again = status == GCACHE_OK;
    return status;
}

/* Removed, made, and without a header yet: more is bad luck. */
#define ATTEMPTS 4

static gcache_status
begin_append(gci_segment *segment, uint64_t wait_ns, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    bool again = true;

    if (!gci_turns_lock(&segment->appending, wait_ns))
        return gci_fail(error, GCACHE_ERROR_BUSY, "%s/" NAME ": other threads wait to append", segment->dir.name);
    for (int attempt = 0; again && attempt < ATTEMPTS; attempt++)
        status = open_and_lock(segment, wait_ns, &again, error);
    if (again)
        status = gci_fail(error, GCACHE_ERROR_BUSY, "%s/" NAME ": it is replaced again and again", segment->dir.name);
    if (status != GCACHE_OK)
        gci_turns_unlock(&segment->appending);
    return status;
}

static void
end_append(gci_segment *segment)
{
    gci_file_unlock(&segment->file);
    gci_turns_unlock(&segment->appending);
}

/* ---- appending ---- */

static uint64_t
wait_of(gci_event_type type)
{
    return type == GCI_EVENT_INSERTED ? INSERT_WAIT_NS : HINT_WAIT_NS;
}

gcache_status
gci_segment_append_all(gci_segment *segment, gci_event const *events, size_t count, gcache_error *error)
{
    char headers[GCI_APPEND_MAX][GCI_EVENT_HEADER];
    gci_view parts[2 * GCI_APPEND_MAX];

    GCI_ASSERT(count >= 1 && count <= GCI_APPEND_MAX);
    for (size_t i = 0; i < count; i++) {
        gci_event_seal(&events[i], headers[i]);
        parts[2 * i] = gci_view_of(headers[i], GCI_EVENT_HEADER);
        parts[2 * i + 1] = events[i].body;
    }
    gcache_status status = begin_append(segment, wait_of(events[0].type), error);
    if (status != GCACHE_OK)
        return status;
    status = gci_file_write(&segment->file, parts, 2 * count, error);
    end_append(segment);
    if (status == GCACHE_OK)
        atomic_fetch_add(&segment->appended, (uint32_t)count);
    return status;
}

gcache_status
gci_segment_append(gci_segment *segment, gci_event_type type, gci_view body, gcache_error *error)
{
    return gci_segment_append_all(segment, &(gci_event){ type, gci_clock_wall_ns(), body }, 1, error);
}

/* ---- reading ---- */

/* Of a damaged header. */
#define NO_NONCE 0
/* All that appends can have made of it: each of many processes adds one event to the largest file that isn't too large. */
#define READ_MAX (GCI_SEGMENT_MAX + 64 * (uint64_t)GCI_EVENT_MAX)

static gcache_status
read_part(gci_file const *file, uint64_t nonce, uint64_t offset, size_t limit, gci_segment_part *out, gcache_error *error)
{
    char bytes[GCI_SEGMENT_HEADER];
    file_header header;
    uint64_t size;
    size_t got;

    gcache_status status = size_of(file, &size, error);
    if (status == GCACHE_OK)
        status = gci_file_read(file, bytes, sizeof bytes, 0, &got, error);
    if (status != GCACHE_OK || got < sizeof bytes || size < sizeof bytes)
        return status;
    if (size > READ_MAX)
        size = READ_MAX;
    bool whole = gci_fields_read_all(gci_view_of(bytes, sizeof bytes), &gci_segment_fields, NULL, &header);
    out->nonce = whole ? header.nonce : NO_NONCE;
    out->offset = out->nonce == nonce && offset >= GCI_SEGMENT_HEADER && offset <= size ? offset : GCI_SEGMENT_HEADER;
    size_t wanted = size - out->offset < limit ? (size_t)(size - out->offset) : limit;
    char *room = gci_buf_reserve(&out->bytes, wanted);
    if (out->bytes.failed)
        return gci_fail_memory(error);
    return gci_file_read(file, room, wanted, out->offset, &out->bytes.size, error);
}

gcache_status
gci_segment_read(gci_segment *segment, uint64_t nonce, uint64_t offset, size_t limit, gci_segment_part *out_part,
                 gcache_error *error)
{
    gci_file file;

    *out_part = (gci_segment_part){ 0 };
    gci_buf_init(&out_part->bytes, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_file_open_existing(segment->dir, NAME, O_RDONLY, &file, error);
    if (status != GCACHE_OK || file.fd < 0)
        return status;
    status = read_part(&file, nonce, offset, limit, out_part, error);
    gci_file_close(&file);
    if (status != GCACHE_OK)
        gci_buf_clear(&out_part->bytes);
    return status;
}

void
gci_segment_reset(gci_segment *segment, uint64_t size)
{
    /* Trouble here leaves events that are drained again, which changes nothing. */
    empty(segment->dir, size, size < READ_MAX ? size : UINT64_MAX, 0, NULL);
}

void
gci_segment_discard(gci_segment *segment)
{
    empty(segment->dir, 0, UINT64_MAX, HINT_WAIT_NS, NULL);
}

void
gci_segment_reset_absurd(gci_segment *segment)
{
    struct stat facts;

    if (gci_dir_stat(segment->dir, NAME, &facts, NULL) == GCACHE_OK && (uint64_t)facts.st_size >= READ_MAX)
        empty(segment->dir, READ_MAX, UINT64_MAX, 0, NULL);
}
