/*
 * Lookup and insert through the public API: what hits, what misses, and why.
 */
#include "fixture.h"

#include <fcntl.h>
#include <unistd.h>

/* Looks up and compares outcome, reason and payload (NULL: a miss). */
static void
expect(fixture *f, gcache_graph *g, gcache_hints const *hints, gcache_request const *request, gcache_reason reason,
       char const *payload)
{
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_status status = gcache_lookup_with(f->cache, g, hints, request, &r, &f->error);

    assert_int_equal(status, payload != NULL ? GCACHE_HIT : GCACHE_MISS);
    assert_int_equal(r.outcome, status);
    assert_string_equal(gcache_reason_name(r.reason), gcache_reason_name(reason));
    if (payload != NULL) {
        assert_int_equal(r.payload_size, strlen(payload));
        assert_memory_equal(r.payload, payload, r.payload_size);
    }
    gcache_result_clear(&r);
}

static void
misses_hits_and_guard_misses(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints good = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 }), bad = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });
    gcache_hints missing = GCACHE_HINTS({ "s1", 16 });

    expect(f, g, &good, NULL, GCACHE_REASON_NO_KEY, NULL);
    assert_int_equal(insert_text(f, g, &good, "s0 % 8 == 0", "by eight"), GCACHE_OK);
    expect(f, g, &good, NULL, GCACHE_REASON_NONE, "by eight");
    expect(f, g, &bad, NULL, GCACHE_REASON_GUARD_FALSE, NULL);
    expect(f, g, &missing, NULL, GCACHE_REASON_GUARD_ERROR, NULL);
    fixture_reopen(f, NULL);
    expect(f, g, &good, NULL, GCACHE_REASON_NONE, "by eight");
    gcache_graph_free(g);
}

static void
refuses_guards_that_do_not_hold(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = GCACHE_HINTS({ "s0", 12 }, { "s1", 0 });
    char const *guards[] = { "s0 > 2", "s0 % 8 == 0" }, *raises = "s0 % s1 == 0";
    gcache_entry entry = { .size = sizeof entry, .guards = guards, .guard_count = 2, .payload = "x", .payload_size = 1 };
    gcache_inserted inserted = GCACHE_INSERTED_INIT;

    assert_int_equal(gcache_insert(f->cache, g, &hints, &entry, &inserted, &f->error), GCACHE_REFUSED);
    assert_int_equal(inserted.reason, GCACHE_REASON_GUARD_FALSE);
    assert_int_equal(inserted.verdict.guard, 1);
    entry.guards = &raises;
    entry.guard_count = 1;
    assert_int_equal(gcache_insert(f->cache, g, &hints, &entry, &inserted, &f->error), GCACHE_REFUSED);
    assert_int_equal(inserted.reason, GCACHE_REASON_GUARD_ERROR);
    assert_string_equal(inserted.verdict.exception, "ZeroDivisionError");
    expect(f, g, &hints, NULL, GCACHE_REASON_NO_KEY, NULL);
    gcache_graph_free(g);
}

static void
guards_that_do_not_parse_are_errors(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");

    assert_int_equal(insert_text(f, g, NULL, "s0 % % 8", "x"), GCACHE_ERROR_SYNTAX);
    assert_int_equal(f->error.column, 6);
    assert_string_equal(f->error.message, "guard s0 % % 8: column 6: a name, a number or '(' is expected, not '%'");
    gcache_graph_free(g);
}

static void
equal_inserts_are_one_entry(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    char const *guard = "s0 > 1";
    gcache_entry entry = { .size = sizeof entry, .guards = &guard, .guard_count = 1, .payload = "same", .payload_size = 4 };
    gcache_inserted first = GCACHE_INSERTED_INIT, second = GCACHE_INSERTED_INIT;

    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, &first, &f->error), GCACHE_OK);
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, &second, &f->error), GCACHE_OK);
    assert_false(first.existed);
    assert_true(second.existed);
    assert_string_equal(first.entry, second.entry);
    gcache_graph_free(g);
}

