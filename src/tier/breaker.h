/*
 * A circuit breaker: a tier in trouble is left alone for a while, so that it costs its time-out once and not with every call.
 *
 * closed: calls go through. After trouble it is open: nobody calls until a pause has passed. Then it is half open: one call
 * goes through as a probe, the others still don't; what becomes of the probe closes it, or opens it for twice as long.
 *
 * Threads: any; all state is in atomics, and a race costs a probe too many or too few.
 */
#ifndef GCI_TIER_BREAKER_H
#define GCI_TIER_BREAKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A restarted server is found soon; one that stays away costs a time-out a minute. */
#define GCI_BREAKER_FIRST_NS UINT64_C(1000000000)
#define GCI_BREAKER_MOST_NS (UINT64_C(60) * 1000000000)

typedef struct gci_breaker {
    _Atomic uint64_t until_ns; /* by the steady clock; 0: closed */
    _Atomic uint64_t pause_ns; /* of the next opening */
    _Atomic int probing;       /* the process whose one call is under way; 0: none. A forked child doesn't wait for its parent's */
    _Atomic uint64_t openings;
} gci_breaker;

/* What a report changes: every further opening after a probe that failed, too, is the same trouble. */
typedef enum gci_breaker_change {
    GCI_BREAKER_SAME,
    GCI_BREAKER_OPENED, /* it was closed */
    GCI_BREAKER_CLOSED  /* it was open, or half open */
} gci_breaker_change;

/* Whether a call may go through. true: report it by gci_breaker_report. *out_left_ns: for how long not, if not. */
bool gci_breaker_admit(gci_breaker *breaker, uint64_t now_ns, uint64_t *out_left_ns);
gci_breaker_change gci_breaker_report(gci_breaker *breaker, uint64_t now_ns, bool trouble);

#endif
