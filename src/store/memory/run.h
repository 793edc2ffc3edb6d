/*
 * Runs: candidates that were read in one go, the bytes of whole frames and what was decoded from them. Counted, because
 * the sets of a key that follow each other share them: of a candidate index that has grown only what is new is read.
 *
 * Invariants:
 *  1. A run is immutable once others can see it, but for: its extra (set once), payloads kept in its places (set once),
 *     and the hit counts, times and standings in its places (atomic).
 *  2. A run holds whole, verified frames. Damaged ones are counted and left out.
 */
#ifndef GCI_STORE_MEMORY_RUN_H
#define GCI_STORE_MEMORY_RUN_H

#include "base/arena.h"
#include "base/digest.h"
#include "store/format/candidate_index.h"
#include "store/format/record.h"
#include "store/memory/budget.h"
#include "store/memory/candidate_set.h"

#include <stdatomic.h>

typedef enum gci_payload_hold {
    GCI_HOLD_MALLOC, /* own bytes */
    GCI_HOLD_MAP     /* a mapping of the whole entry file */
} gci_payload_hold;

/* Bytes outside the run: the reader's, until they are kept with their candidate. */
struct gci_held_payload {
    gci_view bytes;
    gci_payload_hold hold;
    void *base;           /* what to free or unmap */
    size_t base_size;
    gci_account account;
};

/* Whether a candidate's signature counts, where signatures are required. */
typedef enum gci_standing {
    GCI_STANDING_GOOD,
    GCI_STANDING_OPEN,   /* by Ed25519, which takes too long to be verified for candidates that nobody wants */
    GCI_STANDING_REFUTED
} gci_standing;

/* Where a candidate's payload is, and what happened to it. */
struct gci_candidate_place {
    bool in_pack;
    gci_view inlined;             /* the stored bytes within the run, if they are in the pack */
    gci_view head;                /* of the frame, within the run */
    gci_checksum checksum;        /* of the stored bytes */
    gci_signature signature;
    _Atomic uint8_t standing;     /* a gci_standing; once it isn't open, it stays */
    _Atomic(struct gci_held_payload *) payload; /* kept for the next reader, or NULL */
    _Atomic uint64_t used_ns;     /* last handed out; 0: not since it was read */
    _Atomic uint32_t hits;        /* since they were last written out */
};

struct gci_run_inside {
    gci_run run;
    _Atomic uint32_t references;
    _Atomic uint32_t in_memory; /* sets of the memory tier with it, where its hits are gathered */
    gci_account account;
    gci_arena arena;
    gcache_key key;
    gci_view bytes;             /* of the pack, in the arena */
    gci_view description;       /* from its frame on; empty: none in here */
    size_t damaged, untrusted;  /* frames that were left out */
    uint64_t last_sequence;
};

/* Signatures are checked if they are required: MACs when they are read, those by Ed25519 before a payload is handed out
   (gci_candidate_is_trusted). */
typedef struct gci_trust {
    gci_signing_key const *keys;
    size_t count;
    bool required;
} gci_trust;

/* Copies and decodes what the walk, which has begun, finds in its bytes, and leaves the walk at its end. NULL: no memory. */
gci_run *gci_run_new(gcache_key const *key, gci_pack_walk *walk, gci_budget *budget, gci_trust const *trust);
gci_run *gci_run_retain(gci_run *run);
void gci_run_release(gci_run *run);

static inline struct gci_run_inside *
gci_run_inside(gci_run *run)
{
    return run->inside;
}

/* Whether a key of ours signed the candidate and, where they lie beside it, the stored bytes. Verifies it now, always. */
bool gci_candidate_verify(gci_candidate const *candidate, gci_signing_key const *keys, size_t count);

/* Whether it may be handed out: verified once, by the first who asks. */
bool gci_candidate_is_trusted(gci_candidate const *candidate, gci_trust const *trust);

/* ---- payloads (run.c) ---- */

/* Takes over base, also on failure. false: no memory. */
bool gci_payload_hold_on(gci_payload_hold hold, void *base, size_t base_size, gci_view bytes, gci_payload *out);

/* Keeps what is held with its candidate for the next reader, unless another thread was faster. */
void gci_payload_keep(gci_candidate *candidate, gci_payload *payload);

/* What the run has; false: nothing. */
bool gci_payload_kept(gci_candidate const *candidate, gci_payload *out);

#endif
