/*
 * What goes through tiers between two hosts (two directories): entries and their files, the best of two tiers, tuning results,
 * shared values, compiles that only one makes, and groups that decide alike. The tier is one in memory.
 */
#include "base/digest.h"
#include "fixture.h"

#include <guardcache/fleet.h>
#include <guardcache/share.h>
#include <guardcache/tuning.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND_NS UINT64_C(1000000000)
#define FLUSH_NS (10 * SECOND_NS)

enum { HOSTS = 4, ROUNDS = 20 };

typedef struct fleet {
    fixture_pair *pair;
    gcache_tier_functions const *functions;
    void *near, *far; /* two tiers, asked in this order */
    gcache_tier_user users[2];
    gcache_graph *graph;
    char log[2048];
} fleet;

static void
note_line(void *state, char const *line)
{
    fleet *f = state;
    size_t size = strlen(f->log);

    snprintf(f->log + size, sizeof f->log - size, "%s\n", line);
}

/* Only the first `tiers` of them. */
static gcache *
reopen(fleet *fl, fixture *host, size_t tiers)
{
    gcache_options options = GCACHE_OPTIONS_INIT;

    options.user_tiers = fl->users;
    options.user_tier_count = tiers;
    options.log = note_line;
    options.log_state = fl;
    fixture_reopen(host, &options);
    return host->cache;
}

static int
fleet_open(void **state)
{
    fleet *fl = calloc(1, sizeof *fl);
    gcache_error error;

    if (fl == NULL || fixture_pair_open(state) != 0 ||
        gcache_tier_memory_new(&fl->functions, &fl->near, &error) != GCACHE_OK ||
        gcache_tier_memory_new(&fl->functions, &fl->far, &error) != GCACHE_OK)
        return -1;
    fl->pair = *state;
    fl->users[0] = (gcache_tier_user){ .name = "near://", .functions = fl->functions, .tier = fl->near };
    fl->users[1] = (gcache_tier_user){ .name = "far://", .functions = fl->functions, .tier = fl->far };
    fl->graph = make_matmul("s0", "s1");
    reopen(fl, fl->pair->from, 2);
    reopen(fl, fl->pair->to, 2);
    *state = fl;
    return 0;
}

static int
fleet_close(void **state)
{
    fleet *fl = *state;
    void *pair = fl->pair;

    gcache_graph_free(fl->graph);
    fixture_pair_close(&pair);
    fl->functions->close(fl->near);
    fl->functions->close(fl->far);
    free(fl);
    return 0;
}

static void
flush(gcache *cache)
{
    gcache_error error;

    assert_int_equal(gcache_tiers_flush(cache, FLUSH_NS, &error), GCACHE_OK);
}

/* ---- entries ---- */

static void
an_entry_brings_its_files(void **state)
{
    fleet *fl = *state;
    gcache *here = fl->pair->from->cache, *there = fl->pair->to->cache;
    gcache_attachment const files[] = { { "lib/a.so", "first file", 10, true }, { "b.txt", "second", 6, false } };
    gcache_entry entry = GCACHE_ENTRY_INIT;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;
    struct stat facts;
    char place[160];

    entry.payload = "code";
    entry.payload_size = 4;
    entry.attachments = files;
    entry.attachment_count = 2;
    assert_int_equal(gcache_insert(here, fl->graph, NULL, &entry, NULL, &error), GCACHE_OK);
    flush(here);
    assert_int_equal(gcache_lookup(there, fl->graph, NULL, &result, &error), GCACHE_HIT);
    assert_string_equal(result.tier, "near://");
    snprintf(place, sizeof place, "%s/placed", fl->pair->to->directory);
    assert_int_equal(gcache_place(there, &result, place, &error), GCACHE_OK);
    gcache_result_clear(&result);
    snprintf(place, sizeof place, "%s/placed/lib/a.so", fl->pair->to->directory);
    assert_int_equal(stat(place, &facts), 0);
    assert_int_equal(facts.st_size, 10);
    assert_true((facts.st_mode & S_IXUSR) != 0);
}

