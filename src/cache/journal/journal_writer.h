/*
 * The journal: what lookups leave behind, so that they can be explained and counted afterwards, by another process too.
 *
 * A miss leaves everything its explanation needs, as it was seen then: the context, the candidates that decided, and
 * for a key nobody knew the description itself. So nothing has to be run twice, and what happens to the cache later
 * changes nothing. An insert leaves what it cost. Hits are counted; some of them, with how many they stand for, leave
 * a line.
 *
 * Locking: none of its own; an entry is put together by one thread and appended with one write.
 */
#ifndef GCI_CACHE_JOURNAL_JOURNAL_WRITER_H
#define GCI_CACHE_JOURNAL_JOURNAL_WRITER_H

#include "cache/candidates/context.h"
#include "cache/candidates/trace.h"
#include "cache/handle/counters.h"

#include <guardcache/observe.h>

/* What is known about a lookup once it has ended. hints and request may be NULL. */
typedef struct gci_ended {
    gcache *cache;
    gcache_graph *graph;
    gcache_hints const *hints;
    gcache_request const *request;
    gcache_result const *result;
    uint64_t elapsed_ns; /* 0: not known */
    uint64_t waited_ns;  /* of a hit: for tiers */
} gci_ended;

/* A lookup that missed, with what decided. */
void gci_journal_miss(gci_ended const *ended, gci_missed const *missed);

/* One hit that stands for all that weren't reported yet. Without a graph: the rest of them, of which nothing more is known.
   false: it isn't written down, others had the file for too long, and what it stood for stays unreported. */
bool gci_journal_hit(gci_ended const *ended, gci_unreported unreported);

/* What was compiled and stored. An entry that existed cost nothing new and leaves nothing. */
void gci_journal_insert(gci_context const *context, gcache_inserted const *inserted, gcache_entry const *entry);

/* What was compiled and can't be found again, and why. */
void gci_journal_not_stored(gci_ended const *ended, char const *why, uint64_t compile_ns);

/* The caller of a miss goes on with the compile of a process that died with its lease. */
void gci_journal_takeover(gci_ended const *ended, uint64_t former);

/* What this process has had of a tier since it last said so: GCACHE_TIER_COUNT_COUNT counts. */
void gci_journal_tier(gcache *cache, char const *tier, uint64_t const *counts);

#endif
