/* Servers for tests of the tier on Redis. See redis_server.h. */
#include "redis_server.h"

#include "base/system/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 48
#define START_WAIT_NS (20 * GCI_SECOND_NS)

/* ---- real ones ---- */

bool
redis_is_installed(void)
{
    return access("/usr/bin/redis-server", X_OK) == 0 || access("/usr/local/bin/redis-server", X_OK) == 0;
}

static int
bound_listener(uint16_t *out_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    *out_port = ntohs(address.sin_port);
    return fd;
}

uint16_t
free_port(void)
{
    uint16_t port;

    /* A cluster's bus listens 10,000 above it. */
    do
        close(bound_listener(&port));
    while (port > 55000);
    return port;
}

static int
connect_unix(char const *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Without a result if there is no server. */
static bool
try_say(redis_server const *server, char const *command, char *out_reply, size_t size)
{
    char line[1024];
    int fd = connect_unix(server->path);

    out_reply[0] = '\0';
    if (fd < 0)
        return false;
    int length = snprintf(line, sizeof line, "%s\r\n", command);
    struct pollfd one = { .fd = fd, .events = POLLIN };
    ssize_t got = -1;
    if (send(fd, line, (size_t)length, MSG_NOSIGNAL) == length && poll(&one, 1, 10000) == 1)
        got = recv(fd, out_reply, size - 1, 0);
    out_reply[got > 0 ? got : 0] = '\0';
    close(fd);
    return got > 0;
}

void
redis_say(redis_server const *server, char const *command, char *out_reply, size_t size)
{
    assert_true(try_say(server, command, out_reply, size));
}

void
redis_do(redis_server const *server, char const *command)
{
    char reply[512];

    redis_say(server, command, reply, sizeof reply);
    if (reply[0] == '-')
        fail_msg("%s: %s", command, reply);
}

static void
add(char **arguments, char const *name, char const *value)
{
    size_t at = 0;

    while (arguments[at] != NULL)
        at++;
    assert_true(at + 2 < ARGUMENTS_MAX);
    arguments[at] = strdup(name);
    arguments[at + 1] = strdup(value);
}

static void
add_places(char **arguments, redis_server const *server)
{
    char text[128];

    add(arguments, "--save", "");
    add(arguments, "--appendonly", "no");
    add(arguments, "--bind", "127.0.0.1");
    add(arguments, "--dir", server->folder);
    add(arguments, "--unixsocket", server->path);
    add(arguments, "--logfile", "log");
    snprintf(text, sizeof text, "%u", server->port);
    add(arguments, "--port", text);
    if (server->cluster)
        add(arguments, "--cluster-enabled", "yes");
    if (server->tls_folder == NULL)
        return;
    snprintf(text, sizeof text, "%u", server->tls_port);
    add(arguments, "--tls-port", text);
    snprintf(text, sizeof text, "%s/cert.pem", server->tls_folder);
    add(arguments, "--tls-cert-file", text);
    add(arguments, "--tls-ca-cert-file", text);
    snprintf(text, sizeof text, "%s/key.pem", server->tls_folder);
    add(arguments, "--tls-key-file", text);
    add(arguments, "--tls-auth-clients", "no");
}

static void
become_server(redis_server const *server)
{
    char *arguments[ARGUMENTS_MAX] = { strdup("redis-server"), NULL };

    add_places(arguments, server);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execvp("redis-server", arguments);
    _exit(127);
}

void
redis_start(redis_server *server)
{
    char reply[256];

    if (server->folder[0] == '\0') {
        snprintf(server->folder, sizeof server->folder, "/tmp/guardcache-redis-XXXXXX");
        assert_non_null(mkdtemp(server->folder));
        snprintf(server->path, sizeof server->path, "%s/socket", server->folder);
        server->port = free_port();
        if (server->tls_folder != NULL)
            server->tls_port = free_port();
    }
    unlink(server->path);
    server->pid = fork();
    if (server->pid == 0)
        become_server(server);
    assert_true(server->pid > 0);
    gci_pauses pauses = gci_pauses_of(1000000, 20000000, START_WAIT_NS);
    while (!try_say(server, "PING", reply, sizeof reply) || strncmp(reply, "+PONG", 5) != 0)
        assert_true(gci_clock_pause(&pauses));
}

void
redis_kill(redis_server *server)
{
    if (server->pid > 0) {
        kill(server->pid, SIGKILL);
        waitpid(server->pid, NULL, 0);
    }
    server->pid = 0;
}

static int
remove_one(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)facts, (void)type, (void)place;
    return remove(path);
}

