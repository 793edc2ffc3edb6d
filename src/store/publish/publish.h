/*
 * Making changes to a key's files visible, in the order that state.h states. All of this is done by the holder of the
 * key's lock.
 */
#ifndef GCI_STORE_PUBLISH_PUBLISH_H
#define GCI_STORE_PUBLISH_PUBLISH_H

#include "store/publish/draft.h"
#include "store/state/files.h"

/* What a key's candidate index and description take. */
uint64_t gci_cost_of_key(gci_store *store, gcache_key const *key);

/* Replaces (or makes) the key's candidate index. */
gcache_status gci_publish_pack(gci_store *store, gcache_key const *key, gci_weight weight, gci_view const *parts,
                               size_t count, gcache_error *error);
/* The same with a temporary file of `size` bytes, which is gone afterwards in any case. */
gcache_status gci_publish_temporary(gci_store *store, gcache_key const *key, gci_path const *temporary, uint64_t size,
                                    gcache_error *error);

/* Writes a draft to a temporary file of *out_size bytes. */
gcache_status gci_write_draft(gci_store *store, gci_pack_draft *draft, gci_path *out_temporary, uint64_t *out_size,
                              gcache_error *error);

/* Writes a draft in place of the key's candidate index, or removes that if nothing is left. *out_size: what it has then. */
gcache_status gci_publish_draft(gci_store *store, gci_pack_draft *draft, uint64_t *out_size, gcache_error *error);

/* Adds frames to the key's candidate index, which ends at `end` and has nothing behind it. On an error the file is as
   long as it was. */
gcache_status gci_append_pack(gci_store *store, gcache_key const *key, gci_weight weight, uint64_t end,
                              gci_view const *parts, size_t count, gcache_error *error);

/* Removes the key's candidate index and description. */
gcache_status gci_remove_pack(gci_store *store, gcache_key const *key, gcache_error *error);

/* Removes an entry file, if there is one; *out_freed (may be NULL) is what it took. */
gcache_status gci_remove_entry(gci_store *store, gcache_key const *key, char const *id, uint64_t *out_freed,
                               gcache_error *error);

#endif
