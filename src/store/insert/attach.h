/*
 * Attachments of the entries that are stored: what an insert checks, and verify and repair read.
 */
#ifndef GCI_STORE_INSERT_ATTACH_H
#define GCI_STORE_INSERT_ATTACH_H

#include "store/insert/pending.h"
#include "store/state/state.h"

/* Whether an entry's attachments can be put in place: their names, and that something is stored. Also ERROR_NOT_FOUND. */
gcache_status gci_attachments_check(gci_store *store, gci_record const *record, gcache_error *error);

/* Reads one, verified, and changes nothing. ERROR_NOT_FOUND, ERROR_CORRUPT, ERROR_IO, ERROR_MEMORY. */
gcache_status gci_attachment_read(gci_store *store, gci_attachment const *attachment, gci_buf *out, gcache_error *error);

/* Puts an entry aside, as it was read, unless these attachments of it are whole, seen under the lock of those who store them
   (complete.c). Whether it was. */
bool gci_discard_unless_whole(gci_store *store, gcache_key const *key, char const *id, uint64_t sequence,
                              gci_attachment const *attachments, size_t count);

#endif
