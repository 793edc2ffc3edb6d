/* The tier on a cluster: three real nodes, whose slots move; and false nodes that redirect for ever. */
#include "redis_server.h"

#include "base/system/clock.h"
#include "tier/redis/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NODES = 3, KEYS = 60 };
#define SUM1 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define CLUSTER_WAIT_NS (30 * GCI_SECOND_NS)

static redis_server nodes[NODES];

static bool
is_well(redis_server const *node)
{
    char reply[2048];

    redis_say(node, "CLUSTER INFO", reply, sizeof reply);
    return strstr(reply, "cluster_state:ok") != NULL && strstr(reply, "cluster_known_nodes:3") != NULL;
}

static int
start(void **state)
{
    char command[128];
    gci_pauses pauses = gci_pauses_of(10000000, 50000000, CLUSTER_WAIT_NS);

    (void)state;
    if (!redis_is_installed())
        return 0;
    for (int i = 0; i < NODES; i++) {
        nodes[i].cluster = true;
        redis_start(&nodes[i]);
        snprintf(command, sizeof command, "CLUSTER ADDSLOTSRANGE %d %d", i * 5461, i == NODES - 1 ? 16383 : i * 5461 + 5460);
        redis_do(&nodes[i], command);
        snprintf(command, sizeof command, "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
        redis_do(&nodes[i], command);
    }
    for (int i = 1; i < NODES; i++) {
        snprintf(command, sizeof command, "CLUSTER MEET 127.0.0.1 %u", nodes[i].port);
        redis_do(&nodes[0], command);
    }
    for (int i = 0; i < NODES; i++) {
        while (!is_well(&nodes[i]))
            assert_true(gci_clock_pause(&pauses));
    }
    return 0;
}

static int
stop(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++)
        redis_stop(&nodes[i]);
    return 0;
}

static tier
cluster_tier(void)
{
    gci_redis_options options = options_for_port(nodes[0].port);
    tier t = open_tier(&options);

    t.call.deadline_ns = in_ms(60000);
    return t;
}

static void
assert_hit(tier *t, gcache_tier_answer answer)
{
    if (answer != GCACHE_TIER_HIT)
        fail_msg("%s %s", gcache_tier_answer_name(answer), t->call.message);
}

/* A head and all that belongs to it; the attachment has a slot of its own. */
static size_t
objects_of(unsigned key, char attachment[GCACHE_OBJECT_NAME_SIZE], gcache_object *out)
{
    snprintf(attachment, GCACHE_OBJECT_NAME_SIZE, "%064x", key);
    out[0] = object_of(GCACHE_OBJECT_ATTACHMENT, 0, attachment, "attachment");
    out[1] = object_of(GCACHE_OBJECT_DESCRIPTION, key, "", "description");
    out[2] = object_of(GCACHE_OBJECT_PAYLOAD, key, SUM1, "payload");
    out[3] = object_of(GCACHE_OBJECT_HEAD, key, "1a", "head");
    return 4;
}

static void
find_all(tier *t)
{
    char attachment[GCACHE_OBJECT_NAME_SIZE];
    gcache_object objects[4];

    for (unsigned i = 0; i < KEYS; i++) {
        gcache_key key = key_of(i);
        found f = { 0 };
        size_t count = objects_of(i, attachment, objects);
        assert_hit(t, t->f->list(t->at, &t->call, &key, note, &f));
        assert_int_equal(f.count, 1);
        assert_hit(t, t->f->fetch(t->at, &t->call, objects, count, note, &f));
        assert_int_equal(f.count, 5);
    }
}

static void
test_keys_are_where_they_belong(void **state)
{
    (void)state;
    char attachment[GCACHE_OBJECT_NAME_SIZE], reply[128];
    gcache_object objects[4];

    if (!redis_is_installed())
        skip();
    tier t = cluster_tier();
    for (unsigned i = 0; i < KEYS; i++)
        assert_hit(&t, t.f->publish(t.at, &t.call, objects, objects_of(i, attachment, objects)));
    find_all(&t);
    for (int i = 0; i < NODES; i++) {
        redis_say(&nodes[i], "DBSIZE", reply, sizeof reply);
        assert_true(strtol(reply + 1, NULL, 10) > 10);
    }
    /* What was learned is used: one round trip, whichever the node. */
    t.call.round_trips = 0;
    for (unsigned i = 0; i < KEYS; i++) {
        gcache_key key = key_of(i);
        found f = { 0 };
        assert_hit(&t, t.f->list(t.at, &t.call, &key, note, &f));
    }
    assert_int_equal(t.call.round_trips, KEYS);
    close_tier(&t);
    /* Somebody who knows nothing yet. */
    t = cluster_tier();
    find_all(&t);
    close_tier(&t);
}

