/*
 * Replies of a Redis server: read in pieces of any size to the same values, within the limits. The first byte says how large the
 * pieces are, the second what is kept.
 */
#include "tier/redis/nodes.h"
#include "tier/redis/wire/resp.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(uint8_t const *data, size_t size);

/* More than an input has, so that it is mostly read to its end. */
#define REPLIES 32
#define TOTAL_MAX ((uint64_t)1 << 16)

static void
feed(gci_resp_reader *reader, uint8_t const *data, size_t size, size_t step)
{
    while (size != 0) {
        size_t room, take = size < step ? size : step;
        char *place = gci_resp_room(reader, &room);
        if (place == NULL || room < 1)
            abort();
        take = take < room ? take : room;
        memcpy(place, data, take);
        if (!gci_resp_arrived(reader, take) || gci_resp_complete(reader))
            return;
        data += take;
        size -= take;
    }
}

/* Every byte of every value can be read, each reply ends where the next one begins, and no more is held than arrived. */
static void
check(gci_resp_reader const *reader, size_t size)
{
    gci_redis_redirection redirection;
    uint8_t seen = 0;

    if (reader->input.size > size || reader->replies > REPLIES || reader->total > TOTAL_MAX)
        abort();
    for (size_t i = 0; i < reader->count; i++) {
        gci_view bytes = gci_resp_bytes(reader, &reader->values[i]);
        for (size_t j = 0; j < bytes.size; j++)
            seen ^= (uint8_t)bytes.data[j];
        if (gci_redis_redirection_read(bytes, &redirection) && redirection.slot >= GCI_SLOTS)
            abort();
    }
    for (size_t i = 0; i + 1 < reader->replies; i++) {
        if (gci_resp_next(reader, reader->starts[i]) != reader->starts[i + 1])
            abort();
    }
    (void)*(uint8_t volatile *)&seen;
}

static void
compare(gci_resp_reader const *a, gci_resp_reader const *b)
{
    size_t count = a->count < b->count ? a->count : b->count;

    for (size_t i = 0; i < count; i++) {
        gci_resp_value const *one = &a->values[i], *other = &b->values[i];
        if (one->type != other->type || one->size != other->size || one->integer != other->integer ||
            !gci_view_equal(gci_resp_bytes(a, one), gci_resp_bytes(b, other)))
            abort();
    }
    /* After a fault the bytes in the same piece aren't looked at, so how much was read may differ, but not what. */
    if (a->fault == NULL && b->fault == NULL && a->replies != b->replies)
        abort();
}

int
LLVMFuzzerTestOneInput(uint8_t const *data, size_t size)
{
    gci_resp_reader whole, pieces;

    if (size < 2)
        return 0;
    gci_resp_limits limits = { data[1], TOTAL_MAX };
    if (!gci_resp_reader_init(&whole, REPLIES, limits) || !gci_resp_reader_init(&pieces, REPLIES, limits))
        abort();
    feed(&whole, data + 2, size - 2, size);
    feed(&pieces, data + 2, size - 2, (size_t)data[0] + 1);
    check(&whole, size);
    check(&pieces, size);
    compare(&whole, &pieces);
    gci_resp_reader_clear(&whole);
    gci_resp_reader_clear(&pieces);
    return 0;
}
