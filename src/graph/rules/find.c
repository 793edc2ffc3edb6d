/*
 * Looking for a text where its first and its last byte stand as far apart as they should, sixteen places at once. Where that
 * tells too little, memmem is faster.
 */
#include "graph/rules/find.h"

#include <stdint.h>

typedef uint8_t lanes __attribute__((vector_size(16)));

/* Sixteens looked at in vain before memmem takes over, which is there for long parts too. */
#define IN_VAIN_MAX 256
#define PART_MAX 64

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
    size_t at = 0, last = part.size - 1, in_vain = 0;

    if (part.size == 0 || text.size < part.size)
        return part.size == 0;
    if (part.size > PART_MAX)
        in_vain = IN_VAIN_MAX;
    for (; text.size - at >= last + sizeof(lanes) && in_vain < IN_VAIN_MAX; at += sizeof(lanes)) {
        lanes both = (lanes)((load(text.data + at) == (uint8_t)part.data[0]) &
                             (load(text.data + at + last) == (uint8_t)part.data[last]));
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
