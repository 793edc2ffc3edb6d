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

/* What is known about the last eviction under a key. Times are 0 where they aren't known. */
typedef struct gci_tombstone {
    gcache_key key;
    uint64_t evicted_ns;
    uint32_t entries;       /* how many went then */
    uint32_t hits;          /* how often they had been handed out */
    enum { GCI_EVICTED_SIZE = 1, GCI_EVICTED_AGE, GCI_EVICTED_SPACE, GCI_EVICTED_BY_HAND, GCI_EVICTED_KEY_FULL } cause;
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
