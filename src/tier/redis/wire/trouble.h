/*
 * Trouble as a call tells it: a reason and a line for people that begins with what the server is called and has no credentials.
 */
#ifndef GCI_TIER_REDIS_WIRE_TROUBLE_H
#define GCI_TIER_REDIS_WIRE_TROUBLE_H

#include "base/view.h"

#include <guardcache/tier.h>

/* Both return false, for whoever passes it on. shown: the server in messages. */
bool gci_redis_trouble(gcache_tier_call *call, gcache_reason reason, char const *shown, char const *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A failed system call: "redis://host:6379: can't connect: Connection refused". */
bool gci_redis_trouble_errno(gcache_tier_call *call, char const *shown, char const *what, int errno_value);

/*
 * The server's "-ERR ..." in words. secret (NULL: none) is what its text mustn't be shown with: servers repeat what they don't
 * understand, and that may have been a password.
 */
bool gci_redis_trouble_reply(gcache_tier_call *call, char const *shown, gci_view reply, char const *secret);

#endif
