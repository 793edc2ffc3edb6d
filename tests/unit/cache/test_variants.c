/*
 * Variants of one graph through look-up-or-compile: wanted, expected and fallback ones, probes, and followers; and what
 * a listener hears of all that.
 */
#include "fixture.h"

#include <pthread.h>
#include <unistd.h>

enum { MOST_EVENTS = 32 };

typedef struct listener {
    gcache_event_kind kinds[MOST_EVENTS];
    char lines[MOST_EVENTS][GCACHE_EVENT_LINE_SIZE];
    size_t count;
} listener;

static void
listen(void *state, gcache_event const *event)
{
    listener *l = state;

    assert_true(l->count < MOST_EVENTS);
    l->kinds[l->count] = event->kind;
    gcache_event_line(event, l->lines[l->count++], GCACHE_EVENT_LINE_SIZE);
}

static void
assert_heard(listener *l, size_t count, gcache_event_kind const *kinds)
{
    for (size_t i = 0; i < count && i < l->count; i++)
        assert_string_equal(gcache_event_name(l->kinds[i]), gcache_event_name(kinds[i]));
    assert_int_equal(l->count, count);
    l->count = 0;
}

#define HEARD(l, ...)                                                                                 \
    assert_heard(l, sizeof((gcache_event_kind[]){ __VA_ARGS__ }) / sizeof(gcache_event_kind), (gcache_event_kind[]){ __VA_ARGS__ })

/* The payload is "<variant>,<first option's value>". */
static gcache_status
compile(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    char *payload = state;
    char const *variant = out_compiled->entry->variant;

    (void)graph, (void)hints, (void)error;
    sprintf(payload, "%s,%s", variant != NULL ? variant : "plain",
            out_compiled->option_count != 0 ? out_compiled->options[0].value : "");
    out_compiled->entry->payload = payload;
    out_compiled->entry->payload_size = strlen(payload);
    return GCACHE_OK;
}

/* Asks for `wanted` or, if expect, for it rather than another; a miss is compiled as `variant`. */
static gcache_status
get(fixture *f, char const *wanted, bool expect, gcache_variant const *variant, char *out_payload, char *out_note)
{
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    char produced[64];
    gcache_result r = GCACHE_RESULT_INIT;

    request.label = "model.py:7 forward";
    request.variant = expect ? NULL : wanted;
    request.expect_variant = expect ? wanted : NULL;
    options.request = &request;
    options.variant = variant;
    gcache_status status = gcache_get_or_compile_with(f->cache, g, NULL, &options, compile, produced, &r, &f->error);
    assert_true(status >= 0);
    sprintf(out_payload, "%.*s", (int)r.payload_size, (char const *)r.payload);
    strcpy(out_note, r.note);
    gcache_result_clear(&r);
    gcache_graph_free(g);
    return status;
}

static gcache_pair const quick[] = { { "level", "quick" } };
static gcache_variant const plain = { .size = sizeof plain, .options = quick, .option_count = 1 };
static gcache_variant const guided = { .size = sizeof guided, .label = "pgle", .priority = 1 };

static void
a_profile_guided_build_replaces_the_plain_one(void **state)
{
    fixture *f = *state;
    char payload[64], note[400];

    assert_int_equal(get(f, "pgle", true, &plain, payload, note), GCACHE_MISS);
    assert_string_equal(payload, "plain,quick");
    /* It isn't there yet: the plain one serves, and says so. */
    assert_int_equal(get(f, "pgle", true, &plain, payload, note), GCACHE_HIT);
    assert_string_equal(payload, "plain,quick");
    assert_string_equal(note, "expected variant \"pgle\" is missing; served the plain one");
    /* The profile is there: compiled as the better variant, which from now on everybody gets. */
    assert_int_equal(get(f, "pgle", false, &guided, payload, note), GCACHE_MISS);
    assert_string_equal(payload, "pgle,");
    assert_int_equal(get(f, NULL, false, &plain, payload, note), GCACHE_HIT);
    assert_string_equal(payload, "pgle,");
    assert_int_equal(get(f, "pgle", true, &plain, payload, note), GCACHE_HIT);
    assert_string_equal(note, "");
}

static void
a_later_plain_build_hides_nothing(void **state)
{
    fixture *f = *state;
    char payload[64], note[400];

    get(f, "pgle", false, &guided, payload, note);
    assert_int_equal(get(f, "", false, &plain, payload, note), GCACHE_MISS);
    assert_string_equal(payload, "plain,quick");
    assert_int_equal(get(f, NULL, false, &plain, payload, note), GCACHE_HIT);
    assert_string_equal(payload, "pgle,");
    assert_int_equal(get(f, "", false, &plain, payload, note), GCACHE_HIT);
    assert_string_equal(payload, "plain,quick");
}

