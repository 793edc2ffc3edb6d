/*
 * The file of an export, written through a digest and read after it was verified whole (docs/formats/export.md).
 */
#include "cache/transfer/transfer_file.h"

#include "base/check.h"
#include "base/system/clock.h"
#include "base/system/dir_path.h"
#include "base/text/json.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define MAGIC "GCEXPORT"
#define HEADER_BYTES 16
#define TRAILER_BYTES 48
/* What is read at a time while the whole file is hashed. */
#define STEP_BYTES ((size_t)1 << 20)
/* A manifest is a line of counts, and the selection that was asked for. */
#define MANIFEST_MAX ((uint64_t)1 << 20)

/* ---- what the file consists of besides frames ---- */

typedef struct header {
    uint32_t version;
} header;

static gci_field const header_fields[] = {
    GCI_CONSTANT(MAGIC, "magic", "`GCEXPORT`"),
    GCI_NUMBER(header, version, 4, "version", "3"),
    GCI_CONSTANT("\0\0\0\0", "zeros", ""),
};
gci_fields const gci_transfer_header_fields = GCI_FIELDS("export", header, header_fields);

typedef struct trailer {
    uint64_t frames, size;
    uint8_t sha256[GCI_SHA256_BYTES];
} trailer;

static gci_field const trailer_fields[] = {
    GCI_NUMBER(trailer, frames, 8, "frames", "how many"),
    GCI_NUMBER(trailer, size, 8, "size", "of the file"),
    GCI_BYTES(trailer, sha256, "SHA-256", "of all bytes before"),
};
gci_fields const gci_transfer_trailer_fields = GCI_FIELDS("export: trailer", trailer, trailer_fields);

static gci_field const blob_fields[] = { GCI_STRING(gci_blob_head, path, "path", "below the cache directory") };
gci_fields const gci_blob_fields = GCI_FIELDS("export: blob", gci_blob_head, blob_fields);

static gci_field const artifact_fields[] = {
    GCI_STRING(gci_artifact_head, kind, "kind", ""),
    GCI_STRING(gci_artifact_head, name, "name", ""),
};
gci_fields const gci_artifact_fields = GCI_FIELDS("export: artifact", gci_artifact_head, artifact_fields);

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
    gci_buf bytes;

    gci_buf_init(&bytes, HEADER_BYTES);
    gci_fields_write(&bytes, &gci_transfer_header_fields, &(header){ GCI_TRANSFER_VERSION });
    gcache_status status = bytes.failed ? gci_fail_memory(error) : write_bytes(writer, gci_buf_view(&bytes), error);
    gci_buf_clear(&bytes);
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

