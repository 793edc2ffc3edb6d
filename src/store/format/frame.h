/*
 * A frame: the self-describing, checksummed form in which everything of a key is stored (docs/formats/entry.md). An
 * entry file is one frame, a candidate index is a header and frames one after the other.
 *
 * Little-endian; every frame begins and ends at a multiple of 8 bytes.
 *
 *      at          size    what
 *      0           48      prologue (frame.c)
 *      48          H       head: a record (record.h) or a description (describe.h)
 *      48+H        16      XXH3-128 of bytes 0 .. 48+H
 *      64+H        P       payload, only where the type has it; then zeros up to a multiple of 8
 *
 * Later versions keep the first 16 bytes and the place of the head's checksum: so a flipped bit in the version isn't taken
 * for a frame from the future.
 */
#ifndef GCI_STORE_FORMAT_FRAME_H
#define GCI_STORE_FORMAT_FRAME_H

#include "base/fields.h"

#include <stdint.h>

/* Version 1 is as it ever was. Version 2 is for what its readers would take for damage: a signature by Ed25519 (record.h). */
#define GCI_FRAME_VERSION 2
#define GCI_FRAME_FIRST_VERSION 1
#define GCI_FRAME_PROLOGUE 48
#define GCI_FRAME_OVERHEAD 64 /* prologue and checksum */

/* Guards of 30,000 characters in hundreds of conjuncts, with their program, need a fiftieth of this. */
#define GCI_HEAD_MAX ((size_t)16 << 20)
/* zstd's and the kernel's single transfers stay below; no compiled graph comes near. */
#define GCI_PAYLOAD_MAX ((uint64_t)1 << 36)

/* name, number, whether the payload follows */
#define GCI_FRAME_TYPE_MAP(X)                                                                         \
    X(ENTRY, 1, true)        /* a candidate with its payload */                                       \
    X(REFERENCE, 2, false)   /* a candidate whose payload lies in an entry file */                    \
    X(EVICTED, 3, false)     /* a candidate whose payload is gone */                                  \
    X(DESCRIPTION, 4, true)  /* what the key was computed from */                                      \
    X(ATTACHMENT, 5, true)   /* only in exports, as those below: a file that belongs to entries */    \
    X(BLOB, 6, true)                                                                                  \
    X(ROWS, 7, true)         /* of tables.db */                                                       \
    X(ARTIFACT, 8, true)                                                                              \
    X(MANIFEST, 9, true)     /* what an export holds, as JSON */                                      \
    X(GONE, 10, false)       /* only in pools: a key whose frames before it don't count */

typedef enum gci_frame_type {
#define X(name, number, payload) GCI_FRAME_##name = number,
    GCI_FRAME_TYPE_MAP(X)
#undef X
} gci_frame_type;

/* One more than the largest. */
enum {
#define X(name, number, payload) +1
    GCI_FRAME_TYPES = 1 GCI_FRAME_TYPE_MAP(X)
#undef X
};

typedef struct gci_frame {
    gci_frame_type type;
    uint16_t version;
    gci_view head;
    uint64_t payload_size;
    gci_checksum payload_checksum;
    uint64_t evicted_ns;
    gci_view payload; /* the stored bytes if the frame has them */
    size_t size;      /* of the whole frame */
} gci_frame;

typedef enum gci_frame_state {
    GCI_FRAME_GOOD,
    GCI_FRAME_TORN,   /* begins like a frame but ends too early, or is all zeros: a write that didn't finish */
    GCI_FRAME_BAD,    /* damaged */
    GCI_FRAME_NEWER   /* of a version this library can't read */
} gci_frame_state;

/* Looks at the frame that bytes begin with. Everything about it is verified, the payload's checksum too. */
gci_frame_state gci_frame_read(gci_view bytes, gci_frame *out_frame);

/* The same without the payload's bytes: for a file of which only the beginning has been read. */
gci_frame_state gci_frame_read_head(gci_view bytes, gci_frame *out_frame);

/* Only type and sizes, from the first GCI_FRAME_PROLOGUE bytes; size is that without the payload. Nothing is verified: to walk
   over frames that something else vouches for. false: not how a frame of this version begins. */
bool gci_frame_look(gci_view prologue, gci_frame *out_frame);

bool gci_frame_has_payload(gci_frame_type type);

/* The offset of the next good frame in bytes at or after `from` (a multiple of 8), or bytes.size. *inout_newer is set if it
   has passed one of a newer version. */
size_t gci_frame_find(gci_view bytes, size_t from, bool *inout_newer);

/*
 * Writing: begin, append the head to buf, end. The payload's bytes and the padding follow as the caller likes.
 * Failures show in buf->failed.
 */
typedef struct gci_frame_start {
    gci_frame_type type;
    uint64_t payload_size;
    gci_checksum payload_checksum;
    uint64_t evicted_ns;
    uint16_t version; /* that of what the head holds: the copied frame's, or gci_record_version; 0: the first */
} gci_frame_start;

extern gci_fields const gci_prologue_fields;

size_t gci_frame_begin(gci_buf *buf, gci_frame_start const *start);
void gci_frame_end(gci_buf *buf, size_t begin);

/* Zeros that bring size to a multiple of 8. */
gci_view gci_frame_padding(uint64_t size);

#endif
