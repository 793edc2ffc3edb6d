/* Servers that answer late, nonsense, in part or not at all, and TLS: a call ends in time, says why, and no signal comes. */
#include "redis_server.h"

#include "base/system/clock.h"

#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PASSWORD "hunter2-secret"

/* ---- a call and what became of it ---- */

static gcache_tier_answer
list(tier *t, found *out)
{
    gcache_key key = key_of(1);

    *out = (found){ 0 };
    return t->f->list(t->at, &t->call, &key, note, out);
}

static void
assert_trouble(tier *t, gcache_reason reason, char const *part)
{
    found f;
    uint64_t before = gci_clock_steady_ns();

    assert_int_equal(list(t, &f), GCACHE_TIER_TROUBLE);
    if (t->call.reason != reason || strstr(t->call.message, part) == NULL)
        fail_msg("%s: %s", gcache_reason_name(t->call.reason), t->call.message);
    assert_int_equal(strncmp(t->call.message, "redis://127.0.0.1: ", 19), 0);
    assert_null(strstr(t->call.message, PASSWORD));
    assert_int_equal(f.count, 0);
    /* Nothing waits for longer than it was told, and a little for slow machines. */
    if (t->call.deadline_ns > before)
        assert_true(gci_clock_steady_ns() < t->call.deadline_ns + 5 * GCI_SECOND_NS);
}

static tier
tier_of(false_server const *server)
{
    gci_redis_options options = options_for_port(server->port);
    tier t = open_tier(&options);

    t.call.deadline_ns = in_ms(10000);
    return t;
}

/* A text after the greeting, then the end of the connection. */
static void
serve_text(false_server *server, int fd, int number)
{
    (void)number;
    if (false_greet(fd) && false_read(fd, 1, NULL, 0))
        false_write(fd, server->state);
}

/* ---- late ---- */

/* Reads whatever comes and says nothing. */
static void
serve_silence(false_server *server, int fd, int number)
{
    char room[256];

    (void)server, (void)number;
    while (recv(fd, room, sizeof room, 0) > 0)
        continue;
}

static void
test_a_server_that_never_answers(void **state)
{
    (void)state;
    false_server server;

    false_start(&server, serve_silence, NULL);
    tier t = tier_of(&server);
    t.call.deadline_ns = in_ms(80);
    assert_trouble(&t, GCACHE_REASON_REMOTE_TIMEOUT, "in time");
    assert_true(gci_clock_steady_ns() >= t.call.deadline_ns);
    /* The deadline of connecting is the nearer one. */
    t.call.deadline_ns = in_ms(60000);
    t.call.connect_deadline_ns = in_ms(80);
    uint64_t most = in_ms(10000);
    assert_trouble(&t, GCACHE_REASON_REMOTE_TIMEOUT, "in time");
    assert_true(gci_clock_steady_ns() < most);
    t.call.connect_deadline_ns = 0;
    t.call.deadline_ns = 1;
    assert_trouble(&t, GCACHE_REASON_REMOTE_TIMEOUT, "in time");
    close_tier(&t);
    false_stop(&server);
}

/* A byte now and then: it goes on, but never gets there. */
static void
serve_slowly(false_server *server, int fd, int number)
{
    (void)number;
    if (!false_greet(fd) || !false_read(fd, 1, NULL, 0))
        return;
    false_write(fd, "*2000\r\n");
    for (int i = 0; i < 1000 && !server->stop && send(fd, "$", 1, MSG_NOSIGNAL) == 1; i++) {
        usleep(5000);
        if (i % 2 == 1)
            break;
        false_write(fd, "1\r\na\r\n");
    }
    for (int i = 0; i < 400 && !server->stop; i++)
        usleep(5000);
}

static void
test_a_server_that_answers_too_slowly(void **state)
{
    (void)state;
    false_server server;

    false_start(&server, serve_slowly, NULL);
    tier t = tier_of(&server);
    t.call.deadline_ns = in_ms(100);
    assert_trouble(&t, GCACHE_REASON_REMOTE_TIMEOUT, "it doesn't answer in time");
    close_tier(&t);
    false_stop(&server);
}

