/*
 * Kinds of one's own: found in folders, loaded once for the process, by any number of threads.
 */
#include <guardcache/graph.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define THREADS 8

/* Each test has kinds of its own names, since what is loaded stays. */
static char root[64];

/* A kind's file, in a folder of kinds. */
static void
write_kind(char const *folder, char const *kind, char const *file, char const *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", root, folder);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s", root, folder, kind);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%s/%s/%s", root, folder, kind, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* A set with one rule: numbers behind this letter are replaced. */
static void
write_rules(char const *folder, char const *kind, char letter)
{
    char text[320];

    snprintf(text, sizeof text,
             "{\"format\": \"guardcache-rules/1\", \"name\": \"%s\", \"text\": [{\"path\": \"module\", \"kind\": \"const\","
             " \"pattern\": \"%c\\\\d+\", \"with\": \"#\"}]}", kind, letter);
    write_kind(folder, kind, "rules.json", text);
}

typedef struct problems {
    int count;
    char last[1024];
} problems;

static void
note_problem(void *state, char const *folder, gcache_error const *problem)
{
    problems *p = state;

    p->count++;
    snprintf(p->last, sizeof p->last, "%s: %s", folder, problem->message);
}

static gcache_status
load(char const *folders, problems *p)
{
    char path[512] = "";
    gcache_error error;

    for (char const *at = folders; *at != '\0'; at += strlen(at) + 1)
        snprintf(path + strlen(path), sizeof path - strlen(path), ":%s/%s", root, at);
    *p = (problems){ .count = 0 };
    return gcache_kinds_load(path, note_problem, p, &error);
}

static gcache_status
key_of(char const *kind, char const *module, gcache_key *out_key, gcache_error *error)
{
    gcache_graph *graph = gcache_graph_new(kind);

    gcache_graph_component(graph, "module", gcache_value_text(graph, module, strlen(module)));
    gcache_status status = gcache_graph_key(graph, out_key, error);
    gcache_graph_free(graph);
    return status;
}

