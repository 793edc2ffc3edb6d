/*
 * What a listener hears of what the cache does by itself: eviction, damage, leases; and the counters of the same.
 */
#include "fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define IMPATIENT_NS UINT64_C(20000000)

enum { MOST_EVENTS = 512, PAYLOAD_BYTES = 64 * 1024, CAP_BYTES = 1024 * 1024 };

typedef struct heard {
    fixture *fixture;
    pthread_mutex_t mutex;
    size_t count;
    struct {
        gcache_event_kind kind;
        uint64_t entries, bytes, elapsed_ns;
        char text[256], line[GCACHE_EVENT_LINE_SIZE];
    } events[MOST_EVENTS];
} heard;

static void
listen(void *state, gcache_event const *event)
{
    heard *h = state;

    pthread_mutex_lock(&h->mutex);
    assert_true(h->count < MOST_EVENTS);
    size_t at = h->count++;
    h->events[at].kind = event->kind;
    h->events[at].entries = event->entries;
    h->events[at].bytes = event->bytes;
    h->events[at].elapsed_ns = event->elapsed_ns;
    snprintf(h->events[at].text, sizeof h->events[at].text, "%s", event->text);
    gcache_event_line(event, h->events[at].line, GCACHE_EVENT_LINE_SIZE);
    pthread_mutex_unlock(&h->mutex);
}

/* cmocka's setup and teardown: *state is a heard, and its cache is listened to. */
static int
heard_open(void **state)
{
    heard *h = calloc(1, sizeof *h);

    if (h == NULL || fixture_open(state) != 0)
        return -1;
    h->fixture = *state;
    pthread_mutex_init(&h->mutex, NULL);
    *state = h;
    return 0;
}

static int
heard_close(void **state)
{
    heard *h = *state;

    *state = h->fixture;
    int status = fixture_close(state);
    free(h);
    return status;
}

static fixture *
open_listening(heard *h, gcache_options options)
{
    options.event = listen;
    options.event_state = h;
    fixture_reopen(h->fixture, &options);
    return h->fixture;
}

/* The n-th event of a kind; fails if there are fewer. */
static size_t
find(heard const *h, gcache_event_kind kind, size_t n)
{
    for (size_t i = 0; i < h->count; i++)
        if (h->events[i].kind == kind && n-- == 0)
            return i;
    fail_msg("no %s among %zu events", gcache_event_name(kind), h->count);
    return 0;
}

static size_t
count_of(heard const *h, gcache_event_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < h->count; i++)
        count += h->events[i].kind == kind;
    return count;
}

/* A key of its own for each number, with a payload that doesn't compress. */
static void
insert_numbered(fixture *f, unsigned number)
{
    static char payload[PAYLOAD_BYTES];
    char width[16];
    uint32_t noise = number * 2654435761u + 1;

    for (size_t i = 0; i < sizeof payload; i++) {
        noise = noise * 1664525u + 1013904223u;
        payload[i] = (char)(noise >> 24);
    }
    snprintf(width, sizeof width, "%u", number + 1);
    gcache_graph *g = make_matmul("s0", width);
    gcache_entry entry = { .size = sizeof entry, .payload = payload, .payload_size = sizeof payload, .compile_ns = 1000,
                           .label = "net.py:1" };
    if (gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error) != GCACHE_OK)
        fail_msg("%s", f->error.message);
    gcache_graph_free(g);
}

static void
evictions_are_told_and_counted(void **state)
{
    heard *h = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    uint64_t entries = 0, bytes = 0;

    options.max_size = CAP_BYTES;
    fixture *f = open_listening(h, options);
    for (unsigned i = 0; i < 40; i++)
        insert_numbered(f, i);
    for (size_t i = 0; i < h->count; i++) {
        if (h->events[i].kind != GCACHE_EVENT_EVICTED)
            continue;
        assert_string_equal(h->events[i].text, "the cache was over its size limit");
        assert_true(h->events[i].bytes >= PAYLOAD_BYTES);
        entries += h->events[i].entries;
        bytes += h->events[i].bytes;
    }
    assert_true(entries >= 40 - CAP_BYTES / PAYLOAD_BYTES);
    assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_EVICTIONS), entries);
    assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_EVICTED_BYTES), bytes);
    char const *line = h->events[find(h, GCACHE_EVENT_EVICTED, 0)].line;
    assert_memory_equal(line, "evicted (", strlen("evicted ("));
    assert_non_null(strstr(line, "): 1 entry, "));
    assert_int_equal(count_of(h, GCACHE_EVENT_STORED), 40);
    assert_int_equal(h->events[find(h, GCACHE_EVENT_STORED, 0)].bytes, PAYLOAD_BYTES);
    assert_non_null(strstr(h->events[find(h, GCACHE_EVENT_STORED, 0)].line, "stored net.py:1 (generic "));
}

