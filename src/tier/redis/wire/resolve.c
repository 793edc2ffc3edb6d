/* Names resolved by a deadline, in threads that may be left behind. See resolve.h. */
#include "tier/redis/wire/resolve.h"

#include "base/system/clock.h"
#include "tier/redis/wire/trouble.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The resolver's modules take some ten KiB; a thread's own variables, of all libraries, are in it, too. */
#define STACK_SIZE ((size_t)512 << 10)
/* Many threads may begin to connect in one moment: that isn't a resolver that hangs, so a place is waited for so long. */
#define PLACE_WAIT_NS (GCI_SECOND_NS / 10)
#define PLACE_PAUSE_NS UINT64_C(1000000)
/* Waits end by the wall clock, which may be set meanwhile: none of them is longer. */
#define WAIT_MAX_NS GCI_SECOND_NS

/* A name that is being resolved. It belongs to its thread and to who waits: the last one frees it. */
typedef struct request {
    _Atomic unsigned owners;
    pthread_mutex_t mutex;
    pthread_cond_t done;
    bool is_done;
    int failure;             /* of getaddrinfo */
    gci_addresses addresses;
    char service[8];
    char host[];             /* a copy: the caller may be gone */
} request;

/* ---- how many there are ---- */

/* The process in the upper half, its threads in the lower one: a child has none of those that its parent has. */
static _Atomic uint64_t resolving;

static uint64_t
of_this_process(uint64_t known)
{
    uint64_t none = (uint64_t)getpid() << 32;

    return known >> 32 == none >> 32 ? known : none;
}

static bool
take_place(void)
{
    uint64_t known = atomic_load(&resolving), here;

    do {
        here = of_this_process(known);
        if ((uint32_t)here >= GCI_RESOLVING_MAX)
            return false;
    } while (!atomic_compare_exchange_weak(&resolving, &known, here + 1));
    return true;
}

static bool
wait_for_place(uint64_t deadline_ns)
{
    uint64_t now = gci_clock_steady_ns(), left = deadline_ns == 0 ? PLACE_WAIT_NS : deadline_ns > now ? deadline_ns - now : 0;
    gci_pauses pauses = gci_pauses_of(PLACE_PAUSE_NS, 10 * PLACE_PAUSE_NS, left < PLACE_WAIT_NS ? left : PLACE_WAIT_NS);

    while (!take_place()) {
        if (!gci_clock_pause(&pauses))
            return false;
    }
    return true;
}

static void
give_place(void)
{
    atomic_fetch_sub(&resolving, 1);
}

/* ---- asking ---- */

static void
copy_addresses(gci_addresses *out, struct addrinfo const *found)
{
    for (; found != NULL && out->count < GCI_ADDRESSES_MAX; found = found->ai_next) {
        gci_address *address = &out->items[out->count];
        if (found->ai_addrlen > sizeof address->at)
            continue;
        memcpy(&address->at, found->ai_addr, found->ai_addrlen);
        address->size = found->ai_addrlen;
        out->count++;
    }
}

/* Appends what is found. 0, or getaddrinfo's failure. */
static int
look_up(char const *host, char const *service, int flags, gci_addresses *out)
{
    struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV | flags }, *found = NULL;
    int failure = getaddrinfo(host, service, &hints, &found);

    if (failure == 0) {
        copy_addresses(out, found);
        freeaddrinfo(found);
    }
    return failure;
}

/* Without the resolver: it may be reached over a network whatever the name. */
static bool
look_up_at_once(char const *host, char const *service, gci_addresses *out)
{
    if (strcasecmp(host, "localhost") != 0)
        return look_up(host, service, AI_NUMERICHOST, out) == 0;
    look_up("::1", service, AI_NUMERICHOST, out);
    look_up("127.0.0.1", service, AI_NUMERICHOST, out);
    return out->count != 0;
}

/* ---- requests ---- */

static request *
request_new(char const *host, char const *service)
{
    size_t size = strlen(host) + 1;
    request *fresh = calloc(1, sizeof *fresh + size);

    if (fresh == NULL)
        return NULL;
    atomic_init(&fresh->owners, 2);
    pthread_mutex_init(&fresh->mutex, NULL);
    pthread_cond_init(&fresh->done, NULL);
    memcpy(fresh->service, service, sizeof fresh->service);
    memcpy(fresh->host, host, size);
    return fresh;
}

static void
let_go(request *of)
{
    if (atomic_fetch_sub(&of->owners, 1) != 1)
        return;
    pthread_cond_destroy(&of->done);
    pthread_mutex_destroy(&of->mutex);
    free(of);
}

static void *
work(void *state)
{
    request *mine = state;
    gci_addresses found = { 0 };
    int failure = look_up(mine->host, mine->service, 0, &found);

    pthread_mutex_lock(&mine->mutex);
    mine->addresses = found;
    mine->failure = failure;
    mine->is_done = true;
    pthread_cond_signal(&mine->done);
    pthread_mutex_unlock(&mine->mutex);
    let_go(mine);
    give_place();
    return NULL;
}

/* Signals are for the threads of the program. */
static bool
start(request *of)
{
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &attributes, work, of) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* false: it is too late. */
static bool
wait_until_done(request *of, uint64_t deadline_ns)
{
    pthread_mutex_lock(&of->mutex);
    while (!of->is_done) {
        uint64_t now = gci_clock_steady_ns(), left = deadline_ns == 0 ? WAIT_MAX_NS : deadline_ns > now ? deadline_ns - now : 0;
        if (left == 0)
            break;
        struct timespec end = gci_clock_deadline(left < WAIT_MAX_NS ? left : WAIT_MAX_NS);
        pthread_cond_timedwait(&of->done, &of->mutex, &end);
    }
    bool is_done = of->is_done;
    pthread_mutex_unlock(&of->mutex);
    return is_done;
}

/* ---- resolving ---- */

static bool
tell_found(gcache_tier_call *call, char const *shown, request const *of, gci_addresses *out)
{
    *out = of->addresses;
    if (of->failure == 0 && out->count != 0)
        return true;
    return gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, shown, "its name can't be resolved: %s",
                             gai_strerror(of->failure != 0 ? of->failure : EAI_NONAME));
}

/* With a place, which goes to the thread. */
static bool
resolve_in_thread(gcache_tier_call *call, char const *shown, char const *host, char const *service, uint64_t deadline_ns,
                  gci_addresses *out)
{
    request *mine = request_new(host, service);
    bool good = false;

    if (mine == NULL || !start(mine)) {
        free(mine);
        give_place();
        return gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, shown, "its name can't be resolved: no thread or memory");
    }
    if (wait_until_done(mine, deadline_ns))
        good = tell_found(call, shown, mine, out);
    else
        gci_redis_trouble(call, GCACHE_REASON_REMOTE_TIMEOUT, shown, "its name can't be resolved in time");
    let_go(mine);
    return good;
}

bool
gci_resolve(gcache_tier_call *call, char const *shown, char const *host, uint16_t port, uint64_t deadline_ns, gci_addresses *out)
{
    char service[sizeof ((request *)NULL)->service];

    snprintf(service, sizeof service, "%u", (unsigned)port);
    out->count = 0;
    if (look_up_at_once(host, service, out))
        return true;
    if (!wait_for_place(deadline_ns))
        return gci_redis_trouble(call, GCACHE_REASON_REMOTE_TIMEOUT, shown,
                                 "its name can't be resolved in time: %d others are waited for", GCI_RESOLVING_MAX);
    return resolve_in_thread(call, shown, host, service, deadline_ns, out);
}
