/*
 * The cache's part of an insert: from the caller's entry to a record, which the store's gci_pending carries on. Begun by
 * whoever compiled, committed alone or with others, ended.
 *
 * What it is begun with has to stay as it is until its end; the steps may be done by different threads.
 */
#ifndef GCI_CACHE_LOOKUP_CACHE_INSERT_H
#define GCI_CACHE_LOOKUP_CACHE_INSERT_H

#include "cache/candidates/context.h"

#include "base/arena.h"
#include "cache/tiers/fleet_lease.h"

/* What an insert puts together before the store sees it. */
typedef struct gci_insert_draft {
    gci_arena arena;
    gci_buf program;
    gci_guards *guards;
    gci_record record;
    gci_description description;
} gci_insert_draft;

typedef struct gci_insert {
    gcache *cache;
    gcache_graph *graph;
    gcache_hints const *hints;
    gcache_entry const *entry;
    gcache_inserted inserted;
    gcache_error error;    /* if status is negative or REFUSED */
    gcache_status status;  /* OK after the first step: to be committed */
    bool turned_away;      /* the gate is closed: nothing was looked at */
    gci_context context;
    gci_insert_draft draft;
    gci_pending *pending;  /* NULL: there is nothing to commit */
    gci_fleet_lease *fleet_lease; /* taken over by storing; NULL: there is none */
} gci_insert;

/* Checks the arguments and the guards, and prepares what is stored. */
void gci_insert_begin(gci_insert *insert, gcache *cache, gcache_graph *graph, gcache_hints const *hints,
                      gcache_entry const *entry);
/* Commits inserts of one cache; skips those that were not begun well. */
void gci_insert_commit(gci_insert *const *inserts, size_t count);
/* Reports to the journal, the counters and the recorders; frees what the insert holds but not `inserted`, `error` and
   `status`. */
void gci_insert_end(gci_insert *insert);

#endif
