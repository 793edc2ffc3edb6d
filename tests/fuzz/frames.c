#include "frames.h"

#include "store/format/frame.h"
#include "store/format/candidate_index.h"

static void
put_sum(char *at, gci_checksum sum)
{
    memcpy(at, &sum.low, sizeof sum.low);
    memcpy(at + 8, &sum.high, sizeof sum.high);
}

static uint64_t
number_at(char const *bytes, size_t size)
{
    uint64_t value = 0;

    memcpy(&value, bytes, size);
    return value;
}

void
frames_right(char *bytes, size_t size, size_t at)
{
    while (at + GCI_FRAME_OVERHEAD <= size) {
        uint64_t head = number_at(bytes + at + 12, 4), payload = number_at(bytes + at + 16, 8);
        bool has_payload = gci_frame_has_payload((gci_frame_type)number_at(bytes + at + 10, 2));
        if (head > size - at - GCI_FRAME_OVERHEAD)
            return;
        size_t end = at + GCI_FRAME_OVERHEAD + (size_t)head;
        if (has_payload && payload <= size - end) {
            put_sum(bytes + at + 24, gci_checksum_of(bytes + end, (size_t)payload));
            put_sum(bytes + end - 16, gci_checksum_of(bytes + at, GCI_FRAME_PROLOGUE + (size_t)head));
            at = end + ((size_t)payload + 7) / 8 * 8;
        } else {
            put_sum(bytes + end - 16, gci_checksum_of(bytes + at, GCI_FRAME_PROLOGUE + (size_t)head));
            at = end;
        }
    }
}

void
frames_right_pack(char *bytes, size_t size)
{
    if (size >= GCI_PACK_HEADER)
        put_sum(bytes + 48, gci_checksum_of(bytes, 48));
    frames_right(bytes, size, GCI_PACK_HEADER);
}
