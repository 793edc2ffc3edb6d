/*
 * A key with many candidates: what a lookup answers through the index is what it answers when it tries each, as explain
 * does; for guards, variants, requirements and names drawn at random. The seed is printed; GUARDCACHE_SEED gives another.
 */
#include "fixture.h"

#include "base/system/file.h"
#include "cache/candidates/ranking_index.h"
#include "cache/lookup/cache_lookup.h"

#include <pthread.h>
#include <time.h>

enum { CANDIDATES = 90, QUESTIONS = 600, THREADS = 4 };

typedef struct dice {
    uint64_t state;
} dice;

static int
roll(dice *d, int sides)
{
    d->state ^= d->state << 13;
    d->state ^= d->state >> 7;
    d->state ^= d->state << 17;
    return (int)((d->state * UINT64_C(0x2545f4914f6cdd1d) >> 33) % (uint64_t)sides);
}

static uint64_t
seed(void)
{
    char const *given = getenv("GUARDCACHE_SEED");
    uint64_t number = given != NULL ? strtoull(given, NULL, 10) : 1;

    print_message("seed %llu\n", (unsigned long long)number);
    return number * UINT64_C(0x9e3779b97f4a7c15);
}

/* ---- what is stored ---- */

static void
write_guard(dice *d, char *out, size_t size)
{
    int n = roll(d, 40), m = 2 + roll(d, 7);

    switch (roll(d, 6)) {
    case 0: snprintf(out, size, "a == %d and b <= %d", n, 2 * n); break;
    case 1: snprintf(out, size, "a %% %d == %d", m, n % m); break;
    case 2: snprintf(out, size, "%d %% b == 0 and a == %d", 8 * n, n); break;
    case 3: snprintf(out, size, "(a == %d or 8 %% b == 0) and a < %d", n, n + 4); break;
    case 4: snprintf(out, size, "(a if b > %d else %d // b) == %d", n, n, m); break;
    default: snprintf(out, size, "%d <= a and a <= %d and b != %d", n, n + m, m); break;
    }
}

static void
insert_one(fixture *f, dice *d, int number)
{
    static char const *const variants[] = { "", "", "pgle", "tuned" };
    gcache_pair needs = { "driver", roll(d, 2) == 0 ? "1" : "2" };
    bool renamed = roll(d, 8) == 0;
    gcache_graph *g = renamed ? make_matmul("c", "d") : make_matmul("a", "b");
    char guard[160], payload[24];
    char const *texts = guard;
    gcache_entry entry = { .size = sizeof entry, .guards = &texts, .guard_count = 1, .payload = payload, .priority = roll(d, 3) };

    write_guard(d, guard, sizeof guard);
    for (char *at = guard; renamed && *at != '\0'; at++)
        *at = (*at == 'a' && at[1] == ' ') ? 'c' : (*at == 'b' && (at[1] == ' ' || at[1] == ')')) ? 'd' : *at;
    snprintf(payload, sizeof payload, "candidate %d", number);
    entry.payload_size = strlen(payload);
    entry.variant = variants[roll(d, 4)];
    entry.requires_ = &needs;
    entry.requires_count = roll(d, 5) == 0;
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    gcache_graph_free(g);
}

/* ---- what is asked ---- */

typedef struct asked {
    gcache_hint items[2];
    gcache_hint_literal literal;
    gcache_hints hints;
    gcache_pair has;
    gcache_request request;
} asked;

static void
make_question(dice *d, asked *q)
{
    static char const *const variants[] = { NULL, NULL, NULL, "pgle", "tuned", "another" };

    memset(q, 0, sizeof *q);
    q->items[0] = (gcache_hint){ "a", roll(d, 44) - 2 };
    q->items[1] = (gcache_hint){ "b", roll(d, 20) - 2 };
    q->literal = (gcache_hint_literal){ "b", roll(d, 2) == 0 ? "2.0" : "None" };
    int missing = roll(d, 10);
    q->hints = (gcache_hints){ .items = q->items, .count = missing < 2 ? 1 : 2, .literals = &q->literal,
                               .literal_count = missing == 1 };
    q->has = (gcache_pair){ "driver", roll(d, 2) == 0 ? "1" : "3" };
    q->request = (gcache_request)GCACHE_REQUEST_INIT;
    q->request.provides = &q->has;
    q->request.provides_count = roll(d, 3) != 0;
    q->request.variant = variants[roll(d, 6)];
    q->request.expect_variant = variants[roll(d, 6)];
    q->request.accept_renames = roll(d, 2) == 0;
    q->request.probe = roll(d, 2) == 0;
}