/* The second call must not get the answer to the first one. */
static void
serve_late_answers(false_server *server, int fd, int number)
{
    (void)server;
    if (!false_greet(fd) || !false_read(fd, 1, NULL, 0))
        return;
    if (number == 0)
        usleep(200000);
    false_write(fd, number == 0 ? "*2\r\n$2\r\n0a\r\n$3\r\nold\r\n" : "*2\r\n$2\r\n0b\r\n$3\r\nnew\r\n");
    false_read(fd, 1, NULL, 0);
}

static void
test_a_late_answer_is_nobodys(void **state)
{
    (void)state;
    false_server server;
    found f;

    false_start(&server, serve_late_answers, NULL);
    tier t = tier_of(&server);
    t.call.deadline_ns = in_ms(60);
    assert_trouble(&t, GCACHE_REASON_REMOTE_TIMEOUT, "in time");
    usleep(250000);
    t.call.deadline_ns = in_ms(10000);
    assert_int_equal(list(&t, &f), GCACHE_TIER_HIT);
    assert_string_equal(f.bytes, "new");
    assert_int_equal(server.connections, 2);
    close_tier(&t);
    false_stop(&server);
}

/* ---- nonsense ---- */

static void
test_replies_that_are_none(void **state)
{
    (void)state;
    static char const *const replies[] = {
        "HTTP/1.1 400 Bad Request\r\n\r\n", "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc\r\n", "+OK\r\n", ":1\r\n", "$-1\r\n",
        "*2\r\n$1\r\na\r\n*1\r\n:1\r\n", "\r\n", "$3\r\nabcde\r\n",
    };
    static char const *const cut[] = { "", "*", "*2\r\n", "*2\r\n$2\r\n0a\r\n$3\r\nol", "*2\r\n$2\r\n0a\r\n$3\r\nold\r" };
    false_server server;

    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        false_start(&server, serve_text, replies[i]);
        tier t = tier_of(&server);
        assert_trouble(&t, GCACHE_REASON_REMOTE_UNAVAILABLE, "its reply");
        close_tier(&t);
        false_stop(&server);
    }
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        false_start(&server, serve_text, cut[i]);
        tier t = tier_of(&server);
        assert_trouble(&t, GCACHE_REASON_REMOTE_UNAVAILABLE, "it ended the connection");
        close_tier(&t);
        false_stop(&server);
    }
}

/* One key's, and then another's, which the first one must not harm. */
static void
serve_much_and_little(false_server *server, int fd, int number)
{
    if (false_greet(fd) && false_read(fd, 1, NULL, 0))
        false_write(fd, number == 0 ? server->state : "*2\r\n$2\r\n0b\r\n$3\r\nfew\r\n");
    false_read(fd, 1, NULL, 0);
}

static void
test_a_key_with_too_many_heads(void **state)
{
    (void)state;
    static char const *const replies[] = { "*4\r\n$2\r\n0a\r\n$300000000\r\n", "*4\r\n$2\r\n0a\r\n$99999999999\r\n",
                                           "*999999999\r\n" };
    false_server server;
    found f;

    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        false_start(&server, serve_much_and_little, replies[i]);
        tier t = tier_of(&server);
        assert_int_equal(list(&t, &f), GCACHE_TIER_MISS);
        assert_int_equal(f.count, 0);
        assert_int_equal(t.call.reason, GCACHE_REASON_NONE);
        assert_non_null(strstr(t.call.message, "redis://127.0.0.1: the heads of a key take more than 268435456 bytes"));
        assert_int_equal(list(&t, &f), GCACHE_TIER_HIT);
        assert_string_equal(f.bytes, "few");
        assert_string_equal(t.call.message, "");
        assert_int_equal(server.connections, 2);
        close_tier(&t);
        false_stop(&server);
    }
}