static void
what_comes_from_afar_is_brought_nearer(void **state)
{
    fleet *fl = *state;
    gcache *here = reopen(fl, fl->pair->from, 2), *there = fl->pair->to->cache;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;

    gcache_tier_memory_fail(fl->near, &(gcache_tier_faults){ .refuse = true });
    assert_int_equal(insert_text(fl->pair->from, fl->graph, NULL, NULL, "code"), GCACHE_OK);
    /* What the near one didn't take is given up when the cache is closed, and said so. */
    assert_int_equal(gcache_tiers_flush(here, 0, &error), GCACHE_ERROR_BUSY);
    reopen(fl, fl->pair->from, 0);
    assert_non_null(strstr(fl->log, "didn't reach near://"));
    gcache_tier_memory_fail(fl->near, NULL);
    assert_int_equal(gcache_lookup(there, fl->graph, NULL, &result, &error), GCACHE_HIT);
    assert_string_equal(result.tier, "far://");
    gcache_result_clear(&result);
    flush(there);
    void *third;
    assert_int_equal(fixture_open(&third), 0);
    gcache *cache = reopen(fl, third, 1);
    assert_int_equal(gcache_lookup(cache, fl->graph, NULL, &result, &error), GCACHE_HIT);
    assert_string_equal(result.tier, "near://");
    gcache_result_clear(&result);
    fixture_close(&third);
}

static void
the_next_candidate_is_tried(void **state)
{
    fleet *fl = *state;
    gcache *there = fl->pair->to->cache;
    gcache_hints hints = GCACHE_HINTS({ "s0", 16 }, { "s1", 4 });
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;
    char *large = calloc(1, OWN_FILE + 1);

    /* Preferred, since its guards say more; its payload lies apart from the head, and gets lost. */
    uint32_t noise = 7;
    for (size_t i = 0; i < OWN_FILE; i++) {
        noise = noise * 1664525 + 1013904223;
        large[i] = (char)('a' + (noise >> 24) % 26);
    }
    assert_int_equal(insert_text(fl->pair->from, fl->graph, &hints, "s0 == 16", large), GCACHE_OK);
    assert_int_equal(insert_text(fl->pair->from, fl->graph, &hints, "s0 > 2", "small"), GCACHE_OK);
    flush(fl->pair->from->cache);
    gcache_tier_memory_fail(fl->near, &(gcache_tier_faults){ .lose_payloads = true });
    gcache_tier_memory_fail(fl->far, &(gcache_tier_faults){ .lose_payloads = true });
    assert_int_equal(gcache_lookup(there, fl->graph, &hints, &result, &error), GCACHE_HIT);
    assert_int_equal(result.payload_size, 5);
    gcache_result_clear(&result);
    free(large);
}

static void
a_key_alone_is_looked_up_in_tiers(void **state)
{
    fleet *fl = *state;
    gcache_hints hints = GCACHE_HINTS({ "s0", 16 }, { "s1", 4 });
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;
    gcache_key key;

    assert_int_equal(insert_text(fl->pair->from, fl->graph, &hints, "s0 == 16", "code"), GCACHE_OK);
    flush(fl->pair->from->cache);
    assert_int_equal(gcache_graph_key(fl->graph, &key, &error), GCACHE_OK);
    gcache_graph *keyed = gcache_graph_new_keyed("fx", &key);
    assert_int_equal(gcache_lookup(fl->pair->to->cache, keyed, &hints, &result, &error), GCACHE_HIT);
    assert_string_equal(result.tier, "near://");
    gcache_result_clear(&result);
    gcache_graph_free(keyed);
}

static void
trouble_is_an_error_only_if_strict(void **state)
{
    fleet *fl = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;

    gcache_tier_memory_fail(fl->near, &(gcache_tier_faults){ .refuse = true });
    assert_int_equal(gcache_lookup(fl->pair->to->cache, fl->graph, NULL, &result, &error), GCACHE_MISS);
    assert_int_equal(result.reason, GCACHE_REASON_REMOTE_UNAVAILABLE);
    assert_int_equal(result.local_reason, GCACHE_REASON_NO_KEY);
    gcache_result_clear(&result);
    options.user_tiers = fl->users;
    options.user_tier_count = 1;
    options.strict = true;
    fixture_reopen(fl->pair->to, &options);
    assert_int_equal(gcache_lookup(fl->pair->to->cache, fl->graph, NULL, &result, &error), GCACHE_ERROR_IO);
    assert_non_null(strstr(error.message, "near://"));
    gcache_result_clear(&result);
}

static void
a_read_only_cache_is_served_by_a_tier(void **state)
{
    fleet *fl = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;

    assert_int_equal(insert_text(fl->pair->from, fl->graph, NULL, NULL, "code"), GCACHE_OK);
    flush(fl->pair->from->cache);
    options.user_tiers = fl->users;
    options.user_tier_count = 2;
    options.read_only = true;
    fixture_reopen(fl->pair->to, &options);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gcache_lookup(fl->pair->to->cache, fl->graph, NULL, &result, &error), GCACHE_HIT);
        assert_string_equal(result.tier, "near://");
        gcache_result_clear(&result);
    }
}