static bool
have_one_key(char const *kind, char const *a, char const *b)
{
    gcache_key keys[2];
    gcache_error error;

    if (key_of(kind, a, &keys[0], &error) != GCACHE_OK || key_of(kind, b, &keys[1], &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    return memcmp(keys[0].bytes, keys[1].bytes, sizeof keys[0].bytes) == 0;
}

/* ---- tests ---- */

static void
test_a_loaded_kind_has_its_rules(void **state)
{
    problems p;
    size_t size = 0;
    gcache_rules *rules;

    (void)state;
    write_rules("one", "alpha", 'a');
    assert_false(have_one_key("alpha", "a1", "a2"));
    assert_int_equal(load("one\0", &p), GCACHE_OK);
    assert_true(have_one_key("alpha", "a1", "a2"));
    assert_false(have_one_key("alpha", "b1", "b2"));
    assert_non_null(strstr(gcache_kinds_folder("alpha"), "one/alpha"));
    assert_null(gcache_kinds_folder("fx"));
    assert_non_null(strstr(gcache_rules_shipped("alpha", &size), "#"));
    assert_int_equal(gcache_rules_of_kind("alpha", &rules, NULL), GCACHE_OK);
    assert_string_equal(gcache_rules_name(rules), "alpha");
    assert_int_equal(gcache_rules_read_advice(rules, "{\"advice\": []}", 14, "more", NULL), GCACHE_ERROR_ARGUMENT);
    gcache_rules_free(rules); /* which leaves it to the others */
    assert_true(have_one_key("alpha", "a1", "a2"));
}

static void
test_the_first_meaning_stays(void **state)
{
    problems p;

    (void)state;
    write_rules("first", "beta", 'a');
    write_rules("second", "beta", 'b');
    write_rules("copy", "beta", 'a');
    assert_int_equal(load("first\0second\0copy\0first\0", &p), GCACHE_ERROR_ARGUMENT);
    assert_int_equal(p.count, 1);
    assert_non_null(strstr(p.last, "second/beta: kind beta has other rules already, from "));
    assert_true(have_one_key("beta", "a1", "a2"));
    assert_false(have_one_key("beta", "b1", "b2"));
    write_rules("first", "beta", 'c');
    assert_int_equal(load("first\0", &p), GCACHE_ERROR_ARGUMENT);
    assert_non_null(strstr(p.last, "first/beta: the rules of kind beta have changed since they were loaded"));
}

/* Not passed over: its descriptions have no key until it is mended. Others are loaded. */
static void
test_a_broken_kind_has_no_keys(void **state)
{
    problems p;
    gcache_key key;
    gcache_error error;

    (void)state;
    write_kind("mixed", "gamma", "rules.json", "{\"format\": \"guardcache-rules/1\",\n \"nam\": \"gamma\"}");
    write_rules("mixed", "zeta", 'z');
    assert_int_equal(load("mixed\0", &p), GCACHE_ERROR_DESCRIPTION);
    assert_int_equal(p.count, 1);
    assert_non_null(strstr(p.last, "gamma/rules.json:1:1: "));
    assert_true(have_one_key("zeta", "z1", "z2"));
    assert_int_equal(key_of("gamma", "a1", &key, &error), GCACHE_ERROR_DESCRIPTION);
    assert_non_null(strstr(error.message, "kind gamma can't be used: "));
    write_rules("mixed", "gamma", 'g');
    assert_int_equal(load("mixed\0", &p), GCACHE_OK);
    assert_true(have_one_key("gamma", "g1", "g2"));
    write_kind("mixed", "gamma", "rules.json", "{");
    assert_int_equal(load("mixed\0", &p), GCACHE_ERROR_SYNTAX);
    assert_true(have_one_key("gamma", "g1", "g2"));
}

static void
test_advice_alone_leaves_keys(void **state)
{
    problems p;
    gcache_key before, after;
    gcache_error error;

    (void)state;
    write_kind("advice", "delta", "advice.json", "{\"advice\": [{\"path\": \"module\", \"text\": \"x\"}]}");
    write_kind("advice", "nothing", "README", "no kind");
    assert_int_equal(key_of("delta", "a1", &before, &error), GCACHE_OK);
    assert_int_equal(load("advice\0", &p), GCACHE_OK);
    assert_int_equal(key_of("delta", "a1", &after, &error), GCACHE_OK);
    assert_memory_equal(before.bytes, after.bytes, sizeof before.bytes);
    assert_non_null(gcache_kinds_folder("delta"));
    assert_null(gcache_kinds_folder("nothing"));
}

typedef struct loading {
    pthread_barrier_t *barrier;
    char const *folder;
    problems p;
    gcache_status status;
} loading;

static void *
load_by_thread(void *state)
{
    loading *l = state;
    char path[160];

    snprintf(path, sizeof path, "%s/%s", root, l->folder);
    pthread_barrier_wait(l->barrier);
    l->status = gcache_kinds_load(path, note_problem, &l->p, NULL);
    return NULL;
}

/* Two meanings at once: one is everybody's, whoever came first, and the other's loaders are told. */
static void
test_threads_agree(void **state)
{
    pthread_t threads[THREADS];
    loading all[THREADS] = { 0 };
    pthread_barrier_t barrier;
    size_t refused = 0, listed = 0;
    char const *kind;

    (void)state;
    write_rules("left", "eta", 'a');
    write_rules("right", "eta", 'b');
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        all[i].barrier = &barrier;
        all[i].folder = i % 2 == 0 ? "left" : "right";
        assert_int_equal(pthread_create(&threads[i], NULL, load_by_thread, &all[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        refused += all[i].status == GCACHE_ERROR_ARGUMENT;
    }
    pthread_barrier_destroy(&barrier);
    assert_int_equal(refused, THREADS / 2);
    assert_int_equal(have_one_key("eta", "a1", "a2") + have_one_key("eta", "b1", "b2"), 1);
    for (size_t i = 0; (kind = gcache_rules_kind(i)) != NULL; i++)
        listed += strcmp(kind, "eta") == 0;
    assert_int_equal(listed, 1);
}

/* ---- where they are ---- */

static char const *
variable(void *state, char const *name)
{
    for (char const *const *at = state; at[0] != NULL; at += 2)
        if (strcmp(at[0], name) == 0)
            return at[1];
    return NULL;
}

static void
check_path(char const *const *variables, char const *expected)
{
    char *path = NULL;

    assert_int_equal(gcache_kinds_path(variable, (void *)(size_t)variables, &path, NULL), GCACHE_OK);
    assert_string_equal(path, expected);
    gcache_free(path);
}

static void
test_the_environment_says_where(void **state)
{
    char there[128], config[96];

    (void)state;
    snprintf(config, sizeof config, "%s/config", root);
    mkdir(config, 0700);
    snprintf(there, sizeof there, "%s/guardcache", config);
    mkdir(there, 0700);
    check_path((char const *const[]){ "XDG_CONFIG_HOME", config, NULL }, "");
    strcat(there, "/kinds");
    mkdir(there, 0700);
    check_path((char const *const[]){ "XDG_CONFIG_HOME", config, NULL }, there);
    check_path((char const *const[]){ "XDG_CONFIG_HOME", config, "GUARDCACHE_KINDS", "/a:/b", NULL }, "/a:/b");
    check_path((char const *const[]){ "XDG_CONFIG_HOME", config, "GUARDCACHE_KINDS", "", NULL }, "");
    check_path((char const *const[]){ "HOME", root, NULL }, "");
    check_path((char const *const[]){ NULL }, "");
}

static int
setup(void **state)
{
    (void)state;
    strcpy(root, "/tmp/guardcache-kinds-XXXXXX");
    return mkdtemp(root) != NULL ? 0 : -1;
}

static int
teardown(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_a_loaded_kind_has_its_rules),
        cmocka_unit_test(test_the_first_meaning_stays),
        cmocka_unit_test(test_a_broken_kind_has_no_keys),
        cmocka_unit_test(test_advice_alone_leaves_keys),
        cmocka_unit_test(test_threads_agree),
        cmocka_unit_test(test_the_environment_says_where),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
