/*
 * The generation table: memory that all processes with the directory open share, by mapping the file `generations`.
 *
 *      at          size    what
 *      0           8       magic "GCGENS" 0 1
 *      8           8       number of slots, 16384
 *      16          8       bytes on disk that count toward the cap
 *      24          8       entries
 *      32          8       keys
 *      40          8       bytes reserved by inserts under way
 *      64          8 each  counters (GCACHE_COUNT_MAP, in its order: new ones go to its end)
 *      4096        8 each  generations, one a slot
 *
 * Integers are in the machine's own order: the file is not meant to travel, and is made anew if it doesn't fit.
 *
 * Invariants:
 *  1. A key belongs to the slot its bytes select. A slot's generation is changed by the holder of its lock only: to odd
 *     before a candidate index of the slot changes, to even afterwards. So equal even values, one read before a
 *     candidate index was read and one now, mean that the index is still the same. A writer that died leaves an odd
 *     value: nothing is cached under the slot until the next writer makes it even.
 *  2. The file has all its blocks when it gets its name (a hole on a full disk would be SIGBUS), and is never
 *     truncated. Whoever replaces it removes the old name; users of the old one notice that within a second
 *     (gci_shared_is_stale).
 *  3. bytes, entries and keys are what a recount would give. An insert reserves what it may need when it has its key's
 *     lock, and gives that back before it lets go: who has all locks knows that nothing is reserved. A crash leaves bytes
 *     or the reserved ones too high, never too low; gc recounts.
 *
 * On a network file system, where the file can't be made, or before gci_shared_map, the words are private and `usable` is
 * false: nothing cached is valid without looking at the file.
 */
#ifndef GCI_STORE_SHARED_H
#define GCI_STORE_SHARED_H

#include "base/file.h"
#include "store/store.h"

#include <stdatomic.h>

/* One word each for keys that are in use at the same time; a collision costs a file's fstat, nothing else. */
#define GCI_SLOTS 16384
/* Private ones only say which locks this process holds. */
#define GCI_OWN_SLOTS 64

typedef struct gci_shared_head {
    char magic[8];
    uint64_t slots;
    _Atomic uint64_t bytes, entries, keys, reserved;
    uint64_t unused[2];
    _Atomic uint64_t counters[GCI_COUNT_COUNT];
} gci_shared_head;

typedef struct gci_shared_table {
    gci_shared_head head;
    char padding[4096 - sizeof(gci_shared_head)];
    _Atomic uint64_t generations[GCI_SLOTS];
} gci_shared_table;

typedef struct gci_shared {
    gci_shared_head *head;         /* the mapped one, or own_head */
    _Atomic uint64_t *generations; /* the mapped ones, or own_generations */
    uint32_t mask;
    _Atomic bool usable;           /* other processes see it */
    gci_shared_table *table;       /* what is mapped, or NULL */
    gci_file file;
    gci_shared_head own_head;
    _Atomic uint64_t own_generations[GCI_OWN_SLOTS];
} gci_shared;

/* Private words. */
void gci_shared_init(gci_shared *shared);

/* Maps the table, making it if need be; what can't be done leaves the words private. */
void gci_shared_map(gci_shared *shared, gci_dir dir, bool read_only);
void gci_shared_close(gci_shared *shared);

/* Whether the mapped file has lost its name: somebody removed or replaced the directory's content. */
bool gci_shared_is_stale(gci_shared const *shared);

static inline uint32_t
gci_slot_of(gcache_key const *key)
{
    /* The first byte selects the directory; these are independent of it. A key is a hash: any bits do. */
    return ((uint32_t)key->bytes[8] | (uint32_t)key->bytes[9] << 8) % GCI_SLOTS;
}

static inline _Atomic uint64_t *
gci_generation_word(gci_shared const *shared, gcache_key const *key)
{
    return &shared->generations[gci_slot_of(key) & shared->mask];
}

static inline uint64_t
gci_generation(gci_shared const *shared, gcache_key const *key)
{
    return atomic_load_explicit(gci_generation_word(shared, key), memory_order_acquire);
}

/* Around a change, by the holder of the slot's lock. */
void gci_generation_begin(gci_shared *shared, gcache_key const *key);
void gci_generation_end(gci_shared *shared, gcache_key const *key);

/* Adds a signed difference to a word, which stops at zero: a recount may have come in between. */
void gci_shared_add(_Atomic uint64_t *word, int64_t difference);

#endif
