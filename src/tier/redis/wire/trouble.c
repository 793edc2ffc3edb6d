/*
 * Trouble in words: what servers answer by a code is said for people who don't run them every day.
 */
#include "tier/redis/wire/trouble.h"

#include "base/visible.h"

#include <stdarg.h>
#include <stdio.h>

/* Beside a server's name. */
#define TEXT_SIZE 192
/* Of a server's own text: more says nothing more. */
#define REPLY_SHOWN_MAX 160

static struct reply_words {
    char const *code, *words;
} const replies[] = {
    { "OOM ", "out of memory: it has reached its maxmemory" },
    { "NOAUTH ", "it wants a password" },
    { "WRONGPASS ", "wrong user or password" },
    { "NOPERM ", "this user isn't permitted to do it" },
    { "LOADING ", "it is still loading its data" },
    { "READONLY ", "it is a replica and can't be written to" },
    { "MISCONF ", "it refuses writes, since it can't save its data" },
    { "BUSY ", "it is busy with a script" },
    { "CLUSTERDOWN ", "its cluster is down" },
    { "TRYAGAIN ", "its cluster is moving these objects to another node" },
    { "MASTERDOWN ", "its master is down" },
    { "DENIED ", "it is in protected mode and answers its own host only" },
};

bool
gci_redis_trouble(gcache_tier_call *call, gcache_reason reason, char const *shown, char const *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    call->reason = reason;
    snprintf(call->message, sizeof call->message, "%s: %s", shown, text);
    gci_visible_make(call->message, sizeof call->message);
    return false;
}

bool
gci_redis_trouble_errno(gcache_tier_call *call, char const *shown, char const *what, int errno_value)
{
    char room[128];
    /* The GNU strerror_r may return a static text instead of filling the room. */
    char const *text = strerror_r(errno_value, room, sizeof room);

    return gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, shown, "%s: %s", what, text);
}

bool
gci_redis_trouble_reply(gcache_tier_call *call, char const *shown, gci_view reply, char const *secret)
{
    gcache_reason reason = GCACHE_REASON_REMOTE_UNAVAILABLE;

    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        if (gci_view_begins(reply, replies[i].code))
            return gci_redis_trouble(call, reason, shown, "%s", replies[i].words);
    }
    if (secret != NULL && secret[0] != '\0' && gci_view_contains(reply, secret))
        return gci_redis_trouble(call, reason, shown, "it refuses the password's command");
    int size = (int)(reply.size < REPLY_SHOWN_MAX ? reply.size : REPLY_SHOWN_MAX);
    return gci_redis_trouble(call, reason, shown, "it answers \"%.*s\"", size, reply.data);
}
