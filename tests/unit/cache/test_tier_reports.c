/*
 * What is known of tiers afterwards: replies in explanations and the journal, hits by who served them, counts of all processes,
 * and the one line when a tier in trouble is left alone.
 */
#include "fixture.h"

#include <guardcache/fleet.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIER "memory://rack-7"
#define FLUSH_NS (UINT64_C(10) * 1000000000)
/* What the circuit breaker leaves a tier alone for, and a bit. */
#define PAUSE_US 1100000

typedef struct shelf {
    fixture_pair *pair;
    gcache_tier_functions const *functions;
    void *tier;
    gcache_tier_user user;
    gcache_graph *graph;
    char log[4096];
    size_t events;
    char event[GCACHE_EVENT_LINE_SIZE];
} shelf;

static void
note_line(void *state, char const *line)
{
    shelf *s = state;
    size_t size = strlen(s->log);

    snprintf(s->log + size, sizeof s->log - size, "%s\n", line);
}

static void
note_event(void *state, gcache_event const *event)
{
    shelf *s = state;

    if (event->kind != GCACHE_EVENT_TIER)
        return;
    s->events++;
    gcache_event_line(event, s->event, sizeof s->event);
}

/* The tier, with the fixture's directory before it. */
static fixture *
reopen(shelf *s, fixture *f)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.user_tiers = &s->user;
    options.user_tier_count = 1;
    options.log = note_line;
    options.log_state = s;
    options.event = note_event;
    options.event_state = s;
    fixture_reopen(f, &options);
    return f;
}

/* `from` has stored an entry, and the tier has it; `to` knows nothing. */
static int
shelf_open(void **state)
{
    shelf *s = calloc(1, sizeof *s);
    gcache_error error;

    if (s == NULL || fixture_pair_open(state) != 0 || gcache_tier_memory_new(&s->functions, &s->tier, &error) != GCACHE_OK)
        return -1;
    s->pair = *state;
    s->user = (gcache_tier_user){ .name = TIER, .functions = s->functions, .tier = s->tier,
                                  .timeout_ns = UINT64_C(100) * 1000000 };
    s->graph = make_matmul("s0", "s1");
    fixture *f = reopen(s, s->pair->from);
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 }, { "s1", 4 });
    assert_int_equal(insert_text(f, s->graph, &hints, "s0 % 8 == 0", "code"), GCACHE_OK);
    assert_int_equal(gcache_tiers_flush(f->cache, FLUSH_NS, &f->error), GCACHE_OK);
    reopen(s, s->pair->to);
    *state = s;
    return 0;
}

static int
shelf_close(void **state)
{
    shelf *s = *state;

    *state = s->pair;
    int status = fixture_pair_close(state);
    s->functions->close(s->tier);
    gcache_graph_free(s->graph);
    free(s);
    return status;
}

/* Under another key. */
static gcache_graph *
other_graph(void)
{
    gcache_graph *graph = gcache_graph_new("generic");

    gcache_graph_component(graph, "module", gcache_value_text(graph, "other", 5));
    return graph;
}

static void
fail_by(shelf *s, gcache_tier_faults faults)
{
    gcache_tier_memory_fail(s->tier, &faults);
}

/* Returns the reason. */
static gcache_reason
look_up(shelf *s, int64_t size, char const *expected_tier)
{
    fixture *f = s->pair->to;
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_hints hints = GCACHE_HINTS({ "s0", size });

    gcache_status status = gcache_lookup(f->cache, s->graph, &hints, &r, &f->error);
    assert_int_equal(status, expected_tier != NULL ? GCACHE_HIT : GCACHE_MISS);
    if (expected_tier != NULL)
        assert_string_equal(r.tier, expected_tier);
    gcache_reason reason = r.reason;
    gcache_result_clear(&r);
    /* What a tier served is stored here a moment later. */
    if (status == GCACHE_HIT)
        assert_int_equal(gcache_tiers_flush(f->cache, FLUSH_NS, &f->error), GCACHE_OK);
    return reason;
}

static void
assert_has(char const *text, char const *part)
{
    if (strstr(text, part) == NULL)
        fail_msg("no \"%s\" in:\n%s", part, text);
}

