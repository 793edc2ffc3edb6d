/*
 * What a lookup saw on its way, for explain and the journal. The reason of a miss is decided in cache_lookup.c, what decided
 * it in decision.c; explain prints both and adds history and the nearest hints. `nearest` here are keys.
 */
#ifndef GCI_CACHE_CANDIDATES_TRACE_H
#define GCI_CACHE_CANDIDATES_TRACE_H

#include "base/arena.h"
#include "cache/candidates/context.h"
#include "cache/candidates/ranking.h"
#include "graph/diff/diff.h"
#include "graph/diff/likeness.h"

#include <guardcache/tier.h>

/* Nearest keys that are shown. */
#define GCI_TRACE_NEAREST 3

/* What the journal left out of a candidate's guards because they were too long; never what decided. */
typedef enum gci_cut {
    GCI_CUT_NOTHING = 0,
    GCI_CUT_OTHERS = 2, /* the texts of those that didn't decide, which are empty */
    GCI_CUT_PART = 4,   /* of the failing guard, too, all but the part that decided */
    GCI_CUT_SHORT = 8   /* all but how that part begins and ends, which then stands first, is marked " ..." and has no values */
} gci_cut;

/* One candidate's trial. */
typedef struct gci_trial {
    gci_ranked const *ranked;
    size_t rank;                  /* among the live candidates in rank order, then the remembered evicted ones */
    gcache_reason reason;         /* NONE: it passes */
    gcache_verdict verdict;       /* of its guards, if they were asked */
    gci_pair const *requirement;  /* the first that isn't met */
    gci_view provided;            /* what the caller has instead; data NULL: nothing */
    unsigned cut;                 /* of a past lookup: gci_cut */
} gci_trial;

/* A stored key like the one asked for. */
typedef struct gci_near_key {
    gcache_key key;
    uint32_t components, equal;   /* of the key asked for: all, and those with the same hash */
    uint64_t created_ns;          /* when it was first stored */
    bool by_sketch;               /* what was asked for isn't known as a whole: likeness is empty, items are components */
    gci_view label;               /* whose its entry was; empty: nobody said */
    bool is_same;                 /* the function that was asked for, by the label */
    bool is_kin;                  /* that, or like enough that what differs may have changed; else there are no items */
    gci_likeness likeness;
    gci_diff *diff;               /* what items point into; NULL: no items */
    gci_diff_item const *items;   /* stored against asked */
    size_t count, left_out;       /* items, and further differences */
} gci_near_key;

/* What is remembered of a key's last eviction, and how full the cache is that had evicted it. */
typedef struct gci_key_eviction {
    gci_tombstone tombstone;
    gci_fullness fullness;
} gci_key_eviction;

/* What a tier replied to a lookup. */
typedef struct gci_tier_reply {
    char const *tier;          /* its URL without credentials */
    gcache_tier_answer answer; /* HIT: it served, or would have */
    gcache_reason reason;      /* of a miss or trouble */
    uint64_t elapsed_ns;
    uint32_t candidates;       /* it has under the key: heads that were good */
    uint32_t only_there;       /* of those, that this directory hasn't; counted for explanations of what is now */
    uint32_t refused;          /* heads and payloads that were damaged, or that no key of ours signed */
    uint32_t evicted;          /* heads that ran out, and those whose payload is gone */
    char const *message;       /* of trouble, or the first refusal; "" */
} gci_tier_reply;

typedef struct gci_trace {
    gci_arena arena;
    gci_candidates *set;        /* keeps what trials point to alive */
    gci_trial *trials;          /* by rank; of a lookup's miss, and so of a past one, only those that decided */
    size_t trial_count;
    size_t live_count, evicted_count; /* candidates that were there: live ones, and evicted ones that are remembered */
    gci_trial const *winner;
    gci_key_eviction *eviction; /* NULL: nothing is remembered */
    gci_near_key nearest[GCI_TRACE_NEAREST];
    size_t nearest_count;
    gci_view namespace_;        /* that is asked in */
    uint64_t kind_keys;         /* of its kind, that are stored, and were then: among them the nearest are */
    uint64_t bare_keys;         /* where there are none: of its kind those that are stored now without a description */
    bool bare;                  /* what was asked for came without a description: nothing can be compared with it */
    bool empty;                 /* nothing is stored at all */
    bool lost;                  /* what was asked for was too large to keep */
    uint64_t lost_bytes;        /* of it; 0: not known */
    bool past;                  /* nearest are those that were stored then */
    char const *not_stored;     /* of a key that was compiled before and not kept: why; else NULL */
    uint64_t not_stored_ns;     /* when */
    uint64_t stored_ns;         /* when it was last known to be stored, where nothing remembers its eviction; 0: not known */
    uint64_t missed_ns;         /* when another process missed it before, after which nothing was stored; 0: not known */
    gci_tier_reply *replies;    /* of tiers, in the order they were asked */
    size_t reply_count;
    gcache_reason local_reason; /* of a miss for a tier's trouble: what would be the reason without; else NONE */
    char const *candidates_of;  /* the tier whose candidates these are; NULL or "": the local directory */
    char const *served_by;      /* the tier whose candidate it is; NULL: the local directory */
    gcache_error trouble;       /* why the store could not say more; status OK if nothing */
} gci_trace;

void gci_trace_init(gci_trace *trace);
void gci_trace_clear(gci_trace *trace);

static inline bool
gci_trial_is_evicted(gci_trace const *trace, gci_trial const *trial)
{
    return trial->rank >= trace->live_count;
}

/* Whose candidates they are; NULL: the local directory's. */
static inline char const *
gci_trace_tier(gci_trace const *trace)
{
    return trace->candidates_of != NULL && trace->candidates_of[0] != '\0' ? trace->candidates_of : NULL;
}

/* What is kept of a lookup for the journal: of a miss, and of a hit that the caller may refuse. Nobody asks again. */
typedef struct gci_missed {
    bool kept;        /* context and trace are there */
    uint64_t looked_ns; /* of a miss: what was stored later than this it can't have seen */
    bool from_tier;   /* of a hit: a tier served it */
    uint64_t waited_ns; /* for tiers, of a hit */
    bool may_refuse;  /* set before: keep the context of a hit too, because the caller may refuse it */
    gci_context context;
    gci_trace trace;
} gci_missed;

void gci_missed_clear(gci_missed *missed);

/* The first trial with this reason; NULL: there is none. */
gci_trial const *gci_trace_first(gci_trace const *trace, gcache_reason reason);

/* Notes what is remembered of the key's last eviction, and how full the cache is. settle: as in gci_store_fullness. */
void gci_trace_find_eviction(gci_trace *trace, gci_store *store, gcache_key const *key, bool settle);

/* The eviction that decided: the tombstone if it is of the candidate that would have hit, or of the whole key; else NULL. */
gci_key_eviction const *gci_trace_eviction(gci_trace const *trace);

/* Finds the stored keys nearest to the context's and how they differ. Trouble leaves fewer of them. */
void gci_trace_find_nearest(gci_trace *trace, gci_context const *context);

/* A description that may not be whole. */
typedef struct gci_near_question {
    gcache_key const *key;        /* of it: what was stored under it meanwhile isn't near it */
    gci_description const *asked; /* without its canonical form if that wasn't kept: */
    gci_view sketch;              /* then this stands in; else empty */
    gci_view label;               /* whose it is: its own keys come first; empty: nobody said */
    uint64_t before_ns;           /* only among keys that were stored before; UINT64_MAX: all */
} gci_near_question;

/* The same for a description. */
void gci_trace_find_nearest_of(gci_trace *trace, gci_store *store, gci_near_question const *question);

#endif
