#include "cache/transfer_file.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/codec.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define MAGIC "GCEXPORT"
#define HEADER_BYTES 16
#define ITEM_BYTES 32
#define TRAILER_BYTES 48
/* What is read at a time while the whole file is hashed. */
#define STEP_BYTES ((size_t)1 << 20)

/* ---- paths ---- */

/* The directory that path lies in, opened; *out_name is the rest of path. */
static gcache_status
open_parent(char const *path, gci_buf *room, gci_dir *out_dir, char const **out_name, gcache_error *error)
{
    char const *slash = strrchr(path, '/');

    *out_name = slash != NULL ? slash + 1 : path;
    room->size = 0;
    if (slash == NULL)
        gci_buf_append_text(room, ".");
    else
        gci_buf_append(room, path, slash == path ? 1 : (size_t)(slash - path));
    gci_buf_append_char(room, '\0');
    if (room->failed)
        return gci_fail_memory(error);
    GCI_REQUIRE((*out_name)[0] != '\0', error, "%s is a directory", path);
    return gci_dir_open_user(room->data, out_dir, error);
}

/* ---- writing ---- */

static gcache_status
write_bytes(gci_transfer_writer *writer, gci_view bytes, gcache_error *error)
{
    if (!gci_digest_update(writer->digest, bytes.data, bytes.size))
        return gci_fail_memory(error);
    writer->size += bytes.size;
    return bytes.size != 0 ? gci_file_write(&writer->file, &bytes, 1, error) : GCACHE_OK;
}

static gcache_status
write_header(gci_transfer_writer *writer, gcache_error *error)
{
    gci_buf header;

    gci_buf_init(&header, HEADER_BYTES);
    gci_buf_append_text(&header, MAGIC);
    gci_put_u32(&header, GCI_TRANSFER_VERSION);
    gci_put_u32(&header, 0);
    gcache_status status = header.failed ? gci_fail_memory(error) : write_bytes(writer, gci_buf_view(&header), error);
    gci_buf_clear(&header);
    return status;
}

/* names = directory NUL temporary NUL final NUL */
static gcache_status
name_files(gci_transfer_writer *writer, char const *path, gcache_error *error)
{
    char const *name;

    gcache_status status = open_parent(path, &writer->names, &writer->dir, &name, error);
    if (status != GCACHE_OK)
        return status;
    writer->temporary_at = writer->names.size;
    gci_buf_format(&writer->names, ".%s.%lx-%lx", name, (unsigned long)getpid(), (unsigned long)gci_clock_steady_ns());
    gci_buf_append_char(&writer->names, '\0');
    writer->final_at = writer->names.size;
    gci_buf_append_text(&writer->names, name);
    gci_buf_append_char(&writer->names, '\0');
    if (writer->names.failed)
        return gci_fail_memory(error);
    /* The buffer may have moved since the directory was given its name. */
    writer->dir.name = writer->names.data;
    return GCACHE_OK;
}

gcache_status
gci_transfer_create(gci_transfer_writer *writer, char const *path, gcache_error *error)
{
    *writer = (gci_transfer_writer){ .dir = { -1, "" }, .file = GCI_FILE_NONE };
    gci_buf_init(&writer->names, GCI_BUF_NO_LIMIT);
    writer->digest = gci_digest_new();
    if (writer->digest == NULL || !gci_digest_begin(writer->digest))
        return gci_fail_memory(error);
    gcache_status status = name_files(writer, path, error);
    if (status == GCACHE_OK)
        status = gci_file_open(writer->dir, writer->names.data + writer->temporary_at, O_WRONLY | O_CREAT | O_EXCL,
                               &writer->file, error);
    return status == GCACHE_OK ? write_header(writer, error) : status;
}

gcache_status
gci_transfer_put(gci_transfer_writer *writer, gci_transfer_type type, gci_view head, gci_view body, gcache_error *error)
{
    gci_buf front;

    gci_buf_init(&front, GCI_BUF_NO_LIMIT);
    gci_checksum head_sum = gci_checksum_of(head.data, head.size), body_sum = gci_checksum_of(body.data, body.size);
    gci_put_u32(&front, type);
    gci_put_u32(&front, (uint32_t)head.size);
    gci_put_u64(&front, body.size);
    gci_put_u64(&front, head_sum.low ^ body_sum.low);
    gci_put_u64(&front, head_sum.high + body_sum.high);
    gci_buf_append_view(&front, head);
    gcache_status status = front.failed ? gci_fail_memory(error) : write_bytes(writer, gci_buf_view(&front), error);
    if (status == GCACHE_OK)
        status = write_bytes(writer, body, error);
    gci_buf_clear(&front);
    writer->items++;
    return status;
}

