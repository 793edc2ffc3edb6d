/*
 * Texts that differ, and look the same: such characters are shown as escapes.
 */
#include "base/utf8.h"
#include "graph/diff/diff_run.h"

typedef struct range {
    uint32_t first, last;
} range;

/* Unicode 15: without a width, combining, and spaces other than the common one. */
static range const alike[] = {
    { 0x00A0, 0x00A0 }, { 0x00AD, 0x00AD }, { 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD }, { 0x0610, 0x061A },
    { 0x064B, 0x065F }, { 0x1160, 0x11FF }, { 0x180B, 0x180E }, { 0x1AB0, 0x1AFF }, { 0x1DC0, 0x1DFF }, { 0x2000, 0x200F },
    { 0x202F, 0x202F }, { 0x205F, 0x2064 }, { 0x20D0, 0x20FF }, { 0x3000, 0x3000 }, { 0x3099, 0x309A }, { 0xFE00, 0xFE0F },
    { 0xFE20, 0xFE2F }, { 0xFEFF, 0xFEFF },
};

/* The character at the beginning of text and its size; a byte that isn't UTF-8 by itself. */
static uint32_t
first_point(gci_view text, size_t *out_size)
{
    size_t size = gci_utf8_sequence(text.data, text.size);
    uint32_t point = (uint8_t)text.data[0];

    *out_size = size != 0 ? size : 1;
    if (size > 1)
        point &= 0xFFu >> (size + 1);
    for (size_t i = 1; i < size; i++)
        point = point << 6 | ((uint8_t)text.data[i] & 0x3Fu);
    return point;
}

static bool
is_alike(gci_view text)
{
    size_t size;

    if (text.size == 0 || gci_utf8_sequence(text.data, text.size) < 2)
        return false;
    uint32_t point = first_point(text, &size);
    for (size_t i = 0; i < sizeof alike / sizeof *alike; i++)
        if (point >= alike[i].first && point <= alike[i].last)
            return true;
    return false;
}

/* The character at `at`, or the one after it, which may belong to it. */
static bool
is_alike_at(gci_view text, size_t at)
{
    if (at >= text.size)
        return false;
    gci_view rest = gci_view_of(text.data + at, text.size - at);
    size_t size;
    first_point(rest, &size);
    return is_alike(rest) || is_alike(gci_view_of(rest.data + size, rest.size - size));
}

bool
gci_diff_look_alike(gci_view stored, gci_view asked)
{
    size_t at = 0;

    while (at < stored.size && at < asked.size && stored.data[at] == asked.data[at])
        at++;
    while (at > 0 && at < stored.size && ((uint8_t)stored.data[at] & 0xC0) == 0x80)
        at--;
    return is_alike_at(stored, at) || is_alike_at(asked, at);
}

void
gci_diff_show_distinct(gci_view json, gci_buf *out)
{
    size_t size;

    for (size_t i = 0; i < json.size; i += size) {
        gci_view rest = gci_view_of(json.data + i, json.size - i);
        uint32_t point = first_point(rest, &size);
        if (is_alike(rest))
            gci_buf_format(out, "\\u%04x", (unsigned)point);
        else
            gci_buf_append(out, rest.data, size);
    }
}
