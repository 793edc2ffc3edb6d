/*
 * The segment: what happened and isn't in index.db yet, as events at the end of one file. One write an event, no sync:
 * all of it can be lost or rebuilt (docs/formats/index-db.md has the byte tables: a header of 16 bytes, and
 * events, each a header of 24 bytes, a checksum and a body).
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

#include <stdatomic.h>

#define GCI_SEGMENT_HEADER 16
#define GCI_EVENT_HEADER 32
#define GCI_EVENT_MAX ((size_t)1 << 20)
/* Nobody drains it (index.db can't be written): then nothing more is written down. */
#define GCI_SEGMENT_MAX ((uint64_t)64 << 20)

typedef enum gci_event_type {
    GCI_EVENT_INSERTED = 1,
    GCI_EVENT_TOUCHED = 2,
    GCI_EVENT_LOOKUP = 3,
    GCI_EVENT_REMOVED = 4,
    GCI_EVENT_KEPT = 5,
    GCI_EVENT_COUNTED = 6
} gci_event_type;

typedef struct gci_event {
    gci_event_type type;
    uint64_t at_ns;
    gci_view body;
} gci_event;

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

/* The same for up to so many in one write, of types that wait equally long. An event whose at_ns is 0 happened now. */
#define GCI_APPEND_MAX 3
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

/* The event at *at in bytes; *at moves behind it. false: no whole event is left, *at is where to go on later. */
bool gci_event_next(gci_view bytes, size_t *at, gci_event *out_event);

/* Empties the file if it still ends at `size`, that is, if everything in it was drained. */
void gci_segment_reset(gci_segment *segment, uint64_t size);

/* Empties the file, drained or not. */
void gci_segment_discard(gci_segment *segment);

/* Empties a file that is larger than all that appends can have made of it, once what can be read of it was drained. */
void gci_segment_reset_absurd(gci_segment *segment);

extern gci_fields const gci_segment_fields, gci_event_fields;

#endif
