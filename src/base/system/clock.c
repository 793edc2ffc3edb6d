/*
 * The clocks: one for durations, one for dates.
 */
#include "base/system/clock.h"

static uint64_t
read_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t
gci_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t
gci_clock_steady_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t
gci_clock_coarse_ns(void)
{
    return read_clock(CLOCK_REALTIME_COARSE);
}

struct timespec
gci_clock_deadline(uint64_t wait_ns)
{
    uint64_t end = gci_clock_wall_ns() + wait_ns;

    return (struct timespec){ .tv_sec = (time_t)(end / 1000000000u), .tv_nsec = (long)(end % 1000000000u) };
}
