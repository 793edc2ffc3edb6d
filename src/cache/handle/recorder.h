/*
 * What a run used: a set of names, kept while gcache_artifacts_begin .. end is in force. Only names: the things themselves
 * are read when they are saved.
 *
 * Invariants:
 *  1. `recording` is false whenever the set is empty by right: a hit costs one load of it.
 *  2. Items never change and are freed by gci_recorder_stop alone; bytes of artifacts may be replaced, under the mutex.
 * Locking: `mutex` for everything but `recording` and `dirty`. A forked child records nothing until it begins itself.
 */
#ifndef GCI_CACHE_HANDLE_RECORDER_H
#define GCI_CACHE_HANDLE_RECORDER_H

#include "base/arena.h"
#include "cache/handle/fork_mutex.h"

#include <guardcache/cache.h>

typedef enum gci_used_kind {
    GCI_USED_ENTRY,   /* first: the key, 32 bytes; second: the id */
    GCI_USED_BLOB,    /* first: the path in the cache */
    GCI_USED_ROW,     /* first: the table; second: the name */
    GCI_USED_ARTIFACT /* first: the kind; second: the name */
} gci_used_kind;

typedef struct gci_used {
    struct gci_used *next; /* of the same bucket */
    gci_used_kind kind;
    gci_view first, second;
    gci_view bytes;        /* of an artifact */
} gci_used;

/* A power of two: a run uses some thousands of things. */
#define GCI_USED_BUCKETS 4096

typedef struct gci_recorder {
    gci_fork_mutex mutex;
    atomic_bool recording, dirty;
    gci_arena arena;
    gci_used **buckets; /* NULL while not recording */
    size_t count;
} gci_recorder;

bool gci_recorder_init(gci_recorder *recorder);
void gci_recorder_clear(gci_recorder *recorder);

/* ERROR_ARGUMENT: it is recording; ERROR_MEMORY. */
gcache_status gci_recorder_start(gci_recorder *recorder, gcache_error *error);

/*
 * Notes a use; `is_new`: something was stored. Does nothing unless recording. Want of memory loses the note, no more. true:
 * it hadn't been noted before.
 */
bool gci_recorder_note(gci_recorder *recorder, gci_used_kind kind, gci_view first, gci_view second, bool is_new);

/* Copies what was noted into the arena: *out_items of *out_count. false: no memory. */
bool gci_recorder_snapshot(gci_recorder *recorder, gci_arena *arena, gci_used **out_items, size_t *out_count);

#endif
