/*
 * Values that a leader tells the other processes of its job, and handles for workers.
 */
#include "fixture.h"

#include <fcntl.h>
#include <ftw.h>
#include <guardcache/fleet.h>
#include <guardcache/share.h>
#include <sys/wait.h>
#include <unistd.h>

static gcache_status
share(fixture *f, gcache_share const *s, char out_text[64])
{
    void *value = NULL;
    size_t size = 0;
    gcache_status status = gcache_share_value(f->cache, s, &value, &size, &f->error);

    snprintf(out_text, 64, "%.*s", (int)size, status == GCACHE_OK ? (char const *)value : "");
    gcache_free(value);
    return status;
}

static gcache_share
told(char const *job, char const *name, char const *value)
{
    gcache_share s = GCACHE_SHARE_INIT;

    s.job = job;
    s.name = name;
    s.leader = value != NULL;
    s.value = value;
    s.value_size = value != NULL ? strlen(value) : 0;
    s.timeout_ns = 20000000;
    return s;
}

static void
followers_get_the_leaders_value(void **state)
{
    fixture *f = *state;
    gcache_share leader = told("job 1", "profile", "cost=7"), follower = told("job 1", "profile", NULL);
    char text[64];

    assert_int_equal(share(f, &follower, text), GCACHE_ERROR_BUSY);
    assert_string_equal(f->error.message, "\"profile\": the leader told no value within 20 ms");
    pid_t child = fork();
    if (child == 0) {
        follower.timeout_ns = UINT64_C(20000000000);
        _exit(share(f, &follower, text) == GCACHE_OK && strcmp(text, "cost=7") == 0 ? 0 : 1);
    }
    usleep(50000);
    assert_int_equal(share(f, &leader, text), GCACHE_OK);
    assert_string_equal(text, "cost=7");
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    /* The same name in another run, and another name in this one. */
    follower = told("job 2", "profile", NULL);
    assert_int_equal(share(f, &follower, text), GCACHE_ERROR_BUSY);
    follower = told("job 1", "profile of g", NULL);
    assert_int_equal(share(f, &follower, text), GCACHE_ERROR_BUSY);
}

static void
the_first_value_stays(void **state)
{
    fixture *f = *state;
    gcache_share first = told("job", "n", "one"), second = told("job", "n", "two"), empty = told("job", "e", "");
    char text[64];

    assert_int_equal(share(f, &first, text), GCACHE_OK);
    assert_int_equal(share(f, &second, text), GCACHE_OK);
    assert_string_equal(text, "one");
    fixture_reopen(f, NULL);
    assert_int_equal(share(f, &second, text), GCACHE_OK);
    assert_string_equal(text, "one");
    assert_int_equal(share(f, &empty, text), GCACHE_OK);
    assert_string_equal(text, "");
}

static int
spoil(char const *path, struct stat const *facts, int type, struct FTW *place)
{
    (void)facts, (void)place;
    if (type != FTW_F || strstr(path, "/shared/") == NULL)
        return 0;
    int file = open(path, O_WRONLY);
    assert_int_equal(pwrite(file, "X", 1, 33), 1);
    close(file);
    return 0;
}

static void
a_value_is_remembered_and_damage_is_not_believed(void **state)
{
    fixture *f = *state;
    gcache_share leader = told("job", "n", "one"), follower = told("job", "n", NULL);
    char text[64];

    assert_int_equal(share(f, &leader, text), GCACHE_OK);
    assert_int_equal(nftw(f->directory, spoil, 16, FTW_PHYS), 0);
    assert_int_equal(share(f, &follower, text), GCACHE_OK);
    assert_string_equal(text, "one");
    fixture_reopen(f, NULL);
    assert_int_equal(share(f, &follower, text), GCACHE_ERROR_BUSY);
    assert_int_equal(share(f, &leader, text), GCACHE_OK);
    fixture_reopen(f, NULL);
    assert_int_equal(share(f, &follower, text), GCACHE_OK);
    assert_string_equal(text, "one");
}

/* Starts this program anew, with the handle as its argument, and returns its exit status. */
static int
run_worker(char *text)
{
    char name[] = "worker", *arguments[] = { name, text, NULL };
    pid_t worker = fork();
    int status;

    assert_true(worker >= 0);
    if (worker == 0) {
        execv("/proc/self/exe", arguments);
        _exit(126);
    }
    assert_int_equal(waitpid(worker, &status, 0), worker);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 125;
}

/* What a worker does: opens what the handle stands for, and finds the code. */
static int
work(char const *text)
{
    gcache_graph *g = make_matmul("s0", "s1");
    gcache_error error;
    gcache_result r = GCACHE_RESULT_INIT;
    gcache *cache;

    if (gcache_handle_open(text, NULL, &cache, &error) != GCACHE_OK)
        return fprintf(stderr, "%s\n", error.message), 2;
    bool right = gcache_lookup(cache, g, NULL, &r, &error) == GCACHE_HIT && memcmp(r.payload, "code", 4) == 0;
    gcache_result_clear(&r);
    gcache_close(cache);
    gcache_graph_free(g);
    return right ? 0 : 1;
}

