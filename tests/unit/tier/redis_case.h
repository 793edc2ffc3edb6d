/* What the cases on one real server have in common: it, a tier on it, and the tier's calls. */
#ifndef TESTS_UNIT_TIER_REDIS_CASE_H
#define TESTS_UNIT_TIER_REDIS_CASE_H

#include "redis_server.h"

#define ID1 "1111111111111111"
#define ID2 "2222222222222222"
#define SUM1 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define HOLDER_A "a0"
#define HOLDER_B "b0"

extern redis_server server;
extern tier t;

/* For a group: the server's life. Nothing where Redis isn't installed. */
int start(void **state);
int stop(void **state);
/* For a case: an empty server, and a tier of its own with 20 s for its calls. */
int begin(void **state);
int end(void **state);

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

#define NEEDS_SERVER                                                                                  \
    do {                                                                                              \
        if (!redis_is_installed())                                                                    \
            skip();                                                                                   \
    } while (0)

/* They print what the trouble is. */
gcache_tier_answer publish(gcache_object const *objects, size_t count);
/* One that has to succeed. */
void publish_head(unsigned key, char const *id, char const *bytes);
/* They begin with an empty *out. */
gcache_tier_answer list(unsigned key, found *out);
gcache_tier_answer fetch(gcache_object const *wanted, size_t count, found *out);

#endif
