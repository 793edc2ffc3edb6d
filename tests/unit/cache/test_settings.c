/*
 * Where a setting's value comes from, and what each switch does.
 */
#include "fixture.h"

#include <guardcache/settings.h>

/* An environment in two columns, ended by NULL. */
static char const *
variable(void *state, char const *name)
{
    for (char const *const *row = state; *row != NULL; row += 2) {
        if (strcmp(row[0], name) == 0)
            return row[1];
    }
    return NULL;
}

static gcache_settings *
load(fixture *f, char const *space, char const *const *environment)
{
    gcache_settings *settings;

    if (gcache_settings_load(f->directory, space, environment != NULL ? variable : NULL, (void *)(uintptr_t)environment,
                             &settings, &f->error) != GCACHE_OK)
        fail_msg("%s", f->error.message);
    return settings;
}

static void
assert_setting(gcache_settings *settings, gcache_setting_id id, char const *value, gcache_origin origin)
{
    gcache_setting const setting = *gcache_settings_get(settings, id);

    assert_string_equal(setting.value, value);
    assert_string_equal(gcache_origin_name(setting.origin), gcache_origin_name(origin));
}

static void
the_strongest_place_wins(void **state)
{
    fixture *f = *state;
    char const *const environment[] = { "GUARDCACHE_MAX_CANDIDATES", "40", "GUARDCACHE_MAX_CANDIDATES__TEAM_A", "50", NULL };
    gcache_settings *settings = load(f, "team a", NULL);

    assert_setting(settings, GCACHE_SETTING_MAX_CANDIDATES, "1000", GCACHE_ORIGIN_DEFAULT);
    gcache_settings_free(settings);
    assert_int_equal(gcache_settings_write(f->directory, GCACHE_TRUST_OWNER, NULL, "max-candidates", "20", NULL, NULL, &f->error),
                     GCACHE_OK);
    settings = load(f, "team a", NULL);
    assert_setting(settings, GCACHE_SETTING_MAX_CANDIDATES, "20", GCACHE_ORIGIN_FILE);
    gcache_settings_free(settings);
    assert_int_equal(gcache_settings_write(f->directory, GCACHE_TRUST_OWNER,
                                           "team a", "max-candidates", "30", NULL, NULL, &f->error),
                     GCACHE_OK);
    settings = load(f, "team a", NULL);
    assert_setting(settings, GCACHE_SETTING_MAX_CANDIDATES, "30", GCACHE_ORIGIN_FILE_NAMESPACE);
    gcache_settings_free(settings);
    settings = load(f, "team b", environment);
    assert_setting(settings, GCACHE_SETTING_MAX_CANDIDATES, "40", GCACHE_ORIGIN_ENVIRONMENT);
    gcache_settings_free(settings);
    settings = load(f, "team a", environment);
    assert_setting(settings, GCACHE_SETTING_MAX_CANDIDATES, "50", GCACHE_ORIGIN_ENVIRONMENT_NAMESPACE);
    assert_int_equal(gcache_settings_set(settings, "max-candidates", "60", &f->error), GCACHE_OK);
    assert_setting(settings, GCACHE_SETTING_MAX_CANDIDATES, "60", GCACHE_ORIGIN_OPTION);
    gcache_settings_free(settings);
    /* Taken out again, the next place speaks. */
    assert_int_equal(gcache_settings_write(f->directory, GCACHE_TRUST_OWNER,
                                           "team a", "max-candidates", NULL, NULL, NULL, &f->error),
                     GCACHE_OK);
    settings = load(f, "team a", NULL);
    assert_setting(settings, GCACHE_SETTING_MAX_CANDIDATES, "20", GCACHE_ORIGIN_FILE);
    gcache_settings_free(settings);
}

static uint64_t
size_of(fixture *f, char const *text)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_settings *settings = load(f, NULL, NULL);

    assert_int_equal(gcache_settings_set(settings, "max-size", text, &f->error), GCACHE_OK);
    assert_int_equal(gcache_settings_apply(settings, &options, &f->error), GCACHE_OK);
    gcache_settings_free(settings);
    return options.max_size;
}