/* Asks with a trace, which tries all candidates, and without. */
static void
compare(fixture *f, gcache_graph *g, asked *q, size_t *hits)
{
    gci_context context;
    gci_trace trace;
    gcache_result tried = GCACHE_RESULT_INIT, indexed = GCACHE_RESULT_INIT;

    assert_int_equal(gci_context_init(&context, f->cache, g, &q->hints, &q->request, &f->error), GCACHE_OK);
    gci_trace_init(&trace);
    gcache_status expected = gci_lookup_traced(&context, &trace, &tried, &f->error);
    assert_int_equal(gcache_lookup_with(f->cache, g, &q->hints, &q->request, &indexed, &f->error), expected);
    assert_int_equal(indexed.reason, tried.reason);
    if (expected == GCACHE_HIT)
        assert_string_equal(indexed.entry, trace.winner->ranked->answer.entry);
    *hits += expected == GCACHE_HIT;
    gcache_result_clear(&indexed);
    gcache_result_clear(&tried);
    gci_trace_clear(&trace);
    gci_context_clear(&context);
}

/* Whether the index answers, not the walk: a question that any candidate could answer gets told. */
static void
assert_indexed(fixture *f)
{
    gcache_graph *g = make_matmul("a", "b");
    gcache_hints hints = GCACHE_HINTS({ "a", 3 }, { "b", 5 });
    gci_candidates *set = NULL;
    gci_context context;
    gci_indexed indexed;

    assert_int_equal(gci_context_init(&context, f->cache, g, &hints, NULL, &f->error), GCACHE_OK);
    assert_int_equal(gci_store_candidates(f->cache->store, &context.key, &set, NULL), GCI_FOUND);
    assert_true(gci_ranking_index_select(gci_ranking_of(set), &context, NULL, &indexed));
    gci_candidates_release(set);
    gci_context_clear(&context);
    gcache_graph_free(g);
}

static void
play(fixture *f, dice *d, int questions)
{
    gcache_graph *g = make_matmul("a", "b");
    size_t hits = 0;
    asked q;

    for (int i = 0; i < questions; i++) {
        make_question(d, &q);
        compare(f, g, &q, &hits);
    }
    assert_in_range(hits, questions / 20, questions * 19 / 20);
    gcache_graph_free(g);
}

static void
fill(fixture *f, dice *d)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.durability = GCACHE_DURABILITY_NONE;
    fixture_reopen(f, &options);
    for (int i = 0; i < CANDIDATES; i++)
        insert_one(f, d, i);
}

static void
the_index_answers_as_the_walk(void **state)
{
    fixture *f = *state;
    dice d = { seed() };

    fill(f, &d);
    play(f, &d, QUESTIONS);
    assert_indexed(f);
    insert_one(f, &d, CANDIDATES);
    play(f, &d, QUESTIONS / 4);
    assert_indexed(f);
}

