/*
 * Time: nanoseconds since 1970 for people, a steady count of nanoseconds for durations.
 */
#ifndef GCI_BASE_CLOCK_H
#define GCI_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

uint64_t gci_clock_wall_ns(void);
uint64_t gci_clock_steady_ns(void);

/* The same as wall_ns to within a few milliseconds, for a few nanoseconds: for what is noted on every hit. */
uint64_t gci_clock_coarse_ns(void);

/* When wait_ns have gone by, by the wall clock: the thread sanitizer of GCC 12 knows no timed wait by another one. */
struct timespec gci_clock_deadline(uint64_t wait_ns);

#endif
