/*
 * Sockets with deadlines: connected, and waited for, until a moment of the steady clock at most. They don't block, are closed on
 * exec, and raise no SIGPIPE.
 */
#ifndef GCI_TIER_REDIS_WIRE_SOCKETS_H
#define GCI_TIER_REDIS_WIRE_SOCKETS_H

#include <guardcache/tier.h>
#include <sys/types.h>
#include <sys/uio.h>

/* What a transfer came to, if it isn't the number of bytes. */
#define GCI_SOCKET_BROKEN ((ssize_t)-1)    /* closed or reset by the other side */
#define GCI_SOCKET_WANTS_IN ((ssize_t)-2)  /* nothing now: wait until there is something to receive */
#define GCI_SOCKET_WANTS_OUT ((ssize_t)-3) /* nothing now: wait until something can be sent */

/* The socket, or -1 with the call's trouble told. deadline_ns 0: whenever. */
int gci_socket_connect_tcp(gcache_tier_call *call, char const *shown, char const *host, uint16_t port, uint64_t deadline_ns);
int gci_socket_connect_unix(gcache_tier_call *call, char const *shown, char const *path, uint64_t deadline_ns);

/* Waits for POLLIN or POLLOUT. false: it is too late. An error of the socket ends the wait, too: the transfer will tell. */
bool gci_socket_wait(int fd, short events, uint64_t deadline_ns);

/* Bytes that were transferred, more than 0, or one of the above. */
ssize_t gci_socket_send(int fd, struct iovec const *pieces, size_t count);
ssize_t gci_socket_receive(int fd, void *bytes, size_t size);

#endif
