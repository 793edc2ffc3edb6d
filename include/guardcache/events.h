/*
 * guardcache/events.h - what a cache does, reported to a listener as it happens.
 *
 * A listener is given with gcache_options. It is called by the thread that does the thing, while a lease may be held, and
 * of an eviction or a damage also other locks: it must not use the cache itself, and had better be quick. For log lines
 * there is gcache_event_line; how loud a line is belongs to the caller: a kind says what happened, not how bad that is.
 */
#ifndef GUARDCACHE_EVENTS_H
#define GUARDCACHE_EVENTS_H

#include <guardcache/key.h>
#include <guardcache/status.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* name, word, meaning */
#define GCACHE_EVENT_MAP(X)                                                                           \
    X(IN_USE, "in_use", "the first request of this handle: the cache is in use")                      \
    X(REQUEST, "request", "something is looked up")                                                   \
    X(HIT, "hit", "a stored candidate was served; compile_ns is saved, elapsed_ns was spent")         \
    X(MISS, "miss", "nothing stored could be served; reason says why")                                \
    X(VARIANT_MISSING, "variant_missing", "the expected variant isn't there, another one was served") \
    X(COMPILED, "compiled", "the callback compiled in compile_ns")                                    \
    X(COMPILE_FAILED, "compile_failed", "the callback failed; text is its message")                   \
    X(STORED, "stored", "an entry is stored, or was there already")                                   \
    X(NOT_STORED, "not_stored", "what was compiled isn't stored; text says why")                      \
    X(EVICTED, "evicted", "entries of a key were evicted; text says why")                             \
    X(CORRUPT, "corrupt", "something damaged was put aside; text says what")                          \
    X(LEASE, "lease", "a compile's lease was asked for; text says how that went, elapsed_ns was waited") \
    X(TIER, "tier", "a tier in trouble isn't asked for now, or it is asked again; text says which and why")

typedef enum gcache_event_kind {
#define X(name, word, meaning) GCACHE_EVENT_##name,
    GCACHE_EVENT_MAP(X)
#undef X
    GCACHE_EVENT_COUNT
} gcache_event_kind;

/* Valid during the call. Texts are "" where there is nothing to say. */
typedef struct gcache_event {
    gcache_event_kind kind;
    gcache_reason reason;    /* of a miss */
    gcache_key key;          /* zeros where there is none: disabled, a bypass */
    char const *graph_kind;  /* "fx" */
    char const *label;       /* whose it is, as the request says */
    char const *variant;     /* what was served or stored; of VARIANT_MISSING: what was expected */
    uint64_t compile_ns;
    uint64_t elapsed_ns;     /* of a hit or miss: what looking up took; of a lease: how long it was waited for */
    uint64_t entries, bytes; /* of EVICTED: how many, and what they took on disk; bytes of STORED: the payload's */
    char const *text;        /* for people, one line */
} gcache_event;

typedef void (*gcache_event_fn)(void *state, gcache_event const *event);

/* The word for a kind ("variant_missing"), "?" if unknown. Static storage. */
GCACHE_API char const *gcache_event_name(gcache_event_kind kind);

/* Enough for gcache_event_line with ordinary labels; longer lines are cut. */
#define GCACHE_EVENT_LINE_SIZE 512

/* Writes `hit train.py:88 forward (fx 9c41b2e2): saved 4.1 s, took 31 us`, zero-terminated and cut to size bytes. */
GCACHE_API void gcache_event_line(gcache_event const *event, char *out_line, size_t size);

#ifdef __cplusplus
}
#endif
#endif
