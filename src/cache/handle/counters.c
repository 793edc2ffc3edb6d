/*
 * Counting hits in lanes, and how many of them the journal knows of.
 */
#include "cache/handle/counters.h"

#include "base/digest.h"

#include <pthread.h>
#include <unistd.h>

/*
 * The first hits of a thread are journaled one by one, later ones ever more seldom: short runs are known exactly, and a run
 * of a million hits leaves some 270 entries. An entry takes some ten microseconds, so that makes less than 3 ns a hit.
 */
#define DUE_EACH 32
#define DUE_SHARE 16
#define DUE_GAP_MAX 8192

/*
 * As far behind as ahead of the gap by chance, so that what comes round regularly (an evaluation after so many steps) isn't
 * always reported or never: over a long run each label's share of what entries stand for is its share of the hits.
 */
static uint64_t
next_due(uint64_t hits)
{
    uint64_t gap = hits / DUE_SHARE < DUE_GAP_MAX ? hits / DUE_SHARE : DUE_GAP_MAX;

    return hits + 1 + (hits < DUE_EACH ? 0 : gci_hash64(&hits, sizeof hits, 0) % (2 * gap - 1));
}

static bool
is_shared(gci_counters const *counters, gci_lane_numbers const *lane)
{
    return lane == &counters->lanes[GCI_LANES].numbers;
}

/* Thread identifiers are addresses of stacks, whole pages apart. */
static size_t
lane_of(uintptr_t self)
{
    return (size_t)((self >> 12) ^ (self >> 20)) % GCI_LANES;
}

gci_lane_numbers *
gci_counters_lane(gci_counters *counters)
{
    uintptr_t self = (uintptr_t)pthread_self(), nobody = 0;
    gci_lane_numbers *lane = &counters->lanes[lane_of(self)].numbers;

    if (atomic_load_explicit(&lane->owner, memory_order_relaxed) == self)
        return lane;
    if (atomic_compare_exchange_strong(&lane->owner, &nobody, self) || nobody == self)
        return lane;
    return &counters->lanes[GCI_LANES].numbers;
}

/* Adds, and returns the sum. */
static uint64_t
add(_Atomic uint64_t *number, uint64_t more, bool shared)
{
    if (shared)
        return atomic_fetch_add_explicit(number, more, memory_order_relaxed) + more;
    uint64_t sum = atomic_load_explicit(number, memory_order_relaxed) + more;
    atomic_store_explicit(number, sum, memory_order_relaxed);
    return sum;
}

bool
gci_count_hit(gci_counters *counters, gci_lane_numbers *lane, uint64_t saved_ns)
{
    bool shared = is_shared(counters, lane);
    uint64_t hits = add(&lane->hits, 1, shared);

    add(&lane->saved_ns, saved_ns, shared);
    uint64_t due = atomic_load_explicit(&lane->due, memory_order_relaxed);
    if (hits < due)
        return false;
    /* Of several threads on the shared lane one hears that it is due. */
    return atomic_compare_exchange_strong(&lane->due, &due, next_due(hits));
}

/* Reported first, so that nobody else can report it. */
void
gci_count_hit_reported(gci_counters *counters, gci_lane_numbers *lane, uint64_t saved_ns)
{
    bool shared = is_shared(counters, lane);

    atomic_fetch_add(&lane->reported, 1);
    atomic_fetch_add(&lane->reported_saved_ns, saved_ns);
    add(&lane->hits, 1, shared);
    add(&lane->saved_ns, saved_ns, shared);
}

void
gci_counters_forget_parent(gci_counters *counters)
{
    if (counters->process == getpid())
        return;
    for (size_t i = 0; i <= GCI_LANES; i++) {
        gci_lane_numbers *lane = &counters->lanes[i].numbers;
        atomic_store(&lane->reported, atomic_load(&lane->hits));
        atomic_store(&lane->reported_saved_ns, atomic_load(&lane->saved_ns));
    }
    counters->process = getpid();
}

/* Of several that report at once each takes what is new to it: what is reported never goes back. */
static uint64_t
since(_Atomic uint64_t *number, _Atomic uint64_t *reported)
{
    uint64_t now, then = atomic_load(reported);

    do {
        now = atomic_load(number);
        if (now <= then)
            return 0;
    } while (!atomic_compare_exchange_weak(reported, &then, now));
    return now - then;
}

static gci_unreported
report_lane(gci_lane_numbers *lane)
{
    return (gci_unreported){ since(&lane->hits, &lane->reported), since(&lane->saved_ns, &lane->reported_saved_ns) };
}

gci_unreported
gci_counters_report(gci_counters *counters, gci_lane_numbers *lane)
{
    gci_counters_forget_parent(counters);
    return report_lane(lane);
}

gci_unreported
gci_counters_report_all(gci_counters *counters)
{
    gci_unreported all = { 0, 0 };

    gci_counters_forget_parent(counters);
    for (size_t i = 0; i <= GCI_LANES; i++) {
        gci_unreported one = report_lane(&counters->lanes[i].numbers);
        all.hits += one.hits;
        all.saved_ns += one.saved_ns;
    }
    return all;
}

void
gci_counters_take_back(gci_lane_numbers *lane, gci_unreported unreported)
{
    atomic_fetch_sub(&lane->reported, unreported.hits);
    atomic_fetch_sub(&lane->reported_saved_ns, unreported.saved_ns);
}
