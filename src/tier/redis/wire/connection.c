/* A connection to one Redis server: connecting, TLS, the first commands; exchanges. */
#include "tier/redis/wire/connection.h"

#include "tier/redis/wire/trouble.h"

#include <openssl/crypto.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

/* What a server says of itself in HELLO: with modules some kilobytes. */
#define HELLO_BYTES_MAX (UINT64_C(1) << 20)

/* Of AUTH, HELLO and SELECT, without user and password. */
#define COMMANDS_ROOM 256

void
gci_redis_disconnect(gci_redis_connection *connection)
{
    if (connection == NULL)
        return;
    gci_tls_session_free(connection->session);
    if (connection->fd >= 0)
        close(connection->fd);
    free(connection);
}

/* ---- exchanges ---- */

static ssize_t
send_some(gci_redis_connection const *connection, struct iovec const *pieces, size_t count)
{
    if (connection->session == NULL)
        return gci_socket_send(connection->fd, pieces, count);
    return gci_tls_send(connection->session, pieces->iov_base, pieces->iov_len);
}

static ssize_t
receive_some(gci_redis_connection const *connection, void *bytes, size_t size)
{
    if (connection->session == NULL)
        return gci_socket_receive(connection->fd, bytes, size);
    return gci_tls_receive(connection->session, bytes, size);
}

static gci_exchange
tell_late(gcache_tier_call *call, char const *shown)
{
    gci_redis_trouble(call, GCACHE_REASON_REMOTE_TIMEOUT, shown, "it doesn't answer in time");
    return GCI_EXCHANGE_TROUBLE;
}

static gci_exchange
tell_gone(gcache_tier_call *call, char const *shown)
{
    gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, shown, "it ended the connection");
    return GCI_EXCHANGE_GONE;
}

/* After a transfer that moved nothing. */
static gci_exchange
await(gci_redis_connection const *connection, gcache_tier_call *call, uint64_t deadline_ns, ssize_t result)
{
    if (result == GCI_SOCKET_BROKEN)
        return tell_gone(call, connection->shown);
    short events = result == GCI_SOCKET_WANTS_IN ? POLLIN : POLLOUT;
    return gci_socket_wait(connection->fd, events, deadline_ns) ? GCI_EXCHANGE_DONE : tell_late(call, connection->shown);
}

/* Takes bytes that were sent off the front of pieces. */
static void
take_sent(struct iovec **pieces, size_t *count, size_t sent)
{
    while (*count != 0 && sent >= (*pieces)->iov_len) {
        sent -= (*pieces)->iov_len;
        (*pieces)++;
        (*count)--;
    }
    if (*count != 0) {
        (*pieces)->iov_base = (char *)(*pieces)->iov_base + sent;
        (*pieces)->iov_len -= sent;
    }
}

static gci_exchange
send_all(gci_redis_connection *connection, gcache_tier_call *call, uint64_t deadline_ns, struct iovec *pieces, size_t count)
{
    gci_exchange result = GCI_EXCHANGE_DONE;

    take_sent(&pieces, &count, 0); /* empty ones */
    while (count != 0 && result == GCI_EXCHANGE_DONE) {
        ssize_t sent = send_some(connection, pieces, count);
        if (sent > 0) {
            call->bytes_sent += (uint64_t)sent;
            take_sent(&pieces, &count, (size_t)sent);
        } else {
            result = await(connection, call, deadline_ns, sent);
        }
    }
    return result;
}

static gci_exchange
receive_all(gci_redis_connection *connection, gcache_tier_call *call, uint64_t deadline_ns, gci_resp_reader *reader)
{
    gci_exchange result = GCI_EXCHANGE_DONE;
    size_t room = 0;

    while (!gci_resp_complete(reader) && result == GCI_EXCHANGE_DONE) {
        char *place = gci_resp_room(reader, &room);
        ssize_t got = place != NULL ? receive_some(connection, place, room) : 0;
        if (got < 0) {
            result = await(connection, call, deadline_ns, got);
            continue;
        }
        call->bytes_received += (uint64_t)got;
        if (place == NULL || !gci_resp_arrived(reader, (size_t)got)) {
            gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, connection->shown, "%s", reader->fault);
            result = GCI_EXCHANGE_TROUBLE;
        }
    }
    return result;
}