static void
rank_is_priority_then_specificity_then_newest(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 }, { "s1", 16 });
    char const *guard = "s0 > 0";
    gcache_entry plain = { .size = sizeof plain, .guards = &guard, .guard_count = 1, .payload = "low", .payload_size = 3,
                           .priority = -5 };

    assert_int_equal(insert_text(f, g, &hints, "s0 == 8", "equality"), GCACHE_OK);
    assert_int_equal(insert_text(f, g, &hints, "s0 >= 8", "older bound"), GCACHE_OK);
    assert_int_equal(insert_text(f, g, &hints, "s0 <= 8", "newer bound"), GCACHE_OK);
    assert_int_equal(gcache_insert(f->cache, g, &hints, &plain, NULL, &f->error), GCACHE_OK);
    expect(f, g, &hints, NULL, GCACHE_REASON_NONE, "equality");
    plain.priority = 3;
    plain.payload = "top";
    assert_int_equal(gcache_insert(f->cache, g, &hints, &plain, NULL, &f->error), GCACHE_OK);
    expect(f, g, &hints, NULL, GCACHE_REASON_NONE, "top");
    gcache_hints seven = GCACHE_HINTS({ "s0", 0 }, { "s1", 16 });
    expect(f, g, &seven, NULL, GCACHE_REASON_NONE, "newer bound");
    gcache_graph_free(g);
}

/* Overwrites the middle of the file that holds these bytes, an entry's own or a candidate index; the others are left alone. */
static void
damage_entry_with(fixture *f, char mark)
{
    char command[256];

    snprintf(command, sizeof command,
             "for e in %s/entries/*/*.*; do grep -q %c%c%c%c $e && printf X | dd of=$e bs=1 seek=15000 conv=notrunc "
             "status=none; done; true", f->directory, mark, mark, mark, mark);
    assert_int_equal(system(command), 0);
}

static void
count_line(void *state, char const *line)
{
    (void)line;
    ++*(int *)state;
}

/* Three hold, best first: each damaged one is passed over with a warning for the next, down to the miss. The first that was stored
   lies in the candidate index or, if it is larger, has a file as the others. */
static void
check_damaged_candidates(fixture *f, size_t size)
{
    static char const *const guards[] = { "s0 > 0", "s0 % 2 == 0", "s0 == 8" };
    static char payload[OWN_FILE];
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 }, { "s1", 16 });
    gcache_options options = GCACHE_OPTIONS_INIT;
    int warnings = 0;
    gcache_result r = GCACHE_RESULT_INIT;

    options.compression_level = -1; /* raw: its marks can be found in the file */
    options.log = count_line;
    options.log_state = &warnings;
    fixture_reopen(f, &options);
    for (int i = 0; i < 3; i++) {
        memset(payload, 'a' + i, size);
        gcache_entry entry = { .size = sizeof entry, .guards = &guards[i], .guard_count = 1, .payload = payload,
                               .payload_size = size, .priority = i };
        assert_int_equal(gcache_insert(f->cache, g, &hints, &entry, NULL, &f->error), GCACHE_OK);
    }
    for (int best = 2; best >= 0; best--) {
        fixture_reopen(f, &options);
        assert_int_equal(gcache_lookup(f->cache, g, &hints, &r, &f->error), GCACHE_HIT);
        assert_int_equal(r.payload_size, size);
        assert_int_equal(((char const *)r.payload)[0], 'a' + best);
        gcache_result_clear(&r);
        assert_int_equal(warnings, 2 - best);
        damage_entry_with(f, (char)('a' + best));
    }
    fixture_reopen(f, &options);
    assert_int_equal(gcache_lookup(f->cache, g, &hints, &r, &f->error), GCACHE_MISS);
    assert_int_equal(r.reason, GCACHE_REASON_CORRUPT);
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

static void
a_damaged_candidate_gives_way_to_the_next(void **state)
{
    check_damaged_candidates(*state, OWN_FILE);
}

static void
a_damaged_candidate_in_the_index_gives_way_too(void **state)
{
    check_damaged_candidates(*state, 20000);
}

/* A key without a description borrows names from what is stored: that look must not hide what it found. */
static void
damage_under_a_bare_key_is_named(void **state)
{
    fixture *f = *state;
    gcache_key key = { { 0xab, 1 } };
    gcache_graph *g = gcache_graph_new_keyed("generic", &key);
    gcache_entry entry = GCACHE_ENTRY_INIT;
    char command[256];

    entry.payload = "aaaaaaaa";
    entry.payload_size = 8;
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    gcache_close(f->cache);
    f->cache = NULL;
    snprintf(command, sizeof command, "sed -i s/aaaaaaaa/aaaabaaa/ %s/entries/ab/ab.pool", f->directory);
    assert_int_equal(system(command), 0);
    fixture_reopen(f, NULL);
    expect(f, g, NULL, NULL, GCACHE_REASON_CORRUPT, NULL);
    expect(f, g, NULL, NULL, GCACHE_REASON_NO_KEY, NULL);
    gcache_graph_free(g);
}

