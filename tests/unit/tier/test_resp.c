/* The reader of Redis's protocol: what it takes, in pieces of any size, and what it refuses without taking memory for it. */
#include "redis_server.h"

#include "tier/redis/nodes.h"
#include "tier/redis/wire/resp.h"

#include <stdlib.h>
#include <string.h>

static gci_resp_limits const usual = { 1 << 20, 1 << 20 };

/* Feeds a text in steps of so many bytes. */
static bool
feed(gci_resp_reader *reader, char const *text, size_t size, size_t step)
{
    while (size != 0) {
        size_t room, take = size < step ? size : step;
        char *place = gci_resp_room(reader, &room);
        if (place == NULL)
            return false;
        take = take < room ? take : room;
        memcpy(place, text, take);
        if (!gci_resp_arrived(reader, take))
            return false;
        text += take;
        size -= take;
    }
    return true;
}

static void
test_every_type_in_pieces_of_any_size(void **state)
{
    (void)state;
    static char const text[] = "+OK\r\n-ERR no\r\n:-12\r\n$5\r\na\r\nbc\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n"
                               "*3\r\n*1\r\n:7\r\n$1\r\nx\r\n+y\r\n";
    static gci_resp_type const types[] = { GCI_RESP_TEXT, GCI_RESP_ERROR, GCI_RESP_INTEGER, GCI_RESP_BULK, GCI_RESP_NIL,
                                           GCI_RESP_NIL, GCI_RESP_ARRAY, GCI_RESP_BULK, GCI_RESP_ARRAY };

    for (size_t step = 1; step <= sizeof text; step++) {
        gci_resp_reader reader;
        assert_true(gci_resp_reader_init(&reader, 9, usual));
        assert_true(feed(&reader, text, sizeof text - 1, step));
        assert_true(gci_resp_complete(&reader));
        assert_true(gci_resp_in_step(&reader));
        for (size_t i = 0; i < 9; i++)
            assert_int_equal(reader.values[reader.starts[i]].type, types[i]);
        assert_int_equal(reader.values[2].integer, -12);
        assert_true(gci_view_is(gci_resp_bytes(&reader, &reader.values[1]), "ERR no"));
        assert_true(gci_view_is(gci_resp_bytes(&reader, &reader.values[3]), "a\r\nbc"));
        size_t last = reader.starts[8];
        assert_int_equal(gci_resp_next(&reader, last), reader.count);
        assert_int_equal(gci_resp_next(&reader, last + 1), last + 3);
        gci_resp_reader_clear(&reader);
    }
}

static void
test_what_is_too_large_is_left_out(void **state)
{
    (void)state;
    static char const text[] = "*3\r\n$2\r\nab\r\n$6\r\n123456\r\n$1\r\nc\r\n+end\r\n";

    for (size_t step = 1; step <= sizeof text; step++) {
        gci_resp_reader reader;
        assert_true(gci_resp_reader_init(&reader, 2, (gci_resp_limits){ 5, 1000 }));
        assert_true(feed(&reader, text, sizeof text - 1, step));
        assert_true(gci_resp_in_step(&reader));
        assert_int_equal(reader.values[2].type, GCI_RESP_LEFT_OUT);
        assert_int_equal(reader.values[2].size, 6);
        assert_true(gci_view_is(gci_resp_bytes(&reader, &reader.values[3]), "c"));
        assert_true(gci_view_is(gci_resp_bytes(&reader, &reader.values[4]), "end"));
        gci_resp_reader_clear(&reader);
    }
}

static void
test_what_is_dropped_takes_no_memory(void **state)
{
    (void)state;
    gci_resp_reader reader;
    size_t size = 50 << 20;
    char *zeros = calloc(1, size);

    assert_non_null(zeros);
    assert_true(gci_resp_reader_init(&reader, 2, (gci_resp_limits){ 10, 100 << 20 }));
    assert_true(feed(&reader, "$52428800\r\n", 11, 11));
    assert_true(feed(&reader, zeros, size, 100000));
    assert_true(feed(&reader, "\r\n+OK\r\n", 7, 7));
    assert_true(gci_resp_in_step(&reader));
    assert_true(reader.input.capacity < 2 << 20);
    gci_resp_reader_clear(&reader);
    free(zeros);
}

static void
test_claims_are_not_believed(void **state)
{
    (void)state;
    static char const *const refused[] = {
        "hello\r\n", "+OK\n", "\r\n", "$\r\n", "$1", "$-2\r\n", "*-2\r\n",
        ":\r\n", ":+1\r\n", ":1 \r\n", ":9223372036854775808\r\n",
        ":-9223372036854775809\r\n", "$99999999999999999999\r\n", "$1048577\r\n", "*9223372036854775807\r\n", "*349526\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", "$1\r\nab\r\n", "%1\r\n+a\r\n+b\r\n", "_\r\n", ",1.5\r\n", "*2\r\n*300000\r\n*300000\r\n",
    };
    gci_resp_reader reader;

    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        assert_true(gci_resp_reader_init(&reader, 1, usual));
        bool good = feed(&reader, refused[i], strlen(refused[i]), 4);
        assert_false(good && gci_resp_complete(&reader));
        assert_true(reader.input.capacity <= 32768 && reader.capacity <= 64);
        gci_resp_reader_clear(&reader);
    }
    assert_true(gci_resp_reader_init(&reader, 1, usual));
    assert_true(feed(&reader, ":-9223372036854775808\r\n", 23, 23));
    assert_true(reader.values[0].integer == INT64_MIN);
    gci_resp_reader_clear(&reader);
}

