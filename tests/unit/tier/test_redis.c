/* The tier on a real Redis server: what each of its functions does, in one round trip where it says so. */
#include "redis_case.h"

#include "base/system/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static long
time_left(char const *name)
{
    return redis_time_left(&server, name);
}

/* ---- reading and writing ---- */

static void
test_published_objects_are_found(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object objects[] = {
        object_of(GCACHE_OBJECT_ATTACHMENT, 0, SUM1, "attachment"), object_of(GCACHE_OBJECT_DESCRIPTION, 1, "", "description"),
        object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, "payload"), object_of(GCACHE_OBJECT_HEAD, 1, ID1, "head one"),
        object_of(GCACHE_OBJECT_HEAD, 1, ID2, "")
    };
    found f;

    assert_int_equal(list(1, &f), GCACHE_TIER_MISS);
    assert_int_equal(publish(objects, 5), GCACHE_TIER_HIT);
    assert_int_equal(publish(objects, 5), GCACHE_TIER_HIT);
    assert_int_equal(list(1, &f), GCACHE_TIER_HIT);
    assert_int_equal(f.count, 2);
    assert_int_equal(list(2, &f), GCACHE_TIER_MISS);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(fetch(&objects[i], 1, &f), GCACHE_TIER_HIT);
        assert_string_equal(f.bytes, objects[i].bytes);
        assert_string_equal(f.name, objects[i].name);
    }
    assert_int_equal(fetch(objects, 5, &f), GCACHE_TIER_HIT);
    assert_int_equal(f.count, 5);
}

static void
test_names_on_the_server(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object objects[] = { object_of(GCACHE_OBJECT_ATTACHMENT, 0, SUM1, "a"), object_of(GCACHE_OBJECT_DESCRIPTION, 1, "", "d"),
                                object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, "p"), object_of(GCACHE_OBJECT_HEAD, 1, ID1, "h") };
    char const *commands[] = { "GET guardcache:1:a:" SUM1, NULL, NULL, NULL };
    char names[3][320], reply[128];

    assert_int_equal(publish(objects, 4), GCACHE_TIER_HIT);
    snprintf(names[0], sizeof names[0], "GET %s", name_on_server(1, "d"));
    snprintf(names[1], sizeof names[1], "GET %s", name_on_server(1, "p:" SUM1));
    snprintf(names[2], sizeof names[2], "HGET %s %s", name_on_server(1, "h"), ID1);
    for (size_t i = 1; i < 4; i++)
        commands[i] = names[i - 1];
    for (size_t i = 0; i < 4; i++) {
        redis_say(&server, commands[i], reply, sizeof reply);
        assert_int_equal(strncmp(reply, "$1\r\n", 4), 0);
        assert_memory_equal(reply + 4, objects[i].bytes, 1);
    }
}

static void
test_round_trips(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object objects[] = { object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, "payload"),
                                object_of(GCACHE_OBJECT_HEAD, 1, ID1, "head") };
    found f;

    publish_head(2, ID1, "so that there is a connection");
    assert_int_equal(t.call.round_trips, 2);
    t.call.round_trips = t.call.bytes_sent = t.call.bytes_received = 0;
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    assert_int_equal(t.call.round_trips, 1);
    assert_true(t.call.bytes_sent > 100 && t.call.bytes_received >= 9);
    assert_int_equal(list(1, &f), GCACHE_TIER_HIT);
    assert_int_equal(t.call.round_trips, 2);
    assert_int_equal(fetch(objects, 2, &f), GCACHE_TIER_HIT);
    assert_int_equal(t.call.round_trips, 3);
}

static void
test_what_is_missing_is_left_out(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object there = object_of(GCACHE_OBJECT_PAYLOAD, 1, "aa", "there");
    gcache_object wanted[] = { object_of(GCACHE_OBJECT_PAYLOAD, 1, "bb", NULL), there,
                               object_of(GCACHE_OBJECT_HEAD, 1, ID1, NULL) };
    found f;

    assert_int_equal(publish(&there, 1), GCACHE_TIER_HIT);
    assert_int_equal(fetch(wanted, 3, &f), GCACHE_TIER_MISS);
    assert_int_equal(f.count, 1);
    assert_string_equal(f.name, "aa");
    assert_int_equal(fetch(wanted, 0, &f), GCACHE_TIER_HIT);
    assert_int_equal(publish(NULL, 0), GCACHE_TIER_HIT);
}

