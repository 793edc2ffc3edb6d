/*
 * Keys of captured descriptions: one key a class and one class a key, and every labelled pair.
 *
 * The data is fixtures/canon/corpus, or all of what GUARDCACHE_CORPUS names: torch/<program>/keys.jsonl with the class of
 * each description, and pairs.jsonl files with labels.
 */
#include "base/system/file.h"
#include "base/text/json.h"

#include <guardcache/graph.h>

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define LINES_MAX 4096

typedef struct keyed {
    char key[GCACHE_KEY_HEX_SIZE], class[160], path[1024];
} keyed;

static char const *
corpus_root(void)
{
    static char path[512];
    char const *corpus = getenv("GUARDCACHE_CORPUS");

    if (corpus != NULL)
        return corpus;
    snprintf(path, sizeof path, "%s/fixtures/canon/corpus", getenv("GUARDCACHE_SOURCE"));
    return path;
}

static void
key_of_file(char const *path, char out_key[GCACHE_KEY_HEX_SIZE])
{
    gci_buf text;
    gcache_graph *graph = NULL;
    gcache_key key;
    gcache_error error;

    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    if (gci_file_read_user(path, GCI_JSON_MAX_BYTES, &text, &error) != GCACHE_OK ||
        gcache_graph_read(text.data, text.size, path, &graph, &error) != GCACHE_OK)
        fail_msg("%s", error.message);
    if (gcache_graph_key(graph, &key, &error) != GCACHE_OK)
        fail_msg("%s: %s", path, error.message);
    gcache_key_to_hex(&key, out_key);
    gcache_graph_free(graph);
    gci_buf_clear(&text);
}

/* Calls fn with every line of a JSON lines file, and the folder the file is in. */
static size_t
each_line(char const *path, void (*fn)(void *state, char const *folder, gci_value const *line), void *state)
{
    FILE *file = fopen(path, "r");
    char folder[512], *line = NULL;
    size_t room = 0, count = 0;
    ssize_t size;

    if (file == NULL)
        return 0;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    while ((size = getline(&line, &room, file)) > 0) {
        gci_arena arena;
        gci_value value;
        gcache_error error;
        gci_arena_init(&arena, (size_t)1 << 24);
        if (gci_json_read(gci_view_of(line, (size_t)size), path, &arena, &value, &error) != GCACHE_OK)
            fail_msg("%s", error.message);
        fn(state, folder, &value);
        gci_arena_clear(&arena);
        count++;
    }
    free(line);
    fclose(file);
    return count;
}

static char const *
text_of(gci_value const *map, char const *name)
{
    static char texts[4][256];
    static size_t next;
    gci_value const *value = gci_map_find(map, name);
    char *text = texts[next++ % 4];

    assert_non_null(value);
    snprintf(text, sizeof texts[0], "%.*s", (int)value->text.size, value->text.data);
    return text;
}

/* ---- classes ---- */

typedef struct all_keys {
    keyed *items;
    size_t count;
} all_keys;

static void
add_key(void *state, char const *folder, gci_value const *line)
{
    all_keys *all = state;
    keyed *item = &all->items[all->count++];

    assert_true(all->count <= LINES_MAX);
    snprintf(item->path, sizeof item->path, "%s/%s", folder, text_of(line, "graph"));
    snprintf(item->class, sizeof item->class, "%s %s", text_of(line, "kind"), text_of(line, "class"));
    key_of_file(item->path, item->key);
}

static int
by_key(void const *a, void const *b)
{
    return strcmp(((keyed const *)a)->key, ((keyed const *)b)->key);
}

static int
by_class(void const *a, void const *b)
{
    return strcmp(((keyed const *)a)->class, ((keyed const *)b)->class);
}

static void
test_classes(void **state)
{
    all_keys all = { .items = calloc(LINES_MAX, sizeof(keyed)) };
    char pattern[600];
    glob_t files;

    (void)state;
    snprintf(pattern, sizeof pattern, "%s/torch/*/keys.jsonl", corpus_root());
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++)
        each_line(files.gl_pathv[i], add_key, &all);
    globfree(&files);
    assert_true(all.count >= 50);
    qsort(all.items, all.count, sizeof *all.items, by_class);
    for (size_t i = 1; i < all.count; i++)
        if (by_class(&all.items[i - 1], &all.items[i]) == 0 && by_key(&all.items[i - 1], &all.items[i]) != 0)
            fail_msg("one class, two keys: %s %s", all.items[i - 1].path, all.items[i].path);
    qsort(all.items, all.count, sizeof *all.items, by_key);
    for (size_t i = 1; i < all.count; i++)
        if (by_key(&all.items[i - 1], &all.items[i]) == 0 && by_class(&all.items[i - 1], &all.items[i]) != 0)
            fail_msg("one key, two classes: %s %s", all.items[i - 1].path, all.items[i].path);
    free(all.items);
}

/* ---- pairs ---- */

static void
check_pair(void *state, char const *folder, gci_value const *line)
{
    char path[2][1024], key[2][GCACHE_KEY_HEX_SIZE];
    char const *label = text_of(line, "label");
    size_t *checked = state;

    if (strcmp(label, "either") == 0)
        return;
    for (size_t i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s", folder, text_of(line, i == 0 ? "a" : "b"));
        key_of_file(path[i], key[i]);
    }
    if ((strcmp(key[0], key[1]) == 0) != (strcmp(label, "same") == 0))
        fail_msg("not %s: %s %s", label, path[0], path[1]);
    ++*checked;
}

static void
check_pairs(char const *folder, size_t at_least)
{
    char path[600];
    size_t checked = 0;

    snprintf(path, sizeof path, "%s/%s/pairs.jsonl", corpus_root(), folder);
    each_line(path, check_pair, &checked);
    assert_true(checked >= at_least);
}

static void
test_torch_pairs(void **state)
{
    (void)state;
    check_pairs("torch-pairs", 30);
}

static void
test_jax_pairs(void **state)
{
    (void)state;
    check_pairs("jax", 20);
}

static void
test_llvm_pairs(void **state)
{
    (void)state;
    check_pairs("llvm", 20);
}

int
main(void)
{
    struct CMUnitTest const tests[] = {
        cmocka_unit_test(test_classes),
        cmocka_unit_test(test_torch_pairs),
        cmocka_unit_test(test_jax_pairs),
        cmocka_unit_test(test_llvm_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
