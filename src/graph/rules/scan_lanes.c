/*
 * Thirty-two bytes at once, where the processor can look up each by its halves, as in Hyperscan's Teddy. Where it can't, the same
 * pairs are found by rare bytes, sixteen at once, and runs byte by byte.
 */
#include "graph/rules/scan_lanes.h"

/* Sixteen bytes at once. */
typedef uint8_t lanes __attribute__((vector_size(16)));

static bool
has_few(gci_scan_mark const *mark, uint8_t const *at)
{
    lanes some;
    uint64_t halves[2];

    memcpy(&some, at, sizeof some);
    some = (lanes)((some == mark->few[0]) | (some == mark->few[1]) | (some == mark->few[2]) | (some == mark->few[3]));
    memcpy(halves, &some, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

/* May there be a mark in any lane? */
static bool
may_have(gci_scan_mark const *mark, uint8_t const *before)
{
    uint8_t const *at = before + mark->place;

    return !mark->is_few || has_few(mark, at) || has_few(mark, at + sizeof(lanes));
}

static uint32_t
find_pairs(gci_scan const *scan, uint8_t const *text, size_t *at, size_t last)
{
    gci_scan_mark const *a = &scan->marks[0], *b = &scan->marks[1];
    uint32_t found = 0;

    for (; *at <= last; *at += GCI_SCAN_LANES) {
        uint8_t const *before = text + *at - 1;
        if (!may_have(a, before) || !may_have(b, before))
            continue;
        for (unsigned i = 0; i < GCI_SCAN_LANES; i++) {
            unsigned ways = gci_scan_ways(b, before[i + b->place]);
            if (ways != 0 && (ways & gci_scan_ways(a, before[i + a->place])) != 0)
                found |= (uint32_t)1 << i;
        }
        if (found != 0)
            break;
    }
    return found;
}

#ifdef __x86_64__
#include <immintrin.h>

#define WIDE __attribute__((target("avx2")))

bool
gci_scan_lanes_work(void)
{
    return __builtin_cpu_supports("avx2") != 0;
}

static inline WIDE __m256i
load(uint8_t const *from)
{
    return _mm256_loadu_si256((__m256i const *)(void const *)from);
}

/* A table for the bytes of both halves of a register. */
static inline WIDE __m256i
twice(uint8_t const *table)
{
    return _mm256_broadcastsi128_si256(_mm_loadu_si128((__m128i const *)(void const *)table));
}

static inline WIDE __m256i
high_halves(__m256i bytes)
{
    return _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(15));
}

static inline WIDE __m256i
ways_of(__m256i low, __m256i high, __m256i bytes)
{
    return _mm256_and_si256(_mm256_shuffle_epi8(low, _mm256_and_si256(bytes, _mm256_set1_epi8(15))),
                            _mm256_shuffle_epi8(high, high_halves(bytes)));
}

/* The lanes that aren't zero. */
static inline WIDE uint32_t
bits_of(__m256i bytes)
{
    return ~(uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_setzero_si256()));
}

static WIDE uint32_t
find_pairs_wide(gci_scan const *scan, uint8_t const *text, size_t *at, size_t last)
{
    gci_scan_mark const *a = &scan->marks[0], *b = &scan->marks[1];
    __m256i a_low = twice(a->low), a_high = twice(a->high), b_low = twice(b->low), b_high = twice(b->high);
    uint32_t found = 0;

    for (; *at <= last && found == 0; *at += GCI_SCAN_LANES) {
        uint8_t const *before = text + *at - 1;
        found = bits_of(_mm256_and_si256(ways_of(a_low, a_high, load(before + a->place)),
                                         ways_of(b_low, b_high, load(before + b->place))));
    }
    *at -= found != 0 ? GCI_SCAN_LANES : 0;
    return found;
}

/* The lanes whose bytes are of a set. */
static inline WIDE uint32_t
members(gci_scan_set const *set, uint8_t const *at)
{
    static uint8_t const bits[16] = { 1, 2, 4, 8, 16, 32, 64, 128 };
    __m256i bytes = load(at); /* what isn't ASCII has nothing at its lower half */
    uint32_t ascii = bits_of(_mm256_and_si256(_mm256_shuffle_epi8(twice(set->low), bytes),
                                              _mm256_shuffle_epi8(twice(bits), high_halves(bytes))));

    return set->wide ? ascii | (uint32_t)_mm256_movemask_epi8(bytes) : ascii;
}

static WIDE size_t
run_end(gci_scan_set const *set, uint8_t const *text, size_t at, size_t size)
{
    for (; size - at >= GCI_SCAN_LANES; at += GCI_SCAN_LANES) {
        uint32_t others = ~members(set, text + at);
        if (others != 0)
            return at + (size_t)__builtin_ctz(others);
    }
    return at;
}

static WIDE size_t
behind_last(gci_scan_set const *set, uint8_t const *text, size_t first, size_t at)
{
    for (; at - first >= GCI_SCAN_LANES; at -= GCI_SCAN_LANES) {
        uint32_t some = members(set, text + at - GCI_SCAN_LANES);
        if (some != 0)
            return at - (size_t)__builtin_clz(some);
    }
    return at;
}
#else
#define find_pairs_wide find_pairs
#define run_end(set, text, at, size) ((void)(set), (void)(text), (at))
#define behind_last(set, text, first, at) ((void)(set), (void)(text), (void)(first), (at))

bool
gci_scan_lanes_work(void)
{
    return false;
}
#endif

uint32_t
gci_scan_pairs(gci_scan const *scan, uint8_t const *text, size_t *at, size_t last)
{
    return scan->has_lanes ? find_pairs_wide(scan, text, at, last) : find_pairs(scan, text, at, last);
}

size_t
gci_scan_run_end(gci_scan const *scan, gci_scan_set const *set, gci_view text, size_t at)
{
    return scan->has_lanes ? run_end(set, (uint8_t const *)text.data, at, text.size) : at;
}

size_t
gci_scan_behind_last(gci_scan const *scan, gci_scan_set const *set, uint8_t const *text, size_t first, size_t at)
{
    return scan->has_lanes ? behind_last(set, text, first, at) : at;
}