static atomic_int removed;
static gcache_tier_functions const *counted;

static gcache_tier_answer
count_removals(void *tier, gcache_tier_call *call, gcache_object const *wanted, size_t count)
{
    atomic_fetch_add(&removed, (int)count);
    return counted->remove(tier, call, wanted, count);
}

static size_t aged_size;

/* A head whose header says that it ran out in 1970, with a sum that fits. */
static int
age_head(void *state, gcache_object const *object)
{
    char *bytes = state;
    uint64_t expires = 1, sum;

    aged_size = object->size;
    memcpy(bytes, object->bytes, object->size);
    memcpy(bytes + 8, &expires, sizeof expires);
    sum = gci_hash64(bytes, 48, 0);
    memcpy(bytes + 48, &sum, sizeof sum);
    return 0;
}

static void
what_ran_out_long_ago_is_taken_away(void **state)
{
    fleet *fl = *state;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_tier_call call = GCACHE_TIER_CALL_INIT;
    gcache_inserted inserted = GCACHE_INSERTED_INIT;
    gcache_entry entry = GCACHE_ENTRY_INIT;
    gcache_tier_functions functions = *fl->functions;
    gcache_error error;
    char bytes[4096];

    counted = fl->functions;
    functions.remove = count_removals;
    fl->users[0].functions = &functions;
    entry.payload = "code";
    entry.payload_size = 4;
    assert_int_equal(gcache_insert(fl->pair->from->cache, fl->graph, NULL, &entry, &inserted, &error), GCACHE_OK);
    flush(fl->pair->from->cache);
    assert_int_equal(fl->functions->list(fl->near, &call, &inserted.key, age_head, bytes), GCACHE_TIER_HIT);
    gcache_object head = { .kind = GCACHE_OBJECT_HEAD, .key = inserted.key, .bytes = bytes };
    memcpy(head.name, inserted.entry, sizeof inserted.entry);
    head.size = aged_size;
    assert_int_equal(fl->functions->publish(fl->near, &call, &head, 1), GCACHE_TIER_HIT);
    gcache *there = reopen(fl, fl->pair->to, 1);
    assert_int_equal(gcache_lookup(there, fl->graph, NULL, &result, &error), GCACHE_MISS);
    gcache_result_clear(&result);
    flush(there);
    assert_int_equal(atomic_load(&removed), 1);
    assert_int_equal(fl->functions->list(fl->near, &call, &inserted.key, age_head, bytes), GCACHE_TIER_MISS);
    reopen(fl, fl->pair->to, 0);
    reopen(fl, fl->pair->from, 0);
    fl->users[0].functions = fl->functions;
}

/* ---- tuning ---- */

static gcache_pair const tuned[] = { { "BLOCK", "128" }, { "warps", "4" } };
static gcache_config const offered = { tuned, 2 };

static gcache_best_verdict
find_best(gcache *cache, gcache_kernel const *kernel, char const *configs_hash)
{
    gcache_best_found found = GCACHE_BEST_FOUND_INIT;
    gcache_error error;

    gcache_best_find(cache, kernel, &offered, 1, configs_hash, false, &found, &error);
    gcache_best_verdict verdict = found.verdict;
    gcache_best_found_clear(&found);
    return verdict;
}

static void
a_best_configuration_is_found_by_others(void **state)
{
    fleet *fl = *state;
    gcache *here = fl->pair->from->cache, *there = fl->pair->to->cache;
    gcache_kernel kernel = GCACHE_KERNEL_INIT, other;
    gcache_best best = GCACHE_BEST_INIT;
    gcache_error error;

    kernel.source_hash = "c0ffee";
    best.config = offered;
    best.configs_hash = "h1";
    /* Without a back end it stays here, and the log says so, once. */
    assert_int_equal(gcache_best_put(here, &kernel, &best, &error), GCACHE_OK);
    assert_int_equal(gcache_best_put(here, &kernel, &best, &error), GCACHE_OK);
    char const *said = strstr(fl->log, "nobody says for which back end");
    assert_non_null(said);
    assert_null(strstr(said + 1, "nobody says for which back end"));
    flush(here);
    assert_int_equal(find_best(there, &kernel, "h1"), GCACHE_BEST_NO_RECORD);
    kernel.backend = "llvm-17";
    assert_int_equal(find_best(there, &kernel, "h1"), GCACHE_BEST_NO_RECORD);
    assert_int_equal(gcache_best_put(here, &kernel, &best, &error), GCACHE_OK);
    flush(here);
    other = kernel;
    other.backend = "llvm-18";
    assert_int_equal(find_best(there, &other, "h1"), GCACHE_BEST_NO_RECORD);
    assert_int_equal(find_best(there, &kernel, "h2"), GCACHE_BEST_NO_RECORD);
    assert_int_equal(find_best(there, &kernel, "h1"), GCACHE_BEST_USED);
    /* From now on it is there, whatever becomes of the tier. */
    gcache_tier_memory_fail(fl->near, &(gcache_tier_faults){ .refuse = true });
    gcache_tier_memory_fail(fl->far, &(gcache_tier_faults){ .refuse = true });
    assert_int_equal(find_best(there, &kernel, "h1"), GCACHE_BEST_USED);
}