gci_exchange
gci_redis_exchange(gci_redis_connection *connection, gcache_tier_call *call, uint64_t deadline_ns, struct iovec *pieces,
                   size_t count, gci_resp_reader *reader)
{
    connection->broken = true;
    call->round_trips++;
    gci_exchange result = send_all(connection, call, deadline_ns, pieces, count);
    /* Who ended the connection may have said why before. */
    if (result != GCI_EXCHANGE_TROUBLE)
        result = receive_all(connection, call, deadline_ns, reader);
    connection->broken = result != GCI_EXCHANGE_DONE || !gci_resp_in_step(reader);
    return result;
}

bool
gci_redis_is_quiet(gci_redis_connection *connection)
{
    struct pollfd one = { .fd = connection->fd, .events = POLLIN };
    char byte;

    if (connection->broken || poll(&one, 1, 0) < 0)
        return false;
    if (one.revents == 0)
        return true;
    /* Under TLS what arrived may be the protocol's own, such as a ticket. */
    return connection->session != NULL && gci_tls_receive(connection->session, &byte, 1) == GCI_SOCKET_WANTS_IN;
}

/* ---- connecting ---- */

static bool
agree_on_tls(gci_redis_connection *connection, gcache_tier_call *call, uint64_t deadline_ns)
{
    ssize_t result;

    call->round_trips++;
    while ((result = gci_tls_handshake(connection->session)) != 1) {
        if (result == GCI_SOCKET_BROKEN)
            return gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, connection->shown, "TLS: %s",
                                     gci_tls_failure(connection->session));
        if (await(connection, call, deadline_ns, result) != GCI_EXCHANGE_DONE)
            return false;
    }
    return true;
}

static void
append_command(gci_buf *out, char const *const *arguments, size_t count)
{
    gci_resp_begin(out, count);
    for (size_t i = 0; i < count; i++) {
        gci_resp_argument_head(out, strlen(arguments[i]));
        gci_buf_append_text(out, arguments[i]);
        gci_buf_append_text(out, GCI_RESP_END);
    }
}

/* What is said first, and which reply answers what. */
typedef struct greeting {
    gci_buf text;
    size_t count, hello;
    bool has_auth;
} greeting;

static void
compose_greeting(greeting *out, gci_redis_options const *options, bool home)
{
    char number[16];
    char const *with_user[] = { "AUTH", options->user, options->password }, *plain[] = { "AUTH", options->password };
    char const *hello[] = { "HELLO" }, *choose[] = { "SELECT", number };

    *out = (greeting){ .has_auth = options->password != NULL };
    /* Grown once at most, so that no copy of the password is left behind in freed memory. */
    gci_buf_init(&out->text, GCI_BUF_NO_LIMIT);
    size_t secrets = gci_view_text(options->password).size + gci_view_text(options->user).size;
    gci_buf_reserve(&out->text, secrets + COMMANDS_ROOM);
    if (out->has_auth && options->user != NULL)
        append_command(&out->text, with_user, 3);
    else if (out->has_auth)
        append_command(&out->text, plain, 2);
    out->hello = out->has_auth;
    append_command(&out->text, hello, 1);
    out->count = out->hello + 1;
    if (options->database != 0 && home) {
        snprintf(number, sizeof number, "%u", options->database);
        append_command(&out->text, choose, 2);
        out->count++;
    }
}

/* HELLO is a question only: servers before 6 don't know it, and a user may not be permitted it. */
static bool
does_without(gci_view reply)
{
    return gci_view_begins(reply, "ERR unknown command") || gci_view_begins(reply, "NOPERM") || gci_view_begins(reply, "NOPROTO");
}

/* Whether one of the replies that arrived is a refusal, which is then told. */
static bool
tell_refusal(gci_redis_connection const *connection, greeting const *said, gci_redis_options const *options,
             gcache_tier_call *call, gci_resp_reader const *reader)
{
    for (size_t i = 0; i < reader->replies; i++) {
        gci_resp_value const *value = &reader->values[reader->starts[i]];
        gci_view text = gci_resp_bytes(reader, value);
        if (value->type != GCI_RESP_ERROR || (i == said->hello && does_without(text)))
            continue;
        gci_redis_trouble_reply(call, connection->shown, text, options->password);
        /* A server without that command repeats its beginning. */
        if (i == 0 && said->has_auth && gci_view_begins(text, "ERR "))
            gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, connection->shown, "it refuses AUTH");
        return true;
    }
    return false;
}

