/* The tier on Redis: the contract that every tier passes, on a real server behind a password. */
#include "conformance.h"
#include "redis_server.h"

#include <stdlib.h>

#define PASSWORD "correct-horse-battery"

static redis_server server;

static int
start(void **state)
{
    (void)state;
    if (!redis_is_installed())
        return 0;
    redis_start(&server);
    redis_do(&server, "CONFIG SET requirepass " PASSWORD);
    return 0;
}

static int
stop(void **state)
{
    (void)state;
    if (redis_is_installed())
        redis_stop(&server);
    return 0;
}

static int
open_one(void **state)
{
    conformance *c = calloc(1, sizeof *c);
    gcache_error error;

    *state = c;
    if (c == NULL)
        return 1;
    gci_redis_options options = options_for(&server);
    options.password = PASSWORD;
    c->secret = PASSWORD;
    return gci_redis_open(&options, &c->functions, &c->tier, &error) != GCACHE_OK;
}

static int
close_one(void **state)
{
    conformance *c = *state;

    c->functions->close(c->tier);
    free(c);
    return 0;
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
#define X(name) CONFORMANCE_TEST(name, open_one, close_one),
        CONFORMANCE_MAP(X)
#undef X
    };

    /* 77: skipped, as meson understands it. */
    return redis_is_installed() ? cmocka_run_group_tests(tests, start, stop) : 77;
}
