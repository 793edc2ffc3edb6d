/*
 * A borrowed run of bytes: it owns nothing and is valid as long as what it points into. data may be NULL if size is 0.
 */
#ifndef GCI_BASE_VIEW_H
#define GCI_BASE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct gci_view {
    char const *data;
    size_t size;
} gci_view;

/* A view of a string literal, for use as an initialiser too. */
#define GCI_VIEW(literal) { (literal), sizeof(literal) - 1 }

static inline gci_view
gci_view_of(void const *data, size_t size)
{
    return (gci_view){ (char const *)data, size };
}

/* A view of a zero-terminated string; NULL gives an empty view. */
static inline gci_view
gci_view_text(char const *text)
{
    return (gci_view){ text, text != NULL ? strlen(text) : 0 };
}

static inline size_t
gci_views_size(gci_view const *views, size_t count)
{
    size_t size = 0;

    for (size_t i = 0; i < count; i++)
        size += views[i].size;
    return size;
}

static inline bool
gci_view_equal(gci_view a, gci_view b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool
gci_view_is(gci_view a, char const *text)
{
    return gci_view_equal(a, gci_view_text(text));
}

/* part NULL: nothing is asked for, which everything contains. */
static inline bool
gci_view_contains(gci_view text, char const *part)
{
    return part == NULL || (text.size != 0 && memmem(text.data, text.size, part, strlen(part)) != NULL);
}

static inline bool
gci_view_begins(gci_view text, char const *beginning)
{
    size_t size = strlen(beginning);

    return text.size >= size && memcmp(text.data, beginning, size) == 0;
}

/* Takes the next line of a text, without its end, off the front of rest; false when there is none left. */
static inline bool
gci_view_next_line(gci_view *rest, gci_view *out_line)
{
    if (rest->size == 0)
        return false;
    char const *end = memchr(rest->data, '\n', rest->size);
    *out_line = gci_view_of(rest->data, end != NULL ? (size_t)(end - rest->data) : rest->size);
    size_t taken = out_line->size + (end != NULL);
    *rest = gci_view_of(rest->data + taken, rest->size - taken);
    return true;
}

/* The value of a digit, of either case; -1: it is none. */
static inline int
gci_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytewise order, a prefix before what it begins. */
static inline int
gci_view_compare(gci_view a, gci_view b)
{
    size_t shorter = a.size < b.size ? a.size : b.size;
    int order = shorter != 0 ? memcmp(a.data, b.data, shorter) : 0;
    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

#endif
