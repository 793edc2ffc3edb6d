/*
 * Linux only: the kernel's own record of what a descriptor is called. It follows renames, and doesn't depend on the working
 * directory having stayed what it was.
 */
#include "base/system/dir_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

gcache_status
gci_dir_path(gci_dir dir, gci_buf *out, gcache_error *error)
{
    char link[32], path[PATH_MAX];
    struct stat facts;

    snprintf(link, sizeof link, "/proc/self/fd/%d", dir.fd);
    ssize_t size = readlink(link, path, sizeof path);
    if (size < 0)
        return gci_fail_errno(error, errno, "%s", dir.name);
    if (fstat(dir.fd, &facts) != 0 || facts.st_nlink == 0 || size == sizeof path)
        return gci_fail(error, GCACHE_ERROR_NOT_FOUND, "%s: the directory has been removed", dir.name);
    gci_buf_append(out, path, (size_t)size);
    return out->failed ? gci_fail_memory(error) : GCACHE_OK;
}
