/*
 * Failing memory under everything that a key is made by: each allocation fails once, and what comes of it is ERROR_MEMORY or
 * the right answer, never a wrong key. (The leak checks of valgrind and ASan look at what is left behind.)
 */
#include "by_calls.h"

#include <guardcache/guard.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* The allocation that fails, counted down; 0: none does. */
static size_t fails_in;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool
fails_now(void)
{
    return fails_in != 0 && --fails_in == 0;
}

void *
__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

void *
__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *
__wrap_realloc(void *memory, size_t size)
{
    return fails_now() ? NULL : __real_realloc(memory, size);
}

/* One of each: sizes with ties, subgraphs, late keyword arguments, sets, a text with rules. */
static char const description[] =
    "{\"format\": \"guardcache-graph/1\", \"kind\": \"aot\", \"graph\": {\"nodes\": ["
    "{\"name\": \"x\", \"op\": \"placeholder\", \"target\": \"x\"},"
    "{\"name\": \"y\", \"op\": \"placeholder\", \"target\": \"y\"},"
    "{\"name\": \"m\", \"op\": \"call_function\", \"target\": \"mm\", \"args\": [{\"$node\": \"x\"}, {\"$node\": \"y\"}], "
    "\"kwargs\": {\"keepdim\": true, \"p\": 0.5, \"dims\": [1, {\"$tuple\": [2, \"a\"]}]}},"
    "{\"name\": \"s\", \"op\": \"call_function\", \"target\": \"sum\", \"args\": [{\"$node\": \"m\"}, {\"$sym\": \"s1*s0\"}]},"
    "{\"name\": \"output\", \"op\": \"output\", \"target\": \"output\", \"args\": [{\"$tuple\": [{\"$node\": \"s\"}]}]}],"
    "\"subgraphs\": {\"body\": {\"nodes\": [{\"name\": \"i\", \"op\": \"call_method\", \"target\": \"sin\", \"args\": "
    "[{\"$node\": \"m\"}]}]}}},"
    "\"inputs\": [{\"name\": \"x\", \"value\": {\"$tensor\": {\"dtype\": \"float32\", \"shape\": [\"s0 + s1\", 16], "
    "\"stride\": [16, 1], \"requires_grad\": true}}},"
    "{\"name\": \"y\", \"value\": {\"$tensor\": {\"dtype\": \"float32\", \"shape\": [\"s1\", 4], \"requires_grad\": false}}}],"
    "\"options\": {\"graph_id\": 7, \"set\": {\"$set\": [3, 1, 2]}, \"big\": 18446744073709551616},"
    "\"code\": \"f(kernel_idx = 12, constant_args_idx = 3)\\n\"}";

/* ---- what is tried ---- */

typedef gcache_status (*attempt_fn)(gcache_key *out_key, gcache_error *error);

static gcache_status
read_it(gcache_key *out_key, gcache_error *error)
{
    gcache_graph *graph;
    gcache_status status = gcache_graph_read(description, sizeof description - 1, "d", &graph, error);

    if (status == GCACHE_OK)
        status = gcache_graph_key(graph, out_key, error);
    gcache_graph_free(graph);
    return status;
}

static gcache_status
build(bool late, gcache_key *out_key, gcache_error *error)
{
    gcache_graph *graph = build_by_calls(description, sizeof description - 1, late);
    gcache_status status = graph != NULL ? gcache_graph_key(graph, out_key, error) : GCACHE_ERROR_MEMORY;

    gcache_graph_free(graph);
    return status;
}

static gcache_status
build_it(gcache_key *out_key, gcache_error *error)
{
    return build(false, out_key, error);
}

static gcache_status
build_it_late(gcache_key *out_key, gcache_error *error)
{
    return build(true, out_key, error);
}

/* The key of what was written of a built graph. */
static gcache_status
write_it(gcache_key *out_key, gcache_error *error)
{
    gcache_graph *graph = build_by_calls(description, sizeof description - 1, false), *again = NULL;
    char *text = NULL;
    size_t size;
    gcache_status status = GCACHE_ERROR_MEMORY;

    if (graph != NULL)
        status = gcache_graph_write(graph, &text, &size, error);
    if (status == GCACHE_OK)
        status = gcache_graph_read(text, size, "written", &again, error);
    if (status == GCACHE_OK)
        status = gcache_graph_key(again, out_key, error);
    gcache_free(text);
    gcache_graph_free(again);
    gcache_graph_free(graph);
    return status;
}

static void
ignore_change(void *state, gcache_change const *change)
{
    (void)state;
    (void)change;
}

