/*
 * The index: what files hashed to, so that they needn't be read again (docs/formats/fingerprint.md).
 *
 * The first file that isn't whole ends it: what stands behind it is read once more.
 */
#include "base/array.h"
#include "base/check.h"
#include "base/system/clock.h"
#include "base/fields.h"
#include "base/system/file.h"
#include "graph/fingerprint/fingerprint_run.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC "GCFPIDX"

typedef struct header {
    uint64_t saved_ns;
} header;

static gci_field const header_fields[] = {
    GCI_CONSTANT(MAGIC "\2", "magic", "`GCFPIDX` 02"),
    GCI_NUMBER(header, saved_ns, 8, "saved", "when it was, in ns since 1970"),
};
gci_fields const gci_index_header_fields = GCI_FIELDS("fingerprint index", header, header_fields);

typedef struct kept_file {
    gci_remembered what;
    gci_view path;
} kept_file;

static gci_field const file_fields[] = {
    GCI_BYTES(kept_file, what.hash, "hash", ""),
    GCI_NUMBER(kept_file, what.facts.size, 8, "size", "in bytes"),
    GCI_NUMBER(kept_file, what.facts.mtime_ns, 8, "modification time", "ns since 1970"),
    GCI_NUMBER(kept_file, what.facts.ctime_ns, 8, "change time", "ns since 1970"),
    GCI_NUMBER(kept_file, what.facts.device, 8, "device", ""),
    GCI_NUMBER(kept_file, what.facts.inode, 8, "inode", ""),
    GCI_TEXT(kept_file, path, "path", "absolute"),
    GCI_SUM64("sum", ""),
};
gci_fields const gci_index_file_fields = GCI_FIELDS("fingerprint index: file", kept_file, file_fields);

/* An index of a million files. */
#define MAX_BYTES ((size_t)256 << 20)

/* Two changes within a clock tick of the file system leave the same time: what changed this recently isn't trusted. */
#define TICK_NS UINT64_C(2000000000)

gci_remembered const *
gci_print_remembered(gcache_fingerprint const *print, gci_view full)
{
    uint32_t number = gci_intern_find(&print->paths, full);

    return number != GCI_INTERN_NONE ? &print->remembered[number] : NULL;
}

static gcache_status
remember(gcache_fingerprint *print, gci_view full, gci_remembered const *what, gcache_error *error)
{
    bool is_new = false;
    uint32_t number = gci_intern_find(&print->paths, full);

    if (number == GCI_INTERN_NONE) {
        gci_view copy = gci_arena_copy(&print->index_arena, full);
        if (copy.data == NULL)
            return gci_fail_memory(error);
        number = gci_intern_add(&print->paths, copy, &is_new);
    }
    if (number == GCI_INTERN_NONE)
        return gci_fail_memory(error);
    if (!gci_array_has_room(&print->remembered, number, &print->remembered_room, sizeof *print->remembered))
        return gci_fail_memory(error);
    print->remembered[number] = *what;
    return GCACHE_OK;
}

/* ---- reading ---- */

static bool
is_trusted(gci_file_facts const *facts, uint64_t saved_ns)
{
    uint64_t latest = facts->mtime_ns > facts->ctime_ns ? facts->mtime_ns : facts->ctime_ns;

    return latest < saved_ns && saved_ns - latest > TICK_NS;
}

/* index = header file*; of another version nothing is remembered */
static gcache_status
read_index(gcache_fingerprint *print, gci_view bytes, gcache_error *error)
{
    gci_reader reader = gci_reader_of(bytes);
    gcache_status status = GCACHE_OK;
    kept_file file;
    header start;

    gci_fields_read(&reader, &gci_index_header_fields, NULL, &start);
    while (!reader.failed && gci_reader_left(&reader) != 0 && status == GCACHE_OK) {
        gci_fields_read(&reader, &gci_index_file_fields, NULL, &file);
        if (reader.failed)
            break;
        file.what.trusted = is_trusted(&file.what.facts, start.saved_ns);
        status = remember(print, file.path, &file.what, error);
    }
    return status;
}

/* What doesn't begin as an index does is somebody's file, which a save would overwrite. */
static gcache_status
check_index(char const *path, gci_view bytes, gcache_error *error)
{
    size_t seen = bytes.size < sizeof MAGIC - 1 ? bytes.size : sizeof MAGIC - 1;

    return bytes.size == 0 || memcmp(bytes.data, MAGIC, seen) == 0
               ? GCACHE_OK
               : gci_fail(error, GCACHE_ERROR_FORMAT, "%s: not an index of guardcache fingerprint", path);
}

gcache_status
gcache_fingerprint_index_open(gcache_fingerprint *print, char const *path, gcache_error *error)
{
    gci_buf bytes;
    gcache_error ignored;

    GCI_REQUIRE(print != NULL && path != NULL, error, "gcache_fingerprint_index_open needs a fingerprint and a path");
    gci_buf_init(&bytes, MAX_BYTES);
    gcache_status status = gci_file_read_user(path, MAX_BYTES, &bytes, &ignored);
    if (status == GCACHE_OK)
        status = check_index(path, gci_buf_view(&bytes), &ignored);
    if (status == GCACHE_OK) {
        status = read_index(print, gci_buf_view(&bytes), error);
    } else if (status == GCACHE_ERROR_NOT_FOUND) {
        status = GCACHE_OK;
    } else if (error != NULL) {
        *error = ignored;
    }
    gci_buf_clear(&bytes);
    return status;
}

/* ---- writing ---- */

/* What was read or confirmed now is remembered in place of what was before. */
static gcache_status
remember_parts(gcache_fingerprint *print, gcache_error *error)
{
    gcache_status status = GCACHE_OK;

    for (size_t i = 0; i < print->part_count; i++) {
        gci_print_part const *part = &print->parts[i];
        for (size_t k = 0; k < part->file_count && status == GCACHE_OK; k++) {
            gci_print_file const *file = &part->files[k];
            gci_remembered what = { .facts = file->facts };
            memcpy(what.hash, file->hash, sizeof what.hash);
            if (file->link.data == NULL)
                status = remember(print, file->full, &what, error);
        }
    }
    return status;
}

gcache_status
gcache_fingerprint_index_save(gcache_fingerprint *print, char const *path, gcache_error *error)
{
    gci_buf bytes;

    GCI_REQUIRE(print != NULL && path != NULL, error, "gcache_fingerprint_index_save needs a fingerprint and a path");
    gcache_status status = remember_parts(print, error);
    gci_buf_init(&bytes, MAX_BYTES);
    gci_fields_write(&bytes, &gci_index_header_fields, &(header){ gci_clock_wall_ns() });
    for (uint32_t i = 0; i < print->paths.count && status == GCACHE_OK; i++)
        gci_fields_write(&bytes, &gci_index_file_fields, &(kept_file){ print->remembered[i], print->paths.texts[i] });
    if (status == GCACHE_OK && bytes.failed)
        status = gci_fail_memory(error);
    if (status == GCACHE_OK)
        status = gci_file_write_user(path, gci_buf_view(&bytes), error);
    gci_buf_clear(&bytes);
    return status;
}
