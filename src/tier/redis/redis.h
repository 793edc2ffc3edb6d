/*
 * The tier on a Redis server, or a cluster of them (docs/formats/remote.md: what its keys are called).
 *
 * Needs Redis 5 or later: the scripts ask for the time before they write. What its user has to be permitted: get, set, hget, hset,
 * hgetall, hdel, exists, unlink, pexpire, pttl, persist, eval; time, so that tokens grow even if the server forgets one; scan for
 * walking; info and ping for statistics.
 *
 * Threads: any number; each call uses a connection of its own. Nothing is locked, so a fork at any moment leaves nothing locked. The
 * child closes what connections its parent had, but those of calls beyond GCI_IDLE_SLOTS at the time and one that was being made.
 */
#ifndef GCI_TIER_REDIS_REDIS_H
#define GCI_TIER_REDIS_REDIS_H

#include <guardcache/tier.h>

typedef struct gci_redis_options {
    char const *host;        /* name or address; NULL: socket_path */
    uint16_t port;
    char const *socket_path;
    bool tls;
    char const *ca_file;     /* NULL, "": whom the system trusts */
    bool insecure;           /* with tls: the certificate isn't verified */
    char const *user, *password; /* NULL: none */
    unsigned database;
    char const *prefix;      /* "guardcache". No braces: they would say what a cluster keeps together */
    char const *shown;       /* what messages call it: the URL without credentials */
} gci_redis_options;

/* Texts are copied. Doesn't connect. GCACHE_OK, ERROR_MEMORY, ERROR_ARGUMENT. */
gcache_status gci_redis_open(gci_redis_options const *options, gcache_tier_functions const **out_functions, void **out_tier,
                             gcache_error *error);

#endif
