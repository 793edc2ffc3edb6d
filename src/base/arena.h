/*
 * A bump allocator: many small pieces, freed all at once. What a description, a parse or a lookup needs lives in one.
 *
 * Invariants: every piece is aligned for any type; a failed allocation returns NULL and sets `failed`; the total never
 * exceeds `limit`.
 */
#ifndef GCI_BASE_ARENA_H
#define GCI_BASE_ARENA_H

#include "base/view.h"

#include <stdalign.h>
#include <stdint.h>

typedef struct gci_arena_block gci_arena_block;

typedef struct gci_arena {
    gci_arena_block *blocks; /* newest first */
    char *next, *end;        /* what is left of the newest block */
    size_t total, limit;     /* bytes in all blocks */
    size_t usual;            /* what the last block had that wasn't made for one large piece */
    bool failed, full;       /* full: it failed for its limit */
} gci_arena;

void gci_arena_init(gci_arena *arena, size_t limit);

/* The same, beginning with memory of the caller's, which is aligned for any type and outlives the pieces. */
void gci_arena_init_with(gci_arena *arena, size_t limit, void *room, size_t size);

/* Frees everything; the arena can be used again with the same limit. */
void gci_arena_clear(gci_arena *arena);

/* Forgets every piece but keeps the newest block, so that a loop allocates nothing in the steady state. */
void gci_arena_reset(gci_arena *arena);

/* Bytes that were handed out since it was made or cleared, about. */
static inline size_t
gci_arena_used(gci_arena const *arena)
{
    return arena->total - (size_t)(arena->end - arena->next);
}

/* What gci_arena_alloc does where the newest block may have no room for it. */
void *gci_arena_alloc_beyond(gci_arena *arena, size_t size);

#define GCI_ARENA_ALIGNMENT alignof(max_align_t)

/* Uninitialised bytes, or NULL. size 0 gives a pointer that must not be followed. */
static inline void *
gci_arena_alloc(gci_arena *arena, size_t size)
{
    size_t room = (size_t)(arena->end - arena->next);

    /* The last pieces are cut elsewhere: so rounding can't overflow, and an arena without a block has no piece of none. */
    if (room < GCI_ARENA_ALIGNMENT || size > room - GCI_ARENA_ALIGNMENT)
        return gci_arena_alloc_beyond(arena, size);
    void *piece = arena->next;
    arena->next += (size + GCI_ARENA_ALIGNMENT - 1) / GCI_ARENA_ALIGNMENT * GCI_ARENA_ALIGNMENT;
    return piece;
}

/* count * size bytes, zeroed, overflow checked; or NULL. */
void *gci_arena_array(gci_arena *arena, size_t count, size_t size);

/* A copy with a zero behind it (not counted in the view). data is NULL on failure. */
gci_view gci_arena_copy(gci_arena *arena, gci_view view);

#define GCI_ARENA_NEW(arena, type) ((type *)gci_arena_array((arena), 1, sizeof(type)))

#endif
