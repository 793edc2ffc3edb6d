/*
 * A tier's URL taken apart: scheme://[user[:password]@]host[:port][/path][?name=value&..] (RFC 3986, of which `%` escapes,
 * IPv6 addresses in brackets and the options behind `?` are understood; fragments aren't).
 */
#ifndef GCI_TIER_URL_H
#define GCI_TIER_URL_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"

#include <guardcache/tier.h>

typedef enum gci_tier_scheme {
    GCI_SCHEME_REDIS,      /* redis://[user:password@]host[:port][/db] */
    GCI_SCHEME_REDISS,     /* the same over TLS */
    GCI_SCHEME_REDIS_UNIX, /* redis+unix:///path/to/socket */
    GCI_SCHEME_FILE,       /* file:///directory */
    GCI_SCHEME_COUNT
} gci_tier_scheme;

/* What an option behind `?` may be: name, member of gci_tier_url, reader. See url.c. */
typedef struct gci_tier_url {
    gci_tier_scheme scheme;
    char const *user, *password; /* NULL: none. Unescaped, as the host and the path are */
    char const *host;
    unsigned port;               /* 0: the scheme's own */
    char const *path;            /* with its slash; "" if there is none */
    unsigned database;
    char const *prefix;          /* what names of objects begin with */
    char const *ca_file;         /* NULL: the system's */
    bool read_only, insecure;
    uint64_t ttl_ns;             /* 0: for good */
    uint64_t timeout_ns, connect_timeout_ns;
    uint64_t lease_ns;           /* how long a lease lives without being kept */
    uint64_t max_bytes;          /* of an object that is published or fetched */
    char const *shown;           /* the URL without credentials: what everything that is printed calls it */
} gci_tier_url;

/* Who is gone is followed after so long; who is slow to answer, not at once. */
#define GCI_TIER_LEASE_NS (UINT64_C(10) * 1000000000)
/* Three round trips around the world. */
#define GCI_TIER_CONNECT_TIMEOUT_NS (UINT64_C(500) * 1000000)

/* ERROR_ARGUMENT: what is wrong with it, without credentials; ERROR_MEMORY. Texts live in the arena. */
gcache_status gci_tier_url_read(gci_view text, gci_arena *arena, gci_tier_url *out_url, gcache_error *error);

/* Writes a URL without what may be its credentials, whatever else is wrong with it. Failures show in out->failed. */
void gci_tier_url_show(gci_view text, gci_buf *out);

/* Whether every piece of a setting is a URL at all: of one that has a space in its password a piece isn't. */
bool gci_tier_urls_are_whole(gci_view setting);

/* More would make a lookup wait for each. */
#define GCI_TIERS_MAX 8

/* Whether a setting's URLs can all be read, and are few enough. ERROR_ARGUMENT: which can't, and why; ERROR_MEMORY. */
gcache_status gci_tier_urls_check(gci_view setting, gcache_error *error);

/* Hands out the URLs that a setting has, separated by spaces, one after the other. false: there is no further one. */
bool gci_tier_url_next(gci_view *rest, gci_view *out_url);

#endif
