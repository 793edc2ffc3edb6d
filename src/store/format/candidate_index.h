/*
 * A key's candidate index, in names `pack` (entries/<2 hex>/<key>.pack): one file that a cold lookup reads in one go
 * (docs/formats/candidate-index.md). Not to be taken for index.db.
 *
 *      at          size    what
 *      0           64      header (candidate_index.c)
 *      64                  frames (frame.h), oldest first
 *
 * Invariants:
 *  1. Whole frames are never changed in place: the file grows by whole frames, or is replaced by a rename.
 *  2. Only the holder of the key's lock writes. Readers take no lock: what they find behind the last whole frame is a
 *     write in progress or one that was interrupted, and is ignored.
 *  3. An id has at most one ENTRY or REFERENCE frame. EVICTED frames of an id stand before it.
 *  4. Sequences ascend.
 */
#ifndef GCI_STORE_FORMAT_CANDIDATE_INDEX_H
#define GCI_STORE_FORMAT_CANDIDATE_INDEX_H

#include "store/format/frame.h"

#include <guardcache/key.h>

#define GCI_PACK_HEADER 64
/* A thousand candidates with guards of 30,000 characters each take a quarter of this. */
#define GCI_PACK_MAX ((size_t)256 << 20)

typedef enum gci_pack_state {
    GCI_PACK_GOOD,
    GCI_PACK_TORN,  /* created but never written: as good as absent */
    GCI_PACK_BAD,   /* damaged, or another key's */
    GCI_PACK_NEWER
} gci_pack_state;

/* A walk over the frames. What is damaged is stepped over and counted. */
typedef struct gci_pack_walk {
    gci_view bytes;
    size_t at;        /* of the frame that was found last: */
    size_t next;      /* behind it */
    size_t end;       /* behind the last good frame */
    size_t damaged;   /* ranges of damaged bytes so far */
    bool torn, newer;
} gci_pack_walk;

gci_pack_state gci_pack_begin(gci_view bytes, gcache_key const *key, gci_pack_walk *out_walk);
bool gci_pack_next(gci_pack_walk *walk, gci_frame *out_frame);

/* A walk over what was appended to a pack whose frames were all good: whole frames, or else nothing to rely on, since where
   its pages begin isn't known here. */
gci_pack_walk gci_pack_continue(gci_view appended);

extern gci_fields const gci_pack_header_fields;

void gci_pack_put_header(gci_buf *buf, gcache_key const *key);

#endif
