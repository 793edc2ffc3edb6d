/*
 * Events: what is appended to the segment and to the journal, one write each. An event says how long it is and checks itself
 * (docs/formats/index-db.md has the byte table: a header of 24 bytes, a checksum and a body), so who reads steps over what is
 * damaged, or was torn by a full disk, to the next that is whole.
 */
#ifndef GCI_STORE_DATABASE_EVENT_H
#define GCI_STORE_DATABASE_EVENT_H

#include "base/fields.h"

#define GCI_EVENT_HEADER 32
#define GCI_EVENT_MAX ((size_t)1 << 20)

typedef enum gci_event_type {
    GCI_EVENT_INSERTED = 1,
    GCI_EVENT_TOUCHED = 2,
    GCI_EVENT_LOOKUP = 3, /* of the journal; the others are the segment's */
    GCI_EVENT_REMOVED = 4,
    GCI_EVENT_KEPT = 5,
    GCI_EVENT_COUNTED = 6
} gci_event_type;

typedef struct gci_event {
    gci_event_type type;
    uint64_t at_ns;
    gci_view body;
} gci_event;

/* What stands before the body. */
void gci_event_seal(gci_event const *event, char out_header[GCI_EVENT_HEADER]);

/* The event at *at in bytes; *at moves behind it. false: no whole event is left, *at is where to go on later. */
bool gci_event_next(gci_view bytes, size_t *at, gci_event *out_event);

extern gci_fields const gci_event_fields;

#endif
