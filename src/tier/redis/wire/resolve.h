/*
 * Names resolved by a deadline.
 *
 * getaddrinfo knows no deadline, and a resolver that hangs takes ten seconds and more. So names are asked for by a thread of their
 * own; who gives up leaves it behind, and it ends when the resolver does. Addresses in digits and localhost take no thread.
 *
 * Processes: a child neither waits for the threads of its parent nor counts them. Locks of the resolver that one of them held at
 * the fork only ever hang a thread of the child's own.
 */
#ifndef GCI_TIER_REDIS_WIRE_RESOLVE_H
#define GCI_TIER_REDIS_WIRE_RESOLVE_H

#include <guardcache/tier.h>
#include <sys/socket.h>

/* More addresses of a name than anybody tries in a lookup. */
#define GCI_ADDRESSES_MAX 16
/* Threads at a time in a process: more only wait for the same resolver. */
#define GCI_RESOLVING_MAX 8

typedef struct gci_address {
    socklen_t size;
    struct sockaddr_storage at;
} gci_address;

typedef struct gci_addresses {
    size_t count;
    gci_address items[GCI_ADDRESSES_MAX];
} gci_addresses;

/* false: the call's trouble is told. deadline_ns 0: whenever. */
bool gci_resolve(gcache_tier_call *call, char const *shown, char const *host, uint16_t port, uint64_t deadline_ns,
                 gci_addresses *out);

#endif
