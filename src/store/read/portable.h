/*
 * Entries on their way from one cache to another: the frames they are stored as (frame.h), byte by byte, so that a signature
 * goes along and stays good. A face of the store, for src/cache alone.
 */
#ifndef GCI_STORE_READ_PORTABLE_H
#define GCI_STORE_READ_PORTABLE_H

#include "base/arena.h"
#include "store/format/record.h"
#include "store/read/read.h"

/* An entry as another cache stored it. */
typedef struct gci_portable {
    gci_record record;
    gci_view payload;        /* as stored */
    gci_signature signature; /* key_id empty: none */
} gci_portable;

/* Appends an ENTRY frame with the candidate's payload. FOUND; EVICTED, CORRUPT, UNREADABLE: what it has can't be had. */
gci_found gci_portable_write_entry(gci_store *store, gci_candidate *candidate, gci_buf *out, gcache_error *error);

/*
 * Reads one and checks it against itself: whole, with a payload that unfolds to the size it says, under the id that its
 * content has. Texts and payload point into frame, arrays live in the arena. ERROR_CORRUPT, ERROR_MEMORY.
 */
gcache_status gci_portable_read_entry(gci_frame const *frame, gci_arena *arena, gci_portable *out_entry, gcache_error *error);

/* The id that the record has with this payload must be the one it says it has. ERROR_CORRUPT, ERROR_MEMORY. */
gcache_status gci_portable_check_id(gci_record const *record, gci_view payload, gcache_error *error);

#endif