/* Of three that hold for a caller with the right library the best one needs another: the next is served. */
static void
another_candidate_is_tried_where_a_requirement_is_not_met(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_pair const versions[] = { { "libdevice", "10" }, { "libdevice", "11" }, { "libdevice", "12" } };
    gcache_request request = GCACHE_REQUEST_INIT;
    static char const *const payloads[] = { "for 10", "for 11", "for 12" };

    for (int i = 0; i < 3; i++) {
        gcache_entry entry = { .size = sizeof entry, .payload = payloads[i], .payload_size = 6, .requires_ = &versions[i],
                               .requires_count = 1,
                               .priority = i };
        assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    }
    request.provides_count = 1;
    for (int i = 0; i < 3; i++) {
        request.provides = &versions[i];
        expect(f, g, NULL, &request, GCACHE_REASON_NONE, payloads[i]);
    }
    request.provides = &(gcache_pair){ "libdevice", "13" };
    expect(f, g, NULL, &request, GCACHE_REASON_REQUIREMENT, NULL);
    gcache_graph_free(g);
}

/* What the caller handed in is what it was, whether its guards held, failed or raised; so is the description's key. */
static void
a_lookup_leaves_no_trace(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hint items[] = { { "s0", 16 }, { "s1", 0 } }, before[2];
    gcache_hints hints = { .items = items, .count = 2 };
    gcache_key first, again;
    size_t symbols;
    gcache_result r = GCACHE_RESULT_INIT;

    memcpy(before, items, sizeof items);
    assert_int_equal(gcache_graph_key(g, &first, NULL), GCACHE_OK);
    assert_int_equal(insert_text(f, g, NULL, "s0 // s1 == 2", "raises"), GCACHE_OK);
    assert_int_equal(insert_text(f, g, NULL, "s0 % 32 == 0", "fails"), GCACHE_OK);
    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "holds"), GCACHE_OK);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gcache_lookup(f->cache, g, &hints, &r, &f->error), GCACHE_HIT);
        assert_string_equal(r.guards[0], "s0 % 8 == 0");
        assert_int_equal(r.guard_count, 1);
        gcache_result_clear(&r);
        assert_memory_equal(items, before, sizeof items);
    }
    assert_int_equal(gcache_graph_key(g, &again, NULL), GCACHE_OK);
    assert_memory_equal(&first, &again, sizeof first);
    gcache_graph_symbols(g, NULL, &symbols, NULL);
    gcache_graph_free(g);
}

/* Payload files of which not a byte is right: as long as their guards are false nobody notices. */
static void
no_payload_is_read_before_its_guards_hold(void **state)
{
    enum { COUNT = 20 };
    static char payload[20000];
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_options options = GCACHE_OPTIONS_INIT;
    int warnings = 0;
    char guard[32];
    char const *texts = guard;
    gcache_verified verified = GCACHE_VERIFIED_INIT;
    gcache_result r = GCACHE_RESULT_INIT;

    options.compression_level = -1;
    options.log = count_line;
    options.log_state = &warnings;
    fixture_reopen(f, &options);
    for (int i = 0; i < COUNT; i++) {
        gcache_entry entry = { .size = sizeof entry, .guards = &texts, .guard_count = 1, .payload = payload,
                               .payload_size = sizeof payload };
        snprintf(guard, sizeof guard, "s0 == %d", i);
        memset(payload, 'a' + i, sizeof payload);
        assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    }
    for (int i = 1; i < COUNT; i++)
        damage_entry_with(f, (char)('a' + i));
    fixture_reopen(f, &options);
    for (int i = 0; i < 100; i++) {
        gcache_hints first = GCACHE_HINTS({ "s0", 0 }, { "s1", 16 }), none = GCACHE_HINTS({ "s0", COUNT + i }, { "s1", 16 });
        assert_int_equal(gcache_lookup(f->cache, g, &first, &r, &f->error), GCACHE_HIT);
        assert_int_equal(((char const *)r.payload)[0], 'a');
        gcache_result_clear(&r);
        expect(f, g, &none, NULL, GCACHE_REASON_GUARD_FALSE, NULL);
    }
    assert_int_equal(warnings, 0);
    assert_int_equal(gcache_verify(f->cache, NULL, &verified, &f->error), GCACHE_OK);
    assert_int_equal(verified.problems, COUNT - 1);
    gcache_graph_free(g);
}

