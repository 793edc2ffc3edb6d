/*
 * The bump allocator: blocks that double, one behind the other.
 */
#include "base/arena.h"

#include "base/check.h"
#include "base/memory/spare.h"

/* Blocks double from one page up to the largest, so that both a small graph and a large one need few of them. */
#define BLOCK_FIRST ((size_t)4096)
#define BLOCK_LARGEST ((size_t)1 << 20)

struct gci_arena_block {
    gci_arena_block *older;
    size_t size; /* of the whole block */
    alignas(max_align_t) char bytes[];
};

#define HEADER offsetof(gci_arena_block, bytes)

void
gci_arena_init(gci_arena *arena, size_t limit)
{
    *arena = (gci_arena){ .limit = limit };
}

void
gci_arena_init_with(gci_arena *arena, size_t limit, void *room, size_t size)
{
    *arena = (gci_arena){ .next = room, .end = (char *)room + size, .limit = limit };
}

static void
free_blocks(gci_arena_block *block)
{
    while (block != NULL) {
        gci_arena_block *older = block->older;
        gci_spare_free(block, block->size);
        block = older;
    }
}

void
gci_arena_clear(gci_arena *arena)
{
    free_blocks(arena->blocks);
    gci_arena_init(arena, arena->limit);
}

void
gci_arena_reset(gci_arena *arena)
{
    gci_arena_block *newest = arena->blocks;

    if (newest == NULL)
        return;
    free_blocks(newest->older);
    newest->older = NULL;
    arena->next = newest->bytes;
    arena->end = (char *)newest + newest->size;
    arena->total = newest->size;
    arena->failed = arena->full = false;
}

static bool
add_block(gci_arena *arena, size_t need)
{
    size_t usual = arena->usual == 0 ? BLOCK_FIRST : arena->usual * 2;

    if (usual > BLOCK_LARGEST)
        usual = BLOCK_LARGEST;
    /* What is made for one large piece says nothing of how much comes next. */
    size_t size = usual < need + HEADER ? need + HEADER : usual;
    arena->full = size > arena->limit || arena->total > arena->limit - size;
    if (arena->full)
        return false;
    gci_arena_block *block = gci_spare_alloc(size);
    if (block == NULL)
        return false;
    block->older = arena->blocks;
    block->size = size;
    arena->blocks = block;
    arena->usual = size == usual ? usual : arena->usual;
    arena->next = block->bytes;
    arena->end = (char *)block + size;
    arena->total += size;
    return true;
}

void *
gci_arena_alloc_beyond(gci_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4) {
        arena->failed = true;
        return NULL;
    }
    size_t rounded = (size + GCI_ARENA_ALIGNMENT - 1) / GCI_ARENA_ALIGNMENT * GCI_ARENA_ALIGNMENT;
    if ((size_t)(arena->end - arena->next) < rounded || arena->next == NULL) {
        if (!add_block(arena, rounded)) {
            arena->failed = true;
            return NULL;
        }
    }
    GCI_ASSERT((size_t)(arena->end - arena->next) >= rounded);
    void *piece = arena->next;
    arena->next += rounded;
    return piece;
}

void *
gci_arena_array(gci_arena *arena, size_t count, size_t size)
{
    size_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes)) {
        arena->failed = true;
        return NULL;
    }
    void *piece = gci_arena_alloc(arena, bytes);
    if (piece != NULL)
        memset(piece, 0, bytes);
    return piece;
}

gci_view
gci_arena_copy(gci_arena *arena, gci_view view)
{
    char *copy = gci_arena_alloc(arena, view.size + 1);

    if (copy == NULL)
        return (gci_view){ NULL, 0 };
    if (view.size != 0)
        memcpy(copy, view.data, view.size);
    copy[view.size] = '\0';
    return gci_view_of(copy, view.size);
}
