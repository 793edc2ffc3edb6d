/* One real server for a group of cases, and a tier of its own for each. */
#include "redis_case.h"

redis_server server;
tier t;

int
start(void **state)
{
    (void)state;
    if (redis_is_installed())
        redis_start(&server);
    return 0;
}

int
stop(void **state)
{
    (void)state;
    redis_stop(&server);
    return 0;
}

int
begin(void **state)
{
    (void)state;
    if (!redis_is_installed())
        return 0;
    redis_do(&server, "FLUSHALL");
    gci_redis_options options = options_for(&server);
    t = open_tier(&options);
    t.call.deadline_ns = in_ms(20000);
    return 0;
}

int
end(void **state)
{
    (void)state;
    if (redis_is_installed())
        close_tier(&t);
    return 0;
}

gcache_tier_answer
publish(gcache_object const *objects, size_t count)
{
    gcache_tier_answer answer = t.f->publish(t.at, &t.call, objects, count);

    if (answer == GCACHE_TIER_TROUBLE)
        print_message("%s\n", t.call.message);
    return answer;
}

void
publish_head(unsigned key, char const *id, char const *bytes)
{
    gcache_object head = object_of(GCACHE_OBJECT_HEAD, key, id, bytes);

    assert_int_equal(publish(&head, 1), GCACHE_TIER_HIT);
}

gcache_tier_answer
list(unsigned key, found *out)
{
    gcache_key wanted = key_of(key);

    *out = (found){ 0 };
    return t.f->list(t.at, &t.call, &wanted, note, out);
}

gcache_tier_answer
fetch(gcache_object const *wanted, size_t count, found *out)
{
    *out = (found){ 0 };
    return t.f->fetch(t.at, &t.call, wanted, count, note, out);
}