void
redis_stop(redis_server *server)
{
    redis_kill(server);
    if (server->folder[0] != '\0')
        nftw(server->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    *server = (redis_server){ 0 };
}

/* ---- false ones ---- */

typedef struct visit {
    false_server *server;
    int fd, number;
} visit;

static void *
serve_visit(void *state)
{
    visit one = *(visit *)state;

    free(state);
    one.server->serve(one.server, one.fd, one.number);
    close(one.fd);
    return NULL;
}

/* A connection at a time would do for most tests, but not for those that leave one open. */
static void *
listen_for_all(void *state)
{
    enum { VISITS_MAX = 64 };
    false_server *server = state;
    pthread_t threads[VISITS_MAX];
    int count = 0;

    while (!server->stop && count < VISITS_MAX) {
        struct pollfd one = { .fd = server->listener, .events = POLLIN };
        if (poll(&one, 1, 5) != 1)
            continue;
        int fd = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        visit *fresh = malloc(sizeof *fresh);
        if (fresh == NULL)
            abort();
        *fresh = (visit){ server, fd, server->connections++ };
        if (pthread_create(&threads[count++], NULL, serve_visit, fresh) != 0)
            abort();
    }
    while (count > 0)
        pthread_join(threads[--count], NULL);
    return NULL;
}

void
false_start(false_server *server, void (*serve)(false_server *server, int fd, int number), void const *state)
{
    *server = (false_server){ .serve = serve, .state = state };
    server->listener = bound_listener(&server->port);
    assert_int_equal(listen(server->listener, 16), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, listen_for_all, server), 0);
}

void
false_stop(false_server *server)
{
    server->stop = true;
    pthread_join(server->thread, NULL);
    close(server->listener);
}

/* false: the other side has gone. */
static bool
read_line(int fd, char *line, size_t size)
{
    size_t at = 0;

    while (at + 1 < size) {
        if (recv(fd, line + at, 1, 0) != 1)
            return false;
        if (line[at++] == '\n')
            break;
    }
    line[at] = '\0';
    return true;
}

static bool
read_argument(int fd, char *out, size_t size)
{
    char line[64];

    if (!read_line(fd, line, sizeof line))
        return false;
    long wanted = strtol(line + 1, NULL, 10) + 2;
    for (long i = 0; i < wanted; i++) {
        char byte;
        if (recv(fd, &byte, 1, 0) != 1)
            return false;
        if (i + 2 < wanted && (size_t)i + 1 < size) {
            out[i] = byte;
            out[i + 1] = '\0';
        }
    }
    return true;
}

bool
false_read(int fd, int commands, char *last, size_t size)
{
    char line[64], argument[512];

    for (; commands > 0; commands--) {
        if (!read_line(fd, line, sizeof line))
            return false;
        if (last != NULL)
            last[0] = '\0';
        for (long count = strtol(line + 1, NULL, 10); count > 0; count--) {
            argument[0] = '\0';
            if (!read_argument(fd, argument, sizeof argument))
                return false;
            size_t used = last != NULL ? strlen(last) : 0;
            if (last != NULL)
                snprintf(last + used, size - used, "%s%s", used != 0 ? " " : "", argument);
        }
    }
    return true;
}

