/*
 * guardcache/tier.h - tiers: places beyond the local directory where entries live, for a fleet to share.
 *
 * A tier is a table of functions over objects: immutable bytes, named by what they are. It needs no compare-and-swap and
 * knows nothing of guards, signatures or descriptions; docs/formats/remote.md says what the bytes are. Everything a lookup
 * must not get wrong (verification, guards, time-outs, a circuit breaker) stands above the contract and is the same for all
 * tiers. guardcache brings tiers for memory, a shared directory and Redis, named by URLs in the setting `tiers`; a program
 * adds its own by gcache_options.user_tiers. tests/unit/tier/conformance.h is the suite that every tier has to pass.
 *
 * Threads: functions of a tier may be called by any number of threads at once; each does its own locking.
 * Processes: after fork the child goes on with the same object. What the parent had open (connections) the child
 * closes without a word to the other side, and opens its own.
 */
#ifndef GUARDCACHE_TIER_H
#define GUARDCACHE_TIER_H

#include <guardcache/key.h>
#include <guardcache/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this contract. Members are appended to its structs; the number changes when one changes its meaning. */
#define GCACHE_TIER_VERSION 1

/* identifier, word, meaning */
#define GCACHE_TIER_ANSWER_MAP(X)                                                                     \
    X(HIT, "hit", "it is there, or it was done")                                                      \
    X(MISS, "miss", "the tier works, and it isn't there")                                             \
    X(TROUBLE, "trouble", "the tier can't say: call->reason and call->message do")

typedef enum gcache_tier_answer {
#define X(id, word, meaning) GCACHE_TIER_##id,
    GCACHE_TIER_ANSWER_MAP(X)
#undef X
    GCACHE_TIER_ANSWER_COUNT
} gcache_tier_answer;

/* "trouble"; "?" if unknown. Static storage. */
GCACHE_API char const *gcache_tier_answer_name(gcache_tier_answer answer);

/* ---- objects ---- */

/* identifier, word, whether it lies under a key, whether it has a name, meaning */
#define GCACHE_OBJECT_MAP(X)                                                                          \
    X(HEAD, "head", true, true, "of a candidate: what choosing reads. Its name is the candidate's id")  \
    X(PAYLOAD, "payload", true, true, "a candidate's payload as stored. Its name is the SHA-256 of its bytes") \
    X(DESCRIPTION, "description", true, false, "what a key was computed from")                        \
    X(ATTACHMENT, "attachment", false, true, "a file of entries. Its name is the SHA-256 of its bytes")  \
    X(VALUE, "value", false, true, "something shared once and for all. Its name is a hash of what it is called")

typedef enum gcache_object_kind {
#define X(id, word, keyed, named, meaning) GCACHE_OBJECT_##id,
    GCACHE_OBJECT_MAP(X)
#undef X
    GCACHE_OBJECT_KIND_COUNT
} gcache_object_kind;

/* "payload"; "?" if unknown. Static storage. */
GCACHE_API char const *gcache_object_kind_name(gcache_object_kind kind);

/* Up to 64 hex digits and the terminating zero. */
#define GCACHE_OBJECT_NAME_SIZE 65

/* One object: asked for, published or found. Found ones are valid during the callback. */
typedef struct gcache_object {
    gcache_object_kind kind;
    gcache_key key;                     /* zeros where the kind has none */
    char name[GCACHE_OBJECT_NAME_SIZE]; /* lower-case hex digits; "" where the kind has none */
    void const *bytes;                  /* NULL in what is asked for */
    size_t size;
} gcache_object;

/* Called with an object that was found. Returning anything but 0 ends the call. */
typedef int (*gcache_object_fn)(void *state, gcache_object const *object);

/* ---- calls ---- */

#define GCACHE_TIER_MESSAGE_SIZE 256