/* Files are named after what is in them, in no order at all: the newest of equals is the answer each time. */
static void
file_names_decide_nothing(void **state)
{
    enum { COUNT = 12 };
    static char payload[20000];
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 }, { "s1", 16 });
    char const *guard = "s0 > 0";
    gcache_entry entry = { .size = sizeof entry, .guards = &guard, .guard_count = 1, .payload = payload,
                           .payload_size = sizeof payload };
    char least[GCACHE_ENTRY_ID_SIZE] = "g", most[GCACHE_ENTRY_ID_SIZE] = "";
    gcache_inserted inserted = GCACHE_INSERTED_INIT;
    gcache_result r = GCACHE_RESULT_INIT;

    for (int i = 0; i < COUNT; i++) {
        memset(payload, 'a' + i, sizeof payload);
        assert_int_equal(gcache_insert(f->cache, g, &hints, &entry, &inserted, &f->error), GCACHE_OK);
        fixture_reopen(f, NULL);
        assert_int_equal(gcache_lookup(f->cache, g, &hints, &r, &f->error), GCACHE_HIT);
        assert_string_equal(r.entry, inserted.entry);
        gcache_result_clear(&r);
        strcpy(strcmp(inserted.entry, least) < 0 ? least : most, inserted.entry);
        if (strcmp(inserted.entry, most) > 0)
            strcpy(most, inserted.entry);
    }
    assert_true(strcmp(inserted.entry, least) != 0 || strcmp(inserted.entry, most) != 0);
    gcache_graph_free(g);
}

static void
requirements_and_variants_filter(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 }, { "s1", 16 });
    gcache_pair needs = { "libdevice", "a" }, other = { "libdevice", "b" };
    gcache_entry entry = { .size = sizeof entry, .payload = "tuned", .payload_size = 5, .variant = "pgle", .requires_ = &needs,
                           .requires_count = 1 };
    gcache_request request = GCACHE_REQUEST_INIT;

    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    expect(f, g, &hints, &request, GCACHE_REASON_REQUIREMENT, NULL);
    request.provides = &other;
    request.provides_count = 1;
    expect(f, g, &hints, &request, GCACHE_REASON_REQUIREMENT, NULL);
    request.provides = &needs;
    expect(f, g, &hints, &request, GCACHE_REASON_NONE, "tuned");
    request.variant = "plain";
    expect(f, g, &hints, &request, GCACHE_REASON_VARIANT, NULL);
    gcache_graph_free(g);
}

static void
the_expected_variant_is_preferred(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = GCACHE_HINTS({ "s0", 8 }, { "s1", 16 });
    gcache_entry tuned = { .size = sizeof tuned, .payload = "tuned", .payload_size = 5, .variant = "pgle", .priority = -1 };
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_result r = GCACHE_RESULT_INIT;

    request.expect_variant = "pgle";
    assert_int_equal(insert_text(f, g, &hints, "s0 == 8", "plain"), GCACHE_OK);
    assert_int_equal(gcache_lookup_with(f->cache, g, &hints, &request, &r, &f->error), GCACHE_HIT);
    assert_string_equal(r.note, "expected variant \"pgle\" is missing; served the plain one");
    gcache_result_clear(&r);
    assert_int_equal(gcache_insert(f->cache, g, &hints, &tuned, NULL, &f->error), GCACHE_OK);
    assert_int_equal(gcache_lookup_with(f->cache, g, &hints, &request, &r, &f->error), GCACHE_HIT);
    assert_string_equal(r.note, "");
    assert_string_equal(r.variant, "pgle");
    gcache_result_clear(&r);
    expect(f, g, &hints, NULL, GCACHE_REASON_NONE, "plain");
    gcache_graph_free(g);
}

static void
isomorphic_graphs_share_under_other_names(void **state)
{
    fixture *f = *state;
    gcache_graph *stored = make_matmul("s77", "s3"), *asked = make_matmul("s3", "s77");
    gcache_hints with = GCACHE_HINTS({ "s77", 48 }, { "s3", 16 }), now = GCACHE_HINTS({ "s3", 96 }, { "s77", 5 });
    gcache_hints wrong = GCACHE_HINTS({ "s3", 5 }, { "s77", 96 });
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(insert_text(f, stored, &with, "s77 % 8 == 0 and math.sqrt(s3) > 1", "shared"), GCACHE_OK);
    expect(f, asked, &now, NULL, GCACHE_REASON_NAMES, NULL);
    request.accept_renames = true;
    expect(f, asked, &wrong, &request, GCACHE_REASON_GUARD_FALSE, NULL);
    assert_int_equal(gcache_lookup_with(f->cache, asked, &now, &request, &r, &f->error), GCACHE_HIT);
    assert_true(r.renamed);
    assert_int_equal(r.rename_count, 2);
    assert_string_equal(r.renames[0].stored, "s77");
    assert_string_equal(r.renames[0].current, "s3");
    assert_string_equal(r.guards[0], "s3 % 8 == 0 and math.sqrt(s77) > 1");
    gcache_result_clear(&r);
    gcache_graph_free(stored);
    gcache_graph_free(asked);
}

