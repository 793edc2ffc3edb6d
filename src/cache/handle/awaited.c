/* Threads that others may be waiting for: see awaited.h. */
#include "cache/handle/awaited.h"

#include "cache/handle/fork_mutex.h"

#include <stddef.h>

static gci_fork_mutex mutex = { PTHREAD_MUTEX_INITIALIZER, GCI_FORK_MUTEX_UNUSED };
static gci_awaited *all;

static void
lock(void)
{
    if (gci_fork_mutex_lock(&mutex))
        all = NULL;
}

void
gci_awaited_begin(gci_awaited *awaited)
{
    if (awaited->begun)
        return;
    lock();
    *awaited = (gci_awaited){ .thread = pthread_self(), .begun = true, .next = all };
    all = awaited;
    gci_fork_mutex_unlock(&mutex);
}

void
gci_awaited_end(gci_awaited *awaited)
{
    if (!awaited->begun)
        return;
    lock();
    for (gci_awaited **link = &all; *link != NULL; link = &(*link)->next) {
        if (*link == awaited) {
            *link = awaited->next;
            break;
        }
    }
    awaited->begun = false;
    gci_fork_mutex_unlock(&mutex);
}

bool
gci_awaited_here(void)
{
    bool here = false;

    lock();
    for (gci_awaited const *awaited = all; awaited != NULL; awaited = awaited->next)
        here |= pthread_equal(awaited->thread, pthread_self());
    gci_fork_mutex_unlock(&mutex);
    return here;
}
