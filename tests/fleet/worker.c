/*
 * One process of a fleet, told line by line on standard input what to do; each answer is a line of JSON. For the drivers beside it.
 *
 *   worker DIRECTORY [tiers=URLS] [sign=ID:SECRET] [require=1] [compiles=FILE]
 *
 *   write KEYS FIRST STEP COUNT FLUSH_MS   inserts candidates FIRST, FIRST + STEP, .. under KEYS keys, then flushes
 *   check KEYS FIRST STEP COUNT            looks each of them up, and a neighbour's value that nobody stored
 *   insert KEY VALUE                       payload and guard as there
 *   put KEY TEXT                           an unconditional entry of this payload
 *   lookup KEY VALUE [TIMES]
 *   explain KEY VALUE
 *   compile KEY VALUE STEP MS [GROUP MEMBERS] get_or_compile; the callback takes MS, and makes random bytes; STEP says where the
 *                                          process dies or stops: see `steps`
 *   flush MS | counts | pull
 *
 * Candidate n of key k has the guard s0 == n and bytes made from both: whoever gets others notices. compiles=FILE has a line for
 * each beginning and end of a compile.
 */
#include <guardcache/compile.h>
#include <guardcache/fleet.h>

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PAYLOAD_BYTES_MAX 12000
#define LINE_BYTES 4096
/* Payloads of up to 4 KiB lie in the head, others beside it. */
#define SMALL_BYTES 100

typedef enum step {
    STEP_NONE,
    STEP_DIE_BEFORE, /* as soon as the callback is called */
    STEP_DIE_WITHIN, /* in the middle of compiling */
    STEP_DIE_AFTER,  /* compiled, and not stored */
    STEP_DIE_STORED, /* stored here, perhaps on the way to tiers */
    STEP_STOP_WITHIN,
    STEP_COUNT
} step;

static char const *const steps[STEP_COUNT] = { "none",       "die-before",  "die-within", "die-after",
                                               "die-stored", "stop-within" };

static struct worker {
    gcache *cache;
    FILE *compiles;
    step step;
    long ms;
    char key[64];
    char payload[64];
} worker;

/* ---- time and hashes ---- */

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void
pause_ms(long ms)
{
    struct timespec rest = { ms / 1000, ms % 1000 * 1000000 };

    while (ms > 0 && nanosleep(&rest, &rest) != 0)
        continue;
}

