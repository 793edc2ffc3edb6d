/*
 * UTF-8 as in Unicode's table 3-7.
 */
#include "base/utf8.h"

size_t
gci_utf8_sequence(char const *p, size_t left)
{
    uint8_t const *b = (uint8_t const *)p;
    uint8_t low = 0x80, high = 0xBF; /* of the second byte */

    if (b[0] < 0x80)
        return 1;
    size_t size = b[0] >= 0xF0 ? 4 : b[0] >= 0xE0 ? 3 : 2;
    if (b[0] < 0xC2 || b[0] > 0xF4 || left < size)
        return 0;
    if (b[0] == 0xE0)
        low = 0xA0; /* else it were overlong */
    else if (b[0] == 0xED)
        high = 0x9F; /* surrogates */
    else if (b[0] == 0xF0)
        low = 0x90; /* overlong */
    else if (b[0] == 0xF4)
        high = 0x8F; /* beyond U+10FFFF */
    if (b[1] < low || b[1] > high)
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((b[i] & 0xC0) != 0x80)
            return 0;
    return size;
}

bool
gci_utf8_valid(gci_view text)
{
    size_t i = 0;

    while (i < text.size) {
        uint64_t word;
        while (text.size - i >= sizeof word) {
            memcpy(&word, text.data + i, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) != 0)
                break;
            i += sizeof word;
        }
        while (i < text.size && (uint8_t)text.data[i] < 0x80)
            i++;
        if (i == text.size)
            break;
        size_t size = gci_utf8_sequence(text.data + i, text.size - i);
        if (size == 0)
            return false;
        i += size;
    }
    return true;
}