/* A rename would put a device, a pipe or a link out of the way, and a file of the cache. */
static gcache_status
check_target(gci_transfer_writer const *writer, char const *path, gci_view cache, gcache_error *error)
{
    char const *name = writer->names.data + writer->final_at;
    struct stat facts;
    gci_buf parent;

    if (fstatat(writer->dir.fd, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISREG(facts.st_mode))
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: not a plain file", path);
    gci_buf_init(&parent, GCI_BUF_NO_LIMIT);
    gcache_status status = gci_dir_path(writer->dir, &parent, error);
    gci_buf_append_char(&parent, '/');
    if (status == GCACHE_OK && parent.failed)
        status = gci_fail_memory(error);
    else if (status == GCACHE_OK && parent.size > cache.size && parent.data[cache.size] == '/' &&
             memcmp(parent.data, cache.data, cache.size) == 0)
        status = gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: lies in the cache directory", path);
    gci_buf_clear(&parent);
    return status;
}

gcache_status
gci_transfer_create(gci_transfer_writer *writer, char const *path, gci_view cache, gcache_error *error)
{
    *writer = (gci_transfer_writer){ .dir = { .fd = -1, .name = "" }, .file = GCI_FILE_NONE };
    gci_buf_init(&writer->names, GCI_BUF_NO_LIMIT);
    writer->digest = gci_digest_new();
    if (writer->digest == NULL || !gci_digest_begin(writer->digest))
        return gci_fail_memory(error);
    gcache_status status = name_files(writer, path, error);
    if (status == GCACHE_OK)
        status = check_target(writer, path, cache, error);
    if (status == GCACHE_OK)
        status = gci_file_open(writer->dir, writer->names.data + writer->temporary_at, O_WRONLY | O_CREAT | O_EXCL,
                               &writer->file, error);
    return status == GCACHE_OK ? write_header(writer, error) : status;
}

gcache_status
gci_transfer_put_frame(gci_transfer_writer *writer, gci_view frame, gcache_error *error)
{
    writer->items++;
    return write_bytes(writer, frame, error);
}

gcache_status
gci_transfer_put(gci_transfer_writer *writer, gci_frame_type type, gci_view head, gci_view payload, gcache_error *error)
{
    gci_frame_start start = { type, payload.size, gci_checksum_of(payload.data, payload.size), 0, 0 };
    gci_buf front;

    gci_buf_init(&front, GCI_BUF_NO_LIMIT);
    size_t begin = gci_frame_begin(&front, &start);
    gci_buf_append_view(&front, head);
    gci_frame_end(&front, begin);
    gcache_status status = front.failed ? gci_fail_memory(error)
                                        : gci_transfer_put_frame(writer, gci_buf_view(&front), error);
    if (status == GCACHE_OK)
        status = write_bytes(writer, payload, error);
    if (status == GCACHE_OK)
        status = write_bytes(writer, gci_frame_padding(payload.size), error);
    gci_buf_clear(&front);
    return status;
}

/* The SHA-256 covers the other two. */
static gcache_status
write_trailer(gci_transfer_writer *writer, gcache_error *error)
{
    trailer end = { .frames = writer->items, .size = writer->size + TRAILER_BYTES };
    size_t covered = TRAILER_BYTES - sizeof end.sha256;
    gcache_status status;
    gci_buf bytes;

    gci_buf_init(&bytes, 2 * TRAILER_BYTES);
    gci_fields_write(&bytes, &gci_transfer_trailer_fields, &end);
    if (bytes.failed)
        status = gci_fail_memory(error);
    else
        status = write_bytes(writer, gci_view_of(bytes.data, covered), error);
    if (status == GCACHE_OK && !gci_digest_end(writer->digest, end.sha256))
        status = gci_fail_memory(error);
    if (status == GCACHE_OK)
        status = gci_file_write(&writer->file, &(gci_view){ (char const *)end.sha256, sizeof end.sha256 }, 1, error);
    gci_buf_clear(&bytes);
    writer->size += sizeof end.sha256;
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
    header read;

    gcache_status status = reader->size < HEADER_BYTES ? GCACHE_OK : read_at(reader, HEADER_BYTES, 0, &reader->bytes, error);
    if (status != GCACHE_OK)
        return status;
    if (!gci_fields_read_all(gci_buf_view(&reader->bytes), &gci_transfer_header_fields, NULL, &read))
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: not an export of guardcache", reader->path.data);
    if (read.version != GCI_TRANSFER_VERSION)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: an export of version %u; this library reads version %d",
                        reader->path.data, read.version, GCI_TRANSFER_VERSION);
    return GCACHE_OK;
}

/* What the frames' prologues say, picked out of the bytes as they pass by to be hashed. */
typedef struct scan {
    uint64_t next, end; /* where the next item begins, and where the last one must end */
    char front[GCI_FRAME_PROLOGUE];
    size_t got;         /* of the next item's front */
    uint64_t items, counts[GCI_FRAME_TYPES];
    uint64_t manifest_at, manifest_size;
    char const *wrong;  /* what doesn't fit; NULL: nothing so far */
} scan;

/* Whether exports have such frames. */
static bool
is_of_export(gci_frame_type type)
{
    return type != GCI_FRAME_REFERENCE && type != GCI_FRAME_EVICTED;
}

static void
take_front(scan *s)
{
    uint64_t left = s->end - s->next;
    gci_frame frame;

    if (!gci_frame_look(gci_view_of(s->front, sizeof s->front), &frame) || !is_of_export(frame.type))
        s->wrong = "an item is of an unknown type";
    else if (frame.size > left || frame.payload_size > left - frame.size ||
             gci_frame_padding(frame.payload_size).size > left - frame.size - frame.payload_size)
        s->wrong = "an item is longer than the file";
    else if (s->counts[GCI_FRAME_MANIFEST] != 0)
        s->wrong = "its manifest isn't the last item";
    if (s->wrong != NULL)
        return;
    if (frame.type == GCI_FRAME_MANIFEST) {
        s->manifest_at = s->next + frame.size;
        s->manifest_size = frame.payload_size;
    }
    s->counts[frame.type]++;
    s->items++;
    s->next += frame.size + frame.payload_size + gci_frame_padding(frame.payload_size).size;
    s->got = 0;
}

