/*
 * Entries on their way from one cache to another: the frames they are stored as (frame.h), without signatures, and what reading
 * such a frame gives back. A face of the store, for src/cache alone.
 */
#ifndef GCI_STORE_PORTABLE_H
#define GCI_STORE_PORTABLE_H

#include "base/arena.h"
#include "store/store.h"

/* Appends an ENTRY frame. */
gcache_status gci_portable_write_entry(gci_record const *record, gci_view payload, gci_buf *out, gcache_error *error);

/* Reads one: the record's texts point into frame, its arrays live in the arena. *out_payload is cleared first. */
gcache_status gci_portable_read_entry(gci_view frame, gci_arena *arena, gci_record *out_record, gci_buf *out_payload,
                                      gcache_error *error);

/* Appends a DESCRIPTION frame. */
gcache_status gci_portable_write_description(gcache_key const *key, gci_description const *description, gci_buf *out,
                                             gcache_error *error);

/* Reads one: free it with gci_stored_description_free. */
gcache_status gci_portable_read_description(gci_view frame, gcache_key *out_key, gci_stored_description **out_description,
                                            gcache_error *error);

#endif
