/*
 * What is remembered of the last eviction under a key: a file of fixed size, `evicted`, read on a miss.
 *
 * 16384 slots of 96 bytes (docs/formats/directory.md); 4 slots are a bucket, selected by the key.
 *
 * A new tombstone takes the place of the oldest of its bucket. Holes are empty slots. Nothing here is synced: a lost or
 * damaged tombstone is an eviction that nobody remembers.
 */
#ifndef GCI_STORE_INDEX_TOMBSTONES_H
#define GCI_STORE_INDEX_TOMBSTONES_H

#include "base/fields.h"
#include "store/state/options.h"

/* Who or what evicted, in words that follow a colon. Numbers from 1 on are written: append. */
#define GCI_EVICTION_CAUSE_MAP(X)                                                                     \
    X(SIZE, "the cache was over its size limit")                                                      \
    X(AGE, "it had been unused for longer than the cache's age limit")                                \
    X(SPACE, "the disk was full")                                                                     \
    X(BY_HAND, "it was taken out by hand (rm)")                                                       \
    X(KEY_FULL, "its key had as many candidates as it may")                                           \
    X(GC, "gc was run to make the cache smaller")                                                     \
    X(GC_AGE, "gc was run for what had long been unused")                                             \
    X(GC_NAMESPACE, "gc was run to empty its namespace")

typedef enum gci_eviction_cause {
    GCI_EVICTED_UNKNOWN = 0,
#define X(name, text) GCI_EVICTED_##name,
    GCI_EVICTION_CAUSE_MAP(X)
#undef X
    GCI_EVICTED_CAUSES
} gci_eviction_cause;

/* What is known about the last eviction under a key. Times are 0 where they aren't known. */
typedef struct gci_tombstone {
    gcache_key key;
    uint64_t evicted_ns;
    uint32_t entries;       /* how many went then */
    uint32_t hits;          /* how often they had been handed out */
    gci_eviction_cause cause;
    uint32_t left;          /* candidates that stayed under the key */
    uint64_t stored_ns;     /* when the first of those that went was stored */
    uint64_t used_ns;       /* when one of them was last used */
    uint64_t evicted_bytes; /* what the cache had evicted before, ever: as in gci_fullness */
    bool asked;             /* a lookup has missed what went */
} gci_tombstone;

/* false: nothing is known. */
bool gci_store_tombstone(gci_store *store, gcache_key const *key, gci_tombstone *out_tombstone);

/* A lookup has missed what was evicted under the key. The first to say so after an eviction is counted, which is one
   write; nothing happens in a read-only cache. */
void gci_store_asked_again(gci_store *store, gcache_key const *key);

/* Written by whoever holds the key's lock. Trouble is nobody's: false says that nothing was written. */
bool gci_tombstone_put(gci_store *store, gci_tombstone const *tombstone);
/* The key is stored again. */
void gci_tombstone_remove(gci_store *store, gcache_key const *key);
bool gci_tombstone_get(gci_store *store, gcache_key const *key, gci_tombstone *out_tombstone);

/* What all of them take on disk. */
uint64_t gci_tombstones_cost(gci_store *store);
/* Where their room is needed for entries. Who writes one just now may do it in vain. */
void gci_tombstones_forget(gci_store *store);

extern gci_fields const gci_tombstone_fields;

#endif