static void
scan_bytes(scan *s, uint64_t at, gci_view bytes)
{
    while (s->wrong == NULL && s->next < s->end && s->next + s->got < at + bytes.size) {
        uint64_t from = s->next + s->got, there = at + bytes.size - from;
        size_t lacking = GCI_FRAME_PROLOGUE - s->got, more = there < lacking ? (size_t)there : lacking;
        if (s->end - s->next < GCI_FRAME_PROLOGUE) {
            s->wrong = "there is something behind its last item";
            return;
        }
        memcpy(s->front + s->got, bytes.data + (from - at), more);
        s->got += more;
        if (s->got == GCI_FRAME_PROLOGUE)
            take_front(s);
    }
}

static gcache_status
hash_and_scan(gci_transfer_reader *reader, scan *s, uint8_t out_hash[GCI_SHA256_BYTES], gcache_error *error)
{
    gci_digest *digest = gci_digest_new();
    uint64_t end = reader->size - GCI_SHA256_BYTES;
    gcache_status status = digest != NULL && gci_digest_begin(digest) ? GCACHE_OK : gci_fail_memory(error);

    for (uint64_t at = 0; status == GCACHE_OK && at < end; at += reader->bytes.size) {
        status = read_at(reader, end - at < STEP_BYTES ? (size_t)(end - at) : STEP_BYTES, at, &reader->bytes, error);
        if (status == GCACHE_OK && !gci_digest_update(digest, reader->bytes.data, reader->bytes.size))
            status = gci_fail_memory(error);
        if (status == GCACHE_OK)
            scan_bytes(s, at, gci_buf_view(&reader->bytes));
    }
    if (status == GCACHE_OK && !gci_digest_end(digest, out_hash))
        status = gci_fail_memory(error);
    gci_digest_free(digest);
    return status;
}

static gcache_status
fail_whole(gci_transfer_reader const *reader, char const *why, gcache_error *error)
{
    return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: %s; nothing was imported", reader->path.data, why);
}

/* Whether the file has as many of each as its manifest says; rows are counted within their items. */
static gcache_status
check_counts(gci_transfer_reader const *reader, scan const *s, gci_value const *manifest, gcache_error *error)
{
    static struct {
        gci_frame_type type;
        char const *name;
    } const counted[] = {
        { GCI_FRAME_ENTRY, "entries" },
        { GCI_FRAME_ATTACHMENT, "attachments" },
        { GCI_FRAME_BLOB, "blobs" },
        { GCI_FRAME_ARTIFACT, "artifacts" },
    };

    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++) {
        gci_value const *said = manifest->type == GCI_MAP ? gci_map_find(manifest, counted[i].name) : NULL;
        uint64_t held = s->counts[counted[i].type];
        if (said == NULL || said->type != GCI_INT)
            return fail_whole(reader, "its manifest makes no sense", error);
        if (said->integer < 0 || (uint64_t)said->integer != held)
            return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: says it has %lld %s and has %llu; nothing was imported",
                            reader->path.data, (long long)said->integer, counted[i].name, (unsigned long long)held);
    }
    return GCACHE_OK;
}

static gcache_status
check_manifest(gci_transfer_reader *reader, scan const *s, gcache_error *error)
{
    gci_arena arena;
    gci_value value;

    if (s->manifest_size > MANIFEST_MAX)
        return fail_whole(reader, "its manifest makes no sense", error);
    gcache_status status = read_at(reader, (size_t)s->manifest_size, s->manifest_at, &reader->manifest, error);
    if (status != GCACHE_OK)
        return status;
    gci_arena_init(&arena, SIZE_MAX / 2);
    status = gci_json_read(gci_buf_view(&reader->manifest), "manifest", &arena, &value, NULL);
    status = status == GCACHE_OK ? check_counts(reader, s, &value, error)
             : arena.failed      ? gci_fail_memory(error)
                                 : fail_whole(reader, "its manifest makes no sense", error);
    gci_arena_clear(&arena);
    return status;
}

