/* Keys that a stranger put under names of ours on a real server: each is damage of one object, and no trouble of the server. */
#include "redis_case.h"

#include "base/system/clock.h"

#include <stdio.h>
#include <string.h>

static void
put_stranger(char const *name)
{
    char command[300];

    snprintf(command, sizeof command, "DEL %s", name);
    redis_do(&server, command);
    snprintf(command, sizeof command, "SADD %s stranger", name);
    redis_do(&server, command);
}

static void
test_it_is_no_object(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object const objects[] = {
        object_of(GCACHE_OBJECT_ATTACHMENT, 0, SUM1, "attachment"), object_of(GCACHE_OBJECT_VALUE, 0, "ab", "value"),
        object_of(GCACHE_OBJECT_DESCRIPTION, 1, "", "description"), object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, "payload"),
        object_of(GCACHE_OBJECT_HEAD, 1, ID1, "head"), object_of(GCACHE_OBJECT_PAYLOAD, 2, SUM1, "another's"),
    };
    static uint64_t const ttls[] = { 0, 60 * GCI_SECOND_NS };
    found f;

    assert_int_equal(t.f->publish(t.at, &t.call, objects + 5, 1), GCACHE_TIER_HIT);
    for (size_t i = 0; i < sizeof ttls / sizeof *ttls; i++) {
        t.call.ttl_ns = ttls[i];
        put_stranger("guardcache:1:a:" SUM1);
        put_stranger("guardcache:1:v:ab");
        put_stranger(name_on_server(1, "d"));
        put_stranger(name_on_server(1, "p:" SUM1));
        put_stranger(name_on_server(1, "h"));
        assert_int_equal(list(1, &f), GCACHE_TIER_MISS);
        assert_string_equal(t.call.message, "");
        assert_int_equal(fetch(objects, 6, &f), GCACHE_TIER_MISS);
        assert_int_equal(f.count, 1);
        assert_string_equal(f.bytes, "another's");
        assert_int_equal(t.f->touch(t.at, &t.call, objects, 5), GCACHE_TIER_HIT);
        assert_int_equal(t.f->publish(t.at, &t.call, objects, 5), GCACHE_TIER_HIT);
        assert_int_equal(fetch(objects, 5, &f), GCACHE_TIER_HIT);
        assert_int_equal(list(1, &f), GCACHE_TIER_HIT);
    }
}

static void
test_it_is_removed(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object const objects[] = { object_of(GCACHE_OBJECT_HEAD, 1, ID1, NULL),
                                      object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, NULL) };
    gcache_tier_lease a = lease_of(1, HOLDER_A, 60000);

    assert_int_equal(t.f->lease(t.at, &t.call, &a), GCACHE_TIER_HIT);
    for (int i = 0; i < 2; i++) {
        t.call.fence = i == 0 ? NULL : &a;
        put_stranger(name_on_server(1, "h"));
        put_stranger(name_on_server(1, "p:" SUM1));
        assert_int_equal(t.f->remove(t.at, &t.call, objects, 2), GCACHE_TIER_HIT);
        assert_int_equal(redis_time_left(&server, name_on_server(1, "h")), -2);
        assert_int_equal(redis_time_left(&server, name_on_server(1, "p:" SUM1)), -2);
    }
}

static void
test_it_is_no_value(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object one = object_of(GCACHE_OBJECT_VALUE, 0, "ab", "first"), other = object_of(GCACHE_OBJECT_VALUE, 0, "ab", "second");
    found f = { 0 };

    put_stranger("guardcache:1:v:ab");
    assert_int_equal(t.f->share(t.at, &t.call, &one, note, &f), GCACHE_TIER_MISS);
    assert_int_equal(t.f->share(t.at, &t.call, &other, note, &f), GCACHE_TIER_HIT);
    assert_string_equal(f.bytes, "first");
}

static void
test_it_is_no_lease(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_tier_lease a = lease_of(1, HOLDER_A, 60000), b = lease_of(1, HOLDER_B, 60000);
    gcache_object head = object_of(GCACHE_OBJECT_HEAD, 1, ID1, "head");
    char nonsense[300];

    put_stranger(name_on_server(1, "l:cafe"));
    put_stranger(name_on_server(1, "f:cafe"));
    assert_int_equal(t.f->keep(t.at, &t.call, &a), GCACHE_TIER_MISS);
    assert_int_equal(t.f->release(t.at, &t.call, &a), GCACHE_TIER_MISS);
    assert_int_equal(t.f->lease(t.at, &t.call, &a), GCACHE_TIER_HIT);
    assert_int_equal(t.f->lease(t.at, &t.call, &b), GCACHE_TIER_MISS);
    /* It doesn't stay for ever because the stranger's would have. */
    t.call.ttl_ns = 60 * GCI_SECOND_NS;
    put_stranger(name_on_server(1, "f:cafe"));
    t.call.fence = &a;
    assert_int_equal(t.f->publish(t.at, &t.call, &head, 1), GCACHE_TIER_HIT);
    assert_int_equal(t.f->lease(t.at, &t.call, &a), GCACHE_TIER_HIT);
    assert_true(redis_time_left(&server, name_on_server(1, "f:cafe")) > 0);
    snprintf(nonsense, sizeof nonsense, "SET %s 9e99", name_on_server(1, "f:cafe"));
    redis_do(&server, nonsense);
    assert_int_equal(t.f->publish(t.at, &t.call, &head, 1), GCACHE_TIER_HIT);
    assert_int_equal(t.f->lease(t.at, &t.call, &a), GCACHE_TIER_HIT);
    assert_true(a.token > 0);
}

static void
test_fields_among_heads(void **state)
{
    (void)state;
    NEEDS_SERVER;
    char command[300];
    found f;

    snprintf(command, sizeof command, "HSET %s NOT-HEX x %s y", name_on_server(2, "h"), ID1);
    redis_do(&server, command);
    assert_int_equal(list(2, &f), GCACHE_TIER_HIT);
    assert_int_equal(f.count, 1);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        CASE(test_it_is_no_object),
        CASE(test_it_is_removed),
        CASE(test_it_is_no_value),
        CASE(test_it_is_no_lease),
        CASE(test_fields_among_heads),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
