/*
 * What verify, repair and gc share.
 */
#ifndef GCI_STORE_VERIFY_H
#define GCI_STORE_VERIFY_H

#include "store/inside.h"

/* Reads and verifies a candidate's payload without keeping or mending anything. */
gcache_status gci_check_payload(gci_store *store, gci_candidate *candidate, gcache_error *error);

/* Reads a description without putting anything aside. */
gci_found gci_read_description(gci_store *store, gcache_key const *key, gci_stored_description **out_description,
                               gcache_error *error);

/* Whether a file is older than any write that may still be under way: what is stray then has no owner. */
#define GCI_OLD_NS UINT64_C(3600000000000)
bool gci_is_old(struct stat const *facts);

#endif
