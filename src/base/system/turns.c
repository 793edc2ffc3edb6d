/*
 * A lock that is handed on in order, once somebody has waited for long.
 */
#include "base/system/turns.h"

#include "base/check.h"
#include "base/system/clock.h"

#include <stddef.h>

#define PATIENCE_NS UINT64_C(1000000)

/* On the stack of who waits. */
struct gci_turns_waiter {
    struct gci_turns_waiter *next;
    pthread_cond_t wake;
    uint64_t since_ns;
    bool given;
};

void
gci_turns_init(gci_turns *turns)
{
    *turns = (gci_turns){ .mutex = PTHREAD_MUTEX_INITIALIZER };
}

void
gci_turns_clear(gci_turns *turns)
{
    GCI_ASSERT(!turns->held && turns->first == NULL);
    pthread_mutex_destroy(&turns->mutex);
}

/* The link that leads to a waiter; to the end for one that isn't in the list. */
static struct gci_turns_waiter **
link_to(gci_turns *turns, struct gci_turns_waiter const *waiter)
{
    struct gci_turns_waiter **link = &turns->first;

    while (*link != NULL && *link != waiter)
        link = &(*link)->next;
    return link;
}

/* Under the mutex. */
static bool
wait_for_turn(gci_turns *turns, uint64_t wait_ns)
{
    struct gci_turns_waiter self = { .next = NULL, .wake = PTHREAD_COND_INITIALIZER, .since_ns = gci_clock_steady_ns() };
    struct timespec end = gci_clock_deadline(wait_ns);

    *link_to(turns, NULL) = &self;
    for (int result = 0; !self.given && turns->held && result == 0;)
        result = pthread_cond_timedwait(&self.wake, &turns->mutex, &end);
    *link_to(turns, &self) = self.next;
    pthread_cond_destroy(&self.wake);
    return self.given || !turns->held;
}

bool
gci_turns_lock(gci_turns *turns, uint64_t wait_ns)
{
    pthread_mutex_lock(&turns->mutex);
    bool taken = !turns->held || (wait_ns != 0 && wait_for_turn(turns, wait_ns));
    turns->held |= taken;
    pthread_mutex_unlock(&turns->mutex);
    return taken;
}

void
gci_turns_unlock(gci_turns *turns)
{
    pthread_mutex_lock(&turns->mutex);
    struct gci_turns_waiter *first = turns->first;
    GCI_ASSERT(turns->held);
    if (first != NULL)
        first->given = gci_clock_steady_ns() - first->since_ns > PATIENCE_NS;
    turns->held = first != NULL && first->given;
    if (first != NULL)
        pthread_cond_signal(&first->wake);
    pthread_mutex_unlock(&turns->mutex);
}
