/*
 * A key's candidates in one tier: listed, made into a set that is chosen from as from the store's own, and the chosen one
 * fetched and verified. What has arrived is then stored here (written through), at once or later: nobody who looks something up
 * waits for a disk.
 */
#ifndef GCI_CACHE_TIERS_REMOTE_H
#define GCI_CACHE_TIERS_REMOTE_H

#include "base/arena.h"
#include "cache/candidates/trace.h"
#include "cache/tiers/arrival.h"
#include "tier/object/head.h"

/* That a candidate was there stays known for a day after it has run out. Of one lookup a few are taken away. */
#define GCI_STALE_AFTER_NS (UINT64_C(86400) * 1000000000)
#define GCI_STALE_MOST 8

/* Where one candidate's payload is. */
typedef struct gci_remote_place {
    char id[GCACHE_ENTRY_ID_SIZE];
    char payload[GCACHE_OBJECT_NAME_SIZE];
} gci_remote_place;

typedef struct gci_remote {
    gcache *cache;
    gcache_key key;
    gci_asking asking;
    gci_tier_reply reply;
    bool is_lookup;          /* set by one that isn't an explanation: only those are counted as asking */
    gcache_object stale[GCI_STALE_MOST]; /* heads that ran out so long ago that nobody needs to know */
    size_t stale_count;
    bool key_is_known;       /* the store has the key's description */
    gci_candidates *set;     /* NULL: there are none */
    gci_arena arena;
    gci_view *frames;        /* one a head that was good, in the arena */
    gci_remote_place *places;
    size_t count, room;
    char message[GCACHE_TIER_MESSAGE_SIZE];
    gci_arrival arrival;     /* what was fetched last; set NULL: nothing */
} gci_remote;

/*
 * Asks a tier for the candidates of a key. HIT: *remote has a set; MISS: the tier has none. Clear it whatever comes.
 */
gcache_tier_answer gci_remote_list(gci_remote *remote, gcache *cache, gci_tier *tier, gcache_key const *key);

/*
 * Fetches a candidate of the set, with the files that belong to it, which are stored here, and verifies it; remote->arrival is
 * what there is to store. FOUND: release the payload. EVICTED: it is gone from the tier; CORRUPT: what came isn't what was
 * stored; UNREADABLE: trouble,
 * of the tier (the asking says so) or here, or nobody whom we trust signed it: the error says which.
 */
gci_found gci_remote_fetch(gci_remote *remote, gci_candidate *candidate, gci_payload *out_payload, gcache_error *error);

/* Ends the asking. The reply, whose reason for a miss was set before, is complete, and stays valid until the remote is cleared.
   answer: HIT if something of it serves. */
void gci_remote_end(gci_remote *remote, gcache_tier_answer answer);
void gci_remote_clear(gci_remote *remote);

#endif