static void
sizes_are_read_as_people_write_them(void **state)
{
    fixture *f = *state;
    char const *const bad[] = { "", "GiB", "-1", "5 GiBs", "5 X", "99999999999 T", "1.5G" };
    gcache_settings *settings = load(f, NULL, NULL);

    assert_int_equal(size_of(f, "4096"), 4096);
    assert_int_equal(size_of(f, "12GiB"), UINT64_C(12) << 30);
    assert_int_equal(size_of(f, "12 G"), UINT64_C(12) << 30);
    assert_int_equal(size_of(f, "3K"), 3072);
    assert_int_equal(size_of(f, "7 B"), 7);
    assert_true(size_of(f, "none") == UINT64_MAX);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(gcache_settings_set(settings, "max-size", bad[i], &f->error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gcache_settings_set(settings, "max-sice", "1", &f->error), GCACHE_ERROR_NOT_FOUND);
    assert_int_equal(gcache_settings_set(settings, "strict", "maybe", &f->error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gcache_settings_set(settings, "durability", "some", &f->error), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(gcache_settings_set(settings, "compression-level", "23", &f->error), GCACHE_ERROR_ARGUMENT);
    gcache_settings_free(settings);
}

static void
nonsense_says_where_it_stands(void **state)
{
    fixture *f = *state;
    char const *const environment[] = { "GUARDCACHE_STRICT", "perhaps", NULL };
    gcache_settings *settings;

    assert_int_equal(gcache_settings_load(f->directory, NULL, variable, (void *)(uintptr_t)environment, &settings, &f->error),
                     GCACHE_ERROR_ARGUMENT);
    assert_string_equal(f->error.message, "GUARDCACHE_STRICT: 'perhaps' is no flag for strict");
}

/* Opens the cache with one setting. */
static void
reopen_with(fixture *f, char const *name, char const *value)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_settings *settings = load(f, NULL, NULL);

    assert_int_equal(gcache_settings_set(settings, name, value, &f->error), GCACHE_OK);
    assert_int_equal(gcache_settings_apply(settings, &options, &f->error), GCACHE_OK);
    fixture_reopen(f, &options);
    gcache_settings_free(settings);
}

static gcache_status
look(fixture *f, gcache_reason *out_reason, char *out_text)
{
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_hints hints = GCACHE_HINTS({ "s0", 7 }, { "s1", 1 });
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_status status = gcache_lookup(f->cache, g, &hints, &r, &f->error);

    *out_reason = r.reason;
    sprintf(out_text, "%.*s", (int)r.payload_size, status == GCACHE_HIT ? (char const *)r.payload : r.note);
    if (status != GCACHE_HIT)
        strcpy(out_text, r.note);
    gcache_result_clear(&r);
    gcache_graph_free(g);
    return status;
}

static void
each_switch_does_what_it_says(void **state)
{
    fixture *f = *state;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_reason reason;
    char text[256];
    gcache_result r = GCACHE_RESULT_INIT;

    assert_int_equal(insert_text(f, g, NULL, "s0 % 8 == 0", "even"), GCACHE_OK);
    reopen_with(f, "unsafe-skip-guards", "1");
    assert_int_equal(look(f, &reason, text), GCACHE_HIT);
    assert_string_equal(text, "even");
    reopen_with(f, "disabled", "yes");
    assert_int_equal(look(f, &reason, text), GCACHE_MISS);
    assert_int_equal(reason, GCACHE_REASON_DISABLED);
    reopen_with(f, "bypass", "a release is under way");
    assert_int_equal(look(f, &reason, text), GCACHE_MISS);
    assert_int_equal(reason, GCACHE_REASON_BYPASS);
    assert_string_equal(text, "a release is under way");
    reopen_with(f, "read-only", "on");
    assert_int_equal(insert_text(f, g, NULL, NULL, "x"), GCACHE_ERROR_READ_ONLY);

    assert_int_equal((reopen_with(f, "strict", "1"), insert_text(f, g, NULL, NULL, "old")), GCACHE_OK);
    assert_int_equal(look(f, &reason, text), GCACHE_HIT);
    assert_string_equal(text, "old");
    /* What is compiled now is found from now on, though the old one is there. */
    reopen_with(f, "refresh", "1");
    assert_int_equal(gcache_get_or_compile(f->cache, g, NULL, compile_new, NULL, &r, &f->error), GCACHE_MISS);
    assert_string_equal(r.note, "");
    gcache_result_clear(&r);
    assert_int_equal(look(f, &reason, text), GCACHE_MISS);
    fixture_reopen(f, NULL);
    assert_int_equal(look(f, &reason, text), GCACHE_HIT);
    assert_string_equal(text, "new");
    gcache_graph_free(g);
}

/* One entry again and again, by itself: each is another compile of the same, with files of its own. */
static void
what_is_renewed_is_what_was_stored_last(void **state)
{
    enum { CAP = 2 << 20, PART = 200000, ROUNDS = 30 };
    static char bytes[PART];
    fixture *f = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1"), *other = make_matmul("s0", "3*s1");
    gcache_attachment file = { .name = "kernel.so", .bytes = bytes, .size = PART };
    char text[16];

    options.max_size = CAP;
    options.refresh = true;
    fixture_reopen(f, &options);
    assert_int_equal(insert_text(f, other, NULL, NULL, "other"), GCACHE_OK);
    for (int i = 0; i < ROUNDS; i++) {
        gcache_error untouched = { .status = GCACHE_OK };
        gcache_entry entry = { .size = sizeof entry, .identity = "same", .identity_size = 4, .payload = text,
                               .attachments = &file, .attachment_count = 1 };
        entry.payload_size = (size_t)snprintf(text, sizeof text, "version %d", i);
        for (size_t k = 0; k < PART; k++)
            bytes[k] = (char)(k * k >> (i % 8) ^ (size_t)i);
        assert_int_equal(gcache_insert(f->cache, g, NULL, &entry, NULL, &untouched), GCACHE_OK);
        assert_string_equal(untouched.message, "");
    }
    fixture_reopen(f, NULL);
    gcache_reason reason;
    char found[64];
    assert_int_equal(look(f, &reason, found), GCACHE_HIT);
    assert_string_equal(found, text);
    gcache_result r = GCACHE_RESULT_INIT;
    assert_int_equal(gcache_lookup(f->cache, other, NULL, &r, &f->error), GCACHE_HIT);
    gcache_result_clear(&r);
    gcache_graph_free(other);
    gcache_graph_free(g);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(the_strongest_place_wins),
        CASE(sizes_are_read_as_people_write_them),
        CASE(nonsense_says_where_it_stands),
        CASE(each_switch_does_what_it_says),
        CASE(what_is_renewed_is_what_was_stored_last),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