static void
what_is_taken_out_by_hand_is_told(void **state)
{
    heard *h = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_inserted inserted = GCACHE_INSERTED_INIT;
    gcache_entry entry = { .size = sizeof entry, .payload = "code", .payload_size = 4 };

    fixture *f = open_listening(h, options);
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, &inserted, &f->error), GCACHE_OK);
    assert_int_equal(gcache_remove(f->cache, &inserted.key, inserted.entry, &f->error), GCACHE_OK);
    size_t at = find(h, GCACHE_EVENT_EVICTED, 0);
    assert_int_equal(h->events[at].entries, 1);
    assert_string_equal(h->events[at].text, "it was taken out by hand (rm)");
    assert_int_equal(gcache_remove(f->cache, &inserted.key, inserted.entry, &f->error), GCACHE_ERROR_NOT_FOUND);
    assert_int_equal(count_of(h, GCACHE_EVENT_EVICTED), 1);
    gcache_graph_free(g);
}

/* Flips bits of every file of the entries. */
static int
spoil(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)place;
    if (type != FTW_F || strstr(path, "/entries/") == NULL)
        return 0;
    int file = open(path, O_RDWR);
    for (off_t at = 64; at < facts->st_size; at += 16) {
        char byte;
        assert_int_equal(pread(file, &byte, 1, at), 1);
        byte ^= 1;
        assert_int_equal(pwrite(file, &byte, 1, at), 1);
    }
    close(file);
    return 0;
}

static void
damage_is_told_and_counted(void **state)
{
    heard *h = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_result found = GCACHE_RESULT_INIT;

    assert_int_equal(insert_text(h->fixture, g, NULL, NULL, "code"), GCACHE_OK);
    nftw(h->fixture->directory, spoil, 16, FTW_PHYS);
    fixture *f = open_listening(h, options);
    assert_int_equal(gcache_lookup(f->cache, g, NULL, &found, &f->error), GCACHE_MISS);
    assert_int_equal(found.reason, GCACHE_REASON_CORRUPT);
    gcache_result_clear(&found);
    size_t at = find(h, GCACHE_EVENT_CORRUPT, 0);
    assert_non_null(strstr(h->events[at].text, "entries/"));
    assert_non_null(strstr(h->events[at].line, "corrupt: entries/"));
    assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_CORRUPT), count_of(h, GCACHE_EVENT_CORRUPT));
    assert_int_equal(gcache_counter_misses(f->cache, GCACHE_REASON_CORRUPT), 1);
    gcache_graph_free(g);
}

/* ---- leases ---- */

static gcache_status
compile_slowly(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled,
               gcache_error *error)
{
    (void)state, (void)graph, (void)hints, (void)error;
    usleep(50000);
    out_compiled->entry->payload = "code";
    out_compiled->entry->payload_size = 4;
    return GCACHE_OK;
}

static void *
get_once(void *state)
{
    fixture *f = state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;

    gcache_get_or_compile(f->cache, g, NULL, compile_slowly, NULL, &result, &error);
    gcache_result_clear(&result);
    gcache_graph_free(g);
    return NULL;
}

static void
leases_are_told_and_counted(void **state)
{
    heard *h = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    pthread_t threads[2];

    fixture *f = open_listening(h, options);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get_once, f), 0);
    for (size_t i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    /* Whoever came first was given it at once; the other waited, unless it came so late that it hit. */
    size_t first = find(h, GCACHE_EVENT_LEASE, 0), waits = 0, given = 0;
    assert_string_equal(h->events[first].text, "taken");
    for (size_t i = 0; i < h->count; i++) {
        given += h->events[i].kind == GCACHE_EVENT_LEASE && strncmp(h->events[i].text, "taken", 5) == 0;
        waits += h->events[i].kind == GCACHE_EVENT_LEASE && strstr(h->events[i].text, "somebody else had it") != NULL;
    }
    assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_LEASES), given);
    assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_LEASE_WAITS), waits);
    assert_int_equal(count_of(h, GCACHE_EVENT_COMPILED), 1);
}

/* Asks for what another thread compiles, for longer than it is ready to wait. */
static void *
get_impatiently(void *state)
{
    fixture *f = state;
    gcache_compile_options impatient = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_result result = GCACHE_RESULT_INIT;

    impatient.lease_timeout_ns = IMPATIENT_NS;
    assert_int_equal(gcache_get_or_compile_with(f->cache, g, NULL, &impatient, compile_slowly, NULL, &result, &f->error),
                     GCACHE_MISS);
    assert_int_equal(result.reason, GCACHE_REASON_LEASE_TIMEOUT);
    gcache_result_clear(&result);
    gcache_graph_free(g);
    return NULL;
}

