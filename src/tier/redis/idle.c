/* Connections kept for the next call. See idle.h. */
#include "tier/redis/idle.h"

#include "base/system/clock.h"

#include <sched.h>
#include <unistd.h>

enum { EMPTY, IDLE, BUSY };

/* Load balancers and firewalls forget connections, and don't say so: the shortest usual limit is a minute. */
#define IDLE_NS (50 * GCI_SECOND_NS)

void
gci_idle_init(gci_idle *idle)
{
    for (size_t i = 0; i < GCI_IDLE_SLOTS; i++)
        atomic_init(&idle->slots[i].fd, -1);
    atomic_init(&idle->owner, (int)getpid());
}

static bool
turn(gci_idle_slot *slot, int from, int to)
{
    return atomic_load(&slot->state) == from && atomic_compare_exchange_strong(&slot->state, &from, to);
}

/* ---- after a fork ---- */

/* Nobody else is here. What was in use by a thread of the parent's may be half changed: its memory is left alone. */
static void
abandon(gci_idle *idle)
{
    for (size_t i = 0; i < GCI_IDLE_SLOTS; i++) {
        gci_idle_slot *slot = &idle->slots[i];
        int fd = atomic_exchange(&slot->fd, -1);
        if (fd >= 0)
            close(fd);
        if (atomic_load(&slot->state) == IDLE) {
            slot->connection->fd = -1;
            gci_redis_disconnect(slot->connection);
        }
        atomic_store(&slot->state, EMPTY);
    }
    atomic_store(&idle->idle, 0);
}

bool
gci_idle_enter(gci_idle *idle, void (*forget)(void *state), void *state)
{
    int here = (int)getpid(), owner = atomic_load(&idle->owner);

    while (owner != here) {
        if (owner == -here) {
            sched_yield();
            owner = atomic_load(&idle->owner);
        } else if (atomic_compare_exchange_weak(&idle->owner, &owner, -here)) {
            abandon(idle);
            forget(state);
            atomic_store(&idle->owner, here);
            return true;
        }
    }
    return false;
}

/* ---- taking and giving ---- */

static void
discard(gci_idle *idle, gci_redis_connection *connection)
{
    if (connection->slot >= 0) {
        gci_idle_slot *slot = &idle->slots[connection->slot];
        atomic_store(&slot->fd, -1);
        slot->connection = NULL;
        atomic_store(&slot->state, EMPTY);
    }
    gci_redis_disconnect(connection);
}

gci_redis_connection *
gci_idle_take(gci_idle *idle, unsigned node)
{
    for (size_t i = 0; i < GCI_IDLE_SLOTS && atomic_load(&idle->idle) > 0; i++) {
        gci_idle_slot *slot = &idle->slots[i];
        if (!turn(slot, IDLE, BUSY))
            continue;
        gci_redis_connection *connection = slot->connection;
        bool young = gci_clock_steady_ns() - connection->idle_since_ns < IDLE_NS;
        if (young && connection->node != node) {
            atomic_store(&slot->state, IDLE);
            continue;
        }
        atomic_fetch_sub(&idle->idle, 1);
        connection->reused = true;
        if (young && gci_redis_is_quiet(connection))
            return connection;
        discard(idle, connection);
    }
    return NULL;
}

void
gci_idle_add(gci_idle *idle, gci_redis_connection *connection)
{
    for (int i = 0; i < GCI_IDLE_SLOTS; i++) {
        gci_idle_slot *slot = &idle->slots[i];
        if (!turn(slot, EMPTY, BUSY))
            continue;
        slot->connection = connection;
        connection->slot = i;
        atomic_store(&slot->fd, connection->fd);
        return;
    }
}

void
gci_idle_give(gci_idle *idle, gci_redis_connection *connection)
{
    if (connection->broken || connection->slot < 0) {
        discard(idle, connection);
    } else if (atomic_fetch_add(&idle->idle, 1) >= GCI_IDLE_MAX) {
        atomic_fetch_sub(&idle->idle, 1);
        discard(idle, connection);
    } else {
        connection->idle_since_ns = gci_clock_steady_ns();
        atomic_store(&idle->slots[connection->slot].state, IDLE);
    }
}

void
gci_idle_clear(gci_idle *idle)
{
    for (size_t i = 0; i < GCI_IDLE_SLOTS; i++) {
        if (turn(&idle->slots[i], IDLE, BUSY))
            discard(idle, idle->slots[i].connection);
    }
}
