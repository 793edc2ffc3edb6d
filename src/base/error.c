/*
 * Errors: messages cut to their room, still UTF-8 and made visible, with the place they speak of.
 */
#include "base/error.h"

#include "base/visible.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static size_t
clamp(int written, size_t room)
{
    if (written < 0)
        return 0;
    return (size_t)written < room ? (size_t)written : room - 1;
}

/* A message is UTF-8: a cut at the end must not leave half a character. */
static void
trim_partial_utf8(char *text)
{
    size_t size = strlen(text), start = size;

    while (start > 0 && ((unsigned char)text[start - 1] & 0xC0) == 0x80)
        start--;
    if (start == 0)
        return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (size - (start - 1) < want)
        text[start - 1] = '\0';
}

static void set_message(gcache_error *error, gcache_status status, size_t prefix, char const *format, va_list arguments)
    __attribute__((format(printf, 4, 0)));

/* The message goes behind a prefix that says where. */
static void
set_message(gcache_error *error, gcache_status status, size_t prefix, char const *format, va_list arguments)
{
    error->status = status;
    vsnprintf(error->message + prefix, sizeof error->message - prefix, format, arguments);
    trim_partial_utf8(error->message);
    gci_visible_make(error->message, sizeof error->message);
    trim_partial_utf8(error->message);
}

static void set_placeless(gcache_error *error, gcache_status status, char const *format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

static void
set_placeless(gcache_error *error, gcache_status status, char const *format, va_list arguments)
{
    error->line = error->column = 0;
    error->path[0] = '\0';
    set_message(error, status, 0, format, arguments);
}

gcache_status
gci_fail(gcache_error *error, gcache_status status, char const *format, ...)
{
    va_list arguments;

    if (error == NULL)
        return status;
    va_start(arguments, format);
    set_placeless(error, status, format, arguments);
    va_end(arguments);
    return status;
}

/* The status that stands for an errno value: ENOSPC and EDQUOT NO_SPACE, EROFS and EACCES READ_ONLY or IO, ... */
static gcache_status
status_of_errno(int errno_value)
{
    switch (errno_value) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        return GCACHE_ERROR_NO_SPACE;
    case EROFS:
        return GCACHE_ERROR_READ_ONLY;
    case ENOMEM:
        return GCACHE_ERROR_MEMORY;
    case ENOENT:
        return GCACHE_ERROR_NOT_FOUND;
    default:
        return GCACHE_ERROR_IO;
    }
}

gcache_status
gci_fail_errno(gcache_error *error, int errno_value, char const *format, ...)
{
    gcache_status status = status_of_errno(errno_value);
    va_list arguments;

    if (error == NULL)
        return status;
    va_start(arguments, format);
    set_placeless(error, status, format, arguments);
    va_end(arguments);
    size_t used = strlen(error->message);
    char reason[128];
    /* The GNU strerror_r may return a static string instead of filling the buffer. */
    char const *text = strerror_r(errno_value, reason, sizeof reason);
    snprintf(error->message + used, sizeof error->message - used, ": %s", text);
    return status;
}

gcache_status
gci_fail_memory(gcache_error *error)
{
    return gci_fail(error, GCACHE_ERROR_MEMORY, "out of memory");
}

gcache_status
gci_fail_at(gcache_error *error, gcache_status status, gci_place const *place, char const *format, ...)
{
    if (error == NULL)
        return status;

    char const *path = place->path != NULL ? place->path : "";
    size_t used = 0, room = sizeof error->message;
    if (place->name != NULL && place->name[0] != '\0')
        used += clamp(snprintf(error->message + used, room - used, "%s:", place->name), room - used);
    if (place->line > 0)
        used += clamp(snprintf(error->message + used, room - used, "%d:%d:", place->line, place->column), room - used);
    if (used > 0)
        used += clamp(snprintf(error->message + used, room - used, " "), room - used);
    if (path[0] != '\0')
        used += clamp(snprintf(error->message + used, room - used, "%s: ", path), room - used);

    va_list arguments;
    va_start(arguments, format);
    set_message(error, status, used, format, arguments);
    va_end(arguments);
    error->line = place->line;
    error->column = place->column;
    snprintf(error->path, sizeof error->path, "%s", path);
    trim_partial_utf8(error->path);
    return status;
}