static void
test_a_caller_ends_the_call(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_key key = key_of(1);
    found f = { .stop_after = 2 };
    char id[8];

    for (int i = 0; i < 5; i++) {
        snprintf(id, sizeof id, "%04x", i);
        publish_head(1, id, "head");
    }
    assert_int_equal(t.f->list(t.at, &t.call, &key, note, &f), GCACHE_TIER_HIT);
    assert_int_equal(f.count, 2);
    assert_int_equal(list(1, &f), GCACHE_TIER_HIT);
    assert_int_equal(f.count, 5);
}

static uint64_t
sum_of(char const *bytes, size_t size)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < size; i++)
        sum += (uint8_t)bytes[i];
    return sum;
}

static void
test_large_objects_come_whole(void **state)
{
    (void)state;
    NEEDS_SERVER;
    static size_t const sizes[] = { 8191, 8192, 8193, 70000, 1 << 20, (20 << 20) + 7 };
    found f;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *bytes = malloc(sizes[i]);
        assert_non_null(bytes);
        for (size_t j = 0; j < sizes[i]; j++)
            bytes[j] = (char)(j * 31 + j / 256);
        gcache_object object = object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, NULL);
        object.bytes = bytes;
        object.size = sizes[i];
        assert_int_equal(publish(&object, 1), GCACHE_TIER_HIT);
        assert_int_equal(fetch(&object, 1, &f), GCACHE_TIER_HIT);
        assert_int_equal(f.size, sizes[i]);
        assert_int_equal(f.sum, sum_of(bytes, sizes[i]));
        free(bytes);
    }
}

static void
test_larger_ones_are_left_out(void **state)
{
    (void)state;
    NEEDS_SERVER;
    size_t size = 3 << 20;
    char *bytes = calloc(1, size);
    gcache_object large = object_of(GCACHE_OBJECT_PAYLOAD, 1, "aa", NULL), small = object_of(GCACHE_OBJECT_PAYLOAD, 1, "bb",
        "small");
    found f;

    assert_non_null(bytes);
    large.bytes = bytes;
    large.size = size;
    gcache_object both[] = { large, small };
    assert_int_equal(publish(both, 2), GCACHE_TIER_HIT);
    publish_head(1, ID1, "a longer head than that");
    publish_head(1, ID2, "short");
    t.call.max_bytes = 5;
    assert_int_equal(fetch(both, 2, &f), GCACHE_TIER_MISS);
    assert_int_equal(f.count, 1);
    assert_string_equal(f.bytes, "small");
    assert_int_equal(list(1, &f), GCACHE_TIER_HIT);
    assert_int_equal(f.count, 1);
    assert_string_equal(f.bytes, "short");
    t.call.max_bytes = 4;
    assert_int_equal(list(1, &f), GCACHE_TIER_MISS);
    t.call.max_bytes = size;
    assert_int_equal(fetch(both, 2, &f), GCACHE_TIER_HIT);
    free(bytes);
}

/* ---- times to live ---- */

static void
test_what_has_a_ttl_runs_out(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object objects[] = { object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, "payload"),
                                object_of(GCACHE_OBJECT_HEAD, 1, ID1, "head") };
    found f;

    t.call.ttl_ns = 60 * GCI_SECOND_NS;
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    assert_in_range(time_left(name_on_server(1, "h")), 50000, 60000);
    assert_in_range(time_left(name_on_server(1, "p:" SUM1)), 50000, 60000);
    t.call.ttl_ns = GCI_SECOND_NS / 20;
    objects[0] = object_of(GCACHE_OBJECT_PAYLOAD, 2, SUM1, "payload");
    objects[1] = object_of(GCACHE_OBJECT_HEAD, 2, ID1, "head");
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    usleep(80000);
    assert_int_equal(list(2, &f), GCACHE_TIER_MISS);
    assert_int_equal(fetch(objects, 2, &f), GCACHE_TIER_MISS);
    assert_int_equal(f.count, 0);
}

