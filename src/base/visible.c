/*
 * Texts from elsewhere made harmless for a terminal, alone and in formats.
 */
#include "base/visible.h"

#include "base/check.h"
#include "base/decimal.h"
#include "base/utf8.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* ---- characters ---- */

static uint32_t
decode(char const *bytes, size_t size)
{
    uint8_t const *b = (uint8_t const *)bytes;
    uint32_t point = size == 1 ? b[0] : b[0] & (0xFFu >> (size + 1));

    for (size_t i = 1; i < size; i++)
        point = point << 6 | (b[i] & 0x3F);
    return point;
}

/* Controls (C0, DEL, C1), line and paragraph separators, and what turns the direction of writing. */
static bool
is_hidden(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point <= 0x9F) || point == 0x061C || point == 0x200E || point == 0x200F ||
           (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069);
}

size_t
gci_visible_sequence(gci_view text)
{
    size_t size = gci_utf8_sequence(text.data, text.size);

    return size != 0 && !is_hidden(decode(text.data, size)) ? size : 0;
}

/* Appends the escape for what text begins with, and returns how many bytes that is. */
static size_t
append_escape(gci_buf *out, gci_view text)
{
    size_t size = gci_utf8_sequence(text.data, text.size);
    unsigned point = size != 0 ? decode(text.data, size) : (unsigned char)text.data[0];

    if (size != 0 && point == '\n')
        gci_buf_append_text(out, "\\n");
    else if (size != 0 && point == '\r')
        gci_buf_append_text(out, "\\r");
    else if (size != 0 && point == '\t')
        gci_buf_append_text(out, "\\t");
    else
        gci_buf_format(out, size > 1 ? "\\u%04x" : "\\x%02x", point);
    return size != 0 ? size : 1;
}

/* keep: single bytes that stay though they are controls */
static void
append(gci_buf *out, gci_view text, char const *keep)
{
    size_t run = 0, i = 0;

    while (i < text.size) {
        gci_view rest = gci_view_of(text.data + i, text.size - i);
        size_t plain = text.data[i] != '\0' && strchr(keep, text.data[i]) != NULL ? 1 : gci_visible_sequence(rest);
        if (plain != 0) {
            i += plain;
            continue;
        }
        gci_buf_append(out, text.data + run, i - run);
        i += append_escape(out, rest);
        run = i;
    }
    if (i != run)
        gci_buf_append(out, text.data + run, i - run);
}

void
gci_visible_append(gci_buf *out, gci_view text)
{
    append(out, text, "");
}

void
gci_visible_append_lines(gci_buf *out, gci_view text)
{
    append(out, text, "\n\t");
}

void
gci_visible_make(char *text, size_t room)
{
    size_t size = strlen(text), plain = 0, step;
    gci_buf visible;

    while (plain < size && (step = gci_visible_sequence(gci_view_of(text + plain, size - plain))) != 0)
        plain += step;
    if (plain == size)
        return;
    gci_buf_init(&visible, GCI_BUF_NO_LIMIT);
    gci_visible_append(&visible, gci_view_of(text, size));
    /* Without memory a text that isn't to be trusted is none. */
    size_t kept = visible.failed ? 0 : visible.size < room ? visible.size : room - 1;
    if (kept != 0)
        memcpy(text, visible.data, kept);
    text[kept] = '\0';
    gci_buf_clear(&visible);
}

/* ---- formats ---- */

/* conversion = "%" flag* width? ("." precision)? length? letter */
typedef struct conversion {
    bool left, zeros;
    int width, precision; /* -1: none */
    char length;          /* 'l': long, 'L': long long, 'z': size_t, or 0 */
    char letter;
} conversion;

static char const *
read_number(char const *p, int *out_number)
{
    *out_number = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        *out_number = *out_number * 10 + (*p - '0');
    return p;
}

static char const *
read_length(char const *p, char *out_length)
{
    for (; *p == 'h' || *p == 'l' || *p == 'z'; p++) {
        if (*p != 'h')
            *out_length = *p == 'l' && *out_length == 'l' ? 'L' : *p;
    }
    return p;
}

/* A wrapper, because a va_list can't be handed down by address portably. */
struct arguments {
    va_list list;
};

