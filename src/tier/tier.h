/*
 * The face of this room: a tier, ready to be asked. Whatever its functions are, here they get a deadline, a breaker stands
 * before them, and what came of each call is counted.
 *
 * Threads: any number at once. Fork: a child goes on with the same object; it inherits the breakers as they were.
 */
#ifndef GCI_TIER_TIER_H
#define GCI_TIER_TIER_H

#include "base/error.h"
#include "base/view.h"
#include "tier/breaker.h"

#include <guardcache/fleet.h>
#include <stdatomic.h>

/* A tier is left alone from now on, or asked again: a line for people, which begins with its name. Called once, by the thread that
   found out. */
typedef void (*gci_tier_changed_fn)(void *state, char const *line);

typedef struct gci_tier {
    char *shown; /* its URL without credentials, or what its user calls it */
    gcache_tier_functions const *functions;
    void *object;
    bool owned;  /* it is closed with this, and opened by a URL */
    bool has_credentials; /* the URL, which isn't kept */
    bool read_only;
    bool in_clear; /* what it says can be read and changed on its way from another host */
    uint64_t ttl_ns, timeout_ns, connect_timeout_ns, lease_ns, max_bytes;
    gci_breaker reading, writing; /* a server that is full still answers */
    gci_tier_changed_fn changed; /* NULL: nobody wants to know */
    void *changed_state;
    _Atomic uint64_t counts[GCACHE_TIER_COUNT_COUNT];
} gci_tier;

/* ERROR_ARGUMENT: what is wrong with the URL, without credentials; ERROR_MEMORY. Nothing is connected to. trust: whose files
   of a shared directory are read. */
gcache_status gci_tier_open(gci_view url, gcache_trust trust, gci_tier **out_tier, gcache_error *error);
/* A program's own; its object isn't closed. */
gcache_status gci_tier_adopt(gcache_tier_user const *user, gci_tier **out_tier, gcache_error *error);
/* NULL is accepted. */
void gci_tier_free(gci_tier *tier);

static inline void
gci_tier_add(gci_tier *tier, gcache_tier_count count, uint64_t more)
{
    atomic_fetch_add_explicit(&tier->counts[count], more, memory_order_relaxed);
}

/* ---- asking ---- */

typedef enum gci_asking_for {
    GCI_ASK_TO_READ,
    GCI_ASK_TO_WRITE, /* off a caller's way: as much longer as the bytes take at GCI_WRITE_RATE */
    GCI_ASK_TO_AGREE, /* what others decided, or to decide: whatever the breaker says, since whoever doesn't ask goes his own way */
    GCI_ASK_TO_KNOW   /* whether it is there, whatever the breaker says; it isn't counted, and the caller tells what comes of it */
} gci_asking_for;

/* Calls that belong together, with one deadline for all of them: those of a lookup, of an upload. */
typedef struct gci_asking {
    gci_tier *tier;
    gci_asking_for purpose;
    gci_breaker *breaker;
    gcache_tier_call call;
    gcache_tier_answer answer; /* of the last call */
    uint64_t started_ns;
    bool left_alone;           /* by the breaker: there will be no call */
} gci_asking;


/* Bytes a second: a slow line's. */
#define GCI_WRITE_RATE ((uint64_t)1 << 20)

/* bytes: that are to be written. false: it is left alone; the call's reason and message say why. */
bool gci_asking_begin(gci_asking *asking, gci_tier *tier, gci_asking_for purpose, uint64_t bytes);

/* Calls a function of the tier and notes what it said: TROUBLE at once for what it hasn't, or after trouble. */
#define GCI_ASK(asking, function, ...)                                                                \
    ((asking)->tier->functions->function == NULL ? gci_asking_lacks((asking), #function)              \
     : gci_asking_may_go_on(asking)                                                                   \
         ? gci_asking_note((asking), (asking)->tier->functions->function((asking)->tier->object, &(asking)->call, __VA_ARGS__)) \
         : GCACHE_TIER_TROUBLE)

/* The deadline begins anew: for the next of many calls that nobody waits for as one. */
void gci_asking_renew(gci_asking *asking);

bool gci_asking_may_go_on(gci_asking const *asking);
gcache_tier_answer gci_asking_note(gci_asking *asking, gcache_tier_answer answer);
gcache_tier_answer gci_asking_lacks(gci_asking *asking, char const *function);

/* Tells the breaker, once, and adds up. Returns how long it took. */
uint64_t gci_asking_end(gci_asking *asking);

#endif
