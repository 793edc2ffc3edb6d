/*
 * Candidates of a key and payloads, as they are handed out: counted, decoded, immutable.
 */
#ifndef GCI_STORE_MEMORY_CANDIDATE_SET_H
#define GCI_STORE_MEMORY_CANDIDATE_SET_H

#include "store/format/entry.h"
#include <stdatomic.h>

typedef enum gci_found {
    GCI_FOUND,
    GCI_ABSENT,     /* nothing is stored */
    GCI_EVICTED,    /* it was stored and has been evicted */
    GCI_CORRUPT,    /* damaged; put aside, counted and logged */
    GCI_UNREADABLE, /* the operating system said no, no memory, or no key of ours verifies it: the error says which */
    GCI_RENEWED     /* of a payload: its entry was renewed since its candidates were read, which are to be read again */
} gci_found;

/* Something of the caller's that hangs on a run or set of candidates and is freed with it. Set once, by any thread. */
typedef struct gci_extra {
    _Atomic(void *) value;
    void (*_Atomic destroy)(void *value);
} gci_extra;

static inline void *
gci_extra_get(gci_extra *extra)
{
    return atomic_load_explicit(&extra->value, memory_order_acquire);
}

/* What memory is charged to that hangs on something. Private. */
typedef struct gci_account gci_account;

typedef struct gci_run gci_run;

typedef struct gci_candidate {
    gci_record record;
    gci_run *run;
    bool is_evicted;
    uint64_t evicted_ns;     /* of an evicted candidate: when */
    struct gci_candidate_place *place; /* private */
} gci_candidate;

/* Candidates that were read in one go, evicted ones too. The sets of a key that follow each other share runs. */
struct gci_run {
    gci_candidate *items;
    size_t count;
    gci_extra extra;
    gci_account *account;
    struct gci_run_inside *inside; /* private */
};

typedef struct gci_candidates gci_candidates;

/*
 * All candidates of a key, in order of sequence. Immutable but for the extra and the private parts. Evicted ones are
 * those whose record is still remembered though their payload is gone: they explain why a lookup misses, no more.
 */
struct gci_candidates {
    gcache_key key;
    gci_candidate **items;
    size_t count;
    gci_candidate **evicted;
    size_t evicted_count;
    gci_run **runs;          /* that hold them, in the same order */
    size_t run_count;
    size_t damaged;          /* records that were put aside while reading */
    size_t untrusted;        /* records that no signing key of ours verifies, and that is required */
    gci_extra extra;
    gci_account *account;
    struct gci_candidates_inside *inside; /* private */
};

gci_candidates *gci_candidates_retain(gci_candidates *set);
void gci_candidates_release(gci_candidates *set);

/*
 * Hangs value on extra unless something hangs there already, and returns what hangs there now; a loser is destroyed.
 * cost is the memory it takes, charged to the account of what it hangs on.
 */
void *gci_extra_set(gci_extra *extra, gci_account *account, void *value, size_t cost, void (*destroy)(void *value));

/* The live one with this id, or NULL. */
gci_candidate *gci_candidates_find(gci_candidates *set, char const *id);

/* A candidate's payload, verified. Its run keeps most of them; what is held here is to be released. */
typedef struct gci_payload {
    void const *data;
    size_t size;
    struct gci_held_payload *held; /* NULL: the run has it */
} gci_payload;

void gci_payload_release(gci_payload *payload);

#endif