static char const *
read_conversion(char const *p, struct arguments *arguments, conversion *out)
{
    *out = (conversion){ .precision = -1 };
    for (; *p == '-' || *p == '0'; p++) {
        out->left |= *p == '-';
        out->zeros |= *p == '0';
    }
    if (*p == '*')
        out->width = va_arg(arguments->list, int), p++;
    else
        p = read_number(p, &out->width);
    if (*p == '.' && p[1] == '*')
        out->precision = va_arg(arguments->list, int), p += 2;
    else if (*p == '.')
        p = read_number(p + 1, &out->precision);
    p = read_length(p, &out->length);
    out->letter = *p;
    return p + 1;
}

static size_t
count_columns(gci_view text)
{
    size_t count = 0;

    for (size_t i = 0; i < text.size; i++)
        count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
    return count;
}

static void
append_padded(gci_buf *out, conversion const *c, gci_view text)
{
    bool zeros = c->zeros && !c->left && c->letter != 's';
    size_t used = count_columns(text), width = c->width > 0 ? (size_t)c->width : 0;

    for (size_t i = used; !c->left && i < width; i++)
        gci_buf_append_char(out, zeros ? '0' : ' ');
    gci_buf_append_view(out, text);
    for (size_t i = used; c->left && i < width; i++)
        gci_buf_append_char(out, ' ');
}

static void
append_text(gci_buf *out, conversion const *c, char const *text)
{
    size_t size = c->precision >= 0 ? strnlen(text, (size_t)c->precision) : strlen(text);
    gci_buf visible;

    gci_buf_init(&visible, GCI_BUF_NO_LIMIT);
    gci_visible_append(&visible, gci_view_of(text, size));
    append_padded(out, c, gci_buf_view(&visible));
    out->failed |= visible.failed;
    gci_buf_clear(&visible);
}

static void
append_number(gci_buf *out, conversion const *c, struct arguments *arguments)
{
    char text[400]; /* DBL_MAX has 309 digits before the point */
    long long number = 0;
    unsigned long long natural = 0;

    switch (c->letter) {
    case 'd':
    case 'i':
        number = c->length == 'l' ? va_arg(arguments->list, long)
                 : c->length == 'L' ? va_arg(arguments->list, long long)
                                    : va_arg(arguments->list, int);
        snprintf(text, sizeof text, "%lld", number);
        break;
    case 'u':
    case 'x':
        natural = c->length == 'l'   ? va_arg(arguments->list, unsigned long)
                  : c->length == 'L' ? va_arg(arguments->list, unsigned long long)
                  : c->length == 'z' ? va_arg(arguments->list, size_t)
                                     : va_arg(arguments->list, unsigned);
        if (c->letter == 'u')
            snprintf(text, sizeof text, "%llu", natural);
        else
            snprintf(text, sizeof text, "%llx", natural);
        break;
    default:
        gci_write_decimal(text, sizeof text, c->letter, c->precision < 0 ? 6 : c->precision, va_arg(arguments->list, double));
    }
    append_padded(out, c, gci_view_text(text));
}

static void
append_conversion(gci_buf *out, conversion const *c, struct arguments *arguments)
{
    if (c->letter == '%')
        gci_buf_append_char(out, '%');
    else if (c->letter == 's')
        append_text(out, c, va_arg(arguments->list, char const *));
    else if (c->letter == 'c')
        append_text(out, c, (char const[]){ (char)va_arg(arguments->list, int), '\0' });
    else
        append_number(out, c, arguments);
}

void
gci_visible_vformat(gci_buf *out, char const *format, va_list given)
{
    struct arguments arguments;
    conversion c;

    va_copy(arguments.list, given);
    while (*format != '\0') {
        size_t plain = strcspn(format, "%");
        gci_buf_append(out, format, plain);
        format += plain;
        if (*format != '%')
            continue;
        format = read_conversion(format + 1, &arguments, &c);
        append_conversion(out, &c, &arguments);
    }
    va_end(arguments.list);
}

void
gci_visible_format(gci_buf *out, char const *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    gci_visible_vformat(out, format, arguments);
    va_end(arguments);
}