/* A key's heads share one: it is that of the one which is to be kept longest. */
static void
test_a_ttl_is_only_lengthened(void **state)
{
    (void)state;
    NEEDS_SERVER;
    t.call.ttl_ns = 60 * GCI_SECOND_NS;
    publish_head(1, ID1, "head");
    t.call.ttl_ns = 10 * GCI_SECOND_NS;
    publish_head(1, ID2, "head");
    assert_in_range(time_left(name_on_server(1, "h")), 50000, 60000);
    t.call.ttl_ns = 90 * GCI_SECOND_NS;
    publish_head(1, ID2, "head");
    assert_in_range(time_left(name_on_server(1, "h")), 80000, 90000);
    t.call.ttl_ns = 0;
    publish_head(1, ID2, "head");
    assert_int_equal(time_left(name_on_server(1, "h")), -1);
    t.call.ttl_ns = 90 * GCI_SECOND_NS;
    publish_head(1, ID1, "head");
    assert_int_equal(time_left(name_on_server(1, "h")), -1);
}

/* Another writer with a ttl takes nothing from who stored it for longer, and still mends it. */
static void
test_others_objects_live_as_long_as_they_were_to(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object objects[] = { object_of(GCACHE_OBJECT_DESCRIPTION, 1, "", "damaged"),
                                object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, "damaged") };
    found f;

    t.call.ttl_ns = 60 * GCI_SECOND_NS;
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    t.call.ttl_ns = 10 * GCI_SECOND_NS;
    objects[0].bytes = objects[1].bytes = "mended!";
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    assert_in_range(time_left(name_on_server(1, "d")), 50000, 60000);
    assert_in_range(time_left(name_on_server(1, "p:" SUM1)), 50000, 60000);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(fetch(&objects[i], 1, &f), GCACHE_TIER_HIT);
        assert_string_equal(f.bytes, "mended!");
    }
    t.call.ttl_ns = 90 * GCI_SECOND_NS;
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    assert_in_range(time_left(name_on_server(1, "p:" SUM1)), 80000, 90000);
    t.call.ttl_ns = 0;
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    t.call.ttl_ns = 10 * GCI_SECOND_NS;
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    assert_int_equal(time_left(name_on_server(1, "d")), -1);
    assert_int_equal(time_left(name_on_server(1, "p:" SUM1)), -1);
}

static void
test_touched_objects_live_on(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object objects[] = { object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, "payload"),
                                object_of(GCACHE_OBJECT_HEAD, 1, ID1, "head") };

    t.call.ttl_ns = 10 * GCI_SECOND_NS;
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    t.call.ttl_ns = 60 * GCI_SECOND_NS;
    assert_int_equal(t.f->touch(t.at, &t.call, objects, 2), GCACHE_TIER_HIT);
    assert_in_range(time_left(name_on_server(1, "h")), 50000, 60000);
    assert_in_range(time_left(name_on_server(1, "p:" SUM1)), 50000, 60000);
    t.call.ttl_ns = 0;
    assert_int_equal(t.f->touch(t.at, &t.call, objects, 2), GCACHE_TIER_HIT);
    assert_int_equal(time_left(name_on_server(1, "h")), -1);
    t.call.ttl_ns = 60 * GCI_SECOND_NS;
    assert_int_equal(t.f->touch(t.at, &t.call, objects, 2), GCACHE_TIER_HIT);
    assert_int_equal(time_left(name_on_server(1, "p:" SUM1)), -1);
    gcache_object absent = object_of(GCACHE_OBJECT_PAYLOAD, 2, SUM1, NULL);
    assert_int_equal(t.f->touch(t.at, &t.call, &absent, 1), GCACHE_TIER_HIT);
    assert_int_equal(time_left(name_on_server(2, "p:" SUM1)), -2);
}

/* ---- removal ---- */