/* Payloads that can't be had are left out one after the other, down to the miss. */
static void
candidates_without_payloads_are_passed_over(void **state)
{
    enum { COUNT = 20 };
    fixture *f = *state;
    gcache_graph *g = make_matmul("a", "b");
    gcache_hints hints = GCACHE_HINTS({ "a", 5 }, { "b", 5 });
    static char payload[OWN_FILE];
    char guard[32], command[160];
    char const *texts = guard;
    gcache_entry entry = { .size = sizeof entry, .guards = &texts, .guard_count = 1, .payload = payload,
                           .payload_size = sizeof payload };
    gcache_request probe = GCACHE_REQUEST_INIT;
    gcache_result r = GCACHE_RESULT_INIT;
    dice d = { 1 };

    /* Nothing that compresses: it would lie in the pack. */
    for (size_t i = 0; i < sizeof payload; i++)
        payload[i] = (char)roll(&d, 256);
    for (int i = 0; i < COUNT; i++) {
        snprintf(guard, sizeof guard, "a >= %d", i % 10);
        payload[0] = (char)('a' + i);
        assert_int_equal(gcache_insert(f->cache, g, &hints, &entry, NULL, &f->error), i % 10 <= 5 ? GCACHE_OK : GCACHE_REFUSED);
    }
    probe.probe = true;
    for (int i = 0; i < 2 * GCI_RANKING_INDEX_LOOKUPS; i++) {
        assert_int_equal(gcache_lookup_with(f->cache, g, &hints, &probe, &r, &f->error), GCACHE_HIT);
        gcache_result_clear(&r);
    }
    assert_indexed(f);
    snprintf(command, sizeof command, "find %s/entries -name '*.entry' -delete", f->directory);
    assert_int_equal(system(command), 0);
    assert_int_equal(gcache_lookup(f->cache, g, &hints, &r, &f->error), GCACHE_MISS);
    assert_int_not_equal(r.reason, GCACHE_REASON_GUARD_FALSE);
    assert_int_not_equal(r.reason, GCACHE_REASON_NO_KEY);
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

/*
 * A thousand candidates, each for one size: what a lookup takes of the processor, a few microseconds, is far below what
 * trying each would. A hundred is for sanitizers.
 */
static void
a_thousand_candidates_are_asked_in_microseconds(void **state)
{
    enum { COUNT = 1000, LOOKUPS = 2000, MOST_US = 100 };
    fixture *f = *state;
    gcache_graph *g = make_matmul("a", "b");
    gcache_options options = GCACHE_OPTIONS_INIT;
    char guard[64], payload[16];
    char const *texts = guard;
    gcache_result r = GCACHE_RESULT_INIT;

    options.durability = GCACHE_DURABILITY_NONE;
    fixture_reopen(f, &options);
    for (int i = 0; i < COUNT; i++) {
        snprintf(guard, sizeof guard, "a == %d and b %% 4 == 0", i);
        snprintf(payload, sizeof payload, "%d", i);
        gcache_entry entry = { .size = sizeof entry, .guards = &texts, .guard_count = 1, .payload = payload,
                               .payload_size = strlen(payload) };
        assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    }
    clock_t start = 0;
    for (int i = -100; i < LOOKUPS; i++) {
        gcache_hints hints = GCACHE_HINTS({ "a", (i + 100) % COUNT }, { "b", 8 });
        if (i == 0)
            start = clock();
        assert_int_equal(gcache_lookup(f->cache, g, &hints, &r, &f->error), GCACHE_HIT);
        snprintf(payload, sizeof payload, "%d", (i + 100) % COUNT);
        assert_memory_equal(r.payload, payload, strlen(payload));
        gcache_result_clear(&r);
    }
    double took_us = (double)(clock() - start) * 1e6 / CLOCKS_PER_SEC / LOOKUPS;
    print_message("    %.1f us a lookup\n", took_us);
    assert_true(took_us < MOST_US);
    gcache_graph_free(g);
}

typedef struct worker {
    fixture *f;
    dice d;
} worker;

static void *
work(void *state)
{
    worker *w = state;

    play(w->f, &w->d, QUESTIONS / 2);
    return NULL;
}

static void
threads_share_an_index(void **state)
{
    fixture *f = *state;
    dice d = { seed() };
    pthread_t threads[THREADS];
    worker workers[THREADS];

    fill(f, &d);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){ f, { d.state + (uint64_t)i + 1 } };
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    assert_indexed(f); /* only now: the others go on without it while one thread makes it */
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(the_index_answers_as_the_walk),
        CASE(candidates_without_payloads_are_passed_over),
        CASE(a_thousand_candidates_are_asked_in_microseconds),
        CASE(threads_share_an_index),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
