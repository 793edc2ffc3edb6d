/*
 * Candidate sets as counted objects in memory: the runs a candidate index was read in, and which of their candidates are
 * there now.
 *
 * Invariants:
 *  1. A set is immutable once others can see it, but for its extra (set once) and what its runs allow.
 *  2. A set that grew out of another shares its runs. Each is larger than all behind it together: so they are few, and a
 *     frame is decoded no more often than its candidate index doubles.
 */
#ifndef GCI_STORE_MEMORY_CANDIDATES_H
#define GCI_STORE_MEMORY_CANDIDATES_H

#include "base/system/file.h"
#include "store/memory/run.h"

struct gci_candidates_inside {
    gci_candidates set;
    _Atomic uint32_t references;
    gci_account account;
    gci_file_stamp stamp;   /* of the file, when it was read */
    bool settled;           /* another file of that stamp can't come any more */
    bool pooled;            /* it was read from a pool: */
    int pool_level;         /* which */
    uint64_t size;          /* of the candidate index */
    uint64_t end;           /* of its good frames */
    uint64_t last_sequence;
    gci_view description;   /* the frame of the key's description and what follows; empty: the pack has none */
};

/* From a pack that passed gci_pack_begin; walk is left at its end. bytes are copied. NULL: no memory. */
gci_candidates *gci_candidates_new(gcache_key const *key, gci_view bytes, gci_budget *budget, gci_trust const *trust,
                                   gci_pack_walk *walk);

/*
 * What `former`, an undamaged set, has become by `appended`, the bytes of its candidate index from its end on.
 * NULL: the bytes aren't whole good frames, there are more than were read before, or no memory: it must be read as a
 * whole.
 */
gci_candidates *gci_candidates_grown(gci_candidates *former, gci_view appended, gci_budget *budget,
                                     gci_trust const *trust);

static inline struct gci_candidates_inside *
gci_inside(gci_candidates *set)
{
    return set->inside;
}

#endif