static void
test_removed_objects_are_gone(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object objects[] = { object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, "payload"), object_of(GCACHE_OBJECT_HEAD, 1, ID1, "head"),
                                object_of(GCACHE_OBJECT_ATTACHMENT, 0, SUM1, "file"), object_of(GCACHE_OBJECT_HEAD, 1, ID2,
        "head") };
    found f;

    assert_int_equal(publish(objects, 4), GCACHE_TIER_HIT);
    assert_int_equal(t.f->remove(t.at, &t.call, objects, 3), GCACHE_TIER_HIT);
    assert_int_equal(fetch(objects, 3, &f), GCACHE_TIER_MISS);
    assert_int_equal(f.count, 0);
    assert_int_equal(list(1, &f), GCACHE_TIER_HIT);
    assert_string_equal(f.name, ID2);
    assert_int_equal(t.f->remove(t.at, &t.call, objects, 4), GCACHE_TIER_HIT);
    assert_int_equal(list(1, &f), GCACHE_TIER_MISS);
    assert_int_equal(t.f->remove(t.at, &t.call, objects, 4), GCACHE_TIER_HIT);
}

/* ---- leases and fences ---- */

static gcache_tier_answer
take(gcache_tier_lease *lease)
{
    return t.f->lease(t.at, &t.call, lease);
}

static void
test_one_holds_a_lease(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_tier_lease a = lease_of(1, HOLDER_A, 60000), b = lease_of(1, HOLDER_B, 60000), other = lease_of(2, HOLDER_B, 60000);

    assert_int_equal(take(&a), GCACHE_TIER_HIT);
    assert_true(a.token > 0);
    assert_int_equal(take(&b), GCACHE_TIER_MISS);
    assert_int_equal(take(&other), GCACHE_TIER_HIT);
    uint64_t token = a.token;
    assert_int_equal(take(&a), GCACHE_TIER_HIT);
    assert_int_equal(a.token, token);
    assert_int_equal(t.f->keep(t.at, &t.call, &b), GCACHE_TIER_MISS);
    assert_int_equal(t.f->release(t.at, &t.call, &b), GCACHE_TIER_MISS);
    assert_int_equal(t.f->keep(t.at, &t.call, &a), GCACHE_TIER_HIT);
    assert_int_equal(t.f->release(t.at, &t.call, &a), GCACHE_TIER_HIT);
    assert_int_equal(t.f->release(t.at, &t.call, &a), GCACHE_TIER_MISS);
    assert_int_equal(t.f->keep(t.at, &t.call, &a), GCACHE_TIER_MISS);
    assert_int_equal(take(&b), GCACHE_TIER_HIT);
    assert_true(b.token > token);
}

static void
test_a_lease_ends_unless_it_is_kept(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_tier_lease a = lease_of(1, HOLDER_A, 150), b = lease_of(1, HOLDER_B, 60000);

    assert_int_equal(take(&a), GCACHE_TIER_HIT);
    for (int i = 0; i < 4; i++) {
        usleep(60000);
        assert_int_equal(t.f->keep(t.at, &t.call, &a), GCACHE_TIER_HIT);
        assert_int_equal(take(&b), GCACHE_TIER_MISS);
    }
    usleep(200000);
    assert_int_equal(take(&b), GCACHE_TIER_HIT);
    assert_true(b.token > a.token);
    assert_int_equal(t.f->keep(t.at, &t.call, &a), GCACHE_TIER_MISS);
}

static void
test_tokens_grow_though_the_server_forgets(void **state)
{
    (void)state;
    NEEDS_SERVER;
    uint64_t last = 0;

    for (int i = 0; i < 20; i++) {
        gcache_tier_lease a = lease_of(1, i % 2 != 0 ? HOLDER_A : HOLDER_B, 60000);
        assert_int_equal(take(&a), GCACHE_TIER_HIT);
        assert_true(a.token > last);
        last = a.token;
        if (i % 5 == 4)
            redis_do(&server, "FLUSHALL");
        else
            assert_int_equal(t.f->release(t.at, &t.call, &a), GCACHE_TIER_HIT);
    }
}