static void
a_listener_hears_every_decision(void **state)
{
    fixture *f = *state;
    listener heard = { .count = 0 };
    gcache_options options = GCACHE_OPTIONS_INIT;
    char payload[64], note[400];

    options.event = listen;
    options.event_state = &heard;
    fixture_reopen(f, &options);
    get(f, "pgle", true, &plain, payload, note);
    assert_non_null(strstr(heard.lines[2], "lease model.py:7 forward (generic "));
    assert_non_null(strstr(heard.lines[2], "): taken"));
    assert_non_null(strstr(heard.lines[3], "miss model.py:7 forward (generic "));
    assert_non_null(strstr(heard.lines[3], "): no_key"));
    HEARD(&heard, GCACHE_EVENT_IN_USE, GCACHE_EVENT_REQUEST, GCACHE_EVENT_LEASE, GCACHE_EVENT_MISS, GCACHE_EVENT_COMPILED,
          GCACHE_EVENT_STORED);
    get(f, "pgle", true, &plain, payload, note);
    assert_non_null(strstr(heard.lines[1], "pgle: expected variant \"pgle\" is missing"));
    assert_non_null(strstr(heard.lines[2], "): saved "));
    HEARD(&heard, GCACHE_EVENT_REQUEST, GCACHE_EVENT_VARIANT_MISSING, GCACHE_EVENT_HIT);
}

static void
explain_says_that_only_the_plain_one_is_there(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_request request = GCACHE_REQUEST_INIT;
    char payload[64], note[400], *text;

    get(f, NULL, false, &plain, payload, note);
    request.expect_variant = "pgle";
    assert_int_equal(gcache_explain(f->cache, g, NULL, &request, GCACHE_EXPLAIN_TEXT, &text, &f->error), GCACHE_HIT);
    assert_non_null(strstr(text, "the expected variant \"pgle\" isn't there"));
    gcache_free(text);
    assert_int_equal(gcache_explain(f->cache, g, NULL, &request, GCACHE_EXPLAIN_JSON, &text, &f->error), GCACHE_HIT);
    assert_non_null(strstr(text, "\"note\": \"the expected variant \\\"pgle\\\" isn't there"));
    gcache_free(text);
    gcache_graph_free(g);
}

