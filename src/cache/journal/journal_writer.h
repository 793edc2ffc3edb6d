/*
 * The journal: what lookups leave behind, so that they can be explained and counted afterwards, by another process too.
 *
 * A miss leaves everything its explanation needs, as it was seen then: the question, the candidates that decided, and
 * for a key nobody knew the description itself. So nothing has to be run twice, and what happens to the cache later
 * changes nothing. An insert leaves what it cost. Hits are counted; some of them, with how many they stand for, leave
 * a line.
 *
 * An entry's bytes (docs/formats/journal.md), written and read by the store as a whole, which also notes the time:
 *
 *      entry    = version u8, act u8, reason u8, cut u8, process u32, key 32 bytes, space, kind, label, hints, rest
 *      hints    = count u32, { name, bound name, value as Python prints it }
 *      rest     of MISS: wishes, symbols, trouble, tombstone, trials, description, eviction, names in texts
 *               of HIT: id, hits it stands for u64, time they saved u64, what it took itself u64
 *               of INSERT: id, compile_ns u64, payload size u64
 *               of NOT_STORED: why, compile_ns u64
 *               of TAKEOVER: process that died u64
 *
 * Texts are bytes with a 32-bit length before them.
 *
 * Locking: none of its own; an entry is put together by one thread and appended with one write.
 */
#ifndef GCI_CACHE_JOURNAL_JOURNAL_WRITER_H
#define GCI_CACHE_JOURNAL_JOURNAL_WRITER_H

#include "cache/candidates/context.h"
#include "cache/candidates/trace.h"
#include "cache/handle/counters.h"

#include <guardcache/observe.h>

#define GCI_JOURNAL_VERSION 1

/* Guards of a candidate that would leave no room for the others are left out but for the failing one, and of that all but
   the part that decided. */
#define GCI_JOURNAL_GUARDS_BYTES ((size_t)8 << 10)
/* A head beyond this leaves no room for what a hit or an insert adds. */
#define GCI_JOURNAL_HEAD_BYTES ((size_t)60 << 10)
/* A label beyond this isn't kept in an entry that is too long with all it has. */
#define GCI_JOURNAL_LABEL_BYTES ((size_t)1 << 10)
/* Where even what decided is too long, texts longer than this are shortened in the middle. */
#define GCI_JOURNAL_TEXT_BYTES ((size_t)1 << 10)
/* So many names in texts are kept of the caller's and of each candidate's: the first ones that differ are enough to explain. */
#define GCI_JOURNAL_NAMES 8
/* A canonical form beyond this isn't kept with a miss: it would leave no room in the entry for the rest. */
#define GCI_JOURNAL_CANONICAL_BYTES ((size_t)48 << 10)

/* What is known about a lookup once it has ended. hints and request may be NULL. */
typedef struct gci_ended {
    gcache *cache;
    gcache_graph *graph;
    gcache_hints const *hints;
    gcache_request const *request;
    gcache_result const *result;
    uint64_t elapsed_ns;
} gci_ended;

/* A lookup that missed, with what decided. */
void gci_journal_miss(gci_ended const *ended, gci_missed const *missed);

/* One hit that stands for all that weren't told yet. Without a graph: the rest of them, of which nothing more is known.
   false: it isn't written down, others had the file for too long, and what it stood for stays unreported. */
bool gci_journal_hit(gci_ended const *ended, gci_unreported unreported);

/* What was compiled and stored. An entry that existed cost nothing new and leaves nothing. */
void gci_journal_insert(gci_question const *question, gcache_inserted const *inserted, gcache_entry const *entry);

/* What was compiled and can't be found again, and why. */
void gci_journal_not_stored(gci_ended const *ended, char const *why, uint64_t compile_ns);

/* Whose compile the caller of a miss goes on with: the process that died with its lease. */
void gci_journal_takeover(gci_ended const *ended, uint64_t former);

#endif
