/*
 * The index: what files hashed to, so that they needn't be read again.
 *
 * A text file: the line "guardcache-fingerprint-index/1 <saved>" with the time it was saved at (ns since 1970), then a line
 * a file: hash, size, modification time, change time, device, inode (decimal, ns), path. What can't be read as such a
 * line is passed over: a file is then read once more. Paths with a line end aren't remembered.
 */
#include "base/array.h"
#include "base/check.h"
#include "base/system/clock.h"
#include "base/system/file.h"
#include "graph/fingerprint/fingerprint_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define HEADER "guardcache-fingerprint-index/1 "

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
read_number(char const **at, char const *end, uint64_t *out_number)
{
    char const *c = *at;

    *out_number = 0;
    while (c < end && *c >= '0' && *c <= '9' && *out_number < UINT64_MAX / 10)
        *out_number = *out_number * 10 + (uint64_t)(*c++ - '0');
    bool read = c > *at && c < end && *c == ' ';
    *at = c + 1;
    return read;
}

/* line := hash ' ' size ' ' mtime ' ' ctime ' ' device ' ' inode ' ' path */
static bool
read_line(gci_view line, uint64_t saved_ns, gci_remembered *out, gci_view *out_path)
{
    char const *at = line.data + 2 * GCI_SHA256_BYTES + 1, *end = line.data + line.size;
    gci_file_facts *f = &out->facts;

    if (line.size < 2 * GCI_SHA256_BYTES + 2 || at[-1] != ' ' ||
        !gci_unhex(gci_view_of(line.data, 2 * GCI_SHA256_BYTES), out->hash, GCI_SHA256_BYTES))
        return false;
    if (!read_number(&at, end, &f->size) || !read_number(&at, end, &f->mtime_ns) || !read_number(&at, end, &f->ctime_ns) ||
        !read_number(&at, end, &f->device) || !read_number(&at, end, &f->inode) || at >= end)
        return false;
    uint64_t latest = f->mtime_ns > f->ctime_ns ? f->mtime_ns : f->ctime_ns;
    out->trusted = latest < saved_ns && saved_ns - latest > TICK_NS;
    *out_path = gci_view_of(at, (size_t)(end - at));
    return true;
}

static gcache_status
read_index(gcache_fingerprint *print, gci_view text, gcache_error *error)
{
    gcache_status status = GCACHE_OK;
    uint64_t saved_ns = 0;
    bool first = true;

    for (size_t start = 0; start < text.size && status == GCACHE_OK;) {
        char const *stop = memchr(text.data + start, '\n', text.size - start);
        size_t end = stop != NULL ? (size_t)(stop - text.data) : text.size;
        gci_view line = gci_view_of(text.data + start, end - start), path;
        gci_remembered what;
        if (first) {
            if (sscanf(text.data, HEADER "%" SCNu64, &saved_ns) != 1)
                return GCACHE_OK; /* not an index, or of another version: nothing is remembered */
            first = false;
        } else if (stop != NULL && read_line(line, saved_ns, &what, &path)) {
            status = remember(print, path, &what, error);
        }
        start = end + 1;
    }
    return status;
}

gcache_status
gcache_fingerprint_index_open(gcache_fingerprint *print, char const *path, gcache_error *error)
{
    gci_buf text;
    gcache_error ignored;

    GCI_REQUIRE(print != NULL && path != NULL, error, "gcache_fingerprint_index_open needs a fingerprint and a path");
    gci_buf_init(&text, MAX_BYTES);
    gcache_status status = gci_file_read_user(path, MAX_BYTES, &text, &ignored);
    if (status == GCACHE_OK) {
        gci_buf_append_char(&text, '\0'); /* for sscanf */
        status = text.failed ? gci_fail_memory(error)
                             : read_index(print, gci_view_of(text.data, text.size - 1), error);
    } else if (status == GCACHE_ERROR_NOT_FOUND || status == GCACHE_ERROR_LIMIT) {
        status = GCACHE_OK;
    } else if (error != NULL) {
        *error = ignored;
    }
    gci_buf_clear(&text);
    return status;
}

/* ---- writing ---- */

static void
write_line(gci_buf *out, gci_view path, gci_remembered const *what)
{
    char hash[2 * GCI_SHA256_BYTES + 1];
    gci_file_facts const *f = &what->facts;

    if (memchr(path.data, '\n', path.size) != NULL)
        return;
    gci_hex(what->hash, sizeof what->hash, hash);
    gci_buf_format(out, "%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " ", hash, f->size, f->mtime_ns,
                   f->ctime_ns, f->device, f->inode);
    gci_buf_append_view(out, path);
    gci_buf_append_char(out, '\n');
}

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
    gci_buf text;

    GCI_REQUIRE(print != NULL && path != NULL, error, "gcache_fingerprint_index_save needs a fingerprint and a path");
    gcache_status status = remember_parts(print, error);
    gci_buf_init(&text, MAX_BYTES);
    gci_buf_format(&text, HEADER "%" PRIu64 "\n", gci_clock_wall_ns());
    for (uint32_t i = 0; i < print->paths.count && status == GCACHE_OK; i++)
        write_line(&text, print->paths.texts[i], &print->remembered[i]);
    if (status == GCACHE_OK && text.failed)
        status = gci_fail_memory(error);
    if (status == GCACHE_OK)
        status = gci_file_write_user(path, gci_buf_view(&text), error);
    gci_buf_clear(&text);
    return status;
}
