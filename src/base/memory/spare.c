/*
 * Large pieces of memory, kept by size for all threads.
 *
 * Invariants:
 *  1. A piece of SMALLEST to LARGEST bytes has a power of two of them, so that any one of its size will do.
 *  2. No more is kept than COPIES of each size, and KEPT_MOST bytes for a process: a module of 1 MB needs four pieces of 2 MB.
 */
#include "base/memory/spare.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* malloc keeps smaller pieces itself; larger ones are rare, and worth giving back. */
#define SMALLEST ((size_t)64 << 10)
#define LARGEST ((size_t)2 << 20)

#define KEPT_MOST ((size_t)8 << 20)

enum { SIZES = 6, COPIES = 4 };

static _Atomic(void *) kept[SIZES][COPIES];
static atomic_size_t kept_bytes;

/* Which of the sizes kept a piece of `size` bytes has; SIZES: none. */
static size_t
class_of(size_t size)
{
    size_t class = 0;

    if (size < SMALLEST || size > LARGEST)
        return SIZES;
    while (SMALLEST << class < size)
        class++;
    return class;
}

void *
gci_spare_alloc(size_t size)
{
    size_t class = class_of(size);

    if (class == SIZES)
        return malloc(size);
    for (size_t i = 0; i < COPIES; i++) {
        void *piece = atomic_load_explicit(&kept[class][i], memory_order_relaxed) != NULL
                          ? atomic_exchange_explicit(&kept[class][i], NULL, memory_order_acquire) : NULL;
        if (piece == NULL)
            continue;
        atomic_fetch_sub_explicit(&kept_bytes, SMALLEST << class, memory_order_relaxed);
        return piece;
    }
    return malloc(SMALLEST << class);
}

/* Sanitizers are to see what is used after it was freed. GCC says by macros that there is one, clang by features. */
#ifndef __has_feature
#define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) ||                          \
    __has_feature(thread_sanitizer)
#define KEEPS 0
#else
#define KEEPS 1
#endif

/* false: there is no room for it. */
static bool
keep(void *piece, size_t class)
{
    size_t bytes = SMALLEST << class;
    bool fits = atomic_fetch_add_explicit(&kept_bytes, bytes, memory_order_relaxed) + bytes <= KEPT_MOST;

    for (size_t i = 0; fits && i < COPIES; i++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong_explicit(&kept[class][i], &none, piece, memory_order_release, memory_order_relaxed))
            return true;
    }
    atomic_fetch_sub_explicit(&kept_bytes, bytes, memory_order_relaxed);
    return false;
}

void
gci_spare_free(void *piece, size_t size)
{
    size_t class = piece != NULL && KEEPS ? class_of(size) : SIZES;

    if (class < SIZES && keep(piece, class))
        return;
    free(piece);
}

void *
gci_spare_grow(void *piece, size_t used, size_t size, size_t wanted)
{
    if (class_of(wanted) == SIZES)
        return realloc(piece, wanted);
    void *grown = gci_spare_alloc(wanted);
    if (grown == NULL)
        return NULL;
    if (used != 0)
        memcpy(grown, piece, used);
    gci_spare_free(piece, size);
    return grown;
}
