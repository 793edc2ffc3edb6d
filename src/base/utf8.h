/*
 * Well-formed UTF-8 (Unicode's table 3-7): no overlong forms, no surrogates, nothing beyond U+10FFFF.
 */
#ifndef GCI_BASE_UTF8_H
#define GCI_BASE_UTF8_H

#include "base/view.h"

#include <stdint.h>

/* The size of the well-formed sequence at p, 1 to 4, or 0. left > 0 bytes may be read. */
size_t gci_utf8_sequence(char const *p, size_t left);

bool gci_utf8_valid(gci_view text);

/* The beginning of a text: at most `size` bytes, not cut inside a character. */
static inline gci_view
gci_utf8_cut(gci_view text, size_t size)
{
    if (size >= text.size)
        return text;
    while (size > 0 && ((uint8_t)text.data[size] & 0xC0) == 0x80)
        size--;
    return gci_view_of(text.data, size);
}

#endif
