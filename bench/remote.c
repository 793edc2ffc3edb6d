/*
 * A hit from a tier as the caller sees it: gcache_lookup with default settings in a cache that hasn't the entry, beside the bare
 * commands that bring the same bytes over the same socket: HGETALL of the key's heads, GET of the payload. Every key is looked up
 * once, since afterwards it is stored here. The server is a redis-server of our own.
 *
 *     bench_remote [KEYS [SYNC_KEYS]]
 */
#include "harness.h"
#include "store/format/record.h"

#include <guardcache/guardcache.h>
#include <openssl/evp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAYLOAD = 100 << 10, SMALL = 3 << 10, REPLY = 4 << 20, NAME = 256 };

typedef struct rig {
    char *directory;
    char socket_path[96], url[128];
    pid_t server;
    int keys;
    char *code; /* machine code: payloads are pieces of it */
    size_t code_size;
} rig;

/* ---- the server ---- */

static int
connect_to(rig const *r)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", r->socket_path);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0)
        return fd;
    close(fd);
    return -1;
}

static void
start_server(rig *r)
{
    snprintf(r->socket_path, sizeof r->socket_path, "%s/redis", r->directory);
    snprintf(r->url, sizeof r->url, "redis+unix://%s?timeout-ms=10000", r->socket_path);
    r->server = fork();
    if (r->server == 0) {
        freopen("/dev/null", "w", stdout);
        execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", r->socket_path, "--save", "", "--appendonly",
               "no", "--dir", r->directory, (char *)NULL);
        _exit(127);
    }
    for (int i = 0; i < 500; i++) {
        int fd = connect_to(r);
        if (fd >= 0) {
            close(fd);
            return;
        }
        usleep(10000);
    }
    bench_die("redis-server", "it doesn't start; is it installed?");
}

static void
stop_server(rig *r)
{
    kill(r->server, SIGKILL);
    waitpid(r->server, NULL, 0);
}

/* ---- bare commands ---- */

static void
send_all(int fd, char const *text)
{
    size_t size = strlen(text);

    if (write(fd, text, size) != (ssize_t)size)
        bench_die("write", "to the server");
}

/* The size of a bulk string's or an array's header and what it announces; 0: it isn't whole yet. */
static size_t
header(char const *reply, size_t got, long *out_number)
{
    char const *end = memchr(reply, '\n', got);

    if (end == NULL)
        return 0;
    *out_number = strtol(reply + 1, NULL, 10);
    return (size_t)(end - reply) + 1;
}

/* The size of the whole reply, once it can be told; 0: it can't yet. */
static size_t
whole(char const *reply, size_t got)
{
    long number;
    size_t at = header(reply, got, &number);

    if (at == 0 || reply[0] == '$')
        return at == 0 ? 0 : at + (size_t)number + 2;
    for (long i = number; i > 0; i--) {
        size_t line = at < got ? header(reply + at, got - at, &number) : 0;
        if (line == 0)
            return 0;
        at += line + (size_t)number + 2;
    }
    return at;
}

static size_t
receive(int fd, char *reply)
{
    size_t got = 0, size;

    while ((size = whole(reply, got)) == 0 || got < size) {
        ssize_t more = read(fd, reply + got, REPLY - got);
        if (more <= 0)
            bench_die("read", "from the server");
        got += (size_t)more;
    }
    return got;
}

static size_t
ask(int fd, char const *command, char const *name, char *reply)
{
    char text[NAME + 64];

    snprintf(text, sizeof text, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(command), command, strlen(name), name);
    send_all(fd, text);
    return receive(fd, reply);
}

static void
forget_all(rig const *r)
{
    char reply[64];
    int fd = connect_to(r);

    send_all(fd, "*1\r\n$8\r\nFLUSHALL\r\n");
    if (read(fd, reply, sizeof reply) <= 0)
        bench_die("FLUSHALL", "no answer");
    close(fd);
}

/* The names of all payloads, whose keys' heads are called alike. */
static int
list_payloads(int fd, char *reply, char (*names)[NAME], int most)
{
    long count, size;

    ask(fd, "KEYS", "guardcache:1:*:p:*", reply);
    size_t at = header(reply, REPLY, &count);
    for (int i = 0; i < count && i < most; i++) {
        at += header(reply + at, REPLY - at, &size);
        snprintf(names[i], NAME, "%.*s", (int)size, reply + at);
        at += (size_t)size + 2;
    }
    return count < most ? (int)count : most;
}