/* "mode", "cluster" among what HELLO answers. */
static bool
says_cluster(gci_resp_reader const *reader, size_t hello)
{
    size_t end = gci_resp_next(reader, reader->starts[hello]);

    for (size_t i = reader->starts[hello] + 1; i + 1 < end; i++) {
        if (gci_view_is(gci_resp_bytes(reader, &reader->values[i]), "mode") &&
            gci_view_is(gci_resp_bytes(reader, &reader->values[i + 1]), "cluster"))
            return true;
    }
    return false;
}

static bool
greet(gci_redis_connection *connection, gci_redis_options const *options, gcache_tier_call *call, uint64_t deadline_ns)
{
    gci_resp_reader reader;
    greeting say;
    bool good = false;

    compose_greeting(&say, options, connection->node == 0);
    struct iovec piece = { say.text.data, say.text.size };
    if (!gci_resp_reader_init(&reader, say.count, (gci_resp_limits){ HELLO_BYTES_MAX, HELLO_BYTES_MAX }) || say.text.failed) {
        gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, connection->shown, "out of memory");
    } else {
        gci_exchange result = gci_redis_exchange(connection, call, deadline_ns, &piece, 1, &reader);
        good = !tell_refusal(connection, &say, options, call, &reader) && result == GCI_EXCHANGE_DONE;
    }
    if (good)
        connection->cluster = says_cluster(&reader, say.hello);
    gci_resp_reader_clear(&reader);
    if (say.text.data != NULL)
        OPENSSL_cleanse(say.text.data, say.text.capacity);
    gci_buf_clear(&say.text);
    return good;
}

static bool
open_socket(gci_redis_connection *connection, gci_redis_options const *options, gci_redis_place place, gcache_tier_call *call,
            uint64_t deadline_ns)
{
    char const *host = place.node != 0 ? place.host : options->host;
    uint16_t port = place.node != 0 ? place.port : options->port;

    if (host == NULL)
        connection->fd = gci_socket_connect_unix(call, connection->shown, options->socket_path, deadline_ns);
    else
        connection->fd = gci_socket_connect_tcp(call, connection->shown, host, port, deadline_ns);
    return connection->fd >= 0;
}

static bool
open_session(gci_redis_connection *connection, gci_tls *tls, char const *host, char const *other, gcache_tier_call *call,
             uint64_t deadline_ns)
{
    connection->session = gci_tls_session_new(tls, connection->fd, host, other);
    if (connection->session == NULL)
        return gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, connection->shown, "out of memory");
    return agree_on_tls(connection, call, deadline_ns);
}

static uint64_t
connect_deadline(gcache_tier_call const *call)
{
    uint64_t one = call->connect_deadline_ns, other = call->deadline_ns;

    if (one == 0 || other == 0)
        return one != 0 ? one : other;
    return one < other ? one : other;
}

gci_redis_connection *
gci_redis_connect(gci_redis_options const *options, gci_tls *tls, gci_redis_place place, gcache_tier_call *call)
{
    uint64_t deadline_ns = connect_deadline(call);
    gci_redis_connection *connection = calloc(1, sizeof *connection);

    if (connection == NULL) {
        gci_redis_trouble(call, GCACHE_REASON_REMOTE_UNAVAILABLE, options->shown, "out of memory");
        return NULL;
    }
    *connection = (gci_redis_connection){ .fd = -1, .node = place.node, .slot = -1, .shown = options->shown };
    char const *host = place.node != 0 ? place.host : options->host, *other = place.node != 0 ? options->host : NULL;
    if (open_socket(connection, options, place, call, deadline_ns) &&
        (tls == NULL || open_session(connection, tls, host, other, call, deadline_ns)) &&
        greet(connection, options, call, deadline_ns))
        return connection;
    gci_redis_disconnect(connection);
    return NULL;
}
