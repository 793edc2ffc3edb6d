/*
 * What an adapter to a compiler that has a cache of its own needs: a guard test in place of guards, an identity in place
 * of the payload, files that come back with a hit, entries taken out, and leases by themselves.
 */
#include "fixture.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct wanted {
    char const *guard; /* the only one that is welcome; NULL: none is */
    size_t asked;
} wanted;

static bool
is_wanted(void *state, char const *const *guards, size_t count)
{
    wanted *w = state;

    w->asked++;
    assert_int_equal(count, 1);
    return w->guard != NULL && strcmp(guards[0], w->guard) == 0;
}

static void
test_a_guard_test_takes_the_place_of_guards(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("a", "b");
    gcache_hints hints = GCACHE_HINTS({ "a", 7 }, { "b", 1 });
    gcache_request request = GCACHE_REQUEST_INIT;
    wanted w = { .guard = "a == 1" };
    gcache_result r = GCACHE_RESULT_INIT;

    insert_text(f, g, NULL, "a == 1", "first");
    insert_text(f, g, NULL, "a == 7", "second");
    request.guard_test = is_wanted;
    request.guard_test_state = &w;
    assert_int_equal(gcache_lookup_with(f->cache, g, &hints, &request, &r, &f->error), GCACHE_HIT);
    assert_memory_equal(r.payload, "first", 5);
    gcache_result_clear(&r);

    w = (wanted){ .guard = NULL };
    assert_int_equal(gcache_lookup_with(f->cache, g, &hints, &request, &r, &f->error), GCACHE_MISS);
    assert_int_equal(r.reason, GCACHE_REASON_GUARD_FALSE);
    assert_int_equal(w.asked, 2);
    gcache_result_clear(&r);

    char *text;
    assert_int_equal(gcache_explain(f->cache, g, &hints, &request, GCACHE_EXPLAIN_ALL, &text, &f->error), GCACHE_MISS);
    assert_non_null(strstr(text, "guard_false"));
    gcache_free(text);
    gcache_graph_free(g);
}

static void
test_equal_identities_are_equal_entries(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("a", "b");
    char const *payloads[] = { "took 5 ms", "took 6 ms", "took 6 ms" };
    char const *identities[] = { "same", "same", "another" };
    bool existed[] = { false, true, false };

    for (size_t i = 0; i < 3; i++) {
        gcache_entry entry = { .size = sizeof entry, .payload = payloads[i], .payload_size = 9, .identity = identities[i],
                               .identity_size = strlen(identities[i]) };
        gcache_inserted inserted = GCACHE_INSERTED_INIT;
        assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, &inserted, &f->error), GCACHE_OK);
        assert_int_equal(inserted.existed, existed[i]);
    }
    gcache_graph_free(g);
}

static void
read_file(char const *path, char *out, size_t size)
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    out[fread(out, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void
test_attachments_are_put_in_place(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("a", "b");
    gcache_attachment files[] = { { .name = "ab/kernel.so", .bytes = "ELF", .size = 3, .executable = true },
                                  { .name = "notes.txt", .bytes = "", .size = 0 } };
    gcache_entry entry = { .size = sizeof entry, .payload = "p", .payload_size = 1, .attachments = files, .attachment_count = 2 };
    char place[96], path[128], content[16];
    struct stat facts;
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_OK);
    assert_int_equal(gcache_lookup(f->cache, g, NULL, &r, &f->error), GCACHE_HIT);
    assert_int_equal(r.attachment_count, 2);
    assert_string_equal(r.attachments[0].name, "ab/kernel.so");
    assert_int_equal(r.attachments[0].size, 3);
    snprintf(place, sizeof place, "%s-place", f->directory);
    for (int again = 0; again < 2; again++)
        assert_int_equal(gcache_place(f->cache, &r, place, &f->error), GCACHE_OK);
    snprintf(path, sizeof path, "%s/ab/kernel.so", place);
    read_file(path, content, sizeof content);
    assert_string_equal(content, "ELF");
    assert_int_equal(stat(path, &facts), 0);
    assert_true((facts.st_mode & 0100) != 0);
    gcache_result_clear(&r);

    assert_int_equal(gcache_place(f->cache, &r, place, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/notes.txt", place);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/ab", place);
    assert_true(rmdir(path) == 0 && rmdir(place) == 0);
    gcache_graph_free(g);
}

static void
test_an_attachment_stays_below_its_directory(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("a", "b");
    char const *names[] = { "../escape", "/etc/escape", "a/../../escape", "", NULL };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        gcache_attachment file = { .name = names[i], .bytes = "x", .size = 1 };
        gcache_entry entry = { .size = sizeof entry, .payload = "p", .payload_size = 1, .attachments = &file,
                               .attachment_count = 1 };
        assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), GCACHE_ERROR_ARGUMENT);
    }
    gcache_graph_free(g);
}

