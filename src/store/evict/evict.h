/*
 * Taking entries out of the cache again: their frames become EVICTED ones, their files go, a tombstone remembers them.
 */
#ifndef GCI_STORE_EVICT_EVICT_H
#define GCI_STORE_EVICT_EVICT_H

#include "store/evict/references.h"
#include "store/index/tombstones.h"
#include "store/state/state.h"

/* An entry that is to go. */
typedef struct gci_victim {
    gcache_key key;
    char id[GCACHE_ENTRY_ID_SIZE];
    uint64_t bytes;
    uint32_t hits;
    uint64_t used_ns; /* 0: not known */
    size_t rank;      /* among those chosen: the same for all of a key */
} gci_victim;

/* Hears what goes, each function NULL if nobody does. No lock of a key is held meanwhile. */
typedef struct gci_eviction_watch {
    gcache_progress_fn progress; /* how many bytes of those that are wanted are free, slice by slice */
    void (*victim)(void *state, gcache_key const *key, char const *entry, uint64_t bytes);
    void *state;                 /* of both */
} gci_eviction_watch;

/* What may go, and how much of it. */
typedef struct gci_eviction {
    int cause;           /* as in gci_tombstone */
    uint64_t want;       /* ends when so many bytes are free; UINT64_MAX: all victims go */
    uint64_t wait_ns;    /* for each key's lock */
    uint64_t before_ns;  /* if not 0: entries stored since stay, whatever their rows say */
    char const *namespace_; /* if not NULL: entries of other namespaces stay, whatever their rows say */
    gci_eviction_watch watch;
    gci_references *references; /* if not NULL: attachments go with the last entry that refers to them */
} gci_eviction;

/* What went. */
typedef struct gci_evicted {
    uint64_t entries, bytes;
    size_t failed;       /* victims whose key was busy, or couldn't be rewritten */
    size_t idle;         /* victims that were gone already: rows whose events couldn't be written on a full disk */
} gci_evicted;

/*
 * Takes victims out, key by key in their order, and their rows. Those that are gone already are no error. A key that can't be
 * changed doesn't keep the others from going. Entries of a newer version stay and count as failed, but are no error.
 * What went is added to *inout_evicted. Returns the first failure. Not while holding a key's lock.
 */
gcache_status gci_evict(gci_store *store, gci_victim const *victims, size_t count, gci_eviction const *eviction,
                        gci_evicted *inout_evicted, gcache_error *error);

/* One evictor, collector or repairer at a time. Closing the file gives the lock back. */
gcache_status gci_evictor_lock(gci_store *store, uint64_t wait_ns, gci_file *out_lock, gcache_error *error);

#endif
