/*
 * Growable bytes with a limit set at the start.
 *
 * Invariants:
 *  1. data[0..size) is initialised, size <= capacity <= limit.
 *  2. A failed append sets `failed` and leaves the content as it was; later appends do nothing. So a sequence of
 *     appends needs one check at its end.
 */
#ifndef GCI_BASE_BUF_H
#define GCI_BASE_BUF_H

#include "base/view.h"

#include <stdint.h>

typedef struct gci_buf {
    char *data;
    size_t size, capacity, limit;
    bool failed;
    bool over_limit; /* it failed for the limit, not for want of memory */
} gci_buf;

#define GCI_BUF_NO_LIMIT (SIZE_MAX / 2)

static inline void
gci_buf_init(gci_buf *buf, size_t limit)
{
    *buf = (gci_buf){ .limit = limit };
}

/* Over memory of the caller's, beyond which it doesn't grow. It isn't cleared. */
static inline gci_buf
gci_buf_over(char *memory, size_t size)
{
    return (gci_buf){ .data = memory, .capacity = size, .limit = size };
}

/* Frees the content; the buffer can be used again with the same limit. */
void gci_buf_clear(gci_buf *buf);

char *gci_buf_reserve_slowly(gci_buf *buf, size_t more);

/* Makes room for `more` bytes behind the content and returns where they go, or NULL. Size is not changed. */
static inline char *
gci_buf_reserve(gci_buf *buf, size_t more)
{
    bool has_room = !buf->failed && more <= buf->capacity - buf->size && more <= buf->limit - buf->size && buf->data != NULL;

    return has_room ? buf->data + buf->size : gci_buf_reserve_slowly(buf, more);
}

void gci_buf_append(gci_buf *buf, void const *data, size_t size);
void gci_buf_append_view(gci_buf *buf, gci_view view);
void gci_buf_append_text(gci_buf *buf, char const *text);
void gci_buf_append_char(gci_buf *buf, char c);
/* In decimal. */
void gci_buf_append_int(gci_buf *buf, int64_t number);
void gci_buf_format(gci_buf *buf, char const *format, ...) __attribute__((format(printf, 2, 3)));

static inline gci_view
gci_buf_view(gci_buf const *buf)
{
    return gci_view_of(buf->data, buf->size);
}

/* Hands out the content as a zero-terminated text that the caller frees; the buffer is empty then. NULL if failed. */
char *gci_buf_take_text(gci_buf *buf);

#endif