static gcache_status
write_trailer(gci_transfer_writer *writer, gcache_error *error)
{
    uint8_t hash[GCI_SHA256_BYTES];
    gci_buf trailer;

    gci_buf_init(&trailer, TRAILER_BYTES);
    gci_put_u64(&trailer, writer->items);
    gci_put_u64(&trailer, writer->size + TRAILER_BYTES);
    gcache_status status = trailer.failed ? gci_fail_memory(error) : write_bytes(writer, gci_buf_view(&trailer), error);
    gci_buf_clear(&trailer);
    if (status == GCACHE_OK && !gci_digest_end(writer->digest, hash))
        status = gci_fail_memory(error);
    if (status == GCACHE_OK)
        status = gci_file_write(&writer->file, &(gci_view){ (char const *)hash, sizeof hash }, 1, error);
    writer->size += sizeof hash;
    return status;
}

gcache_status
gci_transfer_finish(gci_transfer_writer *writer, gcache_error *error)
{
    gcache_status status = write_trailer(writer, error);

    if (status == GCACHE_OK)
        status = gci_file_sync(&writer->file, error);
    if (status == GCACHE_OK)
        status = gci_dir_rename(writer->dir, writer->names.data + writer->temporary_at, writer->dir,
                                writer->names.data + writer->final_at, error);
    if (status == GCACHE_OK)
        gci_file_close(&writer->file);
    return status;
}

void
gci_transfer_close(gci_transfer_writer *writer)
{
    if (writer->file.fd >= 0) {
        gci_file_close(&writer->file);
        gci_dir_unlink(writer->dir, writer->names.data + writer->temporary_at, NULL);
    }
    if (writer->dir.fd >= 0)
        gci_dir_close(&writer->dir);
    gci_digest_free(writer->digest);
    gci_buf_clear(&writer->names);
}

/* ---- reading ---- */

static gcache_status
read_at(gci_transfer_reader *reader, size_t size, uint64_t at, gci_buf *out, gcache_error *error)
{
    size_t got;

    gci_buf_clear(out);
    char *room = gci_buf_reserve(out, size + 1);
    if (room == NULL)
        return gci_fail_memory(error);
    gcache_status status = gci_file_read(&reader->file, room, size, at, &got, error);
    if (status == GCACHE_OK && got != size)
        status = gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: shorter than it was", reader->path.data);
    out->size = size;
    return status;
}

static gcache_status
check_header(gci_transfer_reader *reader, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    if (reader->size >= HEADER_BYTES)
        status = read_at(reader, HEADER_BYTES, 0, &reader->bytes, error);
    gci_reader bytes = gci_reader_of(gci_buf_view(&reader->bytes));
    if (status != GCACHE_OK)
        return status;
    if (reader->size < HEADER_BYTES || !gci_view_is(gci_get_raw(&bytes, sizeof MAGIC - 1), MAGIC))
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: not an export of guardcache", reader->path.data);
    uint32_t version = gci_get_u32(&bytes);
    if (version != GCI_TRANSFER_VERSION)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: an export of version %u; this library reads version %d",
                        reader->path.data, version, GCI_TRANSFER_VERSION);
    return GCACHE_OK;
}

static gcache_status
hash_file(gci_transfer_reader *reader, uint8_t out_hash[GCI_SHA256_BYTES], gcache_error *error)
{
    gci_digest *digest = gci_digest_new();
    uint64_t end = reader->size - GCI_SHA256_BYTES;
    gcache_status status = digest != NULL && gci_digest_begin(digest) ? GCACHE_OK : gci_fail_memory(error);

    for (uint64_t at = 0; status == GCACHE_OK && at < end; at += reader->bytes.size) {
        status = read_at(reader, end - at < STEP_BYTES ? (size_t)(end - at) : STEP_BYTES, at, &reader->bytes, error);
        if (status == GCACHE_OK && !gci_digest_update(digest, reader->bytes.data, reader->bytes.size))
            status = gci_fail_memory(error);
    }
    if (status == GCACHE_OK && !gci_digest_end(digest, out_hash))
        status = gci_fail_memory(error);
    gci_digest_free(digest);
    return status;
}