/* The canonical bytes, their differences from themselves, lines and a trace; then the key. */
static gcache_status
look_at_it(gcache_key *out_key, gcache_error *error)
{
    gcache_graph *graph = build_by_calls(description, sizeof description - 1, false);
    void const *bytes;
    size_t size, count = 0;
    char *text = NULL;
    gcache_symbol const *symbols;
    gcache_status status = graph != NULL ? gcache_graph_canonical(graph, &bytes, &size, error) : GCACHE_ERROR_MEMORY;

    if (status == GCACHE_OK)
        status = gcache_diff(bytes, size, bytes, size, 0, GCACHE_DIFF_JSON, &text, &count, error);
    if (status == GCACHE_OK)
        status = gcache_graph_trace(graph, ignore_change, NULL, error);
    if (status == GCACHE_OK)
        status = gcache_graph_symbols(graph, &symbols, &count, error);
    if (status == GCACHE_OK)
        status = gcache_graph_key(graph, out_key, error);
    gcache_free(text);
    gcache_graph_free(graph);
    return status;
}

/* A text whose rules renumber names and hand them back. */
static gcache_status
rename_it(gcache_key *out_key, gcache_error *error)
{
    static char const module[] = "{\"format\": \"guardcache-graph/1\", \"kind\": \"llvm-ir\", \"module\": "
                                 "\"define void @_ZN1fB2v3B38cE() {\\n  call void @_ZN1gB3v11B38cE() #2\\n}\\n"
                                 "attributes #2 = { nounwind }\\n!0 = !{}\\n\"}";
    gcache_graph *graph;
    gcache_text_name const *names;
    size_t count;
    gcache_status status = gcache_graph_read(module, sizeof module - 1, "m", &graph, error);

    if (status == GCACHE_OK)
        status = gcache_graph_text_names(graph, &names, &count, error);
    if (status == GCACHE_OK) {
        assert_int_equal(count, 2);
        assert_string_equal(names[1].canonical, "_ZN1gB$v1B38cE");
        status = gcache_graph_key(graph, out_key, error);
    }
    gcache_graph_free(graph);
    return status;
}

/* A kind that nobody has loaded before, each time; its key is another one each time, too. */
static gcache_status
load_it(gcache_key *out_key, gcache_error *error)
{
    static unsigned count;
    char root[] = "/tmp/guardcache-faults-XXXXXX", path[128], rules[256];

    memset(out_key, 0, sizeof *out_key);
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/kind%u", root, ++count);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/kind%u/rules.json", root, count);
    snprintf(rules, sizeof rules,
             "{\"format\": \"guardcache-rules/1\", \"name\": \"kind%u\", \"text\": [{\"path\": \"module\", \"kind\": \"drop\","
             " \"pattern\": \"a(?=b)\"}]}", count);
    int file = open(path, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(file, rules, strlen(rules)), (ssize_t)strlen(rules));
    close(file);
    gcache_status status = gcache_kinds_load(root, NULL, NULL, error);
    unlink(path);
    *strrchr(path, '/') = '\0';
    rmdir(path);
    rmdir(root);
    return status;
}

/* Lets one allocation after the other fail until the attempt needs no more of them. */
static void
try_every_failure(attempt_fn attempt)
{
    gcache_key wanted, key;
    gcache_error error;
    size_t failures = 0;

    assert_int_equal(attempt(&wanted, &error), GCACHE_OK);
    for (size_t n = 1;; n++) {
        error.status = GCACHE_OK;
        fails_in = n;
        gcache_status status = attempt(&key, &error);
        bool reached = fails_in == 0;
        fails_in = 0;
        if (status != GCACHE_OK && status != GCACHE_ERROR_MEMORY)
            fail_msg("allocation %zu fails: %s", n, error.message);
        if (status == GCACHE_OK)
            assert_memory_equal(key.bytes, wanted.bytes, sizeof key.bytes);
        failures += status != GCACHE_OK;
        if (!reached)
            break;
    }
    assert_true(failures >= 10);
}

static void
test_reading(void **state)
{
    (void)state;
    try_every_failure(read_it);
}

static void
test_loading(void **state)
{
    (void)state;
    try_every_failure(load_it);
}

static void
test_building(void **state)
{
    (void)state;
    try_every_failure(build_it);
    try_every_failure(build_it_late);
}

static void
test_writing(void **state)
{
    (void)state;
    try_every_failure(write_it);
}

static void
test_looking(void **state)
{
    (void)state;
    try_every_failure(look_at_it);
}

static void
test_renaming(void **state)
{
    (void)state;
    try_every_failure(rename_it);
}

/* Read, built and written it has one key: what the failures are measured against. */
static void
test_one_key(void **state)
{
    attempt_fn const attempts[] = { read_it, build_it, build_it_late, write_it, look_at_it };
    gcache_key keys[sizeof attempts / sizeof attempts[0]];
    gcache_error error;

    (void)state;
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        assert_int_equal(attempts[i](&keys[i], &error), GCACHE_OK);
        assert_memory_equal(keys[i].bytes, keys[0].bytes, sizeof keys[0].bytes);
    }
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_one_key),
        cmocka_unit_test(test_reading),
        cmocka_unit_test(test_loading),
        cmocka_unit_test(test_building),
        cmocka_unit_test(test_writing),
        cmocka_unit_test(test_looking),
        cmocka_unit_test(test_renaming),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
