/*
 * Guards that PyTorch and JAX wrote, with what Python made of them.
 *
 * The data is fixtures/guards: a guard a line, with some of its evaluations. If GUARDCACHE_CORPUS names a corpus, all
 * evaluations in its guards/ folder are asked as well.
 */
#include "given.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define MAX_FILE ((size_t)64 << 20)
#define MAX_HINTS 64

typedef struct recording {
    char const *guard;
    gcache_guards *guards; /* of the guard asked last */
    size_t evaluations;
} recording;

static char const *
expected_of(gci_value const *evaluation)
{
    gci_value const *result = gci_map_find(evaluation, "result"), *error = gci_map_find(evaluation, "error");

    assert_non_null(result);
    if (result->type == GCI_BOOL)
        return result->boolean ? "true" : "false";
    assert_non_null(error);
    return error->text.data;
}

/* The same of integers alone, prepared; in another order than that of the hints. */
static void
ask_prepared(recording const *r, gcache_hints const *hints, gcache_truth expected)
{
    gcache_prepared *prepared = NULL;
    char const *names[MAX_HINTS];
    int64_t values[MAX_HINTS];
    gcache_error error;

    if (hints->literal_count != 0 || hints->count > MAX_HINTS)
        return;
    for (size_t i = 0; i < hints->count; i++) {
        names[hints->count - 1 - i] = hints->items[i].name;
        values[hints->count - 1 - i] = hints->items[i].value;
    }
    if (gcache_guards_prepare(r->guards, names, hints->count, &prepared, &error) != GCACHE_OK)
        fail_msg("%s: %s", r->guard, error.message);
    if (gcache_prepared_eval(prepared, values) != expected)
        fail_msg("%s, prepared, isn't what it was (evaluation %zu)", r->guard, r->evaluations);
    gcache_prepared_free(prepared);
}

static void
ask(recording *r, gci_value const *evaluation, gci_arena *arena)
{
    gcache_hints hints = given_hints(gci_map_find(evaluation, "hints"), arena);
    char const *expected = expected_of(evaluation);
    gcache_verdict verdict;
    gcache_error error;

    if (gcache_guards_eval(r->guards, &hints, &verdict, &error) != GCACHE_OK)
        fail_msg("%s: %s", r->guard, error.message);
    char const *result = verdict.truth == GCACHE_RAISES ? verdict.exception : verdict.truth == GCACHE_TRUE ? "true" : "false";
    if (strncmp(result, expected, strlen(result)) != 0)
        fail_msg("%s is %s, not %.20s (evaluation %zu)", r->guard, result, expected, r->evaluations);
    ask_prepared(r, &hints, verdict.truth);
    r->evaluations++;
}

static void
compile(recording *r, gci_value const *guard, gci_arena *arena)
{
    gcache_error error;

    r->guard = gci_arena_copy(arena, guard->text).data;
    gcache_guards_free(r->guards);
    r->guards = NULL;
    if (gcache_guards_compile(&r->guard, 1, &r->guards, &error) != GCACHE_OK)
        fail_msg("%s: %s", r->guard, error.message);
}

/* {"guard", "cases": [{"hints", "result"}, ..]} or {"guard", "hints", "result"} */
static void
play_line(recording *r, gci_view line)
{
    gci_arena arena;
    gci_value map;
    gcache_error error;

    gci_arena_init(&arena, MAX_FILE);
    if (gci_json_read(line, "line", &arena, &map, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    compile(r, gci_map_find(&map, "guard"), &arena);
    gci_value const *cases = gci_map_find(&map, "cases");
    for (uint32_t i = 0; cases != NULL && i < cases->count; i++)
        ask(r, &cases->items[i], &arena);
    if (cases == NULL)
        ask(r, &map, &arena);
    gci_arena_clear(&arena);
}

static size_t
play_file(char const *folder, char const *name)
{
    char path[4096];
    gci_buf text;
    recording r = { .guard = NULL };

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        fail_msg("%s can't be read", path);
    gci_buf_init(&text, MAX_FILE);
    for (char chunk[1 << 16];;) {
        size_t size = fread(chunk, 1, sizeof chunk, file);
        gci_buf_append(&text, chunk, size);
        if (size < sizeof chunk)
            break;
    }
    fclose(file);
    for (size_t at = 0; at < text.size;) {
        char const *end = memchr(text.data + at, '\n', text.size - at);
        assert_non_null(end);
        play_line(&r, gci_view_of(text.data + at, (size_t)(end - text.data) - at));
        at = (size_t)(end - text.data) + 1;
    }
    gcache_guards_free(r.guards);
    gci_buf_clear(&text);
    return r.evaluations;
}

static void
play_folder(char const *parent, size_t least_torch, size_t least_jax)
{
    char folder[4000];

    snprintf(folder, sizeof folder, "%s/guards", parent);
    assert_true(play_file(folder, "torch.jsonl") >= least_torch);
    assert_true(play_file(folder, "jax.jsonl") >= least_jax);
}

static void
recorded_guards(void **state)
{
    char const *source = getenv("GUARDCACHE_SOURCE"), *corpus = getenv("GUARDCACHE_CORPUS");
    char fixtures[2048];

    (void)state;
    assert_non_null(source);
    snprintf(fixtures, sizeof fixtures, "%s/fixtures", source);
    play_folder(fixtures, 5000, 600);
    if (corpus != NULL)
        play_folder(corpus, 1, 1);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(recorded_guards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
