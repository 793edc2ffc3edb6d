/*
 * How a store is opened, and what it reports by itself.
 */
#ifndef GCI_STORE_STATE_OPTIONS_H
#define GCI_STORE_STATE_OPTIONS_H

#include "base/error.h"
#include "store/format/entry.h"
#include <guardcache/cache.h>
#include <guardcache/maintenance.h>

typedef struct gci_store gci_store;

/* A candidate index that is larger than this, without its header, has a file of its own: half a disk block. */
#define GCI_POOLED_MAX_DEFAULT ((size_t)2 << 10)

/* What the store does by itself. Reported by the thread that does it, which may hold locks. */
typedef enum gci_store_event_kind {
    GCI_STORE_EVICTED, /* key, entries, bytes and cause are set */
    GCI_STORE_CORRUPT  /* text is set */
} gci_store_event_kind;

typedef struct gci_store_event {
    gci_store_event_kind kind;
    gcache_key const *key;
    uint64_t entries, bytes;
    int cause;        /* as in gci_tombstone */
    char const *text; /* what was put aside, and why */
} gci_store_event;

typedef void (*gci_store_event_fn)(void *state, gci_store_event const *event);

/* What keys of a kind are compared by where nothing is stored under the one that is asked for; opaque here. */
#define GCI_KEY_SKETCH_BYTES 128

typedef struct gci_sketching {
    /* false: nothing can be said about it. */
    bool (*make)(gci_description const *description, uint8_t out_sketch[GCI_KEY_SKETCH_BYTES]);
    unsigned (*distance)(uint8_t const *a, uint8_t const *b);
} gci_sketching;

typedef struct gci_store_options {
    bool read_only;
    gcache_durability durability;
    uint64_t max_size;      /* of the directory; 0: default, UINT64_MAX: none */
    bool renew;             /* an insert that equals an entry takes its place, as the newest of its key */
    /* What the cache's own setting says, UINT64_MAX if it says nothing: a cache that is larger than max_size by more than a
       tenth is shrunk on this word only. NULL: max_size is it */
    uint64_t (*own_cap)(char const *directory);
    size_t memory_bytes;    /* for decoded sets and payloads; 0: default */
    int compression_level;  /* -1: raw; 0: default */
    size_t max_candidates;  /* a key; 0: default */
    size_t pooled_max;      /* larger candidate indexes have files of their own, smaller ones share pools; 0: default, 1: none do */
    uint64_t max_age_ns;    /* entries unused for longer are evicted by gc; 0: none */
    char const *namespace_; /* the namespace new entries are labelled with; NULL: "" */
    gci_signing_key const *signing; /* borrowed during open */
    size_t signing_count;
    bool require_signature; /* entries that no key verifies are not handed out */
    gcache_trust trust;     /* whose files are read */
    bool network;           /* treat the directory as one on a network file system even if it isn't */
    gci_sketching const *sketching; /* NULL: keys have no sketches, and none is near another */
    gcache_log_fn log;
    void *log_state;
    gci_store_event_fn event;       /* may be NULL */
    void *event_state;
} gci_store_options;

#endif
