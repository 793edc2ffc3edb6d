/*
 * Signing keys of both kinds through the public functions: what a handle takes for a key, what lookups do about forged
 * candidates. How the bytes are signed is tried by store/test_ed25519.
 */
#include "fixture.h"

#define ED25519_KEY(name, bytes)                                                                     \
    { .id = (name), .secret = (bytes), .secret_size = GCACHE_ED25519_BYTES, .algorithm = GCACHE_SIGNING_ED25519 }

/* RFC 8032, section 7.1, the first test. */
static unsigned char const seed[32] = { 0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60, 0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec,
                                        0x2c, 0xc4, 0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19, 0x70, 0x3b, 0xac, 0x03,
                                        0x1c, 0xae, 0x7f, 0x60 };
static unsigned char const public_key[32] = { 0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7, 0xd5, 0x4b, 0xfe,
                                              0xd3, 0xc9, 0x64, 0x07, 0x3a, 0x0e, 0xe1, 0x72, 0xf3, 0xda, 0xa6,
                                              0x23, 0x25, 0xaf, 0x02, 0x1a, 0x68, 0xf7, 0x07, 0x51, 0x1a };

static gcache_signing_key const writer = ED25519_KEY("k1", seed), forger = ED25519_KEY("k1", "the seed of somebody else's key"),
                                reader = { .id = "k1", .algorithm = GCACHE_SIGNING_ED25519, .public_key = public_key };

static void
reopen(fixture *f, gcache_signing_key const *key)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.signing = key;
    options.signing_count = 1;
    options.require_signature = true;
    options.durability = GCACHE_DURABILITY_NONE;
    fixture_reopen(f, &options);
}

static gcache_status
insert_ranked(fixture *f, gcache_graph *g, char const *payload, int64_t priority)
{
    gcache_entry entry = { .size = sizeof entry, .payload = payload, .payload_size = strlen(payload), .priority = priority };

    return gcache_insert(f->cache, g, NULL, &entry, NULL, &f->error);
}

/* A genuine entry, and a forged one before it. */
static gcache_graph *
store_both(fixture *f)
{
    gcache_graph *g = make_matmul("s0", "s1");

    reopen(f, &writer);
    assert_int_equal(insert_ranked(f, g, "genuine", 0), GCACHE_OK);
    reopen(f, &forger);
    assert_int_equal(insert_ranked(f, g, "forged", 9), GCACHE_OK);
    reopen(f, &reader);
    return g;
}

static void
the_next_candidate_is_served(void **state)
{
    fixture *f = *state;
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_graph *g = store_both(f);

    for (int i = 0; i < 3; i++) {
        assert_int_equal(gcache_lookup(f->cache, g, NULL, &r, &f->error), GCACHE_HIT);
        assert_memory_equal(r.payload, "genuine", 7);
        gcache_result_clear(&r);
    }
    request.probe = true;
    assert_int_equal(gcache_lookup_with(f->cache, g, NULL, &request, &r, &f->error), GCACHE_HIT);
    assert_int_equal(r.priority, 0);
    gcache_result_clear(&r);
    gcache_graph_free(g);
}

/* Where nothing else is left, that is why. */
static void
a_forged_candidate_is_unreadable(void **state)
{
    fixture *f = *state;
    gcache_request request = GCACHE_REQUEST_INIT;
    gcache_result r = GCACHE_RESULT_INIT;
    gcache_graph *g = make_matmul("s0", "s1");

    reopen(f, &forger);
    assert_int_equal(insert_ranked(f, g, "forged", 9), GCACHE_OK);
    reopen(f, &reader);
    for (int probe = 0; probe < 2; probe++) {
        request.probe = probe != 0;
        assert_int_equal(gcache_lookup_with(f->cache, g, NULL, &request, &r, &f->error), GCACHE_MISS);
        assert_int_equal(r.reason, GCACHE_REASON_UNREADABLE);
        assert_non_null(strstr(r.note, "not signed with a key of ours"));
        gcache_result_clear(&r);
    }
    gcache_graph_free(g);
}

static int
count_entry(void *state, gcache_entry_view const *entry)
{
    assert_int_equal(entry->priority, 0);
    ++*(int *)state;
    return 0;
}

/* Explained, listed, read by its id: nowhere. */
static void
a_forged_candidate_is_seen_nowhere(void **state)
{
    fixture *f = *state;
    gcache_graph *g = store_both(f);
    int seen = 0;
    char *text;

    assert_int_equal(gcache_each_entry(f->cache, NULL, count_entry, &seen, &f->error), GCACHE_OK);
    assert_int_equal(seen, 1);
    assert_int_equal(gcache_explain(f->cache, g, NULL, NULL, GCACHE_EXPLAIN_JSON, &text, &f->error), GCACHE_HIT);
    assert_non_null(strstr(text, "unreadable"));
    gcache_free(text);
    gcache_graph_free(g);
}

/* ---- what is taken for a key ---- */

static void
expect_refused(fixture *f, gcache_signing_key const *keys, size_t count, char const *message)
{
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache *cache;

    options.signing = keys;
    options.signing_count = count;
    assert_int_equal(gcache_open(f->directory, &options, &cache, &f->error), GCACHE_ERROR_ARGUMENT);
    assert_string_equal(f->error.message, message);
}

static void
keys_are_checked(void **state)
{
    fixture *f = *state;
    gcache_signing_key none = { .id = "k1", .algorithm = GCACHE_SIGNING_ED25519 }, brief = writer, wrong = forger, odd = writer;
    gcache_signing_key const hmac = { .id = "k1", .secret = "s", .secret_size = 1 };

    expect_refused(f, &none, 1, "signing key k1 has neither a seed nor a public key");
    brief.secret_size = 31;
    expect_refused(f, &brief, 1, "signing key k1: the seed of Ed25519 has 32 bytes");
    wrong.public_key = public_key;
    expect_refused(f, &wrong, 1, "signing key k1: the public key isn't that of the seed");
    odd.algorithm = GCACHE_SIGNING_COUNT;
    expect_refused(f, &odd, 1, "signing key k1 is of an unknown algorithm");
    expect_refused(f, (gcache_signing_key[]){ writer, hmac }, 2, "two signing keys have the id k1");
    expect_refused(f, (gcache_signing_key[]){ writer, forger }, 2, "two signing keys have the id k1");
}

/* Its public key beside a private one: as where a fleet names the one, and its builders the other, too. */
static void
a_key_may_be_named_twice(void **state)
{
    fixture *f = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1");

    options.signing = (gcache_signing_key[]){ reader, writer };
    options.signing_count = 2;
    options.require_signature = true;
    fixture_reopen(f, &options);
    assert_int_equal(insert_ranked(f, g, "genuine", 0), GCACHE_OK);
    gcache_graph_free(g);
}

static void
algorithms_have_names(void **state)
{
    (void)state;
    assert_string_equal(gcache_signing_algorithm_name(GCACHE_SIGNING_HMAC), "hmac");
    assert_string_equal(gcache_signing_algorithm_name(GCACHE_SIGNING_ED25519), "ed25519");
    assert_string_equal(gcache_signing_algorithm_name(GCACHE_SIGNING_COUNT), "?");
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(the_next_candidate_is_served),
        CASE(a_forged_candidate_is_unreadable),
        CASE(a_forged_candidate_is_seen_nowhere),
        CASE(keys_are_checked),
        CASE(a_key_may_be_named_twice),
        cmocka_unit_test(algorithms_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
