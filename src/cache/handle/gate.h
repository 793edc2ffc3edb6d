/*
 * The one gate: whether a call may use what is stored, store something, or wait for somebody who compiles the same.
 *
 * What closes which way; the first row that holds and closes a way decides, and is what the caller hears:
 *
 *                  look up   store   lease   journal   browse
 *   disabled          x        x       x        x         x      there isn't even a store; only entries and statistics are
 *                                                                looked at all the same (gci_look_begin)
 *   bypass            x        x       x                         the cache's, or the request's own
 *   read-only                  x       x        x                an option, or a directory that can't be written to
 *   reader                     x       x                         another process is the one that writes
 *   refresh           x                                          but for what others stored while this one waited
 *   no journal                                  x
 *
 * strict, unsafe-skip-guards and all limits close nothing. What a product itself says against being stored (do_not_store, the
 * minimum compile time, guards that don't hold) isn't asked here. Values that processes of a job share are no cached
 * results: they are open to whoever may browse.
 *
 * Threads: pure functions of what doesn't change after gcache_open.
 */
#ifndef GCI_CACHE_HANDLE_GATE_H
#define GCI_CACHE_HANDLE_GATE_H

#include <guardcache/cache.h>

typedef enum gci_way {
    GCI_LOOK_UP, /* entries, blobs, timings, records, bundles */
    GCI_STORE,   /* the same, and import */
    GCI_LEASE,
    GCI_JOURNAL,
    GCI_BROWSE,  /* what goes by ids and files: entries, statistics, maintenance, export, shared values */
    GCI_WAY_COUNT
} gci_way;

typedef enum gci_closer {
    GCI_BY_NOBODY,
    GCI_BY_DISABLED,
    GCI_BY_BYPASS,
    GCI_BY_READ_ONLY,
    GCI_BY_READER,
    GCI_BY_REFRESH,
    GCI_BY_NO_JOURNAL,
    GCI_CLOSER_COUNT
} gci_closer;

/* The settings of an open cache that close ways. */
typedef struct gci_gate {
    char const *bypass; /* NULL: none */
    bool disabled, read_only, refresh, no_journal;
} gci_gate;

/* What one call brings along. request may be NULL. */
typedef struct gci_call {
    gcache_request const *request;
    bool reader, refresh;
    bool at_once; /* what comes from a tier is stored here before the call returns */
} gci_call;

typedef struct gci_admission {
    gci_closer by;        /* GCI_BY_NOBODY: the way is open */
    gcache_reason reason; /* of a miss or a refusal: DISABLED, BYPASS, REFRESH or NONE */
    char const *why;      /* for people; "" if the way is open */
} gci_admission;

/* call may be NULL: the call brings nothing. */
gci_admission gci_admit(gci_gate const *gate, gci_call const *call, gci_way way);

/* true if the way is open to a call that brings nothing. */
bool gci_is_open(gci_gate const *gate, gci_way way);

/*
 * Fails a call whose way is closed, with the reason in *error: ERROR_READ_ONLY by read-only or reader, else GCACHE_REFUSED.
 * GCACHE_OK: the way is open.
 */
gcache_status gci_pass(gci_gate const *gate, gci_call const *call, gci_way way, gcache_error *error);

#endif
