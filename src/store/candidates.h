/*
 * Candidate sets and payloads as counted objects in memory.
 *
 * Invariants:
 *  1. A set is immutable once others can see it, but for: extras (set once), payloads kept in its places (set once),
 *     and the hit counts and times in its places (atomic).
 *  2. The budget counts the bytes of all living sets and payloads, whoever holds them.
 */
#ifndef GCI_STORE_CANDIDATES_H
#define GCI_STORE_CANDIDATES_H

#include "base/arena.h"
#include "base/digest.h"
#include "store/pack.h"
#include "store/record.h"
#include "store/store.h"

#include <stdatomic.h>

/* How much memory sets and payloads take; lives as long as the last of them. */
typedef struct gci_budget {
    _Atomic uint32_t references;
    _Atomic size_t bytes;
} gci_budget;

gci_budget *gci_budget_new(void);
void gci_budget_release(gci_budget *budget);

typedef enum gci_payload_hold {
    GCI_HOLD_MALLOC, /* own bytes */
    GCI_HOLD_MAP,    /* a mapping of the whole entry file */
    GCI_HOLD_SET     /* bytes within a set: counted by the set's references, part of a candidate's place */
} gci_payload_hold;

struct gci_held_payload {
    gci_payload payload;
    _Atomic uint32_t references;
    gci_payload_hold hold;
    void *base;           /* what to free or unmap */
    size_t base_size;
    gci_candidates *set;  /* GCI_HOLD_SET only */
    gci_budget *budget;   /* NULL: not counted */
};

/* Where a candidate's payload is, and what happened to it. */
struct gci_candidate_place {
    bool in_pack;
    gci_view inlined;             /* the stored bytes within the set, if they are in the pack */
    struct gci_held_payload own;  /* hands those out as they are, if they are raw */
    gci_view head;                /* of the frame, within the set */
    gci_checksum checksum;        /* of the stored bytes */
    gci_signature signature;
    _Atomic(struct gci_held_payload *) payload; /* kept for the next reader, or NULL */
    _Atomic uint64_t used_ns;     /* last handed out; 0: not since it was read */
    _Atomic uint32_t hits;        /* since they were last written out */
};

/* A file as it was when it was read: equal facts mean equal content. */
typedef struct gci_file_facts {
    uint64_t device, inode, size, modified_ns, changed_ns;
} gci_file_facts;

struct gci_candidates_inside {
    gci_candidates set;
    _Atomic uint32_t references;
    _Atomic size_t cost;
    _Atomic bool in_memory; /* in the memory tier, where its hits are gathered */
    gci_budget *budget;
    gci_arena arena;
    gci_view bytes;       /* the pack, in the arena */
    gci_file_facts facts;
    size_t end;           /* of the pack's good frames */
    uint64_t last_sequence;
    bool has_description; /* the pack holds the key's description */
    size_t description_at;
};

/*
 * Decodes a pack that passed gci_pack_begin. walk is left at the pack's end. NULL: no memory.
 * bytes are copied. Signatures are checked if keys are given.
 */
typedef struct gci_trust {
    gci_signing_key const *keys;
    size_t count;
    bool required;
} gci_trust;

gci_candidates *gci_candidates_new(gcache_key const *key, gci_view bytes, gci_budget *budget, gci_trust const *trust,
                                   gci_pack_walk *out_walk);

static inline struct gci_candidates_inside *
gci_inside(gci_candidates *set)
{
    return set->inside;
}

/* Whether the stored payload is the one the candidate's signature covers. */
bool gci_candidate_is_signed_payload(gci_candidate const *candidate, gci_view stored);

gci_candidate *gci_candidates_find(gci_candidates *set, char const *id);

/* ---- payloads ---- */

/* Takes over base, also on failure. NULL: no memory. */
gci_payload *gci_payload_new(gci_payload_hold hold, void *base, size_t base_size, gci_view bytes);

/* Keeps the payload with its candidate for the next reader. */
void gci_payload_keep(gci_candidate *candidate, gci_payload *payload);

/* What is kept, with a reference; or NULL. */
gci_payload *gci_payload_kept(gci_candidate *candidate);

#endif
