/*
 * Reading an entry's payload: from memory, from the candidate index, or from its file.
 */
#ifndef GCI_STORE_READ_PAYLOAD_H
#define GCI_STORE_READ_PAYLOAD_H

#include "store/read/read.h"

/* The payload as it is stored, compressed or not, verified. As gci_store_payload. */
gci_found gci_store_stored_payload(gci_store *store, gci_candidate *candidate, gci_payload *out_payload,
                                   gcache_error *error);

/* Reads and verifies a candidate's payload without keeping or mending anything. */
gcache_status gci_check_payload(gci_store *store, gci_candidate *candidate, gcache_error *error);

#endif
