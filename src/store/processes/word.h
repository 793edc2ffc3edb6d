/*
 * Counters that check themselves: 48 bits of value and 16 check bits in one word of shared memory. Any number of processes
 * change one, each change is one exchange, and a flipped bit is noticed by whoever reads it next. A word of zeros, as a new
 * file has, is a damaged one: nobody has counted yet.
 */
#ifndef GCI_STORE_PROCESSES_WORD_H
#define GCI_STORE_PROCESSES_WORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef _Atomic uint64_t gci_word;

/* 256 TiB, which no cache directory takes. */
#define GCI_WORD_MAX ((UINT64_C(1) << 48) - 1)

/* An odd factor spreads every bit of the value to the upper ones; the constant makes zero's check bits other than zero. */
static inline uint64_t
gci_word_of(uint64_t value)
{
    uint64_t kept = value < GCI_WORD_MAX ? value : GCI_WORD_MAX;

    return kept << 16 | ((kept * UINT64_C(0x9e3779b97f4a7c15)) >> 48 ^ 0xa55a);
}

/* false: damaged, or nobody has counted yet. */
static inline bool
gci_word_read(uint64_t bits, uint64_t *out_value)
{
    *out_value = bits >> 16;
    return gci_word_of(*out_value) == bits;
}

static inline bool
gci_word_get(gci_word const *word, uint64_t *out_value)
{
    return gci_word_read(atomic_load(word), out_value);
}

/* 0 if it isn't known: for people. */
static inline uint64_t
gci_word_value(gci_word const *word)
{
    uint64_t value;

    return gci_word_get(word, &value) ? value : 0;
}

static inline void
gci_word_set(gci_word *word, uint64_t value)
{
    atomic_store(word, gci_word_of(value));
}

/* Stops at zero and at the largest; a damaged word stays one. */
static inline void
gci_word_add(gci_word *word, int64_t difference)
{
    uint64_t bits = atomic_load(word), value, wanted;

    do {
        if (!gci_word_read(bits, &value))
            return;
        uint64_t size = difference < 0 ? -(uint64_t)difference : (uint64_t)difference;
        wanted = difference >= 0 ? value + size : value > size ? value - size : 0;
    } while (!atomic_compare_exchange_weak(word, &bits, gci_word_of(wanted)));
}

#endif
