/* Sockets with deadlines. See sockets.h. */
#include "tier/redis/wire/sockets.h"

#include "base/system/clock.h"
#include "tier/redis/wire/resolve.h"
#include "tier/redis/wire/trouble.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* More than that goes into no single call: the kernel's UIO_MAXIOV. */
#define PIECES_MAX 1024
/* How often a full queue is tried again, and for how long if the call has no deadline. */
#define QUEUE_PAUSE_NS UINT64_C(1000000)
#define QUEUE_WAIT_NS GCI_SECOND_NS

/* ---- waiting and transferring ---- */

bool
gci_socket_wait(int fd, short events, uint64_t deadline_ns)
{
    struct pollfd one = { .fd = fd, .events = events };

    for (;;) {
        struct timespec left = { 0, 0 };
        uint64_t now = deadline_ns != 0 ? gci_clock_steady_ns() : 0;
        if (now < deadline_ns) {
            left.tv_sec = (time_t)((deadline_ns - now) / GCI_SECOND_NS);
            left.tv_nsec = (long)((deadline_ns - now) % GCI_SECOND_NS);
        }
        int ready = ppoll(&one, 1, deadline_ns != 0 ? &left : NULL, NULL);
        if (ready > 0)
            return true;
        if (ready == 0 && now >= deadline_ns)
            return false;
        /* Interrupted by a signal, or a little early: once more. */
        if (ready < 0 && errno != EINTR && errno != EAGAIN)
            return false;
    }
}

static ssize_t
result_of(ssize_t moved, ssize_t wants)
{
    if (moved > 0)
        return moved;
    return moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? wants : GCI_SOCKET_BROKEN;
}

ssize_t
gci_socket_send(int fd, struct iovec const *pieces, size_t count)
{
    struct msghdr message = { .msg_iov = (struct iovec *)pieces, .msg_iovlen = count < PIECES_MAX ? count : PIECES_MAX };
    ssize_t moved;

    do
        moved = sendmsg(fd, &message, MSG_NOSIGNAL);
    while (moved < 0 && errno == EINTR);
    return result_of(moved, GCI_SOCKET_WANTS_OUT);
}

ssize_t
gci_socket_receive(int fd, void *bytes, size_t size)
{
    ssize_t moved;

    do
        moved = recv(fd, bytes, size, 0);
    while (moved < 0 && errno == EINTR);
    return result_of(moved, GCI_SOCKET_WANTS_IN);
}

/* ---- connecting ---- */

/* 0, or what went wrong: ETIMEDOUT, too, for our own deadline. */
static int
finish_connecting(int fd, uint64_t deadline_ns)
{
    int failure = 0;
    socklen_t size = sizeof failure;

    if (!gci_socket_wait(fd, POLLOUT, deadline_ns))
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 ? failure : errno;
}

/* The socket, or -1 with errno in *out_failure. */
static int
connect_to(struct sockaddr const *address, socklen_t size, uint64_t deadline_ns, int *out_failure)
{
    int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), failure = errno;

    if (fd >= 0) {
        failure = connect(fd, address, size) == 0 ? 0 : errno;
        if (failure == EINPROGRESS || failure == EINTR)
            failure = finish_connecting(fd, deadline_ns);
        if (failure == 0)
            return fd;
        close(fd);
    }
    *out_failure = failure;
    return -1;
}

static int
tell(gcache_tier_call *call, char const *shown, int failure)
{
    if (failure == ETIMEDOUT)
        gci_redis_trouble(call, GCACHE_REASON_REMOTE_TIMEOUT, shown, "it can't be connected to in time");
    else
        gci_redis_trouble_errno(call, shown, "it can't be connected to", failure);
    return -1;
}

int
gci_socket_connect_unix(gcache_tier_call *call, char const *shown, char const *path, uint64_t deadline_ns)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    gci_pauses pauses;
    int failure = ENAMETOOLONG;

    if (snprintf(address.sun_path, sizeof address.sun_path, "%s", path) >= (int)sizeof address.sun_path)
        return tell(call, shown, failure);
    uint64_t now = gci_clock_steady_ns(), end = deadline_ns != 0 ? deadline_ns : now + QUEUE_WAIT_NS;
    pauses = gci_pauses_of(QUEUE_PAUSE_NS, 10 * QUEUE_PAUSE_NS, end > now ? end - now : 0);
    for (;;) {
        int fd = connect_to((struct sockaddr *)&address, sizeof address, deadline_ns, &failure);
        if (fd >= 0)
            return fd;
        /* A Unix socket whose queue is full says so at once instead of letting us wait. */
        if (failure != EAGAIN || !gci_clock_pause(&pauses))
            return tell(call, shown, failure == EAGAIN ? ETIMEDOUT : failure);
    }
}

/* When to give up the next of so many addresses: each gets an equal part of the time that is left. */
static uint64_t
share_of(uint64_t deadline_ns, unsigned addresses)
{
    uint64_t now = gci_clock_steady_ns();

    return deadline_ns == 0 || now >= deadline_ns ? deadline_ns : now + (deadline_ns - now) / addresses;
}

static int
connect_to_any(gci_addresses const *addresses, uint64_t deadline_ns, int *out_failure)
{
    int fd = -1, one = 1;

    for (size_t i = 0; i < addresses->count && fd < 0; i++) {
        gci_address const *address = &addresses->items[i];
        uint64_t end = share_of(deadline_ns, (unsigned)(addresses->count - i));
        fd = connect_to((struct sockaddr const *)&address->at, address->size, end, out_failure);
    }
    if (fd >= 0) {
        /* Without them a pipeline's last packet waits for an answer, and a peer that vanished is never noticed: not worse. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
    }
    return fd;
}

int
gci_socket_connect_tcp(gcache_tier_call *call, char const *shown, char const *host, uint16_t port, uint64_t deadline_ns)
{
    gci_addresses addresses;
    int failure = EADDRNOTAVAIL;

    if (!gci_resolve(call, shown, host, port, deadline_ns, &addresses))
        return -1;
    int fd = connect_to_any(&addresses, deadline_ns, &failure);
    return fd >= 0 ? fd : tell(call, shown, failure);
}