/* Who may publish only while he leads: see `lease`. */
typedef struct gcache_tier_lease {
    gcache_key key;                       /* what is compiled; publishing under it is what the token fences */
    char name[GCACHE_OBJECT_NAME_SIZE];   /* of the lease: hex digits */
    char holder[GCACHE_OBJECT_NAME_SIZE]; /* who asks: hex digits that nobody else has */
    uint64_t ttl_ns;                      /* without being kept it ends so long after it was taken or kept last */
    uint64_t token;                       /* out: larger than that of every holder before */
} gcache_tier_lease;

/* One call of a tier: what holds for it, and what it says besides its answer. */
typedef struct gcache_tier_call {
    size_t size;                  /* set by GCACHE_TIER_CALL_INIT */
    uint64_t deadline_ns;         /* by CLOCK_MONOTONIC: answer by then, with trouble for the reason remote_timeout if need
                                     be. 0: whenever */
    uint64_t connect_deadline_ns; /* the same for a connection that has to be made first. 0: deadline_ns */
    uint64_t max_bytes;           /* a larger object is left out; 0: GCACHE_TIER_BYTES_MAX */
    uint64_t ttl_ns;              /* what is published or touched may be forgotten so much later; 0: it is to be kept */
    gcache_tier_lease const *fence; /* publish, remove: only if nobody holds this lease with a larger token; NULL: always */
    gcache_reason reason;         /* out, of trouble: REMOTE_TIMEOUT or REMOTE_UNAVAILABLE */
    char message[GCACHE_TIER_MESSAGE_SIZE]; /* out, of trouble, of a fence, of heads that are too many: UTF-8, a line for
                                               people, no credentials */
    bool fenced;                  /* out: a miss because somebody leads with a larger token */
    uint64_t round_trips;         /* out, added up: how often the other side was waited for */
    uint64_t bytes_sent, bytes_received; /* out, added up */
} gcache_tier_call;

#define GCACHE_TIER_CALL_INIT { .size = sizeof(gcache_tier_call) }

/* Payloads of a GiB don't go over a network in a lookup. */
#define GCACHE_TIER_BYTES_MAX (UINT64_C(1) << 30)
/* A thousand heads with guards of 30,000 characters each. */
#define GCACHE_TIER_LIST_BYTES_MAX (UINT64_C(256) << 20)

/* A number of a tier's own, for statistics: "used_memory_bytes", 1048576. */
typedef void (*gcache_tier_number_fn)(void *state, char const *name, uint64_t value);

/* Returning anything but 0 ends the walk. */
typedef int (*gcache_tier_key_fn)(void *state, gcache_key const *key);

#define GCACHE_TIER_CURSOR_SIZE 128

/*
 * The functions of a tier. `tier` is the object they belong to. Those marked optional may be NULL; the tier is then used
 * without. TROUBLE is possible everywhere; what a function was doing then may have been done, in part, or not.
 *
 * What a tier owes: objects are whole or absent to every reader, whatever dies; publishing what is there leaves it as it is if
 * the bytes are equal, and replaces a HEAD or a VALUE by other ones; after a HIT of publish every reader finds it until it is
 * removed, runs out or is evicted; no signal reaches the process; no credential appears in a message.
 */