/* The bare commands, one key after the other: taken in turns with lookups, so that both meet the machine in the same state. */
typedef struct bare_commands {
    int fd, count, at;
    char (*names)[NAME];
    double *samples;
    char *reply;
    size_t bytes; /* of all replies */
} bare_commands;

static void
bare_begin(bare_commands *b, rig const *r)
{
    *b = (bare_commands){ .fd = connect_to(r), .names = calloc((size_t)r->keys, sizeof *b->names),
                 .samples = calloc((size_t)r->keys, sizeof *b->samples), .reply = malloc(REPLY) };
    b->count = list_payloads(b->fd, b->reply, b->names, r->keys);
}

static void
bare_step(bare_commands *b)
{
    char heads[NAME], *name = b->names[b->at % b->count];

    snprintf(heads, sizeof heads, "%.*s:h", (int)(strchr(name, '}') + 1 - name), name);
    uint64_t start = bench_now_ns();
    b->bytes += ask(b->fd, "HGETALL", heads, b->reply);
    b->bytes += ask(b->fd, "GET", name, b->reply);
    b->samples[b->at++] = (double)(bench_now_ns() - start);
}

static bench_figure
bare_end(bare_commands *b)
{
    bench_figure figure = bench_figure_of(b->samples, (size_t)b->at);

    close(b->fd);
    free(b->names);
    free(b->samples);
    free(b->reply);
    return figure;
}

/* ---- through the cache ---- */

static gcache *
open_cache(rig const *r, char const *name, char const *tiers, gcache_signing_key const *key, int level)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_error error;
    gcache *cache;
    char path[128];

    snprintf(path, sizeof path, "%s/%s", r->directory, name);
    options.tiers = tiers;
    options.compression_level = level;
    options.signing = key;
    options.signing_count = key != NULL;
    options.require_signature = key != NULL;
    if (gcache_open(path, &options, &cache, &error) != GCACHE_OK)
        bench_die("gcache_open", error.message);
    return cache;
}

static gcache_graph *
describe(int number)
{
    gcache_graph *graph = gcache_graph_new("generic");
    char text[32];
    int size = snprintf(text, sizeof text, "graph %d", number);

    gcache_graph_component(graph, "module", gcache_value_text(graph, text, (size_t)size));
    return graph;
}

static void
fill(rig const *r, gcache *cache, size_t payload, int first)
{
    char const *guards[] = { "s0 % 8 == 0", "2 <= s0", "s0 <= 1024" };
    gcache_error error;

    for (int i = 0; i < r->keys; i++) {
        gcache_graph *graph = describe(first + i);
        gcache_entry entry = GCACHE_ENTRY_INIT;
        entry.guards = guards;
        entry.guard_count = 3;
        entry.payload = r->code + (size_t)i * 997 % (r->code_size - payload);
        entry.payload_size = payload;
        if (gcache_insert(cache, graph, NULL, &entry, NULL, &error) != GCACHE_OK)
            bench_die("gcache_insert", error.message);
        gcache_graph_free(graph);
    }
    if (gcache_tiers_flush(cache, UINT64_C(600) * 1000000000, &error) != GCACHE_OK)
        bench_die("gcache_tiers_flush", error.message);
}

typedef struct counted {
    uint64_t hits, round_trips;
} counted;

static int
count(void *state, gcache_tier_state const *tier)
{
    counted *c = state;

    c->hits = tier->counts[GCACHE_TIER_COUNT_HITS];
    c->round_trips = tier->counts[GCACHE_TIER_COUNT_ROUND_TRIPS];
    return 0;
}

/* Each key once, from a directory that has none of them. beside: when what came is stored here and nothing else is going on, the
   bare commands; NULL: one lookup follows the other while a thread stores what came. */
static bench_figure
time_lookups(rig const *r, gcache *cache, int first, bare_commands *beside, char note[64])
{
    gcache_hints hints = GCACHE_HINTS({ "s0", 16 });
    double *samples = calloc((size_t)r->keys, sizeof *samples);
    counted sum = { 0, 0 };
    gcache_error error;

    for (int i = 0; i < r->keys; i++) {
        gcache_graph *graph = describe(first + i);
        gcache_result result = GCACHE_RESULT_INIT;
        gcache_key key;
        gcache_graph_key(graph, &key, &error); /* it is computed once a graph, whoever looks it up */
        uint64_t start = bench_now_ns();
        if (gcache_lookup(cache, graph, &hints, &result, &error) != GCACHE_HIT)
            bench_die("gcache_lookup", result.note);
        samples[i] = (double)(bench_now_ns() - start);
        gcache_result_clear(&result);
        gcache_graph_free(graph);
        if (beside != NULL) {
            gcache_tiers_flush(cache, 0, &error);
            bare_step(beside);
        }
    }
    gcache_tiers_each(cache, count, &sum, NULL);
    snprintf(note, 64, "%.2f round trips a hit", (double)sum.round_trips / (double)(sum.hits != 0 ? sum.hits : 1));
    bench_figure figure = bench_figure_of(samples, (size_t)r->keys);
    free(samples);
    return figure;
}