static gcache_status
check_items(gci_transfer_reader *reader, scan const *s, uint64_t items, gcache_error *error)
{
    if (s->wrong != NULL)
        return fail_whole(reader, s->wrong, error);
    if (s->items != items)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: says it has %llu items and has %llu; nothing was imported",
                        reader->path.data, (unsigned long long)items, (unsigned long long)s->items);
    if (s->counts[GCI_FRAME_MANIFEST] == 0)
        return fail_whole(reader, "has no manifest", error);
    return check_manifest(reader, s, error);
}

static gcache_status
check_whole(gci_transfer_reader *reader, gcache_error *error)
{
    uint8_t hash[GCI_SHA256_BYTES];
    trailer end;

    if (reader->size < HEADER_BYTES + TRAILER_BYTES)
        return fail_whole(reader, "cut off", error);
    scan s = { .next = HEADER_BYTES, .end = reader->end };
    gcache_status status = hash_and_scan(reader, &s, hash, error);
    if (status == GCACHE_OK)
        status = read_at(reader, TRAILER_BYTES, reader->size - TRAILER_BYTES, &reader->bytes, error);
    if (status != GCACHE_OK)
        return status;
    if (!gci_fields_read_all(gci_buf_view(&reader->bytes), &gci_transfer_trailer_fields, NULL, &end) ||
        memcmp(end.sha256, hash, sizeof hash) != 0 || end.size != reader->size)
        return fail_whole(reader, "damaged or cut off (its SHA-256 doesn't match)", error);
    return check_items(reader, &s, end.frames, error);
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
    if (status == GCACHE_ERROR_CORRUPT)
        return gci_fail(error, GCACHE_ERROR_FORMAT, "%s: not a plain file", path);
    if (status == GCACHE_OK)
        status = gci_file_stat(&reader->file, &facts, error);
    if (status != GCACHE_OK)
        return status;
    reader->size = (uint64_t)facts.st_size;
    reader->end = reader->size > TRAILER_BYTES ? reader->size - TRAILER_BYTES : 0;
    return GCACHE_OK;
}

gcache_status
gci_transfer_open(gci_transfer_reader *reader, char const *path, gcache_error *error)
{
    *reader = (gci_transfer_reader){ .dir = { .fd = -1, .name = "" }, .file = GCI_FILE_NONE, .at = HEADER_BYTES };
    gci_buf_init(&reader->path, GCI_BUF_NO_LIMIT);
    gci_buf_init(&reader->parent, GCI_BUF_NO_LIMIT);
    gci_buf_init(&reader->bytes, GCI_BUF_NO_LIMIT);
    gci_buf_init(&reader->manifest, GCI_BUF_NO_LIMIT);
    gcache_status status = open_file(reader, path, error);
    if (status == GCACHE_OK)
        status = check_header(reader, error);
    return status == GCACHE_OK ? check_whole(reader, error) : status;
}

gcache_status
gci_transfer_next(gci_transfer_reader *reader, gci_frame *out_frame, bool *out_more, gcache_error *error)
{
    gci_frame front;

    *out_more = reader->at < reader->end;
    if (!*out_more)
        return GCACHE_OK;
    gcache_status status = read_at(reader, GCI_FRAME_PROLOGUE, reader->at, &reader->bytes, error);
    if (status != GCACHE_OK)
        return status;
    uint64_t left = reader->end - reader->at;
    if (!gci_frame_look(gci_buf_view(&reader->bytes), &front) || front.size > left || front.payload_size > left - front.size)
        return gci_fail(error, GCACHE_ERROR_CORRUPT, "%s: it changed while it was read", reader->path.data);
    size_t size = front.size + (size_t)front.payload_size + gci_frame_padding(front.payload_size).size;
    status = read_at(reader, size, reader->at, &reader->bytes, error);
    if (status != GCACHE_OK)
        return status;
    if (gci_frame_read(gci_buf_view(&reader->bytes), out_frame) != GCI_FRAME_GOOD || out_frame->size != size)
        *out_frame = (gci_frame){ .type = front.type };
    reader->at += size;
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
    gci_buf_clear(&reader->manifest);
}
