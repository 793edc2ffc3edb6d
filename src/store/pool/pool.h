/*
 * Pools: files in which small candidate indexes lie together, so that a small key takes neither an inode nor a block of its own
 * (docs/formats/candidate-index.md).
 *
 * A pool is a candidate index whose header names the first digits of keys, with the frames of all those keys that lie in it.
 * There is one for each folder of entries/, and, once that is full, one for each digit more. A key's own file comes first:
 * what a pool says of such a key doesn't count.
 *
 * Invariants:
 *  1. Whole frames are never changed in place: a pool grows by whole frames, is cut at its end, or is replaced by a rename. But
 *     for this: on a full disk those of a key that goes are overwritten by GONE frames of their sizes.
 *  2. Only the holder of the pool's lock writes, and to a key's frames only who holds the key's lock too. Readers take no lock.
 *  3. A GONE frame takes all frames of its key that stand before it out. Less than half of a pool is dead.
 */
#ifndef GCI_STORE_POOL_POOL_H
#define GCI_STORE_POOL_POOL_H

#include "store/state/files.h"

/* One read of a full one stays a matter of microseconds. */
#define GCI_POOL_MAX ((size_t)32 << 10)

/* Which of a key's pools. */
#define GCI_POOL_NONE (-1)
#define GCI_POOL_ANY (-1)

/*
 * What the key's own file would hold: a header and the key's frames, in out_image (cleared first), and in which of its pools it
 * lies. ERROR_NOT_FOUND: it lies in no
 * pool; ERROR_CORRUPT: nor in what is whole of a damaged one; ERROR_FORMAT: nor in what can be read of a newer version's;
 * ERROR_UNTRUSTED, ERROR_IO, ERROR_MEMORY.
 */
gcache_status gci_pool_load(gci_store *store, gcache_key const *key, gci_buf *out_image, int *out_level, gcache_error *error);

/* The same for a lookup: a pool that wasn't there isn't asked for again for up to a second (gci_pools_forget_absent), unless
   somebody makes one. What an outsider puts there is seen as late. */
gcache_status gci_pool_look(gci_store *store, gcache_key const *key, gci_buf *out_image, int *out_level, gcache_error *error);
void gci_pools_forget_absent(gci_store *store);

/* The key's candidate index, from its own file (GCI_POOL_NONE) or a pool; one that is nowhere is empty. */
gcache_status gci_pack_load(gci_store *store, gcache_key const *key, gci_buf *out_image, int *out_level, gcache_error *error);

/*
 * Appends frames of a key, whose lock the caller holds, to the pool in which it lies, or (GCI_POOL_ANY) to the first that has
 * room for them. out_place: which. GCACHE_MISS: none can take them. ERROR_IO and so on: frames of a new key aren't found; others
 * may be.
 */
gcache_status gci_pool_add(gci_store *store, gcache_key const *key, int level, gci_weight weight, gci_view const *parts,
                           size_t count, gci_path *out_place, gcache_error *error);

/* Makes a pool's frames durable that were added without. */
gcache_status gci_pool_sync(gci_store *store, gci_path const *place, gcache_error *error);

/* Takes a key, whose lock the caller holds, out of its pools. *out_dropped: it was in one. */
gcache_status gci_pool_drop(gci_store *store, gcache_key const *key, bool *out_dropped, gcache_error *error);

/* Writes the pools anew in which so much has gone that this frees disk blocks: after an eviction. */
void gci_pools_compact(gci_store *store);

/* Makes the damaged one among the pools of a key whole. *out_damaged: how many were, and are put aside. */
gcache_status gci_pool_mend(gci_store *store, gcache_key const *key, size_t *out_damaged, gcache_error *error);

/* Calls fn for the keys that lie in the same pool as this one, itself among them; a key may be named twice. */
typedef bool (*gci_pool_key_fn)(void *state, gcache_key const *key);
void gci_pool_neighbours(gci_store *store, gcache_key const *key, gci_pool_key_fn fn, void *state);

/* ---- all pools of a folder of entries/ ---- */

/* gci_shard_each with the keys that lie in pools. */
gcache_status gci_pool_shard_each(gci_store *store, unsigned number, gci_shard_key_fn fn, void *state, gcache_error *error);

/* How many keys lie in those of them whose bits (gci_pool_bit) are set. */
uint64_t gci_pool_keys(gci_store *store, unsigned number, uint32_t which);

/* Calls fn for each pool that isn't whole and readable; status says why. */
typedef void (*gci_pool_trouble_fn)(void *state, gcache_key const *prefix, gci_path const *place, gcache_status status);
void gci_pool_check(gci_store *store, unsigned number, gci_pool_trouble_fn fn, void *state);

#endif