static void
test_leases_in_a_cluster(void **state)
{
    (void)state;
    if (!redis_is_installed())
        skip();
    tier t = cluster_tier();
    for (unsigned i = 0; i < 10; i++) {
        gcache_tier_lease lease = { .key = key_of(i), .name = "cafe", .holder = "a0", .ttl_ns = GCI_SECOND_NS };
        gcache_object head = object_of(GCACHE_OBJECT_HEAD, i, "2b", "led");
        gcache_object value = object_of(GCACHE_OBJECT_VALUE, 0, "", "value");
        found f = { 0 };
        snprintf(value.name, sizeof value.name, "%02x", i);
        assert_hit(&t, t.f->lease(t.at, &t.call, &lease));
        t.call.fence = &lease;
        assert_hit(&t, t.f->publish(t.at, &t.call, &head, 1));
        assert_hit(&t, t.f->touch(t.at, &t.call, &head, 1));
        assert_hit(&t, t.f->remove(t.at, &t.call, &head, 1));
        t.call.fence = NULL;
        assert_hit(&t, t.f->keep(t.at, &t.call, &lease));
        assert_hit(&t, t.f->release(t.at, &t.call, &lease));
        assert_int_equal(t.f->share(t.at, &t.call, &value, note, &f), GCACHE_TIER_MISS);
        assert_hit(&t, t.f->share(t.at, &t.call, &value, note, &f));
    }
    close_tier(&t);
}

static int
mark(void *state, gcache_key const *key)
{
    bool *seen = state;
    unsigned number = key->bytes[0];

    if (number < KEYS)
        seen[number] = true;
    return 0;
}

static void
note_keys(void *state, char const *name, uint64_t value)
{
    if (strcmp(name, "keys") == 0)
        *(uint64_t *)state = value;
}

static void
test_a_walk_visits_every_node(void **state)
{
    (void)state;
    bool seen[KEYS] = { false };
    char cursor[GCACHE_TIER_CURSOR_SIZE] = "";
    gcache_tier_answer answer;
    uint64_t keys = 0;
    int steps = 0;

    if (!redis_is_installed())
        skip();
    tier t = cluster_tier();
    do
        answer = t.f->walk(t.at, &t.call, cursor, mark, seen);
    while (answer == GCACHE_TIER_HIT && ++steps < 1000);
    assert_int_equal(answer, GCACHE_TIER_MISS);
    for (int i = 0; i < KEYS; i++)
        assert_true(seen[i]);
    assert_hit(&t, t.f->statistics(t.at, &t.call, note_keys, &keys));
    assert_true(keys >= 4 * KEYS);
    close_tier(&t);
}

/* The node of a slot, by the plan of start. */
static int
node_of(unsigned slot)
{
    return slot / 5461 < NODES ? (int)(slot / 5461) : NODES - 1;
}

static unsigned
slot_of_key(unsigned number)
{
    char hex[GCACHE_KEY_HEX_SIZE];
    gcache_key key = key_of(number);

    gcache_key_to_hex(&key, hex);
    return gci_redis_slot(gci_view_text(hex));
}

static void
get_id(redis_server const *node, char out_id[41])
{
    char reply[128];

    redis_say(node, "CLUSTER MYID", reply, sizeof reply);
    snprintf(out_id, 41, "%.40s", strchr(reply, '\n') + 1);
}

/* Says what becomes of a slot at a node. */
static void
set_slot(redis_server const *at, unsigned slot, char const *what, char const *id)
{
    char command[256];

    snprintf(command, sizeof command, "CLUSTER SETSLOT %u %s %s", slot, what, id);
    redis_do(at, command);
}