static void
switches(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints good = GCACHE_HINTS({ "s0", 48 }, { "s1", 16 }), bad = GCACHE_HINTS({ "s0", 12 }, { "s1", 16 });
    gcache_options options = GCACHE_OPTIONS_INIT;

    assert_int_equal(insert_text(f, g, &good, "s0 % 8 == 0", "x"), GCACHE_OK);
    options.unsafe_skip_guards = true;
    fixture_reopen(f, &options);
    expect(f, g, &bad, NULL, GCACHE_REASON_NONE, "x");
    options = (gcache_options)GCACHE_OPTIONS_INIT;
    options.disabled = true;
    fixture_reopen(f, &options);
    expect(f, g, &good, NULL, GCACHE_REASON_DISABLED, NULL);
    assert_int_equal(insert_text(f, g, &good, "s0 % 8 == 0", "x"), GCACHE_REFUSED);
    options = (gcache_options)GCACHE_OPTIONS_INIT;
    options.read_only = true;
    fixture_reopen(f, &options);
    expect(f, g, &good, NULL, GCACHE_REASON_NONE, "x");
    assert_int_equal(insert_text(f, g, &good, "s0 % 4 == 0", "x"), GCACHE_ERROR_READ_ONLY);
    options = (gcache_options)GCACHE_OPTIONS_INIT;
    options.namespace_ = "another namespace";
    fixture_reopen(f, &options);
    expect(f, g, &good, NULL, GCACHE_REASON_NO_KEY, NULL);
    gcache_graph_free(g);
}

/* Stores something large enough for a file of its own, and damages that. */
static void
store_and_damage(fixture *f, gcache_graph *g, char *out_entry)
{
    static char payload[OWN_FILE];
    gcache_entry entry = { .size = sizeof entry, .payload = payload, .payload_size = sizeof payload };
    gcache_options raw = GCACHE_OPTIONS_INIT;
    gcache_inserted inserted = GCACHE_INSERTED_INIT;
    char hex[GCACHE_KEY_HEX_SIZE], path[256];

    raw.compression_level = -1;
    fixture_reopen(f, &raw);
    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, &inserted, &f->error), GCACHE_OK);
    strcpy(out_entry, inserted.entry);
    gcache_key_to_hex(&inserted.key, hex);
    snprintf(path, sizeof path, "%s/entries/%.2s/%s.%s.entry", f->directory, hex, hex, inserted.entry);
    int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, "damage", 6, 10000), 6);
    close(file);
}

/* A miss, so that the compile goes on; strict says what is wrong. */
static uint64_t
asked_again(fixture *f)
{
    return fixture_statistic(f->cache, GCACHE_STATISTIC_ASKED_AGAIN);
}

/* One of two candidates was evicted: who misses it is counted, not who asks for another or only asks. */
static void
evicted_entries_that_are_missed_are_counted(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints gone = GCACHE_HINTS({ "s0", 8 }, { "s1", 16 }), other = GCACHE_HINTS({ "s0", 9 }, { "s1", 16 });
    char const *guard = "s0 == 8";
    gcache_entry entry = { .size = sizeof entry, .guards = &guard, .guard_count = 1, .payload = "x", .payload_size = 1 };
    gcache_request probe = GCACHE_REQUEST_INIT;
    gcache_inserted inserted = GCACHE_INSERTED_INIT;
    char *text;

    probe.probe = true;
    assert_int_equal(insert_text(f, g, NULL, "s0 > 100", "large"), GCACHE_OK);
    assert_int_equal(gcache_insert(f->cache, g, &gone, &entry, &inserted, &f->error), GCACHE_OK);
    assert_int_equal(gcache_remove(f->cache, &inserted.key, inserted.entry, &f->error), GCACHE_OK);
    expect(f, g, &other, NULL, GCACHE_REASON_GUARD_FALSE, NULL);
    expect(f, g, &gone, &probe, GCACHE_REASON_EVICTED, NULL);
    assert_int_equal(gcache_explain(f->cache, g, &gone, NULL, GCACHE_EXPLAIN_TEXT, &text, &f->error), GCACHE_MISS);
    gcache_free(text);
    assert_int_equal(asked_again(f), 0);
    expect(f, g, &gone, NULL, GCACHE_REASON_EVICTED, NULL);
    expect(f, g, &gone, NULL, GCACHE_REASON_EVICTED, NULL);
    assert_int_equal(asked_again(f), 1);
    gcache_graph_free(g);
}

