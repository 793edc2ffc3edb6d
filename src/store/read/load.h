/*
 * Reading a key's candidates: from memory if they are current there, else from the candidate index.
 */
#ifndef GCI_STORE_READ_LOAD_H
#define GCI_STORE_READ_LOAD_H

#include "store/memory/candidates.h"
#include "store/read/read.h"
#include "store/state/state.h"

/* Reads and decodes the candidate index as it is. Damage is counted in the set, not acted on. ABSENT, FOUND (perhaps
   without any candidate), CORRUPT (not even the header is good), UNREADABLE. */
gci_found gci_read_pack(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error);

/* The same through the memory tier. The holder of the key's lock gets what is current. */
gci_found gci_read_current(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error);

/* The same for the holder of the key's lock who wants to change it: from memory only if that can be checked against the
   size of the key's own file. */
gci_found gci_read_to_change(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error);

/* Before an insert takes the lock. From memory if it knows the key, as gci_read_current; else from the key's own file only, and
   into memory, so that the next insert reads what was appended. Pools aren't looked into: ABSENT may be wrong. */
gci_found gci_read_ahead(gci_store *store, gcache_key const *key, gci_candidates **out_set, gcache_error *error);

/* For errors of the operating system while reading: counts and names the outcome. */
gci_found gci_unreadable(gci_store *store);

/* Fails with ERROR_UNTRUSTED if signatures are required and the candidate's isn't good: to be asked before it is handed out. */
gcache_status gci_check_trust(gci_store const *store, gci_candidate const *candidate, gcache_error *error);

/* Whether a key of ours signed the candidate. */
bool gci_is_vouched_for(gci_store const *store, gci_candidate const *candidate);

/* What is due once a second: the shared table is looked at, touches are flushed. Inserts call it, and lookups but a handle's
   first. */
void gci_check_time(gci_store *store);

#endif
