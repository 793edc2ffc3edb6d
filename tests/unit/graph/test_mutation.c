/*
 * Every leaf of fifty captured descriptions is changed, one at a time: the key must change exactly if the leaf counts.
 * What doesn't count is what gcache_graph_trace says is left out, by a rule or by the description format itself. The run
 * lists those places with their rules.
 *
 * A node's name is changed together with the references to it, since a reference to no node is an error.
 */
#include "base/system/file.h"
#include "base/text/json.h"
#include "base/text/intern.h"

#include <guardcache/graph.h>

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define DESCRIPTIONS 50

/* Places that are left out, by path; `rules` has as many lines. */
typedef struct left_out {
    gci_arena arena;
    gci_intern paths;
    gci_view *rules;
} left_out;

typedef struct mutation {
    gci_arena arena;
    gci_value root;
    gci_buf path, text;
    left_out out;
    gcache_key key;
    char const *file;
    size_t *leaves, *silent;
    gci_buf *listing;
    gci_intern *listed;
    gci_arena *listed_arena;
} mutation;

/* ---- what is left out ---- */

static void
note_change(void *state, gcache_change const *change)
{
    left_out *out = state;
    bool is_new;

    if (change->to != NULL)
        return; /* a text that is rewritten still counts */
    uint32_t number = gci_intern_add(&out->paths, gci_arena_copy(&out->arena, gci_view_text(change->path)), &is_new);
    out->rules = realloc(out->rules, (number + 1) * sizeof *out->rules);
    out->rules[number] = gci_arena_copy(&out->arena, gci_view_text(change->rule != NULL ? change->rule : "the format"));
}

/* The rule that leaves a path out, or something it lies in. */
static gci_view
rule_of(left_out const *out, gci_view path)
{
    for (size_t size = path.size; size > 0; size--) {
        bool whole = size == path.size || path.data[size] == '.' || path.data[size] == '[';
        uint32_t number = whole ? gci_intern_find(&out->paths, gci_view_of(path.data, size)) : GCI_INTERN_NONE;
        if (number != GCI_INTERN_NONE)
            return out->rules[number];
    }
    return (gci_view){ NULL, 0 };
}

/* ---- keys ---- */

static gcache_status
key_of(mutation *m, gcache_key *out_key, left_out *out)
{
    gcache_graph *graph;
    gcache_error error;

    m->text.size = 0;
    gci_json_write(&m->text, &m->root);
    gcache_status status = gcache_graph_read(m->text.data, m->text.size, m->file, &graph, &error);
    if (status != GCACHE_OK)
        return status;
    status = gcache_graph_key(graph, out_key, &error);
    if (status == GCACHE_OK && out != NULL)
        assert_int_equal(gcache_graph_trace(graph, note_change, out, NULL), GCACHE_OK);
    gcache_graph_free(graph);
    return status;
}

/* ---- changing a leaf ---- */

static bool
ends_with(gci_view text, char const *end)
{
    size_t size = strlen(end);

    return text.size >= size && memcmp(text.data + text.size - size, end, size) == 0;
}

/* Another text: an expression stays one, base64 too. */
static gci_view
other_text(mutation *m, gci_view path, gci_view text)
{
    gci_buf other;
    bool bytes = ends_with(path, ".$bytes"), real = ends_with(path, ".$float"), integer = ends_with(path, ".$int");
    bool size = ends_with(path, "]") && (strstr(path.data, ".shape[") != NULL || strstr(path.data, ".stride[") != NULL);

    if (real)
        return gci_view_is(text, "inf") ? (gci_view)GCI_VIEW("nan") : (gci_view)GCI_VIEW("inf");
    gci_buf_init(&other, GCI_BUF_NO_LIMIT);
    if (size || ends_with(path, ".$sym")) {
        gci_buf_format(&other, "(%.*s) + 1", (int)text.size, text.data);
    } else if (bytes) {
        gci_buf_append_text(&other, "AAAA");
        gci_buf_append_view(&other, text);
    } else {
        gci_buf_append_view(&other, text);
        gci_buf_append_text(&other, integer ? "7" : "_x");
    }
    gci_view copy = gci_arena_copy(&m->arena, gci_buf_view(&other));
    gci_buf_clear(&other);
    return copy;
}

/* Renames all nodes of a name (subgraphs may have some too), and the references to them. */
static void
rename_references(gci_value *value, gci_view from, gci_view to)
{
    bool map = value->type == GCI_MAP, reference = map && value->count == 1 && gci_view_is(value->members[0].name, "$node");
    bool node = map && gci_map_find(value, "op") != NULL && gci_map_find(value, "name") != NULL;
    gci_value *name = reference ? &value->members[0].value : node ? gci_map_find(value, "name") : NULL;

    if (name != NULL && gci_view_equal(name->text, from))
        name->text = to;
    for (uint32_t i = 0; i < value->count && (value->type == GCI_MAP || value->type == GCI_LIST); i++)
        rename_references(value->type == GCI_MAP ? &value->members[i].value : &value->items[i], from, to);
}

static void
change(mutation *m, gci_view path, gci_value *leaf)
{
    switch ((gci_value_type)leaf->type) {
    case GCI_NULL:
        *leaf = (gci_value){ .type = GCI_INT, .integer = 1 };
        break;
    case GCI_BOOL:
        leaf->boolean = !leaf->boolean;
        break;
    case GCI_INT:
        leaf->integer++;
        break;
    case GCI_FLOAT:
        leaf->real += 1.0;
        break;
    default:
        leaf->text = other_text(m, path, leaf->text);
    }
}