static void
a_probe_reads_no_payload(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_result r = GCACHE_RESULT_INIT;

    request.probe = true;
    assert_int_equal(gcache_lookup_with(f->cache, g, NULL, &request, &r, &f->error), GCACHE_MISS);
    gcache_result_clear(&r);
    assert_int_equal(insert_text(f, g, NULL, NULL, "code"), GCACHE_OK);
    assert_int_equal(gcache_lookup_with(f->cache, g, NULL, &request, &r, &f->error), GCACHE_HIT);
    assert_null(r.payload);
    assert_int_equal(strlen(r.entry), GCACHE_ENTRY_ID_SIZE - 1);
    assert_int_equal(r.compile_ns, 4100000000);
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

/* The payload's file is gone, and yet it is there: a probe doesn't look. Who loads it finds out. */
static void
a_probe_opens_no_file(void **state)
{
    static char payload[OWN_FILE];
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_entry entry = { .size = sizeof entry, .payload = payload, .payload_size = sizeof payload };
    gcache_request request = GCACHE_REQUEST_INIT;
    char command[160];
    gcache_result r = GCACHE_RESULT_INIT;

    options.compression_level = -1;
    fixture_reopen(f, &options);
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    snprintf(command, sizeof command, "rm %s/entries/*/*.entry", f->directory);
    assert_int_equal(system(command), 0);
    fixture_reopen(f, &options);
    request.probe = true;
    assert_int_equal(gcache_lookup_with(f->cache, g, NULL, &request, &r, &f->error), GCACHE_HIT);
    assert_int_equal(r.payload_size, 0);
    gcache_result_clear(&r);
    request.probe = false;
    assert_int_equal(gcache_lookup_with(f->cache, g, NULL, &request, &r, &f->error), GCACHE_MISS);
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

static void
a_declared_bypass_compiles_and_says_why(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    char produced[64];
    gcache_result r = GCACHE_RESULT_INIT;

    request.bypass = "the output is textual assembly";
    options.request = &request;
    assert_int_equal(gcache_lookup_with(f->cache, g, NULL, &request, &r, &f->error), GCACHE_MISS);
    assert_int_equal(r.reason, GCACHE_REASON_BYPASS);
    assert_string_equal(r.note, "the output is textual assembly");
    gcache_result_clear(&r);
    assert_int_equal(gcache_get_or_compile_with(f->cache, g, NULL, &options, compile, produced, &r, &f->error), GCACHE_MISS);
    assert_int_equal(r.reason, GCACHE_REASON_BYPASS);
    assert_string_equal(r.note, "not stored: bypass: the output is textual assembly");
    assert_memory_equal(r.payload, "plain,", 6);
    gcache_result_clear(&r);
    assert_int_equal(gcache_lookup(f->cache, g, NULL, &r, &f->error), GCACHE_MISS);
    assert_int_equal(r.reason, GCACHE_REASON_NO_KEY);
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

/* What PyTorch's graph cache says of what it doesn't cache; the empty one is its bisector's. */
static void
every_reason_of_pytorchs_can_be_said(void **state)
{
    static char const *const reasons[] = {
        "mkldnn tensors unpickleable", "Reduce unsupported", "Failed to pickle cache key",
        "Can't cache HigherOrderOperator: cond", "Can't cache torchbind objects", "Unsupported post grad custom pass",
        "Unsupported joint custom pass", "Unsupported _pre_fusion_custom_pass",
        "Unsupported _fuse_ddp_communication_pass", "Skipping graph with frozen constants",
        "Runtime constant folding can introduce constants that aren't static across runs", "", "No shape env",
    };
    enum { COUNT = sizeof reasons / sizeof *reasons };
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(COUNT, 13);
    assert_int_equal(insert_text(f, g, NULL, NULL, "code"), GCACHE_OK);
    for (int i = 0; i < COUNT; i++) {
        request.bypass = reasons[i];
        assert_int_equal(gcache_lookup_with(f->cache, g, NULL, &request, &r, &f->error), GCACHE_MISS);
        assert_int_equal(r.reason, GCACHE_REASON_BYPASS);
        assert_string_equal(r.note, reasons[i]);
        gcache_result_clear(&r);
    }
    assert_int_equal(gcache_counter_misses(f->cache, GCACHE_REASON_BYPASS), COUNT);
    assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_HITS), 0);
    gcache_graph_free(g);
}

/* ---- one writes, the others wait for it ---- */

static void *
insert_later(void *state)
{
    fixture *f = state;
    gcache_graph *g = make_matmul("s0", "s1");

    usleep(80000);
    gcache_status status = insert_text(f, g, NULL, NULL, "code");
    gcache_graph_free(g);
    return status == GCACHE_OK ? state : NULL;
}

static gcache_status
follow(fixture *f, uint64_t timeout_ns, gcache_reason *out_reason, char *out_note)
{
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    char produced[64];
    gcache_result r = GCACHE_RESULT_INIT;

    options.follow = true;
    options.lease_timeout_ns = timeout_ns;
    gcache_status status = gcache_get_or_compile_with(f->cache, g, NULL, &options, compile, produced, &r, &f->error);
    *out_reason = r.reason;
    strcpy(out_note, r.note);
    gcache_result_clear(&r);
    gcache_graph_free(g);
    return status;
}

static void
a_follower_waits_for_the_writer(void **state)
{
    fixture *f = *state;
    gcache_reason reason;
    char note[400];
    pthread_t writer;
    void *right;

    assert_int_equal(follow(f, 20000000, &reason, note), GCACHE_MISS);
    assert_int_equal(reason, GCACHE_REASON_LEASE_TIMEOUT);
    assert_string_equal(note, "not stored: another process is the one that writes");
    assert_int_equal(pthread_create(&writer, NULL, insert_later, f), 0);
    assert_int_equal(follow(f, UINT64_C(20000000000), &reason, note), GCACHE_HIT);
    pthread_join(writer, &right);
    assert_ptr_equal(right, f);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(a_profile_guided_build_replaces_the_plain_one),
        CASE(a_later_plain_build_hides_nothing),
        CASE(a_listener_hears_every_decision),
        CASE(explain_says_that_only_the_plain_one_is_there),
        CASE(a_probe_reads_no_payload),
        CASE(a_probe_opens_no_file),
        CASE(every_reason_of_pytorchs_can_be_said),
        CASE(a_declared_bypass_compiles_and_says_why),
        CASE(a_follower_waits_for_the_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
