/*
 * The store's part of an insert: what a gci_pending is made of. insertion.c prepares it without a lock; commit.c makes it
 * visible under the key's lock. Of several at once, what holds their payloads is staged before: written for all, then synced
 * for all, so that they share the wait.
 */
#ifndef GCI_STORE_INSERT_INSERTION_H
#define GCI_STORE_INSERT_INSERTION_H

#include "base/digest.h"
#include "store/format/record.h"
#include "store/insert/pending.h"
#include "store/state/state.h"

typedef struct gci_insertion {
    gci_store *store;
    gci_record record;
    gci_view payload;      /* as it will be stored */
    gci_buf compressed;
    gci_buf head;          /* the record's frame but for its payload */
    gci_buf description;   /* a whole frame; empty if none is needed */
    gci_checksum checksum;
    gci_signature signature; /* ours, or the one it came with; key_id empty: none */
    bool vouched;          /* a key of ours verifies it, or will */
    uint64_t need;         /* bytes it may take on disk */
    bool is_reserved;      /* they are reserved */
    uint64_t entry_cost;   /* of its own file; 0: it lies in the candidate index */
    bool fresh;            /* no candidate was found without looking into pools */
    size_t key_full;       /* how many candidates its key has, if that is why it isn't committed; else 0 */
    gci_path staged;       /* a temporary file with what a commit to a fresh key would write; "": none */
    gci_file staging;      /* the same, while it is open */
    gci_path index;        /* the same with the candidate index of a fresh key whose payload has a file; "": none */
    bool is_batched;       /* committed with others, which share the wait for the disk */
    gci_path pool;         /* where it was added; "": it has a file */
    uint8_t sketch[GCI_KEY_SKETCH_BYTES]; /* of a fresh key */
    size_t sketch_size;    /* 0: it has none */
    bool is_keyed;         /* somebody else computed the key */
    gci_inserted *out;
    gcache_error *error;
} gci_insertion;

/* Writes what commit would have to sync, for a key that is fresh. No more than a head start: if it fails, or the key
   isn't fresh any more, commit does it anew. */
void gci_insertion_stage(gci_insertion *insertion);
void gci_insertion_sync_staged(gci_insertion *insertion);
void gci_insertion_unstage(gci_insertion *insertion);

/* Makes durable what a commit among others left in a pool. */
gcache_status gci_insertion_sync_pool(gci_insertion *insertion);

/* Whether an equal entry makes way: no key of ours vouches for it, as one does for the new one, or it is to be renewed. */
bool gci_is_replaced(gci_insertion const *insertion, gci_candidate *equal);

/* Under the key's lock: looks again whether the entry is there, writes it, publishes it. */
gcache_status gci_insertion_commit(gci_insertion *insertion);

#endif