/* graph.nodes[3].meta.val -> graph.nodes[*].meta.val */
static void
list_place(mutation *m, gci_view path, gci_view rule)
{
    gci_buf line;
    bool is_new;

    gci_buf_init(&line, GCI_BUF_NO_LIMIT);
    for (size_t i = 0; i < path.size; i++) {
        gci_buf_append_char(&line, path.data[i]);
        if (path.data[i] != '[')
            continue;
        gci_buf_append_char(&line, '*');
        while (i + 1 < path.size && path.data[i + 1] != ']')
            i++;
    }
    gci_buf_format(&line, "  left out by %.*s\n", (int)rule.size, rule.data);
    if (gci_intern_find(m->listed, gci_buf_view(&line)) == GCI_INTERN_NONE) {
        gci_view copy = gci_arena_copy(m->listed_arena, gci_buf_view(&line));
        gci_intern_add(m->listed, copy, &is_new);
        gci_buf_append_view(m->listing, copy);
    }
    gci_buf_clear(&line);
}

static void
check_leaf(mutation *m, gci_value *leaf)
{
    gci_value before = *leaf;
    gcache_key key;

    gci_buf_append_char(&m->path, '\0');
    gci_view path = gci_view_of(m->path.data, --m->path.size), rule = rule_of(&m->out, path);
    bool is_reference = ends_with(path, ".$node");
    if (is_reference)
        return; /* another name is another node or none: test_canon.c has those */
    change(m, path, leaf);
    bool is_name = leaf->type == GCI_STRING && ends_with(path, "].name") && path.data[0] == 'g';
    if (is_name)
        rename_references(&m->root, before.text, leaf->text);
    gcache_status status = key_of(m, &key, NULL);
    bool same = status == GCACHE_OK && memcmp(key.bytes, m->key.bytes, sizeof key.bytes) == 0;
    if (same != (rule.data != NULL))
        fail_msg("%s: %s %s", m->file, path.data, same ? "doesn't count, and no rule says so" : "counts in spite of a rule");
    if (same)
        list_place(m, path, rule);
    if (is_name)
        rename_references(&m->root, leaf->text, before.text);
    *leaf = before;
    ++*m->leaves;
    *m->silent += same;
}

static void
check_value(mutation *m, gci_value *value)
{
    size_t mark = m->path.size;

    if (value->type != GCI_MAP && value->type != GCI_LIST) {
        check_leaf(m, value);
        return;
    }
    for (uint32_t i = 0; i < value->count; i++) {
        if (value->type == GCI_LIST)
            gci_buf_format(&m->path, "[%u]", (unsigned)i);
        else if (value->members[i].name.size != 0 && value->members[i].name.data[0] == '$' && value->count == 1 &&
                 value->members[i].value.type != GCI_STRING)
            ; /* {"$tensor": ..}: no step of its own */
        else
            gci_buf_format(&m->path, "%s%.*s", mark != 0 ? "." : "", (int)value->members[i].name.size,
                           value->members[i].name.data);
        check_value(m, value->type == GCI_LIST ? &value->items[i] : &value->members[i].value);
        m->path.size = mark;
    }
}

static void
check_file(char const *path, mutation *totals)
{
    mutation m = *totals;
    gci_buf text;
    gcache_error error;

    m.file = path;
    gci_arena_init(&m.arena, (size_t)1 << 30);
    gci_arena_init(&m.out.arena, (size_t)1 << 28);
    gci_buf_init(&m.path, GCI_BUF_NO_LIMIT);
    gci_buf_init(&m.text, GCI_BUF_NO_LIMIT);
    gci_buf_init(&text, GCI_BUF_NO_LIMIT);
    assert_int_equal(gci_file_read_user(path, GCI_JSON_MAX_BYTES, &text, &error), GCACHE_OK);
    assert_int_equal(gci_json_read(gci_buf_view(&text), path, &m.arena, &m.root, &error), GCACHE_OK);
    assert_int_equal(key_of(&m, &m.key, &m.out), GCACHE_OK);
    check_value(&m, &m.root);
    gci_intern_clear(&m.out.paths);
    free(m.out.rules);
    gci_arena_clear(&m.out.arena);
    gci_arena_clear(&m.arena);
    gci_buf_clear(&m.path);
    gci_buf_clear(&m.text);
    gci_buf_clear(&text);
}

static void
test_leaves(void **state)
{
    char const *corpus = getenv("GUARDCACHE_CORPUS");
    char pattern[600];
    size_t leaves = 0, silent = 0;
    gci_buf listing;
    gci_intern listed = { .count = 0 };
    gci_arena arena;
    glob_t files;

    (void)state;
    gci_arena_init(&arena, (size_t)1 << 28);
    gci_buf_init(&listing, GCI_BUF_NO_LIMIT);
    mutation totals = { .leaves = &leaves, .silent = &silent, .listing = &listing, .listed = &listed,
                        .listed_arena = &arena };
    snprintf(pattern, sizeof pattern, "%s%s/torch/*/graphs/*.json", corpus != NULL ? corpus : getenv("GUARDCACHE_SOURCE"),
             corpus != NULL ? "" : "/fixtures/canon/corpus");
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    assert_true(files.gl_pathc >= DESCRIPTIONS);
    for (size_t i = 0; i < DESCRIPTIONS; i++)
        check_file(files.gl_pathv[i * files.gl_pathc / DESCRIPTIONS], &totals);
    gci_buf_append_char(&listing, '\0');
    printf("%zu leaves, of which %zu don't count:\n%s", leaves, silent, listing.data); /* cmocka would cut it */
    assert_true(leaves > 5000 && silent > 1000);
    globfree(&files);
    gci_intern_clear(&listed);
    gci_arena_clear(&arena);
    gci_buf_clear(&listing);
}

int
main(void)
{
    struct CMUnitTest const tests[] = { cmocka_unit_test(test_leaves) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