static void
test_errors_in_words(void **state)
{
    (void)state;
    static struct {
        char const *reply, *words;
    } const errors[] = {
        { "-OOM command not allowed\r\n", "out of memory" },
        { "-LOADING Redis is loading\r\n", "still loading" },
        { "-READONLY You can't write\r\n", "it is a replica" },
        { "-MISCONF Redis is configured\r\n", "can't save" },
        { "-BUSY Redis is busy\r\n", "busy with a script" },
        { "-CLUSTERDOWN The cluster is down\r\n", "its cluster is down" },
        { "-TRYAGAIN Multiple keys\r\n", "moving these objects" },
        { "-NOAUTH Authentication required.\r\n", "it wants a password" },
        { "-ERR what \x1b[31mis\x1b[0m that\r\n", "it answers \"ERR what \\x1b[31mis\\x1b[0m that\"" },
    };
    false_server server;

    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        false_start(&server, serve_text, errors[i].reply);
        tier t = tier_of(&server);
        assert_trouble(&t, GCACHE_REASON_REMOTE_UNAVAILABLE, errors[i].words);
        close_tier(&t);
        false_stop(&server);
    }
}

/* ---- greetings ---- */

static void
serve_greeting(false_server *server, int fd, int number)
{
    (void)number;
    false_write(fd, server->state);
    false_read(fd, 2, NULL, 0);
}

static void
test_passwords_are_never_shown(void **state)
{
    (void)state;
    static char const *const replies[] = {
        "-ERR unknown command 'AUTH', with args beginning with: '" PASSWORD "' \r\n-NOAUTH no\r\n",
        "-ERR unknown command `AUTH`, with args beginning with: `hunter2-sec \r\n-NOAUTH no\r\n",
        "-WEIRD " PASSWORD "\r\n+OK\r\n",
        "-WRONGPASS " PASSWORD "\r\n+OK\r\n",
        "+OK\r\n-ERR no " PASSWORD "\r\n",
    };
    false_server server;

    for (size_t i = 0; i < sizeof replies / sizeof *replies; i++) {
        false_start(&server, serve_greeting, replies[i]);
        gci_redis_options options = options_for_port(server.port);
        options.password = PASSWORD;
        tier t = open_tier(&options);
        t.call.deadline_ns = in_ms(10000);
        assert_trouble(&t, GCACHE_REASON_REMOTE_UNAVAILABLE, "");
        assert_null(strstr(t.call.message, "hunter2"));
        close_tier(&t);
        false_stop(&server);
    }
}

static void
test_servers_that_know_no_hello(void **state)
{
    (void)state;
    false_server server;
    found f;

    false_start(&server, serve_greeting, "-ERR unknown command 'HELLO'\r\n*0\r\n");
    tier t = tier_of(&server);
    /* What came with the greeting wasn't asked for: the connection isn't used. */
    assert_int_equal(list(&t, &f), GCACHE_TIER_TROUBLE);
    close_tier(&t);
    false_stop(&server);
    false_start(&server, serve_greeting, "-ERR max number of clients reached\r\n");
    t = tier_of(&server);
    assert_trouble(&t, GCACHE_REASON_REMOTE_UNAVAILABLE, "max number of clients");
    close_tier(&t);
    false_stop(&server);
}

/* ---- connections that end ---- */

/* Ends each connection after one command. */
static void
serve_once(false_server *server, int fd, int number)
{
    (void)server, (void)number;
    if (false_greet(fd) && false_read(fd, 1, NULL, 0))
        false_write(fd, "*2\r\n$2\r\n0a\r\n$3\r\nold\r\n");
}

/* The same, but only when the second one has come: nothing shows before it is sent. */
static void
serve_once_and_wait(false_server *server, int fd, int number)
{
    serve_once(server, fd, number);
    if (number % 2 == 0)
        false_read(fd, 1, NULL, 0);
}

