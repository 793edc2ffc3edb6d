/*
 * Trust in everybody needs signatures, and reaches no further than they do. Who else is trusted is tried by tests/cli/trust.
 */
#include "fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <guardcache/blobs.h>
#include <guardcache/share.h>
#include <unistd.h>

/* Nobody's number. */
#define STRANGER 4321

static gcache_signing_key const key = { .id = "k1", .secret = "a secret", .secret_size = 8 };

static gcache_options
options_any(void)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.trust = GCACHE_TRUST_ANY;
    options.require_signature = true;
    options.signing = &key;
    options.signing_count = 1;
    return options;
}

static int
give_away(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)facts, (void)type, (void)place;
    return chown(path, STRANGER, STRANGER);
}

static void
give_all_away(fixture *f)
{
    if (geteuid() != 0) {
        print_message("skipped: only root can make files of other owners\n");
        skip();
    }
    assert_int_equal(nftw(f->directory, give_away, 16, FTW_PHYS), 0);
}

static void
trust_in_everybody_needs_signatures(void **state)
{
    fixture *f = *state;
    gcache_options options = options_any();
    gcache *cache;

    options.require_signature = false;
    assert_int_equal(gcache_open(f->directory, &options, &cache, &f->error), GCACHE_ERROR_UNTRUSTED);
    assert_non_null(strstr(f->error.message, "signatures must be required"));
    options.trust = GCACHE_TRUST_COUNT;
    assert_int_equal(gcache_open(f->directory, &options, &cache, &f->error), GCACHE_ERROR_ARGUMENT);
}

static void
signed_entries_of_others_are_served(void **state)
{
    fixture *f = *state;
    gcache_options options = options_any(), careful = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1"), *h = make_matmul("s0", "8");
    gcache_result r = GCACHE_RESULT_INIT;
    gcache *cache;

    assert_int_equal(insert_text(f, h, NULL, NULL, "unsigned"), GCACHE_OK);
    fixture_reopen(f, &options);
    assert_int_equal(insert_text(f, g, NULL, NULL, "signed"), GCACHE_OK);
    give_all_away(f);
    fixture_reopen(f, &options);
    assert_int_equal(gcache_lookup(f->cache, g, NULL, &r, &f->error), GCACHE_HIT);
    assert_int_equal(r.payload_size, 6);
    gcache_result_clear(&r);
    assert_int_equal(gcache_lookup(f->cache, h, NULL, &r, &f->error), GCACHE_MISS);
    assert_int_equal(r.reason, GCACHE_REASON_UNREADABLE);
    gcache_result_clear(&r);
    assert_int_equal(gcache_open(f->directory, &careful, &cache, &f->error), GCACHE_ERROR_UNTRUSTED);
    assert_non_null(strstr(f->error.message, "belongs to user 4321"));
    gcache_graph_free(g);
    gcache_graph_free(h);
}

/* What carries no signature must be our own. */
static void
others_blobs_are_not_handed_out(void **state)
{
    fixture *f = *state;
    gcache_options options = options_any();
    gcache_blob blob = GCACHE_BLOB_INIT;
    void *bytes;
    size_t size;

    fixture_reopen(f, &options);
    assert_int_equal(gcache_blob_put(f->cache, "source", 6, "c", NULL, &blob, &f->error), GCACHE_OK);
    assert_int_equal(gcache_blob_get(f->cache, blob.name, "c", NULL, &bytes, &size, &f->error), GCACHE_OK);
    gcache_free(bytes);
    give_all_away(f);
    assert_int_equal(gcache_blob_get(f->cache, blob.name, "c", NULL, &bytes, &size, &f->error), GCACHE_ERROR_UNTRUSTED);
}

static void
a_saved_handle_trusts_the_same(void **state)
{
    fixture *f = *state;
    gcache_options options = options_any(), listeners = GCACHE_OPTIONS_INIT;
    gcache *cache;
    char *text;

    fixture_reopen(f, &options);
    assert_int_equal(gcache_handle_save(f->cache, &text, &f->error), GCACHE_OK);
    give_all_away(f);
    listeners.signing = &key;
    listeners.signing_count = 1;
    assert_int_equal(gcache_handle_open(text, &listeners, &cache, &f->error), GCACHE_OK);
    gcache_close(cache);
    gcache_free(text);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(trust_in_everybody_needs_signatures),
        CASE(signed_entries_of_others_are_served),
        CASE(others_blobs_are_not_handed_out),
        CASE(a_saved_handle_trusts_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