static void
a_bundle_is_loaded_by_others(void **state)
{
    fleet *fl = *state;
    gcache *here = fl->pair->from->cache, *there = fl->pair->to->cache;
    gcache_bundle_options options = GCACHE_BUNDLE_OPTIONS_INIT;
    gcache_bundle_loaded loaded = GCACHE_BUNDLE_LOADED_INIT;
    gcache_kernel kernel = GCACHE_KERNEL_INIT;
    gcache_best best = GCACHE_BEST_INIT;
    gcache_error error;

    options.source_hash = "5eed";
    options.backend = "llvm-17";
    kernel.source_hash = "c0ffee";
    best.config = offered;
    best.configs_hash = "h1";
    best.tuning_ns = 7;
    assert_int_equal(gcache_bundle_begin(here, &options, &loaded, &error), GCACHE_MISS);
    assert_int_equal(gcache_best_put(here, &kernel, &best, &error), GCACHE_OK);
    assert_int_equal(gcache_bundle_end(here, &error), GCACHE_OK);
    flush(here);
    assert_int_equal(gcache_bundle_begin(there, &options, &loaded, &error), GCACHE_HIT);
    assert_int_equal(loaded.records, 1);
    assert_int_equal(loaded.saved_ns, 7);
    assert_int_equal(find_best(there, &kernel, "h1"), GCACHE_BEST_USED);
}

/* ---- values ---- */

static void
a_value_is_shared_among_hosts(void **state)
{
    fleet *fl = *state;
    gcache_share share = GCACHE_SHARE_INIT;
    gcache_error error;
    size_t size;
    void *value;

    share.job = "run 7";
    share.name = "profile";
    share.timeout_ns = SECOND_NS / 10;
    assert_int_equal(gcache_share_value(fl->pair->to->cache, &share, &value, &size, &error), GCACHE_ERROR_BUSY);
    share.leader = true;
    share.value = "told";
    share.value_size = 4;
    assert_int_equal(gcache_share_value(fl->pair->from->cache, &share, &value, &size, &error), GCACHE_OK);
    gcache_free(value);
    share.leader = false;
    share.value = NULL;
    share.value_size = 0;
    assert_int_equal(gcache_share_value(fl->pair->to->cache, &share, &value, &size, &error), GCACHE_OK);
    assert_int_equal(size, 4);
    assert_memory_equal(value, "told", 4);
    gcache_free(value);
}

/* ---- compiles ---- */

static atomic_int compiles;

static void
release_payload(void *state, gcache_compiled *compiled)
{
    (void)state;
    free((void *)(uintptr_t)compiled->entry->payload);
}

static gcache_status
compile_slowly(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    char *payload = malloc(16);

    (void)state, (void)graph, (void)hints, (void)error;
    usleep(20000);
    out_compiled->entry->payload_size = (size_t)snprintf(payload, 16, "%d", atomic_fetch_add(&compiles, 1));
    out_compiled->entry->payload = payload;
    out_compiled->release = release_payload;
    return GCACHE_OK;
}

typedef struct member {
    fixture *host;
    gcache_compile_options options;
    gcache_hints hints;
    char got[16];
} member;

static void *
get(void *state)
{
    member *m = state;
    gcache_graph *graph = make_matmul("s0", "s1");
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;
    gcache_status status =
        gcache_get_or_compile_with(m->host->cache, graph, &m->hints, &m->options, compile_slowly, NULL, &result, &error);

    if (status == GCACHE_HIT || status == GCACHE_MISS)
        snprintf(m->got, sizeof m->got, "%.*s", (int)result.payload_size, (char const *)result.payload);
    gcache_result_clear(&result);
    gcache_graph_free(graph);
    return NULL;
}

/* Every host asks the same at once. */
static void
ask_at_once(member *members)
{
    pthread_t threads[HOSTS];

    for (int i = 0; i < HOSTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, get, &members[i]), 0);
    for (int i = 0; i < HOSTS; i++)
        pthread_join(threads[i], NULL);
}

