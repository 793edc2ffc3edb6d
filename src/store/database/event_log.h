/*
 * The segment: what happened and isn't in index.db yet, as events (event.h) behind a header of 16 bytes. One write an event, no
 * sync: all of it can be lost or rebuilt (docs/formats/index-db.md has the byte tables).
 *
 * Locking: flock on the file, shared to append, exclusive to empty it. A flock belongs to the open file, which the threads
 * of a store share: a mutex lets one of them append at a time. Who has the lock looks whether the file still has its name:
 * somebody may have put it aside or removed it. Reading needs no lock: what follows the last whole event is being written.
 * A damaged event is stepped over; under a damaged header the events still count, and the nonce is 0.
 */
#ifndef GCI_STORE_DATABASE_EVENT_LOG_H
#define GCI_STORE_DATABASE_EVENT_LOG_H

#include "base/fields.h"
#include "base/system/file.h"
#include "base/system/turns.h"
#include "store/database/event.h"

#include <stdatomic.h>

#define GCI_SEGMENT_HEADER 16
/* Nobody drains it (index.db can't be written): then nothing more is written down. */
#define GCI_SEGMENT_MAX ((uint64_t)64 << 20)

typedef struct gci_segment {
    gci_dir dir;
    gci_file file; /* for appending; opened when first needed */
    gci_turns appending;
    _Atomic uint32_t appended; /* events since the last drain, by this process */
    _Atomic uint64_t size;     /* of the file before what this process appended last */
} gci_segment;

void gci_segment_init(gci_segment *segment, gci_dir dir);
void gci_segment_close(gci_segment *segment);
void gci_segment_after_fork(gci_segment *segment);

gcache_status gci_segment_append(gci_segment *segment, gci_event_type type, gci_view body, gcache_error *error);

/* The same for up to so many in one write, of types that wait equally long. */
#define GCI_APPEND_MAX 2
gcache_status gci_segment_append_all(gci_segment *segment, gci_event const *events, size_t count, gcache_error *error);

/* A part of the file as it is now, for reading events. */
typedef struct gci_segment_part {
    uint64_t nonce;
    uint64_t offset; /* of bytes in the file */
    gci_buf bytes;
} gci_segment_part;

/*
 * Reads from offset on, at most limit bytes; from the beginning if the nonce isn't the file's. An absent file is an
 * empty one. Clear part->bytes afterwards.
 */
gcache_status gci_segment_read(gci_segment *segment, uint64_t nonce, uint64_t offset, size_t limit,
                               gci_segment_part *out_part, gcache_error *error);

/* Empties the file if it still ends at `size`, that is, if everything in it was drained. */
void gci_segment_reset(gci_segment *segment, uint64_t size);

/* Empties the file, drained or not. */
void gci_segment_discard(gci_segment *segment);

/* Empties a file that is larger than all that appends can have made of it, once what can be read of it was drained. */
void gci_segment_reset_absurd(gci_segment *segment);

extern gci_fields const gci_segment_fields;

#endif
