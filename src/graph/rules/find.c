/*
 * Looking for a text where its two rarest bytes stand as far apart as they should, sixteen places at once. Where that tells too
 * little, memmem is faster.
 */
#include "graph/rules/find.h"

#include <stdint.h>

typedef uint8_t lanes __attribute__((vector_size(16)));

/* Sixteens looked at in vain before memmem takes over, which is there for long parts too. */
#define IN_VAIN_MAX 256
#define PART_MAX 64

unsigned
gci_byte_frequency(unsigned c)
{
    switch (c) {
    case ' ':
        return 150;
    case 'a': case 'e': case 'i': case 'l': case 'n': case 'o': case 'r': case 's': case 't': case 'd':
        return 40;
    case '%': case ',': case '.':
        return 30;
    case '\n': case '=': case ':':
        return 15;
    case '"': case '@': case 'j': case 'q': case 'z':
        return 5;
    default:
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? 20 : 4;
    }
}

/* The place of a part's rarest byte but for one place. */
static size_t
rarest(gci_view part, size_t but)
{
    size_t best = SIZE_MAX;

    for (size_t i = 0; i < part.size; i++)
        if (i != but && (best == SIZE_MAX || gci_byte_frequency((uint8_t)part.data[i]) <
                                                 gci_byte_frequency((uint8_t)part.data[best])))
            best = i;
    return best != SIZE_MAX ? best : but;
}

static lanes
load(char const *from)
{
    lanes some;

    memcpy(&some, from, sizeof some);
    return some;
}

/* Is it at one of sixteen places? */
static bool
is_near(char const *at, gci_view part)
{
    for (size_t i = 0; i < sizeof(lanes); i++)
        if (memcmp(at + i, part.data, part.size) == 0)
            return true;
    return false;
}

bool
gci_find(gci_view text, gci_view part)
{
    size_t at = 0, last = part.size - 1, in_vain = 0, rare = rarest(part, SIZE_MAX), other = rarest(part, rare);

    if (part.size == 0 || text.size < part.size)
        return part.size == 0;
    if (part.size > PART_MAX)
        in_vain = IN_VAIN_MAX;
    for (; text.size - at >= last + sizeof(lanes) && in_vain < IN_VAIN_MAX; at += sizeof(lanes)) {
        lanes both = (lanes)((load(text.data + at + rare) == (uint8_t)part.data[rare]) &
                             (load(text.data + at + other) == (uint8_t)part.data[other]));
        uint64_t halves[2];
        memcpy(halves, &both, sizeof halves);
        if ((halves[0] | halves[1]) == 0)
            continue;
        if (is_near(text.data + at, part))
            return true;
        in_vain++;
    }
    return memmem(text.data + at, text.size - at, part.data, part.size) != NULL;
}
