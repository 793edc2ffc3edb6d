/*
 * The seam to the file system: everything the store asks of the operating system goes through here, so that it can be
 * watched, and made to fail, in one place.
 *
 * All functions retry EINTR and short transfers, set O_CLOEXEC, follow no symbolic links in the last component
 * (O_NOFOLLOW) unless they say so, and report errno through gcache_error. Paths are relative to a directory descriptor
 * (AT_FDCWD for the working directory).
 */
#ifndef GCI_BASE_FILE_H
#define GCI_BASE_FILE_H

#include "base/buf.h"
#include "base/error.h"

#include <stdint.h>
#include <sys/types.h>

/* Reads a whole file of at most `limit` bytes into out (cleared first). Follows links: for files a user names.
   GCACHE_OK, ERROR_NOT_FOUND, ERROR_IO, ERROR_LIMIT, ERROR_MEMORY. path "-" is standard input. */
gcache_status gci_file_read_user(char const *path, size_t limit, gci_buf *out, gcache_error *error);

/* Writes a whole file a user named: a temporary beside it, then a rename. */
gcache_status gci_file_write_user(char const *path, gci_view bytes, gcache_error *error);

#endif