static void
assert_explains(shelf *s, int64_t size, gcache_explain_form form, char const *part)
{
    fixture *f = s->pair->to;
    gcache_hints hints = GCACHE_HINTS({ "s0", size });
    char *text = NULL;

    gcache_explain(f->cache, s->graph, &hints, NULL, form, &text, &f->error);
    assert_has(text, part);
    gcache_free(text);
}

/* Of the last miss, as the journal has it. */
static void
assert_explained(shelf *s, gcache_explain_form form, char const *part)
{
    gcache_journal_query last = GCACHE_JOURNAL_QUERY_INIT;
    fixture *f = s->pair->to;
    char *text = NULL;

    last.last = 1;
    last.misses_only = true;
    assert_int_equal(gcache_journal_explain(f->cache, &last, form, &text, NULL, &f->error), GCACHE_OK);
    assert_has(text, part);
    gcache_free(text);
}

/* ---- who served ---- */

typedef struct seen {
    size_t from_tier, local, tiers;
    uint64_t hits, waited_ns, elapsed_ns, counts[GCACHE_TIER_COUNT_COUNT];
} seen;

static int
see(void *state, gcache_journal_entry const *entry)
{
    seen *out = state;

    out->hits += entry->hits;
    if (entry->kind == GCACHE_JOURNAL_HIT && strcmp(entry->tier, TIER) == 0) {
        out->from_tier++;
        out->waited_ns = entry->waited_ns;
        out->elapsed_ns = entry->elapsed_ns;
        assert_int_equal(entry->hits, 1);
    } else if (entry->kind == GCACHE_JOURNAL_HIT) {
        out->local += strcmp(entry->tier, "local") == 0 || strcmp(entry->tier, "memory") == 0;
        assert_int_equal(entry->waited_ns, 0);
    }
    if (entry->kind != GCACHE_JOURNAL_TIER)
        return 0;
    assert_string_equal(entry->tier, TIER);
    assert_non_null(entry->tier_counts);
    out->tiers++;
    for (size_t i = 0; i < GCACHE_TIER_COUNT_COUNT; i++)
        out->counts[i] += entry->tier_counts[i];
    return 0;
}

static seen
read_journal(fixture *f)
{
    seen all = { 0 };

    assert_int_equal(gcache_journal_each(f->cache, NULL, see, &all, &f->error), GCACHE_OK);
    return all;
}

static void
a_hit_says_who_served_it(void **state)
{
    shelf *s = *state;

    look_up(s, 16, TIER);
    look_up(s, 16, "local");
    look_up(s, 16, "memory");
    seen all = read_journal(s->pair->to);
    assert_int_equal(all.from_tier, 1);
    assert_int_equal(all.local, 2);
    assert_true(all.waited_ns != 0);
    assert_true(all.elapsed_ns >= all.waited_ns);
}

/* After many hits only a few are written down one by one, but those of tiers are, and every hit is counted once. */
static void
a_tiers_hit_is_always_journaled(void **state)
{
    shelf *s = *state;
    enum { HITS = 3000 };
    gcache_graph *other = other_graph(), *graph = s->graph;

    assert_int_equal(insert_text(s->pair->from, other, NULL, NULL, "other"), GCACHE_OK);
    assert_int_equal(gcache_tiers_flush(s->pair->from->cache, FLUSH_NS, NULL), GCACHE_OK);
    look_up(s, 16, TIER);
    for (int i = 0; i < HITS; i++)
        look_up(s, 16, i == 0 ? "local" : "memory");
    s->graph = other;
    look_up(s, 16, TIER);
    s->graph = graph;
    seen all = read_journal(s->pair->to);
    assert_int_equal(all.from_tier, 2);
    assert_true(all.hits < HITS);
    reopen(s, s->pair->to);
    all = read_journal(s->pair->to);
    assert_int_equal(all.hits, HITS + 2);
    gcache_graph_free(other);
}

/* ---- what tiers did ---- */

static int
take_counts(void *state, gcache_tier_state const *tier)
{
    memcpy(state, tier->counts, GCACHE_TIER_COUNT_COUNT * sizeof *tier->counts);
    return 0;
}