static void
test_attachments_must_fit_side_by_side(void **state)
{
    static struct {
        char const *names[3];
        gcache_status expected;
    } const cases[] = {
        { { "a", "b", "a" }, GCACHE_ERROR_ARGUMENT },          { { "a/b", "a-b", "a" }, GCACHE_ERROR_ARGUMENT },
        { { "a/b/c", "a/b.c", "a/b" }, GCACHE_ERROR_ARGUMENT }, { { "a/b", "a-b", "ab" }, GCACHE_OK },
    };
    fixture *f = *state;
    gcache_graph *g = make_matmul("a", "b");

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gcache_attachment files[3];
        for (size_t n = 0; n < 3; n++)
            files[n] = (gcache_attachment){ .name = cases[i].names[n], .bytes = "x", .size = 1 };
        gcache_entry entry = { .size = sizeof entry, .payload = "p", .payload_size = 1, .attachments = files,
                               .attachment_count = 3 };
        assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error), cases[i].expected);
    }
    gcache_graph_free(g);
}

static void
test_entries_are_taken_out(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("a", "b");
    gcache_entry entry = { .size = sizeof entry, .payload = "p", .payload_size = 1 };
    gcache_inserted inserted = GCACHE_INSERTED_INIT;
    gcache_result r = GCACHE_RESULT_INIT;

    gcache_insert(f->cache, g, NULL, &entry, &inserted, &f->error);
    assert_int_equal(gcache_remove(f->cache, &inserted.key, inserted.entry, &f->error), GCACHE_OK);
    assert_int_equal(gcache_lookup(f->cache, g, NULL, &r, &f->error), GCACHE_MISS);
    assert_int_equal(r.reason, GCACHE_REASON_EVICTED);
    gcache_result_clear(&r);
    assert_int_equal(gcache_remove(f->cache, &inserted.key, inserted.entry, &f->error), GCACHE_ERROR_NOT_FOUND);
    gcache_graph_free(g);
}

static gcache_status
begin(fixture *f, gcache_graph *g, gcache_hints const *hints, gcache_compile **out_compile, gcache_result *r)
{
    return gcache_compile_begin(f->cache, g, hints, NULL, NULL, out_compile, r, &f->error);
}

static void
test_the_halves_of_a_compile(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("a", "b");
    gcache_hints hints = GCACHE_HINTS({ "a", 7 }, { "b", 1 }), others = GCACHE_HINTS({ "a", 8 }, { "b", 1 });
    gcache_entry entry = { .size = sizeof entry, .payload = "new", .payload_size = 3 };
    gcache_compiled compiled = { .size = sizeof compiled, .entry = &entry };
    char const *guard = "a == 8";
    gcache_compile *first, *second;
    gcache_result r = GCACHE_RESULT_INIT, s = GCACHE_RESULT_INIT;

    insert_text(f, g, NULL, "a == 1", "another");
    assert_int_equal(begin(f, g, &hints, &first, &r), GCACHE_MISS);
    assert_int_equal(r.reason, GCACHE_REASON_GUARD_FALSE);
    assert_int_equal(begin(f, g, &hints, &second, &s), GCACHE_ERROR_ARGUMENT);
    assert_null(second);
    gcache_result_clear(&s);
    /* Other sizes of a known key are another compile. */
    assert_int_equal(begin(f, g, &others, &second, &s), GCACHE_MISS);
    entry.guards = &guard;
    entry.guard_count = 1;
    assert_int_equal(gcache_compile_end(second, &compiled, &f->error), GCACHE_MISS);
    assert_memory_equal(s.payload, "new", 3);
    assert_int_equal(s.stored, GCACHE_OK);
    gcache_result_clear(&s);

    /* Whoever has begun may insert by itself. */
    insert_text(f, g, NULL, "a == 7", "inserted");
    assert_int_equal(gcache_compile_end(first, NULL, &f->error), GCACHE_MISS);
    gcache_result_clear(&r);
    assert_int_equal(begin(f, g, &hints, &first, &r), GCACHE_HIT);
    assert_null(first);
    assert_memory_equal(r.payload, "inserted", 8);
    gcache_result_clear(&r);
    assert_int_equal(begin(f, g, &others, &first, &r), GCACHE_HIT);
    assert_null(first);
    gcache_result_clear(&r);
    assert_int_equal(gcache_compile_end(NULL, NULL, NULL), GCACHE_MISS);
    gcache_graph_free(g);
}

static void
test_no_lease_where_nothing_is_stored(void **state)
{
    fixture *f = *state;
    gcache_options disabled = GCACHE_OPTIONS_INIT, read_only = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("a", "b");
    gcache_options const *const each[] = { &disabled, &read_only };

    disabled.disabled = read_only.read_only = true;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        gcache_compile *compile;
        gcache_result r = GCACHE_RESULT_INIT;
        fixture_reopen(f, each[i]);
        assert_int_equal(begin(f, g, NULL, &compile, &r), GCACHE_MISS);
        assert_int_equal(gcache_counter_read(f->cache, GCACHE_COUNTER_LEASES), 0);
        assert_int_equal(gcache_compile_end(compile, NULL, NULL), GCACHE_MISS);
        gcache_result_clear(&r);
    }
    gcache_graph_free(g);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_setup_teardown(test_a_guard_test_takes_the_place_of_guards, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_equal_identities_are_equal_entries, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_attachments_are_put_in_place, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_an_attachment_stays_below_its_directory, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_attachments_must_fit_side_by_side, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_entries_are_taken_out, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_the_halves_of_a_compile, fixture_open, fixture_close),
        cmocka_unit_test_setup_teardown(test_no_lease_where_nothing_is_stored, fixture_open, fixture_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