static void
trouble_is_a_miss_unless_strict(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_options strict = GCACHE_OPTIONS_INIT;
    char entry[GCACHE_ENTRY_ID_SIZE];
    gcache_result r = GCACHE_RESULT_INIT;

    store_and_damage(f, g, entry);
    fixture_reopen(f, NULL);
    expect(f, g, NULL, NULL, GCACHE_REASON_CORRUPT, NULL);
    store_and_damage(f, g, entry);
    strict.strict = true;
    fixture_reopen(f, &strict);
    assert_int_equal(gcache_lookup(f->cache, g, NULL, &r, &f->error), GCACHE_ERROR_CORRUPT);
    assert_non_null(strstr(f->error.message, entry));
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

static void
wrong_arguments_are_errors(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints twice = GCACHE_HINTS({ "s0", 1 }, { "s0", 2 });
    gcache_hint_literal literal = { "s0", "twelve" };
    gcache_hints malformed = { .literals = &literal, .literal_count = 1 };
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(gcache_lookup(f->cache, g, &twice, &r, &f->error), GCACHE_ERROR_ARGUMENT);
    gcache_result_clear(&r);
    assert_int_equal(gcache_lookup(f->cache, g, &malformed, &r, &f->error), GCACHE_ERROR_ARGUMENT);
    gcache_result_clear(&r);
    assert_int_equal(gcache_lookup(NULL, g, NULL, &r, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gcache_open("", NULL, &f->cache, &f->error), GCACHE_ERROR_ARGUMENT);
    gcache_graph_free(g);
}

static int
count_entry(void *state, gcache_entry_view const *entry)
{
    assert_string_equal(entry->kind, "generic");
    assert_true(entry->guard_count <= 1);
    ++*(int *)state;
    return 0;
}

static void
iterates_over_entries(void **state)
{
    fixture *f = *state;
    gcache_graph *a = make_matmul("s0", "s1"), *b = make_matmul("s0", "7");
    gcache_verified verified = GCACHE_VERIFIED_INIT;
    int count = 0;

    assert_int_equal(insert_text(f, a, NULL, "s0 > 1", "x"), GCACHE_OK);
    assert_int_equal(insert_text(f, a, NULL, "s0 > 2", "y"), GCACHE_OK);
    assert_int_equal(insert_text(f, b, NULL, NULL, "z"), GCACHE_OK);
    assert_int_equal(gcache_each_entry(f->cache, NULL, count_entry, &count, &f->error), GCACHE_OK);
    assert_int_equal(count, 3);
    assert_int_equal(gcache_verify(f->cache, NULL, &verified, &f->error), GCACHE_OK);
    assert_int_equal(verified.entries, 3);
    assert_int_equal(verified.keys, 2);
    assert_int_equal(verified.problems, 0);
    gcache_graph_free(a);
    gcache_graph_free(b);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(misses_hits_and_guard_misses),
        CASE(refuses_guards_that_do_not_hold),
        CASE(guards_that_do_not_parse_are_errors),
        CASE(equal_inserts_are_one_entry),
        CASE(rank_is_priority_then_specificity_then_newest),
        CASE(a_damaged_candidate_gives_way_to_the_next),
        CASE(a_damaged_candidate_in_the_index_gives_way_too),
        CASE(damage_under_a_bare_key_is_named),
        CASE(requirements_and_variants_filter),
        CASE(another_candidate_is_tried_where_a_requirement_is_not_met),
        CASE(a_lookup_leaves_no_trace),
        CASE(no_payload_is_read_before_its_guards_hold),
        CASE(file_names_decide_nothing),
        CASE(the_expected_variant_is_preferred),
        CASE(isomorphic_graphs_share_under_other_names),
        CASE(evicted_entries_that_are_missed_are_counted),
        CASE(switches),
        CASE(trouble_is_a_miss_unless_strict),
        CASE(wrong_arguments_are_errors),
        CASE(iterates_over_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
