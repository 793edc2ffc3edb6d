/*
 * Asking: a batch's commands brought to the servers they belong to, until each has its answer.
 *
 * All commands of this tier may be done twice. So a connection that turns out to be dead is replaced once a call, and what a
 * cluster's node redirects is sent again where it says, GCI_HOPS_MAX times at most.
 */
#ifndef GCI_TIER_REDIS_ASK_H
#define GCI_TIER_REDIS_ASK_H

#include "tier/redis/batch.h"
#include "tier/redis/idle.h"
#include "tier/redis/nodes.h"
#include "tier/redis/redis.h"

/* A key that is moved right now takes two; a cluster that needs more doesn't know itself where it is. */
#define GCI_HOPS_MAX 5

/* The tier. Its texts are its own. */
typedef struct gci_redis {
    gci_redis_options options;
    gci_idle idle;
    gci_redis_nodes nodes;
    _Atomic(gci_tls *) tls; /* made when first needed; a forked child makes its own, for locks in it may be taken */
    _Atomic bool cluster;   /* a node said that it is one's */
    _Atomic bool single;    /* a server said that it isn't */
} gci_redis;

/* Closes what is open, not the tier itself. */
void gci_redis_close_connections(gci_redis *redis);

/* true: every command is answered, if only by an error. false: the call's trouble is told. */
bool gci_redis_ask(gci_redis *redis, gcache_tier_call *call, gci_batch *batch, gci_resp_limits limits);

/* The same, and no command is answered by an error, but that somebody gave its key another type (WRONGTYPE). */
bool gci_redis_ask_well(gci_redis *redis, gcache_tier_call *call, gci_batch *batch, gci_resp_limits limits);

/* Tells that a reply isn't what a Redis server answers. false. */
bool gci_redis_tell_strange(gci_redis *redis, gcache_tier_call *call);

#endif