static void
a_lease_that_is_not_given_is_told(void **state)
{
    heard *h = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_compile *held = NULL;
    gcache *other = NULL;
    gcache_result theirs = GCACHE_RESULT_INIT;
    pthread_t thread;

    fixture *f = open_listening(h, options);
    assert_int_equal(gcache_open(f->directory, NULL, &other, &f->error), GCACHE_OK);
    assert_int_equal(gcache_compile_begin(other, g, NULL, NULL, NULL, &held, &theirs, &f->error), GCACHE_MISS);
    assert_int_equal(pthread_create(&thread, NULL, get_impatiently, f), 0);
    pthread_join(thread, NULL);
    size_t at = find(h, GCACHE_EVENT_LEASE, 0);
    assert_string_equal(h->events[at].text, "not given: somebody else is still compiling the same");
    assert_true(h->events[at].elapsed_ns >= IMPATIENT_NS);
    gcache_compile_end(held, NULL, NULL);
    gcache_result_clear(&theirs);
    gcache_close(other);
    gcache_graph_free(g);
}

/* A process that takes the lease of the graph and is killed with it. */
static pid_t
hold_and_die(char const *directory, gcache_graph *g)
{
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    pid_t holder = fork();
    assert_true(holder >= 0);
    if (holder == 0) {
        gcache_compile *held;
        gcache_result result = GCACHE_RESULT_INIT;
        gcache *cache;
        if (gcache_open(directory, NULL, &cache, NULL) != GCACHE_OK ||
            gcache_compile_begin(cache, g, NULL, NULL, NULL, &held, &result, NULL) != GCACHE_MISS ||
            write(ready[1], "r", 1) != 1)
            _exit(1);
        pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    assert_int_equal(kill(holder, SIGKILL), 0);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    return holder;
}

static int
note_takeover(void *state, gcache_journal_entry const *entry)
{
    char *text = state;

    if (entry->kind == GCACHE_JOURNAL_TAKEOVER)
        snprintf(text, 128, "%s", entry->text);
    return 0;
}

/* By the listener, in the journal, and by the explanation of the miss that it followed. */
static void
a_takeover_is_told(void **state)
{
    heard *h = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1");
    char told[128], text[128] = "", *explained;
    gcache_result result = GCACHE_RESULT_INIT;

    fixture *f = open_listening(h, options);
    pid_t died = hold_and_die(f->directory, g);
    snprintf(told, sizeof told, "taken over from process %d, which died while it compiled the same", (int)died);
    assert_int_equal(gcache_get_or_compile(f->cache, g, NULL, compile_slowly, NULL, &result, &f->error), GCACHE_MISS);
    gcache_result_clear(&result);
    assert_string_equal(h->events[find(h, GCACHE_EVENT_LEASE, 0)].text, told);
    assert_int_equal(gcache_journal_each(f->cache, NULL, note_takeover, text, &f->error), GCACHE_OK);
    assert_string_equal(text, told);
    assert_int_equal(gcache_journal_explain(f->cache, NULL, GCACHE_EXPLAIN_TEXT, &explained, NULL, &f->error), GCACHE_OK);
    assert_non_null(strstr(explained, "\nthe compile was taken over from process "));
    assert_non_null(strstr(explained, ", compiled in "));
    free(explained);
    assert_int_equal(fixture_statistic(f->cache, GCACHE_STATISTIC_LEASE_TAKEOVERS), 1);
    /* Given back in order: the next one takes over from nobody. */
    options.refresh = true;
    f = open_listening(h, options);
    assert_int_equal(gcache_get_or_compile(f->cache, g, NULL, compile_slowly, NULL, &result, &f->error), GCACHE_MISS);
    gcache_result_clear(&result);
    assert_string_equal(h->events[find(h, GCACHE_EVENT_LEASE, 1)].text, "taken");
    gcache_graph_free(g);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_setup_teardown(evictions_are_told_and_counted, heard_open, heard_close),
        cmocka_unit_test_setup_teardown(what_is_taken_out_by_hand_is_told, heard_open, heard_close),
        cmocka_unit_test_setup_teardown(damage_is_told_and_counted, heard_open, heard_close),
        cmocka_unit_test_setup_teardown(leases_are_told_and_counted, heard_open, heard_close),
        cmocka_unit_test_setup_teardown(a_takeover_is_told, heard_open, heard_close),
        cmocka_unit_test_setup_teardown(a_lease_that_is_not_given_is_told, heard_open, heard_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
