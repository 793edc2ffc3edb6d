/*
 * guardcache/status.h - statuses, reasons for a miss, and the error object.
 *
 * A miss is not an error: outcome and reason live in the result of a lookup. A negative status is an error; a
 * gcache_error that the caller owns then says what went wrong and where. Every function that takes a gcache_error
 * accepts NULL, and writes into it whenever it returns a negative status or GCACHE_REFUSED. After any other it says nothing:
 * what succeeded in the end may have failed on the way.
 *
 * A function's comment lists its statuses. Where it says "GCACHE_OK, ERROR_IO", any other status is a defect; ERROR_ARGUMENT
 * (NULL where something is needed, a struct that wasn't initialised with its _INIT) and ERROR_MEMORY are possible everywhere and
 * only named where there is more to say about them.
 *
 * Threads: everything here is a pure function of its arguments.
 */
#ifndef GUARDCACHE_STATUS_H
#define GUARDCACHE_STATUS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GCACHE_API __attribute__((visibility("default")))
#else
#define GCACHE_API
#endif

/* name, value, text. Zero and positive values are outcomes, negative ones errors. */
#define GCACHE_STATUS_MAP(X)                                                                          \
    X(OK, 0, "success")                                                                               \
    X(HIT, 1, "a stored candidate holds")                                                             \
    X(MISS, 2, "nothing stored holds; the result has the reason")                                     \
    X(REFUSED, 3, "not stored; the result has the reason")                                            \
    X(ERROR_ARGUMENT, -1, "an argument is not valid")                                                 \
    X(ERROR_MEMORY, -2, "out of memory")                                                              \
    X(ERROR_IO, -3, "the operating system refused a file operation")                                  \
    X(ERROR_SYNTAX, -4, "a text could not be parsed")                                                 \
    X(ERROR_DESCRIPTION, -5, "a description is not valid")                                            \
    X(ERROR_LIMIT, -6, "a limit was exceeded")                                                        \
    X(ERROR_FORMAT, -7, "stored bytes are not in a format this version reads")                        \
    X(ERROR_CORRUPT, -8, "stored bytes are damaged")                                                  \
    X(ERROR_READ_ONLY, -9, "the cache is read-only")                                                  \
    X(ERROR_NOT_FOUND, -10, "there is no such thing")                                                 \
    X(ERROR_NO_SPACE, -11, "the file system or the quota is full")                                    \
    X(ERROR_BUSY, -12, "somebody else holds a lock for too long")                                     \
    X(ERROR_UNTRUSTED, -13, "somebody else's directory, or an entry that no key of ours signed")      \
    X(ERROR_INTERNAL, -14, "a defect in guardcache")

typedef enum gcache_status {
#define X(name, value, text) GCACHE_##name = value,
    GCACHE_STATUS_MAP(X)
#undef X
} gcache_status;

/* Why a lookup missed or an insert was refused: name in every output, text for people. The list is closed. */
#define GCACHE_REASON_MAP(X)                                                                          \
    X(NONE, "", "no reason: it was a hit or an insert")                                               \
    X(NO_KEY, "no_key", "nothing is stored under the key")                                            \
    X(GUARD_FALSE, "guard_false", "no candidate's guards hold for the hints")                         \
    X(GUARD_ERROR, "guard_error", "every candidate's guards raise for the hints")                     \
    X(REQUIREMENT, "requirement", "no candidate's requirements are met")                              \
    X(NAMES, "names", "the candidates were compiled with other names, and renames are not accepted")           \
    X(VARIANT, "variant", "no candidate is of the wanted variant")                                    \
    X(EVICTED, "evicted", "a candidate was stored and has been evicted")                              \
    X(CORRUPT, "corrupt", "the stored bytes are damaged and were put aside")                          \
    X(UNREADABLE, "unreadable", "the stored bytes could not be read")                                 \
    X(REMOTE_UNAVAILABLE, "remote_unavailable", "the remote tier could not be reached")               \
    X(REMOTE_TIMEOUT, "remote_timeout", "the remote tier did not answer in time")                     \
    X(BYPASS, "bypass", "the graph can't be described safely")                                        \
    X(DISABLED, "disabled", "the cache is switched off")                                              \
    X(LEASE_TIMEOUT, "lease_timeout", "another process compiles the same and took too long") \
    X(REFRESH, "refresh", "what is stored is ignored")

typedef enum gcache_reason {
#define X(name, word, text) GCACHE_REASON_##name,
    GCACHE_REASON_MAP(X)
#undef X
    GCACHE_REASON_COUNT
} gcache_reason;

/*
 * What went wrong. Plain storage owned by the caller; nothing in it needs to be freed.
 * message is complete for a reader: it begins with file, line, column and path as far as they are known.
 */
typedef struct gcache_error {
    gcache_status status;
    int line;          /* 1-based, 0 where there is none */
    int column;        /* 1-based, in bytes, 0 where there is none */
    char path[256];    /* place in a description: graph.nodes[3].kwargs.dim; "" where there is none */
    char message[768]; /* UTF-8, no line end */
} gcache_error;

/* Frees a text or array that the library handed out for the caller to keep. NULL is accepted. */
GCACHE_API void gcache_free(void *memory);

/* The name of a status as in GCACHE_STATUS_MAP ("ERROR_IO"), or "?" for an unknown value. Static storage. */
GCACHE_API char const *gcache_status_name(gcache_status status);

/* One sentence about a status, or "?" for an unknown value. Static storage. */
GCACHE_API char const *gcache_status_text(gcache_status status);

/* The word for a reason as all outputs write it ("guard_false"), "" for NONE, "?" if unknown. Static storage. */
GCACHE_API char const *gcache_reason_name(gcache_reason reason);

/* One sentence about a reason, or "?" if unknown. Static storage. */
GCACHE_API char const *gcache_reason_text(gcache_reason reason);

#ifdef __cplusplus
}
#endif
#endif
