/*
 * A candidate's head in a tier: a header, then a frame (docs/formats/remote.md).
 */
#ifndef GCI_TIER_OBJECT_HEAD_H
#define GCI_TIER_OBJECT_HEAD_H

#include "store/format/frame.h"
#include "store/format/record.h"

#include <guardcache/tier.h>

/* A payload that takes no more, as stored, lies beside its head. A hundred of them still come in one packet train. */
#define GCI_INLINE_MAX ((size_t)4 << 10)

typedef struct gci_remote_head {
    uint64_t expires_ns;        /* since 1970; 0: never */
    uint8_t payload_sha256[32]; /* of the payload as stored */
    gci_frame frame;            /* REFERENCE, ENTRY or EVICTED; points into the object */
    gci_view bytes;             /* of the whole frame, likewise */
} gci_remote_head;

/*
 * Appends a head for an entry's frame, as it stands in a cache directory: whole, with its payload behind it. *out_payload:
 * what has to be published apart, within frame; empty if it is inlined. false: it is no entry, or no memory.
 */
bool gci_remote_head_write(gci_buf *buf, gci_view frame, uint64_t expires_ns, gci_view *out_payload);

/* Appends a tombstone in place of a head that was read, and returns where its frame begins. Failures show in buf->failed. */
size_t gci_remote_head_bury(gci_buf *buf, gci_remote_head const *head, uint64_t evicted_ns, uint64_t expires_ns);

typedef enum gci_head_state {
    GCI_HEAD_GOOD,
    GCI_HEAD_BAD,  /* damaged, or another candidate's */
    GCI_HEAD_NEWER /* of a version this library can't read */
} gci_head_state;

/* Reads one and checks it against its sums, and whether it is of this key and called by this id. */
gci_head_state gci_remote_head_read(gcache_object const *object, gci_remote_head *out_head);

/* The object a head's payload is. */
void gci_remote_payload_name(gci_remote_head const *head, char out_name[GCACHE_OBJECT_NAME_SIZE]);

extern gci_fields const gci_remote_head_fields;

#endif