static void
counts_are_written_when_a_cache_is_closed(void **state)
{
    shelf *s = *state;
    fixture *f = s->pair->to;
    uint64_t counts[GCACHE_TIER_COUNT_COUNT];

    look_up(s, 16, TIER);
    look_up(s, 12, NULL);
    assert_int_equal(gcache_tiers_each(f->cache, take_counts, counts, &f->error), GCACHE_OK);
    assert_int_equal(counts[GCACHE_TIER_COUNT_ASKED], 2);
    assert_int_equal(counts[GCACHE_TIER_COUNT_HITS], 1);
    assert_int_equal(counts[GCACHE_TIER_COUNT_MISSES], 1);
    assert_int_equal(read_journal(f).tiers, 0);
    reopen(s, f);
    seen all = read_journal(f);
    assert_int_equal(all.tiers, 1);
    assert_memory_equal(all.counts, counts, sizeof counts);
    reopen(s, f);
    assert_int_equal(read_journal(f).tiers, 1);
}

/* The parent's are the parent's, the child's the child's. */
static void
a_forked_child_writes_only_its_own(void **state)
{
    shelf *s = *state;
    fixture *f = s->pair->to;

    look_up(s, 12, NULL);
    pid_t child = fork();
    if (child == 0) {
        look_up(s, 12, NULL);
        look_up(s, 12, NULL);
        gcache_close(f->cache);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    reopen(s, f);
    seen all = read_journal(f);
    assert_int_equal(all.tiers, 2);
    assert_int_equal(all.counts[GCACHE_TIER_COUNT_ASKED], 3);
}

static void
assert_shows(fixture *f, gcache_statistics_form form, char const *part)
{
    char *text = NULL;

    assert_int_equal(gcache_statistics_show(f->cache, NULL, form, &text, &f->error), GCACHE_OK);
    assert_has(text, part);
    gcache_free(text);
}

static void
statistics_know_tiers(void **state)
{
    shelf *s = *state;
    fixture *f = s->pair->to;
    char *page = NULL;

    look_up(s, 16, TIER);
    look_up(s, 16, "local");
    look_up(s, 12, NULL);
    reopen(s, f);
    assert_shows(f, GCACHE_STATISTICS_TEXT, "served               2      local 1   " TIER " 1\n");
    assert_shows(f, GCACHE_STATISTICS_TEXT, TIER "    asked 2   hits 1   misses 1   ");
    assert_shows(f, GCACHE_STATISTICS_JSON,
                 "{\"tier\": \"" TIER "\", \"served\": 1, \"saved_ns\": 4100000000, \"asked\": 2, \"hits\": 1, ");
    assert_shows(f, GCACHE_STATISTICS_JSON, "{\"tier\": \"local\", \"served\": 1, \"saved_ns\": 4100000000}");
    assert_shows(f, GCACHE_STATISTICS_PROMETHEUS, "guardcache_served_hits{tier=\"" TIER "\"} 1\n");
    assert_shows(f, GCACHE_STATISTICS_PROMETHEUS, "guardcache_tier_asked{tier=\"" TIER "\"} 2\n");
    assert_int_equal(gcache_report(f->cache, NULL, &page, &f->error), GCACHE_OK);
    assert_has(page, "<h2>Tiers</h2>");
    assert_has(page, "<th scope=\"row\">" TIER "</th><td class=\"n\">2</td><td class=\"n\">1</td>");
    gcache_free(page);
}

/* A label's value in the text format has no bare quotes, backslashes and line ends. */
static void
names_of_tiers_are_escaped_for_prometheus(void **state)
{
    shelf *s = *state;

    s->user.name = "odd\"\\\nname";
    reopen(s, s->pair->to);
    look_up(s, 16, s->user.name);
    assert_shows(s->pair->to, GCACHE_STATISTICS_PROMETHEUS, "guardcache_served_hits{tier=\"odd\\\"\\\\\\nname\"} 1\n");
}

/* ---- replies ---- */

static void
candidates_of_a_tier_are_shown_as_its(void **state)
{
    shelf *s = *state;

    assert_int_equal(look_up(s, 12, NULL), GCACHE_REASON_GUARD_FALSE);
    assert_explains(s, 12, GCACHE_EXPLAIN_TEXT, TIER " has 1 candidate that this directory hasn't, which doesn't");
    assert_explains(s, 12, GCACHE_EXPLAIN_TEXT, "1 candidate of " TIER ", it doesn't hold for");
    assert_explains(s, 12, GCACHE_EXPLAIN_JSON,
                    "\"candidates_of\": \"" TIER "\", \"tiers\": [{\"tier\": \"" TIER "\", \"answer\": \"miss\", "
                    "\"reason\": \"guard_false\", ");
    assert_explains(s, 12, GCACHE_EXPLAIN_JSON, "\"candidates\": 1, \"only_there\": 1, ");
    assert_explained(s, GCACHE_EXPLAIN_TEXT, "1 candidate of " TIER ", it doesn't hold for");
    assert_explained(s, GCACHE_EXPLAIN_JSON, "\"candidates_of\": \"" TIER "\", ");
    look_up(s, 16, TIER);
    assert_explains(s, 12, GCACHE_EXPLAIN_JSON, "\"candidates\": 1, \"only_there\": 0, ");
    assert_explains(s, 12, GCACHE_EXPLAIN_TEXT, "\n1 candidate, it doesn't hold for");
}

/* Each kind of trouble, as it is told at once and from the journal. */
static void
check_trouble(shelf *s, gcache_tier_faults faults, gcache_reason reason, char const *part)
{
    fail_by(s, faults);
    assert_int_equal(look_up(s, 16, NULL), reason);
    assert_explained(s, GCACHE_EXPLAIN_JSON, part);
    assert_explained(s, GCACHE_EXPLAIN_TEXT, gcache_reason_name(reason));
}

static void
a_tier_that_refuses_is_told(void **state)
{
    shelf *s = *state;

    check_trouble(s, (gcache_tier_faults){ .refuse = true }, GCACHE_REASON_REMOTE_UNAVAILABLE,
                  "\"local_reason\": \"no_key\", \"tiers\": [{\"tier\": \"" TIER "\", \"answer\": \"trouble\", "
                  "\"reason\": \"remote_unavailable\", ");
    assert_explained(s, GCACHE_EXPLAIN_TEXT, TIER " couldn't be asked, remote_unavailable: ");
}

static void
a_tier_that_hangs_is_told(void **state)
{
    shelf *s = *state;

    check_trouble(s, (gcache_tier_faults){ .hang = true }, GCACHE_REASON_REMOTE_TIMEOUT, "\"reason\": \"remote_timeout\", ");
}

static void
what_a_tier_lost_is_told(void **state)
{
    shelf *s = *state;
    fixture *f = s->pair->from;
    char *large = malloc(OWN_FILE);

    /* What compresses well needs no object of its own. */
    uint32_t letter = 1;
    for (size_t i = 0; i < OWN_FILE - 1; i++)
        large[i] = (char)('a' + (letter = letter * 1664525 + 1013904223) % 509 % 26);
    large[OWN_FILE - 1] = '\0';
    gcache_graph_free(s->graph);
    s->graph = other_graph();
    assert_int_equal(insert_text(f, s->graph, NULL, NULL, large), GCACHE_OK);
    assert_int_equal(gcache_tiers_flush(f->cache, FLUSH_NS, &f->error), GCACHE_OK);
    free(large);
    check_trouble(s, (gcache_tier_faults){ .lose_payloads = true }, GCACHE_REASON_EVICTED,
                  "\"answer\": \"miss\", \"reason\": \"evicted\", ");
}

static void
what_is_damaged_is_told(void **state)
{
    shelf *s = *state;
    uint64_t counts[GCACHE_TIER_COUNT_COUNT];

    fail_by(s, (gcache_tier_faults){ .damage = true });
    look_up(s, 16, NULL);
    gcache_tiers_each(s->pair->to->cache, take_counts, counts, NULL);
    assert_int_equal(counts[GCACHE_TIER_COUNT_REFUSED], 1);
    check_trouble(s, (gcache_tier_faults){ .damage = true }, GCACHE_REASON_NO_KEY, "\"refused\": 1, \"message\": \"");
}

/* ---- left alone, asked again ---- */

static size_t
count_lines(char const *text)
{
    size_t lines = 0;

    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static void
trouble_is_logged_once(void **state)
{
    shelf *s = *state;
    uint64_t counts[GCACHE_TIER_COUNT_COUNT];

    fail_by(s, (gcache_tier_faults){ .refuse = true });
    for (int i = 0; i < 20; i++)
        assert_int_equal(look_up(s, 16, NULL), GCACHE_REASON_REMOTE_UNAVAILABLE);
    assert_int_equal(count_lines(s->log), 1);
    assert_has(s->log, TIER " isn't asked for now: ");
    assert_int_equal(s->events, 1);
    assert_has(s->event, "tier: " TIER " isn't asked for now: ");
    usleep(PAUSE_US);
    /* A probe that fails is the same trouble. */
    look_up(s, 16, NULL);
    assert_int_equal(count_lines(s->log), 1);
    gcache_tier_memory_fail(s->tier, NULL);
    usleep(2 * PAUSE_US);
    look_up(s, 16, TIER);
    assert_int_equal(count_lines(s->log), 2);
    assert_has(s->log, "\n" TIER " is asked again\n");
    assert_int_equal(s->events, 2);
    gcache_tiers_each(s->pair->to->cache, take_counts, counts, NULL);
    assert_int_equal(counts[GCACHE_TIER_COUNT_ASKED], 3);
    assert_int_equal(counts[GCACHE_TIER_COUNT_UNAVAILABLE], 2);
    assert_int_equal(counts[GCACHE_TIER_COUNT_LEFT_ALONE], 19);
}

/* Whoever pings hears the answer, and what lookups asked isn't counted with it. */
static void
a_ping_is_neither_logged_nor_counted(void **state)
{
    shelf *s = *state;
    fixture *f = s->pair->to;
    uint64_t counts[GCACHE_TIER_COUNT_COUNT], none[GCACHE_TIER_COUNT_COUNT] = { 0 };

    fail_by(s, (gcache_tier_faults){ .refuse = true });
    assert_int_equal(gcache_tiers_ping(f->cache, NULL, take_counts, counts, &f->error), GCACHE_OK);
    assert_memory_equal(counts, none, sizeof none);
    assert_string_equal(s->log, "");
}

/* ---- doctor ---- */

static void
note_fact(void *state, char const *name, char const *value, char const *warning)
{
    char *out = state;
    size_t size = strlen(out);

    if (strcmp(name, "tier") == 0)
        snprintf(out + size, 4096 - size, "%s%s%s\n", value, warning != NULL ? " ! " : "", warning != NULL ? warning : "");
}

static void
doctor_knows_tiers(void **state)
{
    shelf *s = *state;
    fixture *f = s->pair->to;
    char facts[4096] = "";

    assert_int_equal(gcache_doctor(f->cache, note_fact, facts, &f->error), GCACHE_OK);
    assert_has(facts, TIER ": answers within ");
    assert_has(facts, "entries needn't be signed ! whoever can write to a tier decides what is executed here");
    fail_by(s, (gcache_tier_faults){ .refuse = true });
    s->user.read_only = true;
    reopen(s, f);
    facts[0] = '\0';
    assert_int_equal(gcache_doctor(f->cache, note_fact, facts, &f->error), GCACHE_OK);
    assert_has(facts, TIER ", read-only: remote_unavailable, ");
    assert_has(facts, " ! lookups go on without it");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, shelf_open, shelf_close)

int
main(void)
{
    struct CMUnitTest const tests[] = {
        CASE(a_hit_says_who_served_it),
        CASE(a_tiers_hit_is_always_journaled),
        CASE(counts_are_written_when_a_cache_is_closed),
        CASE(a_forked_child_writes_only_its_own),
        CASE(statistics_know_tiers),
        CASE(names_of_tiers_are_escaped_for_prometheus),
        CASE(candidates_of_a_tier_are_shown_as_its),
        CASE(a_tier_that_refuses_is_told),
        CASE(a_tier_that_hangs_is_told),
        CASE(what_a_tier_lost_is_told),
        CASE(what_is_damaged_is_told),
        CASE(trouble_is_logged_once),
        CASE(a_ping_is_neither_logged_nor_counted),
        CASE(doctor_knows_tiers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
