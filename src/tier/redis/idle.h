/*
 * Connections kept for the next call, and what a forked child does with its parent's.
 *
 * Invariants:
 *  1. A slot is empty, idle or busy. Who turns it from idle or empty to busy owns what is in it until he turns it back. All is
 *     done by atomic operations: there is no lock that a fork could leave taken, and no moment at which a slot is half changed.
 *  2. fds of slots are sockets of this process or -1, set to -1 before they are closed: a child that is forked in between leaks one
 *     rather than closing a number which is something else by then.
 *  3. owner is the process whose connections these are. Everybody asks gci_idle_enter before anything else.
 */
#ifndef GCI_TIER_REDIS_IDLE_H
#define GCI_TIER_REDIS_IDLE_H

#include "tier/redis/wire/connection.h"

#include <stdatomic.h>

/* Connections at once that are known; further ones are closed after their call. */
#define GCI_IDLE_SLOTS 64
/* More threads rarely ask at once, nor of more nodes, and a server's connections are shared by all its clients. */
#define GCI_IDLE_MAX 16

typedef struct gci_idle_slot {
    _Atomic int state, fd;
    gci_redis_connection *connection;
} gci_idle_slot;

typedef struct gci_idle {
    gci_idle_slot slots[GCI_IDLE_SLOTS];
    _Atomic int idle;  /* how many of them are */
    _Atomic int owner; /* a process id; negative: that process is tidying up */
} gci_idle;

void gci_idle_init(gci_idle *idle);
/* true: this process was forked, and its parent's connections have been closed just now. */
bool gci_idle_enter(gci_idle *idle, void (*forget)(void *state), void *state);

/* One that was idle, to that node, and still good; or NULL. */
gci_redis_connection *gci_idle_take(gci_idle *idle, unsigned node);
/* A new one that is in use. */
void gci_idle_add(gci_idle *idle, gci_redis_connection *connection);
/* After use: kept, or closed. */
void gci_idle_give(gci_idle *idle, gci_redis_connection *connection);
/* Closes all. Nobody is in a call. */
void gci_idle_clear(gci_idle *idle);

#endif
