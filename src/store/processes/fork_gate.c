/* The gate in front of SQLite: threads inside are counted, and a fork waits for them. */
#include "store/processes/fork_gate.h"

#include "base/system/clock.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

/* Transactions take milliseconds. One that waits for another process, or looks at every row, may take longer than a fork
   should. */
#define FORK_WAIT_NS UINT64_C(5000000000)

static struct {
    pthread_mutex_t mutex; /* held while the process forks */
    pthread_cond_t changed;
    unsigned inside;       /* threads */
    unsigned forking;
    bool torn;             /* forked while somebody was inside */
    gci_fork_guest *guests;
} gate = { .mutex = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static _Thread_local unsigned depth;

/* ---- fork ---- */

static void
wait_until_empty(void)
{
    unsigned own = depth > 0 ? 1 : 0;
    struct timespec end = gci_clock_deadline(FORK_WAIT_NS);

    while (gate.inside > own && pthread_cond_timedwait(&gate.changed, &gate.mutex, &end) != ETIMEDOUT)
        continue;
}

static void
before_fork(void)
{
    pthread_mutex_lock(&gate.mutex);
    gate.forking++;
    wait_until_empty();
    while (gate.inside == 0 && gate.guests != NULL) {
        gci_fork_guest *guest = gate.guests;
        gate.guests = guest->next;
        guest->listed = false;
        guest->disconnect(guest->state);
    }
}

static void
after_fork_in_parent(void)
{
    gate.forking--;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

static void
after_fork_in_child(void)
{
    pthread_cond_init(&gate.changed, NULL); /* threads that waited aren't here */
    gate.torn = gate.torn || gate.inside > 0;
    gate.inside = depth > 0 ? 1 : 0;
    gate.forking = 0;
    gate.guests = NULL;
    pthread_mutex_unlock(&gate.mutex); /* before_fork took it in this thread */
}

/* When the library is loaded, not when the gate is first used: a thread that forks meanwhile would have a child in which this
   has happened by half, or whose mutex is somebody else's. */
__attribute__((constructor)) static void
watch_forks(void)
{
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- the gate ---- */

bool
gci_fork_gate_enter(void)
{
    if (depth > 0) {
        depth++;
        return true;
    }
    pthread_mutex_lock(&gate.mutex);
    while (gate.forking > 0)
        pthread_cond_wait(&gate.changed, &gate.mutex);
    bool open = !gate.torn;
    if (open) {
        gate.inside++;
        depth = 1;
    }
    pthread_mutex_unlock(&gate.mutex);
    return open;
}

void
gci_fork_gate_leave(void)
{
    if (--depth > 0)
        return;
    pthread_mutex_lock(&gate.mutex);
    gate.inside--;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

/* ---- guests ---- */

void
gci_fork_guest_add(gci_fork_guest *guest)
{
    pthread_mutex_lock(&gate.mutex);
    guest->previous = NULL;
    guest->next = gate.guests;
    if (guest->next != NULL)
        guest->next->previous = guest;
    gate.guests = guest;
    guest->listed = true;
    pthread_mutex_unlock(&gate.mutex);
}

void
gci_fork_guest_remove(gci_fork_guest *guest)
{
    /* Who was called by before_fork isn't listed any more: the mutex is held there. */
    if (!guest->listed)
        return;
    pthread_mutex_lock(&gate.mutex);
    if (guest->previous != NULL)
        guest->previous->next = guest->next;
    else
        gate.guests = guest->next;
    if (guest->next != NULL)
        guest->next->previous = guest->previous;
    guest->listed = false;
    pthread_mutex_unlock(&gate.mutex);
}