static void
test_stale_holders_are_fenced(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_tier_lease a = lease_of(1, HOLDER_A, 60000), b = lease_of(1, HOLDER_B, 60000);
    gcache_object objects[] = { object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, "payload"),
                                object_of(GCACHE_OBJECT_HEAD, 1, ID1, "stale") };
    gcache_object description = object_of(GCACHE_OBJECT_DESCRIPTION, 1, "", "description");
    found f;

    assert_int_equal(take(&a), GCACHE_TIER_HIT);
    t.call.fence = &a;
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    assert_false(t.call.fenced);
    assert_int_equal(t.f->release(t.at, &t.call, &a), GCACHE_TIER_HIT);
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    assert_int_equal(take(&b), GCACHE_TIER_HIT);
    objects[1] = object_of(GCACHE_OBJECT_HEAD, 1, ID2, "too late");
    assert_int_equal(publish(objects, 2), GCACHE_TIER_MISS);
    assert_true(t.call.fenced);
    assert_non_null(strstr(t.call.message, "redis+unix://socket: "));
    assert_int_equal(publish(&description, 1), GCACHE_TIER_MISS);
    assert_int_equal(t.f->remove(t.at, &t.call, objects, 1), GCACHE_TIER_MISS);
    assert_true(t.call.fenced);
    gcache_object attachment = object_of(GCACHE_OBJECT_ATTACHMENT, 0, SUM1, "file");
    assert_int_equal(t.f->remove(t.at, &t.call, &attachment, 1), GCACHE_TIER_MISS);
    t.call.fence = &b;
    objects[1] = object_of(GCACHE_OBJECT_HEAD, 1, ID1, "newer");
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    assert_false(t.call.fenced);
    assert_int_equal(list(1, &f), GCACHE_TIER_HIT);
    assert_int_equal(f.count, 1);
    assert_string_equal(f.bytes, "newer");
    assert_int_equal(t.f->remove(t.at, &t.call, objects, 2), GCACHE_TIER_HIT);
    assert_int_equal(list(1, &f), GCACHE_TIER_MISS);
}

/* ---- share ---- */

static void
test_the_first_value_is_shared(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gcache_object one = object_of(GCACHE_OBJECT_VALUE, 0, "ab", "first"), other = object_of(GCACHE_OBJECT_VALUE, 0, "ab", "second");
    found f = { 0 };

    assert_int_equal(t.f->share(t.at, &t.call, &one, note, &f), GCACHE_TIER_MISS);
    assert_int_equal(f.count, 0);
    assert_int_equal(t.f->share(t.at, &t.call, &other, note, &f), GCACHE_TIER_HIT);
    assert_int_equal(f.count, 1);
    assert_string_equal(f.bytes, "first");
    assert_int_equal(fetch(&one, 1, &f), GCACHE_TIER_HIT);
    t.call.max_bytes = 3;
    assert_int_equal(t.f->share(t.at, &t.call, &other, note, &f), GCACHE_TIER_TROUBLE);
    t.call.max_bytes = 0;
    t.call.ttl_ns = GCI_SECOND_NS / 20;
    gcache_object brief = object_of(GCACHE_OBJECT_VALUE, 0, "cd", "brief");
    assert_int_equal(t.f->share(t.at, &t.call, &brief, note, &f), GCACHE_TIER_MISS);
    usleep(80000);
    assert_int_equal(t.f->share(t.at, &t.call, &brief, note, &f), GCACHE_TIER_MISS);
}

typedef struct teller {
    pthread_t thread;
    char value[16];
    int told;
    found f;
} teller;

static void *
tell(void *state)
{
    teller *one = state;
    gcache_tier_call call = GCACHE_TIER_CALL_INIT;
    gcache_object value = object_of(GCACHE_OBJECT_VALUE, 0, "ee", one->value);

    one->told = (int)t.f->share(t.at, &call, &value, note, &one->f);
    return NULL;
}

