/*
 * Time: nanoseconds since 1970 for people, a steady count of nanoseconds for durations.
 */
#ifndef GCI_BASE_CLOCK_H
#define GCI_BASE_CLOCK_H

#include <stdint.h>

uint64_t gci_clock_wall_ns(void);
uint64_t gci_clock_steady_ns(void);

#endif
