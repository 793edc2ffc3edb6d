/*
 * A connection to one Redis server: made, authenticated, and asked, all by a deadline.
 *
 * Invariant: between exchanges it is in step (nothing was sent that wasn't answered, and nothing is left to receive). An exchange
 * that doesn't end so leaves it broken, and it is only good for closing.
 */
#ifndef GCI_TIER_REDIS_WIRE_CONNECTION_H
#define GCI_TIER_REDIS_WIRE_CONNECTION_H

#include "tier/redis/wire/redis_options.h"
#include "tier/redis/wire/resp.h"
#include "tier/redis/wire/tls.h"

/* Where a server is: the one of the options, or a node that a cluster named. */
typedef struct gci_redis_place {
    unsigned node;    /* 0: the one of the options */
    char const *host; /* of a node; borrowed while connecting */
    uint16_t port;
} gci_redis_place;

typedef struct gci_redis_connection {
    int fd;
    gci_tls_session *session; /* NULL: without TLS */
    unsigned node;
    bool cluster;             /* the server says that it is one's node */
    bool broken;
    bool reused;              /* it was idle before: its server may have gone meanwhile */
    int slot;                 /* of the idle ones' list; -1: none */
    uint64_t idle_since_ns;
    char const *shown;        /* the options' */
} gci_redis_connection;

/* NULL: the call's trouble is told. tls NULL: without. One round trip, besides those of TCP and TLS. */
gci_redis_connection *gci_redis_connect(gci_redis_options const *options, gci_tls *tls, gci_redis_place place,
                                        gcache_tier_call *call);

typedef enum gci_exchange {
    GCI_EXCHANGE_DONE,    /* every reply is there */
    GCI_EXCHANGE_GONE,    /* the other side ended the connection; the trouble is told. Some replies may be there */
    GCI_EXCHANGE_TROUBLE  /* too late, or no Redis; the trouble is told */
} gci_exchange;

/* Sends pieces (they are changed) and receives what the reader wants. Counts a round trip and bytes. */
gci_exchange gci_redis_exchange(gci_redis_connection *connection, gcache_tier_call *call, uint64_t deadline_ns,
                                struct iovec *pieces, size_t count, gci_resp_reader *reader);

/* Whether nothing has arrived since the last exchange. If something has, it is the end of the connection. */
bool gci_redis_is_quiet(gci_redis_connection *connection);

/* Frees it and closes its socket, unless that was done: fd -1. Nothing is said to the other side. */
void gci_redis_disconnect(gci_redis_connection *connection);

#endif