/* A program that is there wherever this can run. */
static void
read_code(rig *r)
{
    FILE *file = fopen("/usr/bin/redis-server", "rb");

    r->code = malloc((size_t)16 << 20);
    r->code_size = file != NULL ? fread(r->code, 1, (size_t)16 << 20, file) : 0;
    if (r->code_size < PAYLOAD * 2)
        bench_die("/usr/bin/redis-server", "too small to be a payload");
    fclose(file);
}

/* ---- signatures ---- */

typedef struct verifying {
    gci_view head;
    gci_signature signature;
    gci_signing_key key;
    gci_buf bytes; /* as libcrypto alone would get them */
    EVP_PKEY *bare_key;
    unsigned char bare_signature[64];
} verifying;

static void
verify(void *state)
{
    verifying *v = state;

    if (!gci_signature_verify(v->head, &v->signature, &v->key, 1))
        bench_die("gci_signature_verify", "no");
}

static void
verify_bare(void *state)
{
    verifying *v = state;
    EVP_MD_CTX *context = EVP_MD_CTX_new();

    if (EVP_DigestVerifyInit(context, NULL, NULL, NULL, v->bare_key) != 1 ||
        EVP_DigestVerify(context, v->bare_signature, 64, (unsigned char const *)v->bytes.data, v->bytes.size) != 1)
        bench_die("EVP_DigestVerify", "no");
    EVP_MD_CTX_free(context);
}

/* A record as an insert signs it, of some hundred bytes, verified by us and by libcrypto alone. */
static void
time_verifying(void)
{
    static uint8_t const seed[32] = "thirty-two bytes that nobody kno";
    gci_view guards[] = { GCI_VIEW("s0 % 8 == 0"), GCI_VIEW("2 <= s0"), GCI_VIEW("s0 <= 1024") };
    gci_record record = { .kind = GCI_VIEW("fx"), .guards = guards, .guard_count = 3, .payload_size = PAYLOAD }, read;
    verifying v = { .key = { .id = "bench", .algorithm = GCACHE_SIGNING_ED25519, .secret = gci_view_of(seed, 32) } };
    size_t size = sizeof v.bare_signature;
    gci_signature signature;
    gci_buf head;
    gci_arena arena;

    gci_buf_init(&head, GCI_BUF_NO_LIMIT);
    gci_buf_init(&v.bytes, GCI_BUF_NO_LIMIT);
    gci_arena_init(&arena, (size_t)1 << 20);
    v.bare_key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, sizeof seed);
    size_t public_size = sizeof v.key.public_key;
    EVP_PKEY_get_raw_public_key(v.bare_key, v.key.public_key, &public_size);
    if (!gci_record_sign(&record, gci_view_text("payload"), &v.key, &signature))
        bench_die("gci_record_sign", "no");
    gci_record_write(&head, &record, &signature);
    v.head = gci_buf_view(&head);
    if (!gci_record_read(v.head, &arena, &read, &v.signature))
        bench_die("gci_record_read", "no");
    gci_buf_append(&v.bytes, head.data, v.signature.covered);
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    EVP_DigestSignInit(context, NULL, NULL, NULL, v.bare_key);
    EVP_DigestSign(context, v.bare_signature, &size, (unsigned char const *)v.bytes.data, v.bytes.size);
    EVP_MD_CTX_free(context);
    bench_run_computing(verify, &v, 31, 50); /* so that both begin warm */
    bench_figure bare = bench_run_computing(verify_bare, &v, 31, 50), ours = bench_run_computing(verify, &v, 31, 50);
    bench_print("a signature by Ed25519 verified", ours, "");
    bench_print("  floor: EVP_DigestVerify of the same bytes", bare, "");
    printf("%-56s %.2f\n", "ratio", ours.median_ns / bare.median_ns);
    EVP_PKEY_free(v.bare_key);
    gci_buf_clear(&head);
    gci_buf_clear(&v.bytes);
    gci_arena_clear(&arena);
}

