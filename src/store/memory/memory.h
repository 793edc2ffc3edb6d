/*
 * The memory tier: candidate sets by key, found without a lock.
 *
 * Invariants:
 *  1. A bucket is a list of nodes. Readers announce themselves in the bucket's `readers`, walk the list, take a
 *     reference on the set they want, and sign off. They write nothing else.
 *  2. Writers hold `mutex`. A node that was taken out of its list is freed only when its bucket has been seen without
 *     readers since; until then it waits in `retired`. Both sides use sequentially consistent operations there: either
 *     the reader's announcement is seen, or the reader doesn't see the node.
 *  3. A key has at most one node.
 *  4. The budget, not the number of sets, bounds the tier. Who goes is decided by a clock hand: a set that was used
 *     since the hand last passed stays.
 */
#ifndef GCI_STORE_MEMORY_MEMORY_H
#define GCI_STORE_MEMORY_MEMORY_H

#include "store/memory/candidates.h"

#include <pthread.h>
#include <stdatomic.h>

/* A list has a dozen nodes when the default bound is full. */
#define GCI_MEMORY_BUCKETS 1024

typedef struct gci_memory_node gci_memory_node;

typedef struct gci_memory_bucket {
    _Atomic(gci_memory_node *) first;
    _Atomic uint32_t readers;
} gci_memory_bucket;

typedef struct gci_memory {
    gci_memory_bucket *buckets; /* GCI_MEMORY_BUCKETS, or `only` */
    size_t mask;                /* of the number of a bucket */
    gci_memory_bucket only;
    gci_budget *budget;
    size_t limit;
    pthread_mutex_t mutex;
    gci_memory_node *hand;    /* of the ring of all nodes */
    gci_memory_node *retired;
    _Atomic size_t count;     /* written under the mutex, read by whoever asks */
} gci_memory;

/* Called for a run that leaves the tier with the last set that has it, before its reference is given up. */
typedef void (*gci_leaving_fn)(void *state, gci_run *run);

gcache_status gci_memory_open(gci_memory *memory, size_t limit, gcache_error *error);
/* Gives an empty one as many buckets as many sets need, if there is memory: a fresh handle with one answer does without. */
void gci_memory_widen(gci_memory *memory);
void gci_memory_close(gci_memory *memory, gci_leaving_fn leaving, void *state);
/* In a forked child, where another thread may have been in the middle of anything: forgets all, frees nothing. */
void gci_memory_after_fork(gci_memory *memory);

/*
 * The key's set with a reference, or NULL. *out_generation is what it was put in with: whether that is still current
 * is the caller's question.
 */
gci_candidates *gci_memory_find(gci_memory *memory, gcache_key const *key, uint64_t *out_generation);

/* Puts a set in, in place of the key's former one; takes a reference of its own. Out of memory: nothing happens. */
void gci_memory_put(gci_memory *memory, gci_candidates *set, uint64_t generation, gci_leaving_fn leaving, void *state);

/* Takes the key's set out. */
void gci_memory_drop(gci_memory *memory, gcache_key const *key, gci_leaving_fn leaving, void *state);

/* Calls fn for every run of every set, under the mutex. */
void gci_memory_each(gci_memory *memory, gci_leaving_fn fn, void *state);

#endif