static void
test_dead_connections_are_replaced(void **state)
{
    (void)state;
    false_server server;
    found f;

    for (int i = 0; i < 2; i++) {
        false_start(&server, i == 0 ? serve_once : serve_once_and_wait, NULL);
        tier t = tier_of(&server);
        for (int j = 0; j < 6; j++) {
            assert_int_equal(list(&t, &f), GCACHE_TIER_HIT);
            assert_int_equal(f.count, 1);
        }
        assert_true(server.connections >= 6);
        close_tier(&t);
        false_stop(&server);
    }
}

/* Reads a little and resets the connection, while megabytes are being sent. */
static void
serve_reset(false_server *server, int fd, int number)
{
    struct linger at_once = { 1, 0 };

    (void)server, (void)number;
    false_greet(fd);
    char room[1000];
    (void)!recv(fd, room, sizeof room, 0);
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
}

static void
test_no_signal_comes(void **state)
{
    (void)state;
    false_server server;
    size_t size = 16 << 20;
    char *bytes = calloc(1, size);
    gcache_object payload = object_of(GCACHE_OBJECT_PAYLOAD, 1, "aa", NULL);

    assert_non_null(bytes);
    payload.bytes = bytes;
    payload.size = size;
    false_start(&server, serve_reset, NULL);
    tier t = tier_of(&server);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(t.f->publish(t.at, &t.call, &payload, 1), GCACHE_TIER_TROUBLE);
        assert_int_equal(t.call.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    }
    close_tier(&t);
    false_stop(&server);
    free(bytes);
}

static void
test_nobody_listens(void **state)
{
    (void)state;
    gci_redis_options options = options_for_port(free_port());
    tier t = open_tier(&options);

    t.call.deadline_ns = in_ms(10000);
    assert_trouble(&t, GCACHE_REASON_REMOTE_UNAVAILABLE, "it can't be connected to: Connection refused");
    close_tier(&t);
    options.host = "no such name";
    t = open_tier(&options);
    assert_trouble(&t, GCACHE_REASON_REMOTE_UNAVAILABLE, "its name can't be resolved");
    close_tier(&t);
    options.host = NULL;
    options.socket_path = "/nowhere/redis.sock";
    t = open_tier(&options);
    assert_trouble(&t, GCACHE_REASON_REMOTE_UNAVAILABLE, "it can't be connected to: No such file or directory");
    close_tier(&t);
}

/* ---- TLS ---- */

