/*
 * Building a candidate index anew from frames: for eviction, mending and repair.
 *
 * A draft holds frames in order of sequence. Their bytes are borrowed: from `pack`, most often.
 */
#ifndef GCI_STORE_PUBLISH_DRAFT_H
#define GCI_STORE_PUBLISH_DRAFT_H

#include "store/format/frame.h"
#include "store/state/state.h"

typedef struct gci_pack_draft_frame {
    gci_frame_type type;
    char id[GCACHE_ENTRY_ID_SIZE];
    uint64_t sequence;
    uint64_t created_ns, evicted_ns;
    gci_view namespace_; /* in bytes */
    gci_view bytes; /* the whole frame, as it is or was */
    bool dropped;
} gci_pack_draft_frame;

typedef struct gci_pack_draft {
    gcache_key key;
    gci_buf pack;         /* the candidate index as it is */
    int level;            /* of the pool that it was loaded from, or GCI_POOL_NONE */
    gci_pack_draft_frame *frames;
    size_t count, capacity;
    gci_view description; /* a whole frame, or empty */
    size_t strange;       /* frames with good checksums that make no sense under this key: not taken */
} gci_pack_draft;

/* How many evicted candidates a key remembers: enough to explain why a lookup misses, little enough to stay small. */
#define GCI_EVICTED_KEPT 16

void gci_pack_draft_init(gci_pack_draft *draft, gcache_key const *key);
void gci_pack_draft_clear(gci_pack_draft *draft);

/* Loads the key's candidate index and takes what is good of it. */
gcache_status gci_pack_draft_load(gci_pack_draft *draft, gci_store *store, gcache_error *error);

/* Takes all good frames of the key found in bytes, header or not. ERROR_FORMAT: it, or a frame in it, is of a newer version,
   which would be lost if it were written anew; ERROR_MEMORY. */
gcache_status gci_pack_draft_take_pack(gci_pack_draft *draft, gci_view bytes, gcache_error *error);

/* Takes a frame, unless it makes no sense under the key or its id is there as a live one. false: no memory. */
bool gci_pack_draft_take(gci_pack_draft *draft, gci_frame const *frame, gci_view bytes);

gci_pack_draft_frame *gci_pack_draft_find(gci_pack_draft *draft, char const *id);
size_t gci_pack_draft_live(gci_pack_draft const *draft);

/* Writes the whole candidate index: live frames as they are, evicted ones as EVICTED frames, the newest of them only. */
void gci_pack_draft_write(gci_pack_draft *draft, gci_buf *out);

#endif
