/*
 * Servers for tests of the tier on Redis: real ones, each in a temporary directory of its own, and false ones that answer what a
 * test wants.
 */
#ifndef TESTS_UNIT_TIER_REDIS_SERVER_H
#define TESTS_UNIT_TIER_REDIS_SERVER_H

#include <guardcache/tier.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "tier/redis/redis.h"

/* ---- real ones ---- */

typedef struct redis_server {
    pid_t pid;
    char folder[64], path[96]; /* path: of its Unix socket */
    uint16_t port;             /* on 127.0.0.1 */
    uint16_t tls_port;         /* 0: none */
    bool cluster;
    char const *tls_folder;    /* cert.pem and key.pem in it; NULL: no TLS */
} redis_server;

bool redis_is_installed(void);
/* Starts it and waits until it answers; again after redis_kill, at the same places. */
void redis_start(redis_server *server);
/* Kills it and leaves its directory. */
void redis_kill(redis_server *server);
/* Kills it and removes its directory. */
void redis_stop(redis_server *server);
/* A command as people type it; the reply as it comes, up to its size. */
void redis_say(redis_server const *server, char const *command, char *out_reply, size_t size);
/* The same for commands that have to succeed. */
void redis_do(redis_server const *server, char const *command);
/* The milliseconds that a name has left, by the server itself: -1 for ever, -2 if it isn't there. */
long redis_time_left(redis_server const *server, char const *name);
/* What lies under a key of key_of is called; end: "h". Valid until the next call. */
char const *name_on_server(unsigned key, char const *end);

/* ---- false ones ---- */

/* One that listens on a port of loopback, and serves each connection as told. */
typedef struct false_server {
    int listener;
    uint16_t port;
    pthread_t thread;
    void (*serve)(struct false_server *server, int fd, int number); /* it closes nothing */
    void const *state;
    _Atomic int connections;
    _Atomic bool stop;
} false_server;

void false_start(false_server *server, void (*serve)(false_server *server, int fd, int number), void const *state);
void false_stop(false_server *server);
/* Reads so many commands of the tier's; false: the other side has gone. The last one's bytes are in last, if not NULL. */
bool false_read(int fd, int commands, char *last, size_t size);
void false_write(int fd, char const *bytes);
/* Answers the greeting of a tier without a password. */
bool false_greet(int fd);

uint16_t free_port(void);

/* ---- tiers ---- */

typedef struct tier {
    gcache_tier_functions const *f;
    void *at;
    gcache_tier_call call;
} tier;

tier open_tier(gci_redis_options const *options);
void close_tier(tier *t);
/* Over the Unix socket, or over TCP. */
gci_redis_options options_for(redis_server const *server);
gci_redis_options options_for_port(uint16_t port);

/* A deadline so far from now. */
uint64_t in_ms(uint64_t ms);

gcache_key key_of(unsigned number);
/* name: hex digits; bytes: a text, borrowed. */
gcache_object object_of(gcache_object_kind kind, unsigned key, char const *name, char const *bytes);

/* Of that key, called "cafe". */
gcache_tier_lease lease_of(unsigned key, char const *holder, uint64_t ttl_ms);

/* What was handed out: the last object, and how many. */
typedef struct found {
    size_t count, size;
    char name[GCACHE_OBJECT_NAME_SIZE], bytes[256];
    uint64_t sum; /* of the bytes, so that one can compare without an order */
    int stop_after;
} found;

int note(void *state, gcache_object const *object);

#endif
