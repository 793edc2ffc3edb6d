/*
 * What an open cache counts while it runs, for a few nanoseconds a hit.
 *
 * Invariants:
 *  1. A lane belongs to the first thread that took it, for good: only that thread writes its numbers, so that counting a
 *     hit needs no locked instruction. Threads that find their lane taken share the last one, with locked additions.
 *  2. reported: hits that the journal knows of. It is more than hits only while a hit that is reported by itself is being
 *     counted.
 *     reported_saved_ns and due are touched under the same rule as hits.
 *  3. A thread's identifier may be that of an earlier, ended thread: it inherits that thread's lane.
 *
 * Locking: none; every number is atomic, and a reader sees each as it was at some moment of its reading.
 */
#ifndef GCI_CACHE_HANDLE_COUNTERS_H
#define GCI_CACHE_HANDLE_COUNTERS_H

#include <guardcache/observe.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* More threads than these rarely ask at once; each lane is two cache lines, so that neighbours don't disturb each other. */
#define GCI_LANES 16
#define GCI_LANE_BYTES 128

typedef struct gci_lane_numbers {
    _Atomic uintptr_t owner; /* pthread_self(); 0: nobody yet */
    _Atomic uint64_t hits, saved_ns;
    _Atomic uint64_t due;    /* the hit that is journaled next, counted in hits */
    _Atomic uint64_t reported, reported_saved_ns;
} gci_lane_numbers;

typedef union gci_lane {
    gci_lane_numbers numbers;
    char bytes[GCI_LANE_BYTES];
} gci_lane;

typedef struct gci_counters {
    gci_lane lanes[GCI_LANES + 1]; /* the last is shared */
    _Atomic uint64_t misses[GCACHE_REASON_COUNT];
    _Atomic uint64_t numbers[GCACHE_COUNTER_COUNT]; /* what happens too rarely for a lane */
    pid_t process;                 /* whose hits they are */
    _Atomic uint32_t forks;        /* of the store, when that was known last */
} gci_counters;

static inline void
gci_count(gci_counters *counters, gcache_counter counter, uint64_t more)
{
    atomic_fetch_add_explicit(&counters->numbers[counter], more, memory_order_relaxed);
}

/* In a forked child: what was counted so far is the parent's to report. */
void gci_counters_forget_parent(gci_counters *counters);

/* Before a hit is counted, since afterwards it couldn't be told from the parent's. forks: gci_store_forks. */
static inline void
gci_counters_notice_fork(gci_counters *counters, uint32_t forks)
{
    if (atomic_load_explicit(&counters->forks, memory_order_relaxed) != forks &&
        atomic_exchange(&counters->forks, forks) != forks)
        gci_counters_forget_parent(counters);
}

/* The calling thread's lane. */
gci_lane_numbers *gci_counters_lane(gci_counters *counters);

/* Counts one hit. true: it is due to be journaled. */
bool gci_count_hit(gci_counters *counters, gci_lane_numbers *lane, uint64_t saved_ns);

/* Counts one hit that the journal is told of by itself, whether one is due or not. */
void gci_count_hit_reported(gci_counters *counters, gci_lane_numbers *lane, uint64_t saved_ns);

/* true if the lane's next hit is due: then its duration is worth measuring. */
static inline bool
gci_counters_next_is_due(gci_lane_numbers const *lane)
{
    return atomic_load_explicit(&lane->hits, memory_order_relaxed) + 1 >=
           atomic_load_explicit(&lane->due, memory_order_relaxed);
}

/* Hits that the journal doesn't know of. */
typedef struct gci_unreported {
    uint64_t hits, saved_ns;
} gci_unreported;

/* Hands out what a lane's next journal entry stands for, and takes it as reported. */
gci_unreported gci_counters_report(gci_counters *counters, gci_lane_numbers *lane);

/* The same for all lanes together: at the end. */
gci_unreported gci_counters_report_all(gci_counters *counters);

/* Takes it back for a lane: the journal couldn't be written. */
void gci_counters_take_back(gci_lane_numbers *lane, gci_unreported unreported);

#endif
