/*
 * The face of this room: reading candidates, payloads and descriptions, and walking over what is stored.
 */
#ifndef GCI_STORE_READ_READ_H
#define GCI_STORE_READ_READ_H

#include "base/error.h"
#include "store/format/describe.h"
#include "store/memory/candidate_set.h"
#include "store/state/options.h"

/* ---- candidates ---- */

/*
 * The key's candidates. *out_set is counted: release it. FOUND with at least one item or evicted one;
 * ABSENT, EVICTED, CORRUPT, UNREADABLE: *out_set is NULL.
 */
gci_found gci_store_candidates(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error);

/* The same, read from disk and kept out of the memory tier: for those who walk over everything. */
gci_found gci_store_load(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error);

/* FOUND or, where signatures are required and the candidate's isn't good, UNREADABLE. Who hands out a payload needn't ask. */
gci_found gci_store_vouch(gci_store *store, gci_candidate const *candidate, gcache_error *error);

/* ---- payloads ---- */

/* So often what was renewed while it was read is read again. */
#define GCI_RENEWALS_MET 4

/* FOUND, EVICTED (the entry went away meanwhile), CORRUPT or UNREADABLE. Release it, whatever comes. */
gci_found gci_store_payload(gci_store *store, gci_candidate *candidate, gci_payload *out_payload, gcache_error *error);

/* ---- descriptions ---- */

/* FOUND, ABSENT, CORRUPT, UNREADABLE. What `gci_stored_description_get` points to lives as long as the object. */
gci_found gci_store_description(gci_store *store, gcache_key const *key, gci_stored_description **out_description,
                                gcache_error *error);

/* ---- the nearest ---- */

/* What is asked for: a key of a kind, by its sketch. */
typedef struct gci_near_query {
    gci_view kind;
    bool is_keyed;         /* somebody else computed it */
    uint8_t const *sketch; /* GCI_KEY_SKETCH_BYTES */
    uint64_t before_ns;    /* only keys that were there then; UINT64_MAX: all */
} gci_near_query;

typedef struct gci_near {
    gcache_key key;
    unsigned distance;   /* of the sketches */
    uint64_t created_ns; /* when it was first stored */
} gci_near;

/*
 * The stored keys of the kind whose sketches are nearest, best first, at most `room`: all of them are looked at, *out_of. Without
 * index.db descriptions are read one by one, a bounded number; what a former version stored gets its sketch now, a bounded
 * number at a time. Nothing is near anything in a store without sketching.
 */
gcache_status gci_store_nearest(gci_store *store, gci_near_query const *query, gci_near *out_near, size_t room,
                                size_t *out_count, uint64_t *out_of, gcache_error *error);

/* Stored keys of the kind that can't be near anything, because they came without a description; 0 where index.db can't say. */
uint64_t gci_store_keys_bare(gci_store *store, gci_view kind);

/* ---- bytes made shorter ---- */

/* Appends bytes, compressed, to out, for who keeps them elsewhere. false: no memory. */
bool gci_store_pack(gci_view bytes, gci_buf *out);
/* Appends the `size` bytes that were packed. false: damage, more than a description may have, or no memory. */
bool gci_store_unpack(gci_view packed, uint64_t size, gci_buf *out);

/* ---- walking ---- */

/* Calls fn for every key in ascending order; anything but 0 ends it. */
typedef int (*gci_key_fn)(void *state, gcache_key const *key);
gcache_status gci_store_each_key(gci_store *store, gci_key_fn fn, void *state, gcache_error *error);

#endif
