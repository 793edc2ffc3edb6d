/*
 * Reading a tier in a directory: the heads of a key, objects by name, all keys.
 */
#ifndef GCI_TIER_DIRECTORY_DIRECTORY_READ_H
#define GCI_TIER_DIRECTORY_DIRECTORY_READ_H

#include "tier/directory/directory_call.h"

/* What list, fetch and walk of guardcache/tier.h do, in a call that has begun. */
gcache_tier_answer gci_directory_list(gci_directory_call *c, gcache_key const *key, gcache_object_fn each, void *state);
gcache_tier_answer gci_directory_fetch(gci_directory_call *c, gcache_object const *wanted, size_t count, gcache_object_fn each,
                                       void *state);
gcache_tier_answer gci_directory_walk(gci_directory_call *c, char cursor[GCACHE_TIER_CURSOR_SIZE], gcache_tier_key_fn each,
                                      void *state);

/* Reads an object's file and hands it out; *out_ended: the callback ends the call. ERROR_NOT_FOUND; ERROR_LIMIT: it is larger
   than the call wants; ERROR_CORRUPT: something else is in its place; ERROR_UNTRUSTED, ERROR_IO, ERROR_MEMORY. */
gcache_status gci_directory_hand_out(gci_directory_call *c, gcache_object const *wanted, gcache_object_fn each, void *state,
                                     bool *out_ended, gcache_error *error);

#endif