static void
test_limits_hold_for_all_together(void **state)
{
    (void)state;
    gci_resp_reader reader;
    char line[70000];

    assert_true(gci_resp_reader_init(&reader, 100, (gci_resp_limits){ 100, 100 }));
    int replies = 0;
    while (feed(&reader, "$10\r\n0123456789\r\n", 17, 17))
        replies++;
    assert_int_equal(replies, 5);
    assert_non_null(reader.fault);
    assert_false(gci_resp_arrived(&reader, 0));
    gci_resp_reader_clear(&reader);
    memset(line, 'x', sizeof line);
    assert_true(gci_resp_reader_init(&reader, 1, usual));
    assert_true(feed(&reader, "+", 1, 1));
    assert_false(feed(&reader, line, sizeof line, 1000));
    gci_resp_reader_clear(&reader);
}

static void
test_what_follows_the_last_reply_is_out_of_step(void **state)
{
    (void)state;
    gci_resp_reader reader;

    assert_true(gci_resp_reader_init(&reader, 1, usual));
    assert_true(feed(&reader, "+OK\r\n+OK\r\n", 10, 10));
    assert_true(gci_resp_complete(&reader));
    assert_false(gci_resp_in_step(&reader));
    gci_resp_reader_clear(&reader);
}

/* The slots of the cluster specification's examples, and of `redis-cli cluster keyslot`. */
static void
test_slots(void **state)
{
    (void)state;
    assert_int_equal(gci_redis_slot(gci_view_text("123456789")), 0x31C3);
    assert_int_equal(gci_redis_slot(gci_view_text("foo")), 12182);
    assert_int_equal(gci_redis_slot(gci_view_text("a{foo}b{bar}")), 12182);
    assert_int_equal(gci_redis_slot(gci_view_text("{}foo")), gci_redis_slot(gci_view_text("{}foo")));
    assert_int_not_equal(gci_redis_slot(gci_view_text("{}foo")), 12182);
    assert_int_equal(gci_redis_slot(gci_view_text("")), 0);
}

static void
test_redirections(void **state)
{
    (void)state;
    static char const *const bad[] = { "MOVED", "MOVED ", "MOVED 1", "MOVED 16384 a:1", "MOVED -1 a:1", "MOVED 1 a", "MOVED 1 a:",
                                       "MOVED 1 a:0", "MOVED 1 a:65536", "MOVED 1 a:1 b", "ERR MOVED 1 a:1", "ASK x a:1" };
    gci_redis_redirection r;

    assert_true(gci_redis_redirection_read(gci_view_text("MOVED 3999 127.0.0.1:6381"), &r));
    assert_true(!r.ask && r.slot == 3999 && r.port == 6381 && gci_view_is(r.host, "127.0.0.1"));
    assert_true(gci_redis_redirection_read(gci_view_text("ASK 0 ::1:6381"), &r));
    assert_true(r.ask && r.slot == 0 && gci_view_is(r.host, "::1"));
    assert_true(gci_redis_redirection_read(gci_view_text("MOVED 1 :7000"), &r));
    assert_int_equal(r.host.size, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(gci_redis_redirection_read(gci_view_text(bad[i]), &r));
}

static void
test_nodes_have_numbers(void **state)
{
    (void)state;
    static gci_redis_nodes nodes;
    gci_view host = gci_view_text("127.0.0.1");

    assert_int_equal(gci_redis_node_number(&nodes, host, 1), 1);
    assert_int_equal(gci_redis_node_number(&nodes, host, 2), 2);
    assert_int_equal(gci_redis_node_number(&nodes, host, 1), 1);
    assert_int_equal(gci_redis_node_number(&nodes, gci_view_text(""), 1), 0);
    gci_redis_slots_learn(&nodes, 10, 20, 2);
    gci_redis_slots_learn(&nodes, 15, 99999, 1);
    assert_int_equal(gci_redis_slot_node(&nodes, 9), 0);
    assert_int_equal(gci_redis_slot_node(&nodes, 14), 2);
    assert_int_equal(gci_redis_slot_node(&nodes, 15), 1);
    assert_int_equal(gci_redis_slot_node(&nodes, GCI_SLOT_NONE), 0);
    gci_redis_slots_forget(&nodes, 1);
    assert_int_equal(gci_redis_slot_node(&nodes, 15), 0);
    for (unsigned i = 3; i <= GCI_NODES_MAX; i++)
        assert_int_equal(gci_redis_node_number(&nodes, host, (uint16_t)i), i);
    assert_int_equal(gci_redis_node_number(&nodes, host, 5000), 0);
    gci_redis_nodes_clear(&nodes);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_every_type_in_pieces_of_any_size),
        cmocka_unit_test(test_what_is_too_large_is_left_out),
        cmocka_unit_test(test_what_is_dropped_takes_no_memory),
        cmocka_unit_test(test_claims_are_not_believed),
        cmocka_unit_test(test_limits_hold_for_all_together),
        cmocka_unit_test(test_what_follows_the_last_reply_is_out_of_step),
        cmocka_unit_test(test_slots),
        cmocka_unit_test(test_redirections),
        cmocka_unit_test(test_nodes_have_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
