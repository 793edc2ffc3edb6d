/*
 * Time: nanoseconds since 1970 for people, a steady count of nanoseconds for durations.
 */
#ifndef GCI_BASE_CLOCK_H
#define GCI_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define GCI_SECOND_NS UINT64_C(1000000000)

static inline uint64_t
gci_timespec_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * GCI_SECOND_NS + (uint64_t)time.tv_nsec;
}

uint64_t gci_clock_wall_ns(void);
uint64_t gci_clock_steady_ns(void);

/* The same as wall_ns to within a few milliseconds, for a few nanoseconds: for what is noted on every hit. */
uint64_t gci_clock_coarse_ns(void);

/* How long to wait, and who may end it. */
typedef struct gci_patience {
    uint64_t wait_ns;
    bool (*keep_waiting)(void *state); /* asked now and then; NULL: nobody is */
    void *state;
} gci_patience;

/* Waiting for what only looking tells: ever longer pauses, until a moment of the steady clock. */
typedef struct gci_pauses {
    uint64_t next_ns, most_ns, end_ns;
    gci_patience patience;
    uint64_t asked_ns; /* when it was, latest */
} gci_pauses;

gci_pauses gci_pauses_of(uint64_t first_ns, uint64_t most_ns, uint64_t wait_ns);
gci_pauses gci_pauses_with(uint64_t first_ns, uint64_t most_ns, gci_patience const *patience);
/* Sleeps. false at once: it is too late, or patience is over. */
bool gci_clock_pause(gci_pauses *pauses);

/* When wait_ns have gone by, by the wall clock: the thread sanitizer of GCC 12 knows no timed wait by another one. */
struct timespec gci_clock_deadline(uint64_t wait_ns);

#endif