void
false_write(int fd, char const *bytes)
{
    size_t size = strlen(bytes);

    while (size != 0) {
        ssize_t sent = send(fd, bytes, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        bytes += sent;
        size -= (size_t)sent;
    }
}

bool
false_greet(int fd)
{
    bool read = false_read(fd, 1, NULL, 0);

    false_write(fd, "*2\r\n$4\r\nmode\r\n$10\r\nstandalone\r\n");
    return read;
}

/* ---- tiers ---- */

gci_redis_options
options_for(redis_server const *server)
{
    return (gci_redis_options){ .socket_path = server->path, .prefix = "guardcache", .shown = "redis+unix://socket" };
}

gci_redis_options
options_for_port(uint16_t port)
{
    return (gci_redis_options){ .host = "127.0.0.1", .port = port, .prefix = "guardcache", .shown = "redis://127.0.0.1" };
}

tier
open_tier(gci_redis_options const *options)
{
    gcache_error error;
    tier t = { .call = GCACHE_TIER_CALL_INIT };

    if (gci_redis_open(options, &t.f, &t.at, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    assert_int_equal(t.f->size, sizeof(gcache_tier_functions));
    assert_int_equal(t.f->version, GCACHE_TIER_VERSION);
    return t;
}

void
close_tier(tier *t)
{
    t->f->close(t->at);
    t->at = NULL;
}

uint64_t
in_ms(uint64_t ms)
{
    return gci_clock_steady_ns() + ms * 1000000;
}

gcache_key
key_of(unsigned number)
{
    gcache_key key;

    for (size_t i = 0; i < sizeof key.bytes; i++)
        key.bytes[i] = (uint8_t)(number >> (8 * (i % 4)));
    key.bytes[31] = 0x5a;
    return key;
}

gcache_object
object_of(gcache_object_kind kind, unsigned key, char const *name, char const *bytes)
{
    gcache_object object = { .kind = kind, .bytes = bytes, .size = bytes != NULL ? strlen(bytes) : 0 };

    if (kind != GCACHE_OBJECT_ATTACHMENT && kind != GCACHE_OBJECT_VALUE)
        object.key = key_of(key);
    snprintf(object.name, sizeof object.name, "%s", name);
    return object;
}

int
note(void *state, gcache_object const *object)
{
    found *f = state;

    f->count++;
    f->size = object->size;
    snprintf(f->name, sizeof f->name, "%s", object->name);
    snprintf(f->bytes, sizeof f->bytes, "%.*s", (int)(object->size < 255 ? object->size : 255), (char const *)object->bytes);
    for (size_t i = 0; i < object->size; i++)
        f->sum += ((uint8_t const *)object->bytes)[i];
    return f->stop_after != 0 && f->count >= (size_t)f->stop_after;
}

/* ---- names and times on a server ---- */

long
redis_time_left(redis_server const *server, char const *name)
{
    char command[256], reply[64];

    snprintf(command, sizeof command, "PTTL %s", name);
    redis_say(server, command, reply, sizeof reply);
    assert_int_equal(reply[0], ':');
    return strtol(reply + 1, NULL, 10);
}

char const *
name_on_server(unsigned key, char const *end)
{
    static char name[256];
    gcache_key of = key_of(key);
    char hex[GCACHE_KEY_HEX_SIZE];

    gcache_key_to_hex(&of, hex);
    snprintf(name, sizeof name, "guardcache:1:{%s}:%s", hex, end);
    return name;
}

gcache_tier_lease
lease_of(unsigned key, char const *holder, uint64_t ttl_ms)
{
    gcache_tier_lease lease = { .key = key_of(key), .ttl_ns = ttl_ms * 1000000 };

    snprintf(lease.name, sizeof lease.name, "cafe");
    snprintf(lease.holder, sizeof lease.holder, "%s", holder);
    return lease;
}
