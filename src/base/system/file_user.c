/*
 * Files that the user names: read whole, written whole by rename.
 */
#include "base/system/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* One read of a pipe returns at most 64 KiB on Linux. */
#define READ_STEP ((size_t)64 << 10)

/* Into what room there is, or else is made. One byte beyond the limit shows that there is more. */
static size_t
step_of(gci_buf const *out, size_t limit)
{
    size_t left = out->capacity - out->size, step = left > 0 ? left : READ_STEP;

    return limit - out->size < step ? limit - out->size + 1 : step;
}

/* expected: bytes; 0: not known. */
static gcache_status
read_all(int fd, char const *path, uint64_t expected, size_t limit, gci_buf *out, gcache_error *error)
{
    if (expected > 0)
        gci_buf_reserve(out, (size_t)expected + 1);
    for (;;) {
        size_t step = step_of(out, limit);
        char *room = gci_buf_reserve(out, step);
        if (room == NULL)
            return gci_fail_memory(error);
        ssize_t got = read(fd, room, step);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return gci_fail_errno(error, errno, "%s", path);
        if (got == 0)
            return GCACHE_OK;
        out->size += (size_t)got;
        if (out->size > limit)
            return gci_fail(error, GCACHE_ERROR_LIMIT, "%s: larger than %zu bytes", path, limit);
    }
}

gcache_status
gci_file_read_user(char const *path, size_t limit, gci_buf *out, gcache_error *error)
{
    bool standard_input = strcmp(path, "-") == 0;
    struct stat facts = { 0 };

    gci_buf_clear(out);
    int fd = standard_input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return gci_fail_errno(error, errno, "%s", path);
    gcache_status status = GCACHE_OK;
    uint64_t expected = fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) ? (uint64_t)facts.st_size : 0;
    if (expected > limit)
        status = gci_fail(error, GCACHE_ERROR_LIMIT, "%s: larger than %zu bytes", path, limit);
    else
        status = read_all(fd, path, expected, limit, out, error);
    if (!standard_input)
        close(fd);
    if (status != GCACHE_OK)
        gci_buf_clear(out);
    return status;
}

static gcache_status
write_all(int fd, gci_view bytes, char const *path, gcache_error *error)
{
    while (bytes.size > 0) {
        ssize_t put = write(fd, bytes.data, bytes.size);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return gci_fail_errno(error, errno, "%s", path);
        bytes.data += put;
        bytes.size -= (size_t)put;
    }
    return GCACHE_OK;
}

gcache_status
gci_file_write_user(char const *path, gci_view bytes, gcache_error *error)
{
    gci_buf temporary;
    struct stat facts;

    /* A rename would put a device, a pipe or a link (/dev/stdout) out of the way. */
    bool replace = lstat(path, &facts) != 0 || S_ISREG(facts.st_mode);
    gci_buf_init(&temporary, 4096 + 64);
    gci_buf_append_text(&temporary, path);
    if (replace)
        gci_buf_format(&temporary, ".%016llx.tmp", (unsigned long long)gci_unique_number());
    gci_buf_append_char(&temporary, '\0');
    if (temporary.failed) {
        gci_buf_clear(&temporary);
        return gci_fail(error, GCACHE_ERROR_ARGUMENT, "%s: the path is too long", path);
    }
    gcache_status status = GCACHE_OK;
    int fd = open(temporary.data, O_WRONLY | O_CLOEXEC | (replace ? O_CREAT | O_EXCL : O_TRUNC), 0666);
    if (fd < 0) {
        status = gci_fail_errno(error, errno, "%s", path);
    } else {
        status = write_all(fd, bytes, path, error);
        if (close(fd) != 0 && status == GCACHE_OK)
            status = gci_fail_errno(error, errno, "%s", path);
        if (replace && status == GCACHE_OK && rename(temporary.data, path) != 0)
            status = gci_fail_errno(error, errno, "%s", path);
        if (replace && status != GCACHE_OK)
            unlink(temporary.data);
    }
    gci_buf_clear(&temporary);
    return status;
}
