/*
 * Growable bytes: growth, appending, formatting.
 */
#include "base/buf.h"

#include "base/check.h"
#include "base/memory/spare.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Small enough to waste nothing, large enough that a typical text grows once or twice. */
#define FIRST_CAPACITY 256

void
gci_buf_clear(gci_buf *buf)
{
    gci_spare_free(buf->data, buf->capacity);
    gci_buf_init(buf, buf->limit);
}

static bool
grow(gci_buf *buf, size_t need)
{
    size_t capacity = buf->capacity < FIRST_CAPACITY ? FIRST_CAPACITY : buf->capacity;

    while (capacity < need)
        capacity *= 2;
    char *data = gci_spare_grow(buf->data, buf->size, buf->capacity, capacity);
    if (data == NULL) {
        buf->failed = true;
        return false;
    }
    buf->data = data;
    buf->capacity = capacity;
    return true;
}

char *
gci_buf_reserve_slowly(gci_buf *buf, size_t more)
{
    GCI_ASSERT(buf->size <= buf->capacity && buf->size <= buf->limit);
    if (buf->failed)
        return NULL;
    if (more > buf->limit - buf->size) {
        buf->failed = buf->over_limit = true;
        return NULL;
    }
    if (more > buf->capacity - buf->size && !grow(buf, buf->size + more))
        return NULL;
    return buf->data != NULL ? buf->data + buf->size : NULL; /* no bytes were wanted, and there are none */
}

void
gci_buf_append(gci_buf *buf, void const *data, size_t size)
{
    if (size == 0)
        return;
    char *room = gci_buf_reserve(buf, size);
    if (room == NULL)
        return;
    memcpy(room, data, size);
    buf->size += size;
}

void
gci_buf_append_view(gci_buf *buf, gci_view view)
{
    gci_buf_append(buf, view.data, view.size);
}

void
gci_buf_append_text(gci_buf *buf, char const *text)
{
    gci_buf_append(buf, text, strlen(text));
}

void
gci_buf_append_char(gci_buf *buf, char c)
{
    gci_buf_append(buf, &c, 1);
}

void
gci_buf_append_int(gci_buf *buf, int64_t number)
{
    char digits[sizeof "-9223372036854775808"];
    char *end = digits + sizeof digits, *first = end;
    uint64_t left = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do
        *--first = (char)('0' + left % 10);
    while ((left /= 10) != 0);
    if (number < 0)
        *--first = '-';
    gci_buf_append(buf, first, (size_t)(end - first));
}

/* vsnprintf, but floats have a point in every locale of the host program. The C locale is there once for all. */
static __attribute__((format(printf, 3, 0))) int
print(char *text, size_t room, char const *format, va_list arguments)
{
    bool has_floats = strpbrk(format, "fg") != NULL;
    locale_t c = has_floats ? newlocale(LC_ALL_MASK, "C", (locale_t)0) : (locale_t)0;
    locale_t former = uselocale(c); /* 0 changes nothing */
    int size = vsnprintf(text, room, format, arguments);

    uselocale(former);
    if (c != (locale_t)0)
        freelocale(c);
    return size;
}

void
gci_buf_format(gci_buf *buf, char const *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int need = print(NULL, 0, format, arguments);
    va_end(arguments);
    char *room = need >= 0 ? gci_buf_reserve(buf, (size_t)need + 1) : NULL;
    if (room != NULL) {
        print(room, (size_t)need + 1, format, again);
        buf->size += (size_t)need;
    } else {
        buf->failed = true;
    }
    va_end(again);
}

char *
gci_buf_take_text(gci_buf *buf)
{
    gci_buf_append_char(buf, '\0');
    if (buf->failed) {
        gci_buf_clear(buf);
        return NULL;
    }
    char *text = buf->data;
    gci_buf_init(buf, buf->limit);
    return text;
}
