/*
 * Where a Redis server is, and who asks.
 */
#ifndef GCI_TIER_REDIS_WIRE_REDIS_OPTIONS_H
#define GCI_TIER_REDIS_WIRE_REDIS_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* What a Unix socket's address holds. */
#define GCI_SOCKET_PATH_MAX 107

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

#endif