/* splitmix64 (Steele, Lea, Flood, 2014). */
static uint64_t
scramble(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* FNV-1a. */
static uint64_t
hash_of(void const *bytes, size_t size)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((unsigned char const *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* ---- questions ---- */

static gcache_graph *
describe(char const *key)
{
    gcache_graph *graph = gcache_graph_new("generic");

    gcache_graph_component(graph, "module", gcache_value_text(graph, key, strlen(key)));
    return graph;
}

/* Every eighth is too large for a head, and can't be compressed. */
static size_t
make_payload(char const *key, long value, unsigned char out[PAYLOAD_BYTES_MAX])
{
    uint64_t state = hash_of(key, strlen(key)) ^ (uint64_t)value;
    size_t size = value % 8 == 7 ? PAYLOAD_BYTES_MAX : SMALL_BYTES;

    for (size_t i = 0; i < size; i += sizeof state) {
        uint64_t random = scramble(&state);
        memcpy(out + i, &random, size - i < sizeof random ? size - i : sizeof random);
    }
    return size;
}

static void
print_text(char const *text)
{
    putchar('"');
    for (; *text != '\0'; text++) {
        if ((unsigned char)*text < 0x20)
            printf("\\u%04x", (unsigned)*text);
        else
            printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    }
    putchar('"');
}

static void
answer_status(gcache_status status, gcache_error const *error)
{
    printf("{\"status\": \"%s\", \"message\": ", gcache_status_name(status));
    print_text(status < 0 ? error->message : "");
    printf("}\n");
}

/* ---- writing and checking ---- */

static gcache_status
insert(char const *key, long value, gcache_error *error)
{
    unsigned char payload[PAYLOAD_BYTES_MAX];
    gcache_hints hints = GCACHE_HINTS({ "s0", value });
    gcache_entry entry = GCACHE_ENTRY_INIT;
    char guard[48];

    snprintf(guard, sizeof guard, "s0 == %ld", value);
    entry.guards = (char const *const[]){ guard };
    entry.guard_count = 1;
    entry.payload = payload;
    entry.payload_size = make_payload(key, value, payload);
    entry.compile_ns = 1000000000;
    gcache_graph *graph = describe(key);
    gcache_status status = gcache_insert(worker.cache, graph, &hints, &entry, NULL, error);
    gcache_graph_free(graph);
    return status;
}

/* Of a candidate. Each billion of them has keys of its own. */
static void
name_key(long value, long keys, char out[48])
{
    snprintf(out, 48, "k%ld-%ld", value / 1000000000, value % keys);
}

static void
do_write(char const *line)
{
    long keys, first, stride, count, flush_ms, flushed = 0;
    gcache_error error = { 0 };
    gcache_status status = GCACHE_OK;
    char key[48];

    if (sscanf(line, "%ld %ld %ld %ld %ld", &keys, &first, &stride, &count, &flush_ms) != 5)
        exit(2);
    for (long i = 0; i < count && status == GCACHE_OK; i++) {
        name_key(first + i * stride, keys, key);
        status = insert(key, first + i * stride, &error);
        flushed += status == GCACHE_OK;
    }
    if (status == GCACHE_OK)
        status = gcache_tiers_flush(worker.cache, (uint64_t)flush_ms * 1000000, &error);
    printf("{\"status\": \"%s\", \"inserted\": %ld, \"message\": ", gcache_status_name(status), flushed);
    print_text(status < 0 ? error.message : "");
    printf("}\n");
}

typedef struct looked {
    gcache_status status;
    gcache_reason reason, local_reason;
    bool right; /* the payload */
    uint64_t hash, elapsed_ns;
    char tier[256];
    gcache_error error;
} looked;

static looked
look_up(char const *key, long value)
{
    unsigned char expected[PAYLOAD_BYTES_MAX];
    gcache_hints hints = GCACHE_HINTS({ "s0", value });
    gcache_result result = GCACHE_RESULT_INIT;
    looked out = { 0 };
    size_t size = make_payload(key, value, expected);
    gcache_graph *graph = describe(key);
    uint64_t began = now_ns();

    out.status = gcache_lookup(worker.cache, graph, &hints, &result, &out.error);
    out.elapsed_ns = now_ns() - began;
    out.reason = result.reason;
    out.local_reason = result.local_reason;
    if (out.status == GCACHE_HIT) {
        out.right = result.payload_size == size && memcmp(result.payload, expected, size) == 0;
        out.hash = hash_of(result.payload, result.payload_size);
        snprintf(out.tier, sizeof out.tier, "%s", result.tier);
    }
    gcache_result_clear(&result);
    gcache_graph_free(graph);
    return out;
}

static void
do_check(char const *line)
{
    long keys, first, stride, count, right = 0, wrong = 0, missed = 0, refused = 0;
    char key[48], other[48];

    if (sscanf(line, "%ld %ld %ld %ld", &keys, &first, &stride, &count) != 4)
        exit(2);
    for (long i = 0; i < count; i++) {
        long value = first + i * stride;
        name_key(value, keys, key);
        looked found = look_up(key, value);
        right += found.status == GCACHE_HIT && found.right;
        wrong += found.status == GCACHE_HIT && !found.right;
        missed += found.status != GCACHE_HIT;
        /* What another key has a candidate for, this one hasn't. */
        name_key(value + 1, keys, other);
        if (keys > 1 && i % 8 == 0)
            refused += look_up(other, value).status == GCACHE_MISS;
        else
            refused++;
    }
    printf("{\"right\": %ld, \"wrong\": %ld, \"missed\": %ld, \"served_against_guards\": %ld}\n", right, wrong, missed,
           count - refused);
}

static void
do_lookup(char const *line)
{
    long value, times = 1;
    char key[64];

    if (sscanf(line, "%63s %ld %ld", key, &value, &times) < 2)
        exit(2);
    looked found = look_up(key, value);
    uint64_t longest = found.elapsed_ns, sum = found.elapsed_ns;
    for (long i = 1; i < times; i++) {
        looked again = look_up(key, value);
        longest = again.elapsed_ns > longest ? again.elapsed_ns : longest;
        sum += again.elapsed_ns;
    }
    printf("{\"status\": \"%s\", \"reason\": \"%s\", \"local_reason\": \"%s\", \"right\": %s, \"hash\": \"%016" PRIx64 "\", ",
           gcache_status_name(found.status), gcache_reason_name(found.reason), gcache_reason_name(found.local_reason),
           found.right ? "true" : "false", found.hash);
    printf("\"ms\": %.3f, \"longest_ms\": %.3f, \"sum_ms\": %.3f, \"tier\": ", (double)found.elapsed_ns / 1e6,
           (double)longest / 1e6, (double)sum / 1e6);
    print_text(found.tier);
    printf(", \"message\": ");
    print_text(found.error.message);
    printf("}\n");
}

static void
do_insert(char const *line)
{
    gcache_error error = { 0 };
    char key[64];
    long value;

    if (sscanf(line, "%63s %ld", key, &value) != 2)
        exit(2);
    answer_status(insert(key, value, &error), &error);
}

static void
do_put(char const *line)
{
    gcache_entry entry = GCACHE_ENTRY_INIT;
    gcache_error error = { 0 };
    char key[64], text[64];

    if (sscanf(line, "%63s %63s", key, text) != 2)
        exit(2);
    entry.payload = text;
    entry.payload_size = strlen(text);
    entry.compile_ns = 1000000000;
    gcache_graph *graph = describe(key);
    answer_status(gcache_insert(worker.cache, graph, NULL, &entry, NULL, &error), &error);
    gcache_graph_free(graph);
}

static void
do_explain(char const *line)
{
    gcache_error error = { 0 };
    char *text = NULL, key[64];
    long value;

    if (sscanf(line, "%63s %ld", key, &value) != 2)
        exit(2);
    gcache_hints hints = GCACHE_HINTS({ "s0", value });
    gcache_graph *graph = describe(key);
    gcache_explain(worker.cache, graph, &hints, NULL, GCACHE_EXPLAIN_JSON, &text, &error);
    printf("%s\n", text != NULL ? text : "{}");
    gcache_free(text);
    gcache_graph_free(graph);
}

/* ---- compiling ---- */

static void
reach(step here)
{
    if (worker.step != here)
        return;
    fflush(stdout);
    raise(here >= STEP_STOP_WITHIN ? SIGSTOP : SIGKILL);
}

static void
note(char const *what)
{
    char line[128];

    if (worker.compiles == NULL)
        return;
    int size = snprintf(line, sizeof line, "%s %s %ld %" PRIu64 "\n", what, worker.key, (long)getpid(), now_ns());
    if (write(fileno(worker.compiles), line, (size_t)size) != size)
        exit(2);
}

static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out, gcache_error *error)
{
    static unsigned long serial;

    (void)state, (void)graph, (void)hints, (void)error;
    note("begin");
    reach(STEP_DIE_BEFORE);
    pause_ms(worker.ms / 2);
    reach(STEP_DIE_WITHIN);
    reach(STEP_STOP_WITHIN);
    pause_ms(worker.ms - worker.ms / 2);
    snprintf(worker.payload, sizeof worker.payload, "%ld %lu %" PRIx64, (long)getpid(), serial++, now_ns());
    out->entry->payload = worker.payload;
    out->entry->payload_size = strlen(worker.payload);
    out->entry->compile_ns = 1000000000;
    note("end");
    reach(STEP_DIE_AFTER);
    return GCACHE_OK;
}

static void
hear(void *state, gcache_event const *event)
{
    (void)state;
    if (event->kind != GCACHE_EVENT_STORED || worker.key[0] == '\0')
        return;
    note("stored");
    reach(STEP_DIE_STORED);
}

static step
read_step(char const *word)
{
    for (int i = 0; i < STEP_COUNT; i++) {
        if (strcmp(word, steps[i]) == 0)
            return (step)i;
    }
    exit(2);
}

static void
do_compile(char const *line)
{
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_group group = GCACHE_GROUP_INIT;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error = { 0 };
    char word[32], name[64];
    long value;

    int read = sscanf(line, "%63s %ld %31s %ld %63s %zu", worker.key, &value, word, &worker.ms, name, &group.members);
    if (read != 4 && read != 6)
        exit(2);
    worker.step = read_step(word);
    group.name = name;
    options.group = read == 6 ? &group : NULL;
    gcache_hints hints = GCACHE_HINTS({ "s0", value });
    gcache_graph *graph = describe(worker.key);
    uint64_t began = now_ns();
    gcache_status status = gcache_get_or_compile_with(worker.cache, graph, &hints, &options, compile, NULL, &result, &error);
    printf("{\"status\": \"%s\", \"hash\": \"%016" PRIx64 "\", \"reason\": \"%s\", \"entry\": \"%s\", \"ms\": %.3f, \"note\": ",
           gcache_status_name(status), hash_of(result.payload, result.payload_size), gcache_reason_name(result.reason),
           result.entry, (double)(now_ns() - began) / 1e6);
    print_text(result.note != NULL ? result.note : "");
    printf(", \"tier\": ");
    print_text(result.tier != NULL ? result.tier : "");
    printf("}\n");
    gcache_result_clear(&result);
    gcache_graph_free(graph);
    worker.key[0] = '\0';
    worker.step = STEP_NONE;
}

/* ---- tiers ---- */

static void
do_flush(char const *line)
{
    gcache_error error = { 0 };

    answer_status(gcache_tiers_flush(worker.cache, strtoull(line, NULL, 10) * 1000000, &error), &error);
}

static int
print_tier(void *state, gcache_tier_state const *tier)
{
    (void)state;
    printf("{\"name\": ");
    print_text(tier->name);
    printf(", \"left_alone\": %s", tier->left_alone ? "true" : "false");
    for (int i = 0; i < GCACHE_TIER_COUNT_COUNT; i++)
        printf(", \"%s\": %" PRIu64, gcache_tier_count_name((gcache_tier_count)i), tier->counts[i]);
    printf("}\n");
    return 1;
}

static void
do_counts(char const *line)
{
    (void)line;
    gcache_tiers_each(worker.cache, print_tier, NULL, NULL);
}

static void
do_pull(char const *line)
{
    gcache_sync_options options = GCACHE_SYNC_OPTIONS_INIT;
    gcache_synced synced = GCACHE_SYNCED_INIT;
    gcache_error error = { 0 };

    (void)line;
    options.pull = true;
    gcache_status status = gcache_tiers_sync(worker.cache, &options, &synced, &error);
    printf("{\"status\": \"%s\", \"pulled\": %" PRIu64 ", \"left_out\": %" PRIu64 ", \"message\": ", gcache_status_name(status),
           synced.pulled, synced.left_out);
    print_text(error.message);
    printf("}\n");
}

/* ---- the process ---- */

static struct {
    char const *word;
    void (*act)(char const *line);
} const commands[] = {
    { "write", do_write },     { "check", do_check }, { "insert", do_insert },   { "put", do_put },   { "lookup", do_lookup },
    { "explain", do_explain }, { "flush", do_flush }, { "compile", do_compile }, { "pull", do_pull }, { "counts", do_counts },
};

static void
obey(char const *line)
{
    size_t size = strcspn(line, " \n");

    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (strlen(commands[i].word) == size && memcmp(commands[i].word, line, size) == 0) {
            commands[i].act(line + size);
            fflush(stdout);
            return;
        }
    }
    exit(2);
}

static void
hear_line(void *state, char const *line)
{
    (void)state;
    fprintf(stderr, "%s\n", line);
}

static char const *
value_of(char const *argument, char const *name)
{
    size_t size = strlen(name);

    return strncmp(argument, name, size) == 0 && argument[size] == '=' ? argument + size + 1 : NULL;
}

static void
take_argument(char *argument, gcache_options *options, gcache_signing_key *key)
{
    char const *value;

    if ((value = value_of(argument, "tiers")) != NULL) {
        options->tiers = value;
    } else if ((value = value_of(argument, "sign")) != NULL) {
        char *colon = strchr(argument, ':');
        if (colon == NULL)
            exit(2);
        *colon = '\0';
        *key = (gcache_signing_key){ .id = value, .secret = colon + 1, .secret_size = strlen(colon + 1) };
        options->signing = key;
        options->signing_count = 1;
    } else if (value_of(argument, "require") != NULL) {
        options->require_signature = true;
    } else if ((value = value_of(argument, "compiles")) != NULL) {
        worker.compiles = fopen(value, "a");
    } else {
        exit(2);
    }
}

int
main(int count, char **arguments)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_signing_key key = { 0 };
    gcache_error error = { 0 };
    char line[LINE_BYTES];

    if (count < 2)
        return 2;
    for (int i = 2; i < count; i++)
        take_argument(arguments[i], &options, &key);
    options.log = hear_line;
    options.event = hear;
    options.flush_ns = UINT64_C(1000000000);
    if (gcache_open(arguments[1], &options, &worker.cache, &error) != GCACHE_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    printf("{\"ready\": %ld}\n", (long)getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL)
        obey(line);
    gcache_close(worker.cache);
    if (worker.compiles != NULL)
        fclose(worker.compiles);
    return 0;
}