static void
test_tellers_agree(void **state)
{
    (void)state;
    NEEDS_SERVER;
    enum { TELLERS = 8 };
    teller tellers[TELLERS] = { 0 };
    char const *agreed = NULL;
    int first = 0;

    for (int i = 0; i < TELLERS; i++) {
        snprintf(tellers[i].value, sizeof tellers[i].value, "value %d", i);
        assert_int_equal(pthread_create(&tellers[i].thread, NULL, tell, &tellers[i]), 0);
    }
    for (int i = 0; i < TELLERS; i++) {
        pthread_join(tellers[i].thread, NULL);
        if (tellers[i].told == GCACHE_TIER_MISS) {
            first++;
            agreed = tellers[i].value;
        }
    }
    assert_int_equal(first, 1);
    for (int i = 0; i < TELLERS; i++) {
        if (tellers[i].told != GCACHE_TIER_MISS) {
            assert_int_equal(tellers[i].told, GCACHE_TIER_HIT);
            assert_string_equal(tellers[i].f.bytes, agreed);
        }
    }
}

/* ---- walk and statistics ---- */

enum { WALKED = 1000 };

typedef struct walked {
    bool seen[WALKED];
    int strangers, calls, stop_after;
} walked;

static int
note_key(void *state, gcache_key const *key)
{
    walked *w = state;
    unsigned number = key->bytes[0] | (unsigned)key->bytes[1] << 8;
    gcache_key again = key_of(number);

    if (number >= WALKED || memcmp(&again, key, sizeof again) != 0)
        w->strangers++;
    else
        w->seen[number] = true;
    return ++w->calls == w->stop_after;
}

static void
test_a_walk_finds_every_key(void **state)
{
    (void)state;
    NEEDS_SERVER;
    static gcache_object heads[WALKED];
    char cursor[GCACHE_TIER_CURSOR_SIZE] = "";
    walked w = { 0 };
    gcache_tier_answer answer;

    for (unsigned i = 0; i < WALKED; i++)
        heads[i] = object_of(GCACHE_OBJECT_HEAD, i, ID1, "head");
    assert_int_equal(publish(heads, WALKED), GCACHE_TIER_HIT);
    gcache_object payload = object_of(GCACHE_OBJECT_PAYLOAD, 5000, SUM1, "payload");
    assert_int_equal(publish(&payload, 1), GCACHE_TIER_HIT);
    redis_do(&server, "SET guardcache:1:{zz}:h stranger");
    redis_do(&server, "EVAL \"for i = 1, 5000 do redis.call('SET', 'somebody:' .. i, 'x') end\" 0");
    while ((answer = t.f->walk(t.at, &t.call, cursor, note_key, &w)) == GCACHE_TIER_HIT)
        continue;
    assert_int_equal(answer, GCACHE_TIER_MISS);
    assert_int_equal(w.strangers, 0);
    for (int i = 0; i < WALKED; i++)
        assert_true(w.seen[i]);
    w = (walked){ .stop_after = 3 };
    cursor[0] = '\0';
    while ((answer = t.f->walk(t.at, &t.call, cursor, note_key, &w)) == GCACHE_TIER_HIT && w.calls == 0)
        continue;
    assert_int_equal(answer, GCACHE_TIER_HIT);
    assert_int_equal(w.calls, 3);
    snprintf(cursor, sizeof cursor, "nonsense");
    assert_int_equal(t.f->walk(t.at, &t.call, cursor, note_key, &w), GCACHE_TIER_TROUBLE);
}

typedef struct numbers {
    int count;
    uint64_t used, keys;
} numbers;

static void
note_number(void *state, char const *name, uint64_t value)
{
    numbers *n = state;

    n->count++;
    if (strcmp(name, "used_memory_bytes") == 0)
        n->used = value;
    if (strcmp(name, "keys") == 0)
        n->keys = value;
}

static void
test_statistics(void **state)
{
    (void)state;
    NEEDS_SERVER;
    numbers n = { 0 };

    publish_head(1, ID1, "head");
    publish_head(2, ID1, "head");
    t.call.round_trips = 0;
    assert_int_equal(t.f->statistics(t.at, &t.call, note_number, &n), GCACHE_TIER_HIT);
    assert_int_equal(t.call.round_trips, 1);
    assert_true(n.count >= 8);
    assert_true(n.used > 100000);
    assert_int_equal(n.keys, 2);
}

/* ---- who may ---- */

