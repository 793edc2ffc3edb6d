/*
 * Reading an entry's payload: from memory, from the candidate index, or from its file.
 */
#ifndef GCI_STORE_PAYLOAD_H
#define GCI_STORE_PAYLOAD_H

#include "store/frame.h"
#include "store/store.h"

/* Whether a frame holds the entry that its place says it is. */
bool gci_is_entry_of(gci_frame const *frame, gcache_key const *key, char const *id);

/* The payload as it is stored, compressed or not, verified. As gci_store_payload. */
gci_found gci_store_stored_payload(gci_store *store, gci_candidate *candidate, gci_payload **out_payload,
                                   gcache_error *error);

#endif