static gcache_status
check_trailer(gci_transfer_reader *reader, gcache_error *error)
{
    uint8_t hash[GCI_SHA256_BYTES];

    if (reader->size < HEADER_BYTES + TRAILER_BYTES)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: cut off; nothing was imported", reader->path.data);
    gcache_status status = hash_file(reader, hash, error);
    if (status == GCACHE_OK)
        status = read_at(reader, TRAILER_BYTES, reader->size - TRAILER_BYTES, &reader->bytes, error);
    if (status != GCACHE_OK)
        return status;
    gci_reader bytes = gci_reader_of(gci_buf_view(&reader->bytes));
    gci_get_u64(&bytes);
    uint64_t size = gci_get_u64(&bytes);
    if (memcmp(gci_get_raw(&bytes, sizeof hash).data, hash, sizeof hash) != 0 || size != reader->size)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: damaged or cut off (its SHA-256 doesn't match); nothing was imported",
                        reader->path.data);
    return GCACHE_OK;
}

static gcache_status
open_file(gci_transfer_reader *reader, char const *path, gcache_error *error)
{
    struct stat facts;
    char const *name;
    /* A user may name a file by a symbolic link. */
    char *real = realpath(path, NULL);

    gci_buf_append_text(&reader->path, real != NULL ? real : path);
    gci_buf_append_char(&reader->path, '\0');
    free(real);
    if (reader->path.failed)
        return gci_fail_memory(error);
    gcache_status status = open_parent(reader->path.data, &reader->parent, &reader->dir, &name, error);
    if (status == GCACHE_OK)
        status = gci_file_open(reader->dir, name, O_RDONLY, &reader->file, error);
    if (status == GCACHE_OK)
        status = gci_file_stat(&reader->file, &facts, error);
    if (status == GCACHE_OK)
        reader->size = (uint64_t)facts.st_size;
    return status;
}

gcache_status
gci_transfer_open(gci_transfer_reader *reader, char const *path, gcache_error *error)
{
    *reader = (gci_transfer_reader){ .dir = { -1, "" }, .file = GCI_FILE_NONE, .at = HEADER_BYTES };
    gci_buf_init(&reader->path, GCI_BUF_NO_LIMIT);
    gci_buf_init(&reader->parent, GCI_BUF_NO_LIMIT);
    gci_buf_init(&reader->bytes, GCI_BUF_NO_LIMIT);
    gcache_status status = open_file(reader, path, error);
    if (status == GCACHE_OK)
        status = check_header(reader, error);
    if (status == GCACHE_OK)
        status = check_trailer(reader, error);
    reader->end = reader->size - TRAILER_BYTES;
    return status;
}

/* item = type head_size body_size checksum head body */
gcache_status
gci_transfer_next(gci_transfer_reader *reader, gci_transfer_item *out_item, bool *out_more, gcache_error *error)
{
    *out_more = reader->at < reader->end;
    if (!*out_more)
        return GCACHE_OK;
    gcache_status status = read_at(reader, ITEM_BYTES, reader->at, &reader->bytes, error);
    if (status != GCACHE_OK)
        return status;
    gci_reader front = gci_reader_of(gci_buf_view(&reader->bytes));
    out_item->type = (gci_transfer_type)gci_get_u32(&front);
    uint64_t head = gci_get_u32(&front), body = gci_get_u64(&front), low = gci_get_u64(&front), high = gci_get_u64(&front);
    uint64_t left = reader->end - reader->at - ITEM_BYTES;
    if (head > left || body > left - head)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: an item is longer than the file", reader->path.data);
    status = read_at(reader, (size_t)(head + body), reader->at + ITEM_BYTES, &reader->bytes, error);
    if (status != GCACHE_OK)
        return status;
    out_item->head = gci_view_of(reader->bytes.data, (size_t)head);
    out_item->body = gci_view_of(reader->bytes.data + head, (size_t)body);
    gci_checksum head_sum = gci_checksum_of(out_item->head.data, out_item->head.size);
    gci_checksum body_sum = gci_checksum_of(out_item->body.data, out_item->body.size);
    if ((head_sum.low ^ body_sum.low) != low || head_sum.high + body_sum.high != high)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: it changed while it was read", reader->path.data);
    reader->at += ITEM_BYTES + head + body;
    return GCACHE_OK;
}

void
gci_transfer_close_reader(gci_transfer_reader *reader)
{
    if (reader->file.fd >= 0)
        gci_file_close(&reader->file);
    if (reader->dir.fd >= 0)
        gci_dir_close(&reader->dir);
    gci_buf_clear(&reader->path);
    gci_buf_clear(&reader->parent);
    gci_buf_clear(&reader->bytes);
}
