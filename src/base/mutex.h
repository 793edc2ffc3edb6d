/*
 * A mutex that is waited for no longer than a time: what waits for other processes under it may take as long.
 */
#ifndef GCI_BASE_MUTEX_H
#define GCI_BASE_MUTEX_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/*
 * false: somebody else has had it for wait_ns. By the wall clock: the thread sanitizer of GCC 12 doesn't know
 * pthread_mutex_clocklock and takes every unlock behind it for an error.
 */
static inline bool
gci_mutex_lock_within(pthread_mutex_t *mutex, uint64_t wait_ns)
{
    struct timespec end;

    if (pthread_mutex_trylock(mutex) == 0)
        return true;
    if (wait_ns == 0)
        return false;
    clock_gettime(CLOCK_REALTIME, &end);
    uint64_t ns = (uint64_t)end.tv_nsec + wait_ns;
    end.tv_sec += (time_t)(ns / 1000000000);
    end.tv_nsec = (long)(ns % 1000000000);
    return pthread_mutex_timedlock(mutex, &end) == 0;
}

#endif
