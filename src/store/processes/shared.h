/*
 * The generation table: memory that all processes with the directory open share, by mapping the file `generations`.
 *
 *      at          size    what
 *      0           8       magic "GCGENS" 0 3
 *      8           8       number of slots, 16384
 *      16          8       bytes on disk that count toward the cap        (16 to 71: words that check themselves, word.h)
 *      24          8       entries
 *      32          8       keys
 *      40          8       bytes that were ever added
 *      48          8       how many process slots have been used
 *      56          8       when an eviction made no room on a full disk, in s since 1970
 *      64          8       when what is remembered of an eviction was last lost for want of room, in s since 1970
 *      72          8       how many pools have been made
 *      80          8 each  counters (GCACHE_STATISTIC_COUNTER_MAP, in its order: new ones go to its end)
 *      4088        8       how often the files have been counted (usage.h)
 *      4096        8 each  generations, one a slot
 *      135168      64 each process slots, 512 (usage.h)
 *
 * Integers are in the machine's own order: the file is not meant to travel, and is made anew if it doesn't fit.
 *
 * Invariants:
 *  1. A key belongs to the slot its bytes select. A slot's generation is changed by the holder of its lock only: to odd
 *     before a candidate index of the slot changes, to even afterwards. So equal even values, one read before a
 *     candidate index was read and one now, mean that the index is still the same. A writer that died leaves an odd
 *     value: nothing is cached under the slot until the next writer makes it even.
 *  2. The file has all its blocks when it gets its name (a hole on a full disk would be SIGBUS), and nothing of ours
 *     changes its size. Whoever replaces it puts a new file under the name; users of the old one notice that within a
 *     second (gci_shared_revalidate) and go over to the new one, where the old one was mapped.
 *     Somebody else who cuts the file under a running program kills it by SIGBUS, unless a second goes by without a look.
 *  3. bytes, entries and keys are what a recount would give, or a hint that one is due: nothing is destroyed on their word
 *     (usage.h). Those of keys and entries change under a key's lock, behind a change of its generation.
 *  4. The generations of a table begin at a random number: what was remembered by one table means nothing to another. Who
 *     goes over changes all of the new one's, since changes of his may have gone to the old one.
 *
 * On a network file system, where the file can't be made, or before gci_shared_map, the words are private and `usable` is
 * false: nothing cached is valid without looking at the file.
 */
#ifndef GCI_STORE_PROCESSES_SHARED_H
#define GCI_STORE_PROCESSES_SHARED_H

#include "base/system/file.h"
#include "store/processes/counter_list.h"
#include "store/processes/locks.h"
#include "store/processes/word.h"

/* Private ones only say which locks this process holds. */
#define GCI_OWN_SLOTS 64
/* Handles that insert under a cap at the same time; those beyond keep the cap to within what they have under way. */
#define GCI_PROCESS_SLOTS 512

typedef struct gci_shared_head {
    char magic[8];
    uint64_t slots;
    gci_word bytes, entries, keys, added, process_count, futile_s, unnoted_s;
    _Atomic uint64_t pools_made;
    _Atomic uint64_t counters[GCI_COUNT_COUNT];
} gci_shared_head;

/* What one process (one handle of it) has reserved. */
typedef struct gci_process_slot {
    _Atomic uint64_t number; /* 0: free; this and the next three as in gci_process */
    _Atomic uint64_t start, boot, names;
    _Atomic uint64_t check;  /* over the four before */
    gci_word reserved;
    gci_word since_s;        /* when that last changed, in s since 1970 */
    uint64_t unused;
} gci_process_slot;

typedef struct gci_shared_table {
    gci_shared_head head;
    char padding[4096 - sizeof(gci_shared_head) - sizeof(uint64_t)];
    _Atomic uint64_t counts;
    _Atomic uint64_t generations[GCI_SLOTS];
    gci_process_slot processes[GCI_PROCESS_SLOTS];
} gci_shared_table;

typedef struct gci_shared {
    gci_shared_head *head;         /* the mapped one, or own_head */
    _Atomic uint64_t *counts;      /* the mapped one, or own_counts */
    _Atomic uint64_t *generations; /* the mapped ones, or own_generations */
    uint32_t mask;
    gci_process_slot *processes;   /* the mapped ones, or own_process */
    uint32_t process_slots;
    _Atomic bool usable;           /* other processes see it */
    gci_shared_table *table;       /* what is mapped, or NULL */
    gci_file file;
    gci_shared_head own_head;
    _Atomic uint64_t own_counts;
    _Atomic uint64_t own_generations[GCI_OWN_SLOTS];
    gci_process_slot own_process;
} gci_shared;

/* Private words. */
void gci_shared_init(gci_shared *shared);

/* Maps the table, making it if need be; what can't be done leaves the words private. */
void gci_shared_map(gci_shared *shared, gci_dir dir, bool read_only);
void gci_shared_close(gci_shared *shared);

/* Goes over to the table that the name leads to if it isn't the mapped one any more, or if that was damaged. By one thread
   at a time; others may use the words meanwhile. */
void gci_shared_revalidate(gci_shared *shared, gci_dir dir, bool read_only);

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

/* Another one after every such change. */
uint64_t gci_generations_sum(gci_shared const *shared);

#endif