typedef struct gcache_tier_functions {
    size_t size;      /* of this struct */
    uint32_t version; /* GCACHE_TIER_VERSION */
    /* Hands out every HEAD of a key, in any order. HIT: there was at least one. One round trip where the server can. */
    gcache_tier_answer (*list)(void *tier, gcache_tier_call *call, gcache_key const *key, gcache_object_fn each, void *state);
    /* Hands out those of the wanted objects that are there, in one round trip where the server can. HIT: all of them were. */
    gcache_tier_answer (*fetch)(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count,
                                gcache_object_fn each, void *state);
    /* Stores objects, in their order: a reader that sees one can get those before it. HIT: all are stored; MISS: fenced. */
    gcache_tier_answer (*publish)(void *tier, gcache_tier_call *call, gcache_object const *objects, size_t count);
    /* Optional. They are in use: their time to live begins anew. HIT. */
    gcache_tier_answer (*touch)(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count);
    /* Takes objects away; those that aren't there are none's trouble. HIT; MISS: fenced. */
    gcache_tier_answer (*remove)(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count);
    /* Optional. Stores a VALUE unless one of that name is there. HIT: one was, and each is called with it; MISS: it is this. */
    gcache_tier_answer (*share)(void *tier, gcache_tier_call *call, gcache_object const *value, gcache_object_fn each,
                                void *state);
    /* Optional, all three or none. Takes a lease. HIT: it is the asker's, and lease->token is set; MISS: somebody else's. */
    gcache_tier_answer (*lease)(void *tier, gcache_tier_call *call, gcache_tier_lease *lease);
    /* Keeps it for another ttl_ns. HIT; MISS: it is lost. */
    gcache_tier_answer (*keep)(void *tier, gcache_tier_call *call, gcache_tier_lease const *lease);
    /* Gives it back. HIT; MISS: it was lost. */
    gcache_tier_answer (*release)(void *tier, gcache_tier_call *call, gcache_tier_lease const *lease);
    /* Optional. Some keys that have heads, each at least once in the walk. cursor begins as "" and is the tier's own. HIT: there
       are more, or `each` wanted no more: then the next call begins at or before the key it ended at; MISS: that was the end. */
    gcache_tier_answer (*walk)(void *tier, gcache_tier_call *call, char cursor[GCACHE_TIER_CURSOR_SIZE], gcache_tier_key_fn each,
                               void *state);
    /* Optional. HIT. Without call->deadline_ns passing: whether the tier answers (a ping). */
    gcache_tier_answer (*statistics)(void *tier, gcache_tier_call *call, gcache_tier_number_fn each, void *state);
    /* Frees it. Nobody is in a call. */
    void (*close)(void *tier);
} gcache_tier_functions;

/* A tier of the program's own, for gcache_options.user_tiers. */
typedef struct gcache_tier_user {
    char const *name; /* what explanations call it: "memcache://rack-7"; without credentials */
    gcache_tier_functions const *functions;
    void *tier;       /* not closed by the cache: it has to stay until the cache is closed */
    bool read_only;
    uint64_t ttl_ns;     /* 0: for good */
    uint64_t timeout_ns; /* 0: GCACHE_TIER_TIMEOUT_DEFAULT_NS */
} gcache_tier_user;

/* A lookup waits for a tier so long once. A compile takes longer, and an answer in the same data centre a thousandth. */
#define GCACHE_TIER_TIMEOUT_DEFAULT_NS (UINT64_C(2000) * 1000000)

/* Set version, list, fetch, publish, remove and close, at least. */
#define GCACHE_TIER_FUNCTIONS_INIT { .size = sizeof(gcache_tier_functions) }

/* ---- a tier in memory ---- */

/* Trouble on demand, for tests of whoever relies on tiers. May be changed while the tier is in use. */
typedef struct gcache_tier_faults {
    bool refuse;          /* every call is trouble at once: remote_unavailable */
    bool hang;            /* every call takes until its deadline: remote_timeout */
    bool lose_payloads;   /* heads are there, payloads aren't: as after an eviction by the server */
    bool damage;          /* a byte of every object that is handed out is flipped */
    bool swap;            /* an object is handed out with the bytes of another one of its kind */
    uint64_t delay_ns;    /* every call takes so much longer */
    uint64_t capacity;    /* bytes of objects; more is trouble: remote_unavailable. 0: no limit */
} gcache_tier_faults;

/*
 * Makes a tier that lives in this process, in *out_tier, for GCACHE_TIER_VERSION. Close it by its function.
 * GCACHE_OK, ERROR_MEMORY.
 */
GCACHE_API gcache_status gcache_tier_memory_new(gcache_tier_functions const **out_functions, void **out_tier,
                                                gcache_error *error);
/* Sets what is to go wrong from now on. faults NULL: nothing. */
GCACHE_API void gcache_tier_memory_fail(void *tier, gcache_tier_faults const *faults);

#ifdef __cplusplus
}
#endif
#endif
