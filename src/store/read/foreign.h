/*
 * Candidates that lie elsewhere, in a tier: their frames, with or without payloads, made into a set that a lookup chooses from
 * as from the store's own. A face of the store, for src/cache alone.
 */
#ifndef GCI_STORE_READ_FOREIGN_H
#define GCI_STORE_READ_FOREIGN_H

#include "store/read/portable.h"
#include "store/read/read.h"

/*
 * Makes a set of whole frames (REFERENCE, ENTRY, EVICTED) of one key. Sequences mean nothing between caches, so they are given
 * anew, in order of creation. Signatures aren't looked at: gci_foreign_payload does, of the one that is chosen. *out_set is
 * counted: release it. FOUND; ABSENT: there is none among them; UNREADABLE: no memory.
 */
gci_found gci_foreign_candidates(gci_store *store, gcache_key const *key, gci_view const *frames, size_t count,
                                 gci_candidates **out_set, gcache_error *error);

/* The payload as stored if it lies with the candidate; else empty, and *out_has false. */
gci_view gci_foreign_inlined(gci_candidate const *candidate, bool *out_has);

/*
 * Checks stored payload bytes against everything that is said of them (size, checksum, id, and a signature where one is
 * required) and unfolds them, if they say that they have no more than `most` bytes then; *out_payload is the caller's. FOUND;
 * CORRUPT; UNREADABLE: no memory, or ERROR_UNTRUSTED or ERROR_LIMIT in *error.
 */
gci_found gci_foreign_payload(gci_store *store, gci_candidate *candidate, gci_view stored, uint64_t most,
                              gci_payload *out_payload, gcache_error *error);

/* Whether its signature is what is required, without its payload. FOUND; UNREADABLE: ERROR_UNTRUSTED in *error. */
gci_found gci_foreign_vouch(gci_store *store, gci_candidate const *candidate, gcache_error *error);

/* Whether two candidates that are the same entry have the same signature, or neither has any. */
bool gci_foreign_same_signature(gci_candidate const *a, gci_candidate const *b);

/* The same entry as gci_store_adopt takes it. Borrows the candidate and the bytes. */
gci_portable gci_foreign_portable(gci_candidate const *candidate, gci_view stored);

#endif