static void
time_sync(rig *r, int keys)
{
    gcache *from = open_cache(r, "full", NULL, NULL, 0);
    gcache_sync_options sync = GCACHE_SYNC_OPTIONS_INIT;
    gcache_synced sum = GCACHE_SYNCED_INIT;
    gcache_error error;

    r->keys = keys;
    fill(r, from, SMALL, 1000000);
    sync.tier = r->url;
    for (int pull = 0; pull < 2; pull++) {
        gcache *cache = pull ? open_cache(r, "empty", NULL, NULL, 0) : from;
        sync.push = !pull;
        sync.pull = pull;
        uint64_t start = bench_now_ns();
        if (gcache_tiers_sync(cache, &sync, &sum, &error) != GCACHE_OK)
            bench_die("gcache_tiers_sync", error.message);
        double elapsed = (double)(bench_now_ns() - start);
        printf("%s %d keys: %.1f s, %.0f us a key (%llu pushed, %llu pulled)\n", pull ? "pull" : "push", keys, elapsed / 1e9,
               elapsed / 1e3 / keys, (unsigned long long)sum.pushed, (unsigned long long)sum.pulled);
        if (pull)
            gcache_close(cache);
    }
    gcache_close(from);
}

/* A hit of 100 kB, whose payload is stored as it is or compressed, beside the commands that bring the same bytes. */
static void
time_hits(rig *r, int level, gcache_signing_key const *key)
{
    char const *how = level < 0 ? "stored as it is" : "compressed";
    gcache *writer = open_cache(r, level < 0 ? "raw-a" : "a", r->url, key, level);
    gcache *alone = open_cache(r, level < 0 ? "raw-b" : "b", r->url, NULL, level);
    gcache *in_a_row = open_cache(r, level < 0 ? "raw-c" : "c", r->url, NULL, level);
    gcache *checked = open_cache(r, level < 0 ? "raw-d" : "d", r->url, key, level);
    char note[64], name[96];
    bare_commands beside, ignored;

    fill(r, writer, PAYLOAD, 0);
    bare_begin(&beside, r);
    bench_figure hit = time_lookups(r, alone, 0, &beside, note);
    snprintf(name, sizeof name, "gcache_lookup, a hit from Redis, 100 kB %s", how);
    bench_print(name, hit, note);
    snprintf(note, sizeof note, "%zu bytes", beside.bytes / (size_t)beside.at);
    bench_figure floor = bare_end(&beside);
    bench_print("  floor: bare HGETALL and GET of the same bytes", floor, note);
    printf("%-56s %.2f\n", "  ratio", hit.median_ns / floor.median_ns);
    bench_figure row = time_lookups(r, in_a_row, 0, NULL, note);
    bench_print("  one after the other, while they are stored here", row, note);
    bare_begin(&ignored, r);
    bench_figure verified = time_lookups(r, checked, 0, &ignored, note);
    bench_print("  verified by HMAC", verified, note);
    bare_end(&ignored);
    gcache_close(writer);
    gcache_close(alone);
    gcache_close(in_a_row);
    gcache_close(checked);
}

static void
time_small(rig *r)
{
    gcache *writer = open_cache(r, "small-a", r->url, NULL, 0), *reader = open_cache(r, "small-b", r->url, NULL, 0);
    char note[64];

    fill(r, writer, SMALL, 500000);
    bench_figure small = time_lookups(r, reader, 500000, NULL, note);
    bench_print("gcache_lookup, a hit from Redis, payload of 3 kB", small, "one round trip, and one of the thread that stores");
    gcache_close(writer);
    gcache_close(reader);
}

int
main(int argc, char **argv)
{
    static gcache_signing_key const key = { .id = "bench", .secret = "a secret of 32 bytes, or so it is", .secret_size = 32 };
    rig r = { .directory = bench_make_directory(), .keys = argc > 1 ? atoi(argv[1]) : 400 };

    read_code(&r);
    start_server(&r);
    time_hits(&r, 0, &key);
    forget_all(&r);
    time_hits(&r, -1, &key);
    forget_all(&r);
    time_small(&r);
    time_verifying();
    if (argc > 2)
        time_sync(&r, atoi(argv[2]));
    stop_server(&r);
    bench_remove_directory(r.directory);
    free(r.code);
    return 0;
}