static gcache_tier_answer
list_with(gci_redis_options const *options, char *message, size_t size)
{
    tier other = open_tier(options);
    gcache_key key = key_of(1);
    found f = { 0 };

    gcache_tier_answer answer = other.f->list(other.at, &other.call, &key, note, &f);
    snprintf(message, size, "%s", other.call.message);
    if (answer == GCACHE_TIER_TROUBLE)
        assert_int_equal(other.call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    close_tier(&other);
    return answer;
}

static void
test_passwords(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gci_redis_options options = options_for(&server);
    char message[GCACHE_TIER_MESSAGE_SIZE];

    redis_do(&server, "CONFIG SET requirepass correct-horse");
    assert_int_equal(list_with(&options, message, sizeof message), GCACHE_TIER_TROUBLE);
    assert_string_equal(message, "redis+unix://socket: it wants a password");
    options.password = "battery-staple";
    assert_int_equal(list_with(&options, message, sizeof message), GCACHE_TIER_TROUBLE);
    assert_string_equal(message, "redis+unix://socket: wrong user or password");
    options.password = "correct-horse";
    assert_int_equal(list_with(&options, message, sizeof message), GCACHE_TIER_MISS);
    char reply[64];
    redis_say(&server, "AUTH correct-horse\r\nCONFIG SET requirepass \"\"", reply, sizeof reply);
}

static void
test_users(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gci_redis_options options = options_for(&server);
    char message[GCACHE_TIER_MESSAGE_SIZE];
    numbers n = { 0 };

    redis_do(&server, "ACL SETUSER reader on >sesame ~guardcache:* +hgetall +get");
    options.user = "reader";
    options.password = "open";
    assert_int_equal(list_with(&options, message, sizeof message), GCACHE_TIER_TROUBLE);
    options.password = "sesame";
    assert_int_equal(list_with(&options, message, sizeof message), GCACHE_TIER_MISS);
    tier reader = open_tier(&options);
    gcache_object head = object_of(GCACHE_OBJECT_HEAD, 1, ID1, "head");
    assert_int_equal(reader.f->publish(reader.at, &reader.call, &head, 1), GCACHE_TIER_TROUBLE);
    assert_int_equal(reader.call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    assert_string_equal(reader.call.message, "redis+unix://socket: this user isn't permitted to do it");
    assert_int_equal(reader.f->statistics(reader.at, &reader.call, note_number, &n), GCACHE_TIER_HIT);
    assert_int_equal(n.count, 0);
    close_tier(&reader);
    /* Just what redis.h says is enough. */
    redis_do(&server, "ACL SETUSER writer on >sesame ~guardcache:* +get +set +hget +hset +hgetall +hdel +exists +unlink +pexpire "
                      "+pttl +persist +eval +time +scan +info +ping +del");
    options.user = "writer";
    tier writer = open_tier(&options);
    gcache_tier_lease lease = lease_of(1, HOLDER_A, 60000);
    assert_int_equal(writer.f->lease(writer.at, &writer.call, &lease), GCACHE_TIER_HIT);
    writer.call.fence = &lease;
    assert_int_equal(writer.f->publish(writer.at, &writer.call, &head, 1), GCACHE_TIER_HIT);
    writer.call.ttl_ns = GCI_SECOND_NS;
    assert_int_equal(writer.f->touch(writer.at, &writer.call, &head, 1), GCACHE_TIER_HIT);
    assert_int_equal(writer.f->remove(writer.at, &writer.call, &head, 1), GCACHE_TIER_HIT);
    assert_int_equal(writer.f->release(writer.at, &writer.call, &lease), GCACHE_TIER_HIT);
    close_tier(&writer);
}

static void
test_databases_and_prefixes_are_apart(void **state)
{
    (void)state;
    NEEDS_SERVER;
    gci_redis_options options = options_for(&server);
    char message[GCACHE_TIER_MESSAGE_SIZE];

    publish_head(1, ID1, "head");
    assert_int_equal(list_with(&options, message, sizeof message), GCACHE_TIER_HIT);
    options.database = 3;
    assert_int_equal(list_with(&options, message, sizeof message), GCACHE_TIER_MISS);
    options.database = 99;
    assert_int_equal(list_with(&options, message, sizeof message), GCACHE_TIER_TROUBLE);
    assert_non_null(strstr(message, "DB index is out of range"));
    options.database = 0;
    options.prefix = "other*[";
    assert_int_equal(list_with(&options, message, sizeof message), GCACHE_TIER_MISS);
    tier other = open_tier(&options);
    gcache_object head = object_of(GCACHE_OBJECT_HEAD, 7, ID1, "head");
    char cursor[GCACHE_TIER_CURSOR_SIZE] = "";
    walked w = { 0 };
    assert_int_equal(other.f->publish(other.at, &other.call, &head, 1), GCACHE_TIER_HIT);
    assert_int_equal(other.f->walk(other.at, &other.call, cursor, note_key, &w), GCACHE_TIER_MISS);
    assert_int_equal(w.calls, 1);
    assert_true(w.seen[7]);
    close_tier(&other);
}

static void
test_options_are_checked(void **state)
{
    (void)state;
    gci_redis_options const good = { .host = "localhost", .port = 6379, .prefix = "p", .shown = "redis://localhost" };
    gci_redis_options bad[8];
    gcache_tier_functions const *f;
    void *at;
    char long_text[200];

    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    for (size_t i = 0; i < 8; i++)
        bad[i] = good;
    bad[0].host = NULL;
    bad[1].port = 0;
    bad[2].prefix = "with{brace";
    bad[3].prefix = "";
    bad[4].prefix = long_text;
    bad[5].user = "without password";
    bad[6].shown = NULL;
    bad[7].host = NULL;
    bad[7].socket_path = long_text;
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(gci_redis_open(&bad[i], &f, &at, NULL), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gci_redis_open(&good, &f, &at, NULL), GCACHE_OK);
    f->close(at);
    f->close(NULL);
}

/* ---- the server in trouble ---- */

static void
test_a_full_server(void **state)
{
    (void)state;
    NEEDS_SERVER;
    size_t size = 4 << 20;
    char *bytes = calloc(1, size);
    gcache_object objects[] = { object_of(GCACHE_OBJECT_PAYLOAD, 1, SUM1, NULL), object_of(GCACHE_OBJECT_HEAD, 1, ID1, "head") };
    found f;

    assert_non_null(bytes);
    objects[0].bytes = bytes;
    objects[0].size = size;
    redis_do(&server, "CONFIG SET maxmemory-policy noeviction");
    redis_do(&server, "CONFIG SET maxmemory 3mb");
    gcache_tier_answer answer = t.f->publish(t.at, &t.call, objects, 2);
    redis_do(&server, "CONFIG SET maxmemory 0");
    assert_int_equal(answer, GCACHE_TIER_TROUBLE);
    assert_int_equal(t.call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    assert_non_null(strstr(t.call.message, "redis+unix://socket: out of memory"));
    assert_int_equal(list(1, &f), GCACHE_TIER_MISS);
    assert_int_equal(publish(objects, 2), GCACHE_TIER_HIT);
    assert_string_equal(t.call.message, "");
    free(bytes);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        CASE(test_published_objects_are_found),
        CASE(test_names_on_the_server),
        CASE(test_round_trips),
        CASE(test_what_is_missing_is_left_out),
        CASE(test_a_caller_ends_the_call),
        CASE(test_large_objects_come_whole),
        CASE(test_larger_ones_are_left_out),
        CASE(test_what_has_a_ttl_runs_out),
        CASE(test_a_ttl_is_only_lengthened),
        CASE(test_others_objects_live_as_long_as_they_were_to),
        CASE(test_touched_objects_live_on),
        CASE(test_removed_objects_are_gone),
        CASE(test_one_holds_a_lease),
        CASE(test_a_lease_ends_unless_it_is_kept),
        CASE(test_tokens_grow_though_the_server_forgets),
        CASE(test_stale_holders_are_fenced),
        CASE(test_the_first_value_is_shared),
        CASE(test_tellers_agree),
        CASE(test_a_walk_finds_every_key),
        CASE(test_statistics),
        CASE(test_passwords),
        CASE(test_users),
        CASE(test_databases_and_prefixes_are_apart),
        CASE(test_options_are_checked),
        CASE(test_a_full_server),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