static void
open_hosts(fleet *fl, member *members, gcache_group const *group)
{
    for (int i = 0; i < HOSTS; i++) {
        void *host;
        assert_int_equal(fixture_open(&host), 0);
        members[i] = (member){ .host = host, .options = GCACHE_COMPILE_OPTIONS_INIT };
        members[i].options.group = group;
        reopen(fl, host, 1);
    }
}

static void
close_hosts(member *members)
{
    for (int i = 0; i < HOSTS; i++) {
        void *host = members[i].host;
        fixture_close(&host);
    }
}

static void
one_of_all_hosts_compiles(void **state)
{
    fleet *fl = *state;
    member members[HOSTS];

    open_hosts(fl, members, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        gcache_hint const sizes[] = { { "s0", 16 + round }, { "s1", 4 } };
        for (int i = 0; i < HOSTS; i++)
            members[i].hints = (gcache_hints){ sizes, 2, NULL, 0 };
        atomic_store(&compiles, 0);
        ask_at_once(members);
        /* Unguarded, so the first round's serves all the others. */
        assert_int_equal(atomic_load(&compiles), round == 0);
        for (int i = 0; i < HOSTS; i++)
            assert_string_equal(members[i].got, "0");
    }
    close_hosts(members);
}

static void
members_of_a_group_decide_alike(void **state)
{
    fleet *fl = *state;
    gcache_group group = GCACHE_GROUP_INIT;
    member members[HOSTS];

    group.name = "run 7";
    group.members = HOSTS;
    open_hosts(fl, members, &group);
    /* Each host has a variant of its own already: without a group each would be served by that. */
    for (int i = 0; i < HOSTS; i++) {
        gcache_options options = GCACHE_OPTIONS_INIT;
        char payload[8];
        snprintf(payload, sizeof payload, "own %d", i);
        fixture_reopen(members[i].host, &options);
        assert_int_equal(insert_text(members[i].host, fl->graph, NULL, NULL, payload), GCACHE_OK);
        reopen(fl, members[i].host, 1);
    }
    for (int round = 0; round < ROUNDS; round++) {
        gcache_hint const sizes[] = { { "s0", 16 + round }, { "s1", 4 } };
        for (int i = 0; i < HOSTS; i++)
            members[i].hints = (gcache_hints){ sizes, 2, NULL, 0 };
        ask_at_once(members);
        for (int i = 0; i < HOSTS; i++)
            assert_string_equal(members[i].got, members[0].got);
        assert_memory_equal(members[0].got, "own ", 4);
    }
    close_hosts(members);
}

static gcache_status
compile_own(void *state, gcache_graph *graph, gcache_hints const *hints, gcache_compiled *out_compiled, gcache_error *error)
{
    gcache_status status = compile_slowly(state, graph, hints, out_compiled, error);

    out_compiled->do_not_store = "it calls back into this process";
    return status;
}

static void
what_is_not_stored_each_member_compiles(void **state)
{
    fleet *fl = *state;
    gcache_group group = GCACHE_GROUP_INIT;
    gcache_compile_options options = GCACHE_COMPILE_OPTIONS_INIT;
    gcache_result result = GCACHE_RESULT_INIT;
    gcache_error error;

    group.name = "run 8";
    group.members = 2;
    options.group = &group;
    atomic_store(&compiles, 0);
    for (int i = 0; i < 2; i++) {
        fixture *host = i == 0 ? fl->pair->from : fl->pair->to;
        assert_int_equal(gcache_get_or_compile_with(host->cache, fl->graph, NULL, &options, compile_own, NULL, &result, &error),
                         GCACHE_MISS);
        gcache_result_clear(&result);
    }
    assert_int_equal(atomic_load(&compiles), 2);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test_setup_teardown(an_entry_brings_its_files, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(what_comes_from_afar_is_brought_nearer, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(the_next_candidate_is_tried, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(a_key_alone_is_looked_up_in_tiers, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(trouble_is_an_error_only_if_strict, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(a_read_only_cache_is_served_by_a_tier, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(what_ran_out_long_ago_is_taken_away, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(a_best_configuration_is_found_by_others, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(a_bundle_is_loaded_by_others, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(a_value_is_shared_among_hosts, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(one_of_all_hosts_compiles, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(members_of_a_group_decide_alike, fleet_open, fleet_close),
        cmocka_unit_test_setup_teardown(what_is_not_stored_each_member_compiles, fleet_open, fleet_close),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