/* A certificate that signs itself, for a name and an address. */
static void
make_certificate(char const *folder, char const *names)
{
    char path[256];
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    X509V3_CTX context;

    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), (long)getpid());
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC, (unsigned char const *)"test", -1, -1, 0);
    X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, NID_subject_alt_name, names);
    assert_non_null(extension);
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    snprintf(path, sizeof path, "%s/cert.pem", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    PEM_write_X509(file, certificate);
    fclose(file);
    snprintf(path, sizeof path, "%s/key.pem", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL);
    fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

static void
remove_certificate(char const *folder)
{
    char path[256];

    snprintf(path, sizeof path, "%s/cert.pem", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/key.pem", folder);
    unlink(path);
    rmdir(folder);
}

static void
exchange_over_tls(gci_redis_options const *options)
{
    size_t size = 5 << 20;
    char *bytes = malloc(size);
    gcache_object payload = object_of(GCACHE_OBJECT_PAYLOAD, 1, "aa", NULL);
    tier t = open_tier(options);
    uint64_t sum = 0;

    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++)
        sum += (uint8_t)(bytes[i] = (char)(i * 7 + i / 1000));
    payload.bytes = bytes;
    payload.size = size;
    t.call.deadline_ns = in_ms(30000);
    for (int i = 0; i < 3; i++) {
        found f = { 0 };
        t.call.round_trips = 0;
        gcache_tier_answer answer = t.f->publish(t.at, &t.call, &payload, 1);
        if (answer != GCACHE_TIER_HIT)
            fail_msg("%s", t.call.message);
        assert_int_equal(t.f->fetch(t.at, &t.call, &payload, 1, note, &f), GCACHE_TIER_HIT);
        assert_int_equal(f.size, size);
        assert_true(f.sum == sum);
        assert_int_equal(t.call.round_trips, i == 0 ? 4 : 2); /* TLS, greeting, and the two */
    }
    close_tier(&t);
    free(bytes);
}

static void
refuse_over_tls(gci_redis_options const *options, char const *part)
{
    tier t = open_tier(options);

    t.call.deadline_ns = in_ms(30000);
    assert_trouble(&t, GCACHE_REASON_REMOTE_UNAVAILABLE, part);
    close_tier(&t);
}

static void
test_tls(void **state)
{
    (void)state;
    char folder[] = "/tmp/guardcache-tls-XXXXXX", other[] = "/tmp/guardcache-tls-XXXXXX", ca[128], other_ca[128];
    redis_server server = { .tls_folder = folder };

    if (!redis_is_installed())
        skip();
    assert_non_null(mkdtemp(folder));
    assert_non_null(mkdtemp(other));
    make_certificate(folder, "DNS:localhost,IP:127.0.0.1");
    make_certificate(other, "DNS:localhost,IP:127.0.0.1");
    snprintf(ca, sizeof ca, "%s/cert.pem", folder);
    snprintf(other_ca, sizeof other_ca, "%s/cert.pem", other);
    redis_start(&server);
    gci_redis_options options = options_for_port(server.tls_port);
    options.tls = true;
    refuse_over_tls(&options, "TLS: self-signed certificate");
    options.ca_file = other_ca;
    refuse_over_tls(&options, "TLS: ");
    options.ca_file = "/nowhere.pem";
    refuse_over_tls(&options, "its CA file can't be read");
    options.ca_file = ca;
    exchange_over_tls(&options);
    options.host = "localhost";
    exchange_over_tls(&options);
    options.host = "127.0.0.2";
    refuse_over_tls(&options, "can't be connected to");
    options.host = "127.1";
    refuse_over_tls(&options, "TLS: hostname mismatch");
    options.insecure = true;
    exchange_over_tls(&options);
    options.host = "127.0.0.1";
    options.ca_file = NULL;
    exchange_over_tls(&options);
    /* Redis without TLS takes its beginning for that of a command, and waits for the rest. */
    options.port = server.port;
    tier t = open_tier(&options);
    t.call.deadline_ns = in_ms(80);
    assert_trouble(&t, GCACHE_REASON_REMOTE_TIMEOUT, "in time");
    close_tier(&t);
    redis_stop(&server);
    remove_certificate(folder);
    remove_certificate(other);
}

static void
test_tls_that_never_begins(void **state)
{
    (void)state;
    false_server server;

    false_start(&server, serve_silence, NULL);
    gci_redis_options options = options_for_port(server.port);
    options.tls = options.insecure = true;
    tier t = open_tier(&options);
    t.call.deadline_ns = in_ms(80);
    assert_trouble(&t, GCACHE_REASON_REMOTE_TIMEOUT, "in time");
    close_tier(&t);
    false_stop(&server);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_a_server_that_never_answers),
        cmocka_unit_test(test_a_server_that_answers_too_slowly),
        cmocka_unit_test(test_a_late_answer_is_nobodys),
        cmocka_unit_test(test_replies_that_are_none),
        cmocka_unit_test(test_a_key_with_too_many_heads),
        cmocka_unit_test(test_errors_in_words),
        cmocka_unit_test(test_passwords_are_never_shown),
        cmocka_unit_test(test_servers_that_know_no_hello),
        cmocka_unit_test(test_dead_connections_are_replaced),
        cmocka_unit_test(test_no_signal_comes),
        cmocka_unit_test(test_nobody_listens),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_that_never_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