static void
a_saved_handle_opens_the_same_cache(void **state)
{
    fixture *f = *state;
    gcache_options options = GCACHE_OPTIONS_INIT;
    gcache_graph *g = make_matmul("s0", "s1");
    gcache *worker;
    gcache_result r = GCACHE_RESULT_INIT;
    char *text, *again;

    options.namespace_ = "team \"a\"";
    options.max_size = UINT64_MAX;
    options.compression_level = -1;
    fixture_reopen(f, &options);
    assert_int_equal(insert_text(f, g, NULL, NULL, "code"), GCACHE_OK);
    assert_int_equal(gcache_handle_save(f->cache, &text, &f->error), GCACHE_OK);
    /* A worker is a process of its own, and may stand anywhere. */
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(run_worker(text), 0);
    assert_int_equal(gcache_handle_open(text, NULL, &worker, &f->error), GCACHE_OK);
    assert_int_equal(gcache_lookup(worker, g, NULL, &r, &f->error), GCACHE_HIT);
    assert_memory_equal(r.payload, "code", 4);
    gcache_result_clear(&r);
    assert_int_equal(gcache_handle_save(worker, &again, &f->error), GCACHE_OK);
    assert_string_equal(text, again);
    gcache_close(worker);
    gcache_free(text);
    gcache_free(again);
    gcache_graph_free(g);
}

static void
keep_line(void *state, char const *line)
{
    snprintf(state, 256, "%s", line);
}

static int
collect_tier(void *state, gcache_tier_state const *tier)
{
    char *names = state;

    snprintf(names + strlen(names), 256 - strlen(names), "%s ", tier->name);
    return 0;
}

/* The tiers of the cache that a text stands for, each with a space behind it. */
static void
tiers_of(char const *text, gcache_options const *listeners, char out_names[256])
{
    gcache_error error;
    gcache *worker;

    out_names[0] = '\0';
    assert_int_equal(gcache_handle_open(text, listeners, &worker, &error), GCACHE_OK);
    assert_int_equal(gcache_tiers_each(worker, collect_tier, out_names, &error), GCACHE_OK);
    gcache_close(worker);
}

static void
credentials_of_tiers_are_not_saved(void **state)
{
    static char const plain[] = "redis://cache.example?ttl=60", shown[] = "rediss://safe.example:7000/2";
    fixture *f = *state;
    gcache_options options = GCACHE_OPTIONS_INIT, listeners = GCACHE_OPTIONS_INIT;
    gcache_tier_user own = { .name = "own" };
    char *text, names[256], line[256] = "";
    gcache_error error;

    assert_int_equal(gcache_tier_memory_new(&own.functions, &own.tier, &error), GCACHE_OK);
    options.tiers = "redis://cache.example?ttl=60 rediss://me:s3cret@safe.example:7000/2";
    options.user_tiers = &own;
    options.user_tier_count = 1;
    options.flush_ns = 5000000;
    fixture_reopen(f, &options);
    assert_int_equal(gcache_handle_save(f->cache, &text, &f->error), GCACHE_OK);
    assert_null(strstr(text, "s3cret"));
    assert_null(strstr(text, "me:"));
    assert_null(strstr(text, "own"));
    assert_non_null(strstr(text, shown));
    assert_non_null(strstr(text, "\"flush_ns\": 5000000"));
    listeners.log = keep_line;
    listeners.log_state = line;
    tiers_of(text, &listeners, names);
    assert_string_equal(names, "redis://cache.example?ttl=60 ");
    assert_non_null(strstr(line, shown));
    assert_null(strstr(line, plain));
    /* The new process has URLs and tiers of its own. */
    line[0] = '\0';
    listeners.tiers = "rediss://me:s3cret@safe.example:7000/2";
    listeners.user_tiers = &own;
    listeners.user_tier_count = 1;
    tiers_of(text, &listeners, names);
    assert_string_equal(names, "rediss://safe.example:7000/2 own ");
    assert_string_equal(line, "");
    gcache_free(text);
    fixture_reopen(f, NULL);
    own.functions->close(own.tier);
}

static void
what_is_no_handle_is_refused(void **state)
{
    fixture *f = *state;
    gcache *worker;

    assert_int_equal(gcache_handle_open("", NULL, &worker, &f->error), GCACHE_ERROR_SYNTAX);
    assert_int_equal(gcache_handle_open("[]", NULL, &worker, &f->error), GCACHE_ERROR_SYNTAX);
    assert_int_equal(gcache_handle_open("{\"format\": \"guardcache-handle/1\"}", NULL, &worker, &f->error),
                     GCACHE_ERROR_SYNTAX);
    assert_int_equal(gcache_handle_open("{\"format\": \"guardcache-handle/2\"}", NULL, &worker, &f->error),
                     GCACHE_ERROR_FORMAT);
}

int
main(int argc, char **argv)
{
    if (argc == 2)
        return work(argv[1]);

#define CASE(name) cmocka_unit_test_setup_teardown(name, fixture_open, fixture_close)
    struct CMUnitTest const tests[] = {
        CASE(followers_get_the_leaders_value),
        CASE(the_first_value_stays),
        CASE(a_value_is_remembered_and_damage_is_not_believed),
        CASE(a_saved_handle_opens_the_same_cache),
        CASE(credentials_of_tiers_are_not_saved),
        CASE(what_is_no_handle_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
