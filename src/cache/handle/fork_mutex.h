/*
 * A mutex that a forked child can use: the parent's may be held by a thread that isn't in the child. Whoever is first in the
 * child makes it anew, and hears of it, since what the mutex guards may be half done and belongs to the parent.
 */
#ifndef GCI_CACHE_HANDLE_FORK_MUTEX_H
#define GCI_CACHE_HANDLE_FORK_MUTEX_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include <unistd.h>

typedef struct gci_fork_mutex {
    pthread_mutex_t mutex;
    _Atomic pid_t process; /* that locked it first; 0: not made */
} gci_fork_mutex;

/* Nobody has locked it yet, so a child need not make it anew. */
#define GCI_FORK_MUTEX_UNUSED ((pid_t)-1)

static inline bool
gci_fork_mutex_init(gci_fork_mutex *mutex)
{
    if (pthread_mutex_init(&mutex->mutex, NULL) != 0)
        return false;
    mutex->process = GCI_FORK_MUTEX_UNUSED;
    return true;
}

static inline void
gci_fork_mutex_destroy(gci_fork_mutex *mutex)
{
    if (mutex->process != 0)
        pthread_mutex_destroy(&mutex->mutex);
}

/* true: this is a forked child, and what is guarded must be emptied. */
static inline bool
gci_fork_mutex_lock(gci_fork_mutex *mutex)
{
    pid_t here = getpid(), owner = mutex->process;
    bool first = owner != here && atomic_compare_exchange_strong(&mutex->process, &owner, here);
    bool child = first && owner != GCI_FORK_MUTEX_UNUSED;

    if (child)
        pthread_mutex_init(&mutex->mutex, NULL);
    pthread_mutex_lock(&mutex->mutex);
    return child;
}

static inline void
gci_fork_mutex_unlock(gci_fork_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->mutex);
}

#endif
