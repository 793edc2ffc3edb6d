/*
 * Filling in a gcache_error. The first error wins: a later, less specific one never overwrites it, so callers pass the
 * same object down and simply return the status.
 */
#ifndef GCI_BASE_ERROR_H
#define GCI_BASE_ERROR_H

#include <guardcache/status.h>

/* Sets *error (if not NULL) to status and the formatted message; line, column and path are cleared. Returns status. */
gcache_status gci_fail(gcache_error *error, gcache_status status, char const *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: status from errno_value, message "what: strerror". */
gcache_status gci_fail_errno(gcache_error *error, int errno_value, char const *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Nothing to say, for who fills it in only now and then: clearing all of its room takes as long as a lookup. */
static inline void
gci_error_clear(gcache_error *error)
{
    error->status = GCACHE_OK;
    error->message[0] = '\0';
}

/* Out of memory; the message needs none. */
gcache_status gci_fail_memory(gcache_error *error);

/* What a text position is called: name:line:column: path: message. name and path may be NULL or empty. */
typedef struct gci_place {
    char const *name;
    char const *path;
    int line, column;
} gci_place;

gcache_status gci_fail_at(gcache_error *error, gcache_status status, gci_place const *place, char const *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
