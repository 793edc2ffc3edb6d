/*
 * What a cache takes on disk, as the processes that have it open count it together, and what inserts under way may add.
 *
 * Invariants:
 *  1. `bytes` is what the files of entries/ and attachments/ take, or more. Whoever adds to them adds to it afterwards,
 *     whoever removes them subtracts afterwards, unless the files were counted meanwhile, perhaps without what went. A count
 *     (recount.h) makes it right again.
 *  2. Before a file is written, what it may take is reserved in the process's slot; it is given back when the file is counted,
 *     or gone. So bytes and reservations together bound what is there at every moment, temporary files included.
 *  3. A slot says whose it is. What a dead process had reserved goes on counting until its temporary files were swept and the
 *     files counted, both after it was found dead, and no longer.
 *  4. Words check themselves (word.h). A damaged one means "not known", which leads to a count: never to an eviction, and
 *     never to a larger cache.
 *
 * Slots are claimed and taken from the dead under locks/generations; a slot's owner alone changes its reservation, under
 * `mutex`.
 */
#ifndef GCI_STORE_STATE_USAGE_H
#define GCI_STORE_STATE_USAGE_H

#include "store/processes/shared.h"
#include "store/state/options.h"

#include <pthread.h>

/* A handle's part of it. */
typedef struct gci_usage {
    pthread_mutex_t mutex;
    gci_process_slot *slot; /* NULL: none yet, or there are none left */
    uint64_t reserved;      /* what the slot should say */
    _Atomic bool leftovers; /* a dead process had something under way */
} gci_usage;

void gci_usage_init(gci_usage *usage);
/* Gives the slot back. */
void gci_usage_close(gci_store *store);
void gci_usage_after_fork(gci_store *store);

/* Files take so many bytes that nothing took before. */
void gci_count_bytes(gci_store *store, uint64_t bytes);

/* Read before files change that may take less afterwards. */
uint64_t gci_count_moment(gci_store *store);
/* A file, or several, took `before` bytes at that moment and take `after` now. */
void gci_count_change(gci_store *store, uint64_t moment, uint64_t before, uint64_t after);
/* By who counted the files, before the figure is set. */
void gci_count_begin(gci_store *store);
void gci_count_entries(gci_store *store, int64_t difference);
void gci_count_keys(gci_store *store, int64_t difference);

/* For people: 0 if it isn't known. */
uint64_t gci_usage_bytes(gci_store *store);

/* Bytes and reservations. false: a word is damaged, or nobody has counted yet. */
bool gci_usage_bound(gci_store *store, uint64_t *out_bytes);
/* What all processes have reserved; damaged words are left out. */
uint64_t gci_usage_reserved(gci_store *store);

void gci_usage_reserve(gci_store *store, uint64_t bytes);
void gci_usage_release(gci_store *store, uint64_t bytes);

/* Slots, one each, of owners that were dead when they were judged. */
typedef struct gci_usage_dead {
    bool slots[GCI_PROCESS_SLOTS];
} gci_usage_dead;

/* Judged before temporary files are swept, forgotten after what is left was counted: who dies in between has left files that
   nobody has swept, or counted, yet. */
void gci_usage_judge(gci_store *store, gci_usage_dead *out_dead);
/* Drops what they had reserved, and what damaged slots say. */
void gci_usage_forget(gci_store *store, gci_usage_dead const *dead);

/* Something whose owner can't be judged is taken for dead after so long: no write goes on for ten minutes. */
#define GCI_FOREIGN_NS UINT64_C(600000000000)

#endif