static void
move_keys(redis_server const *from, redis_server const *to, unsigned slot)
{
    char reply[1024], command[1400];

    snprintf(command, sizeof command, "CLUSTER GETKEYSINSLOT %u 10", slot);
    redis_say(from, command, reply, sizeof reply);
    for (char *name = strstr(reply, "guardcache:"); name != NULL; name = strstr(name + 1, "guardcache:")) {
        snprintf(command, sizeof command, "MIGRATE 127.0.0.1 %u %.*s 0 5000 REPLACE", to->port, (int)strcspn(name, "\r"), name);
        redis_do(from, command);
    }
}

static void
test_a_slot_that_moves(void **state)
{
    (void)state;
    char ids[NODES][41], attachment[GCACHE_OBJECT_NAME_SIZE];
    gcache_object objects[4];
    unsigned slot = slot_of_key(1);
    int from = node_of(slot), to = (from + 1) % NODES;

    if (!redis_is_installed())
        skip();
    tier t = cluster_tier();
    find_all(&t);
    for (int i = 0; i < NODES; i++)
        get_id(&nodes[i], ids[i]);
    set_slot(&nodes[to], slot, "IMPORTING", ids[from]);
    set_slot(&nodes[from], slot, "MIGRATING", ids[to]);
    find_all(&t);
    move_keys(&nodes[from], &nodes[to], slot);
    /* Now they are there, and only who says ASKING gets them. */
    find_all(&t);
    assert_hit(&t, t.f->publish(t.at, &t.call, objects, objects_of(1, attachment, objects)));
    find_all(&t);
    for (int i = 0; i < NODES; i++)
        set_slot(&nodes[(to + i) % NODES], slot, "NODE", ids[to]);
    find_all(&t);
    t.call.round_trips = 0;
    gcache_key key = key_of(1);
    found f = { 0 };
    assert_hit(&t, t.f->list(t.at, &t.call, &key, note, &f));
    assert_int_equal(t.call.round_trips, 1);
    close_tier(&t);
}

/* ---- false ones ---- */

/* Sends everything on to itself. */
static void
serve_circle(false_server *server, int fd, int number)
{
    char reply[128];

    (void)number;
    false_greet(fd);
    while (false_read(fd, 1, NULL, 0)) {
        snprintf(reply, sizeof reply, "-MOVED 1 127.0.0.1:%u\r\n", server->port);
        false_write(fd, reply);
    }
}

/* Sends on to a node that doesn't listen, from the second time on answers itself. */
static void
serve_dead_end(false_server *server, int fd, int number)
{
    static _Atomic int times;
    char reply[128];

    (void)number;
    false_greet(fd);
    while (false_read(fd, 1, NULL, 0)) {
        snprintf(reply, sizeof reply, "-MOVED 1 127.0.0.1:%u\r\n", *(uint16_t const *)server->state);
        false_write(fd, times++ == 0 ? reply : "*2\r\n$2\r\n0a\r\n$4\r\nhead\r\n");
    }
}

static void
test_redirections_end(void **state)
{
    (void)state;
    false_server server;
    uint16_t nobody = free_port();
    gcache_key key = key_of(1);
    found f = { 0 };

    false_start(&server, serve_circle, NULL);
    gci_redis_options options = options_for_port(server.port);
    tier t = open_tier(&options);
    t.call.deadline_ns = in_ms(20000);
    assert_int_equal(t.f->list(t.at, &t.call, &key, note, &f), GCACHE_TIER_TROUBLE);
    assert_int_equal(t.call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    assert_non_null(strstr(t.call.message, "redirected more than 5 times"));
    close_tier(&t);
    false_stop(&server);

    false_start(&server, serve_dead_end, &nobody);
    options.port = server.port;
    t = open_tier(&options);
    t.call.deadline_ns = in_ms(20000);
    assert_hit(&t, t.f->list(t.at, &t.call, &key, note, &f));
    assert_string_equal(f.bytes, "head");
    close_tier(&t);
    false_stop(&server);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_keys_are_where_they_belong),
        cmocka_unit_test(test_leases_in_a_cluster),
        cmocka_unit_test(test_a_walk_visits_every_node),
        cmocka_unit_test(test_a_slot_that_moves),
        cmocka_unit_test(test_redirections_end),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
